"""What `lycosa rank` shows: how it settled, the highest pages and hosts, and what was damped for which reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from lycosa.backends.ranks import Ranks
from lycosa.cli.columns import show_columns, show_pairs
from lycosa.cli.options import printable
from lycosa.cli.shards import Shards
from lycosa.errors import BadInput
from lycosa.search.farms import TEXTS, Reason, told
from lycosa.web.url import cut


def top_of(place: Path, shards: Shards, limit: int) -> dict[str, Any]:
    """The highest pages and hosts, and the highest of those that were damped as farms or copies."""
    found = Ranks(place).table()
    ranks, reasons = found["ranks"], found["reasons"]
    grave = (reasons & int(Reason.FARM | Reason.COPIED_HOST)) > 0
    hosts = np.argsort(-found["host_ranks"], kind="stable")[:limit]
    return {
        "top_pages": [_page(found, shards, at) for at in _highest(ranks, np.arange(len(ranks)), limit)],
        "top_hosts": [
            {
                "host": shards.host_at(int(found["host_keys"][at])),
                "rank": float(found["host_ranks"][at]),
                "pages": int(found["host_pages"][at]),
            }
            for at in hosts.tolist()
        ],
        "damped": {(reason.name or "").lower(): int(np.count_nonzero(reasons & int(reason))) for reason in Reason},
        "damped_pages": [_page(found, shards, at) for at in _highest(ranks, np.flatnonzero(grave), limit)],
    }


def _highest(ranks: Any, among: Any, limit: int) -> list[int]:
    order = np.argsort(-ranks[among], kind="stable")[:limit]
    chosen: list[int] = among[order].tolist()
    return chosen


def _page(found: dict[str, Any], shards: Shards, at: int) -> dict[str, Any]:
    key = bytes(found["keys"][at]).ljust(16, b"\0")
    return {
        "url": shards.url_at(key),
        "rank": float(found["ranks"][at]),
        "mass": round(float(found["mass"][at]), 4),
        "reasons": told(int(found["reasons"][at])),
    }


def show_ranks(told: dict[str, Any]) -> None:
    """The same for a terminal."""
    steps = told["steps"]
    survey = sum(step["stage"] == "survey" for step in steps)
    end = "settled" if told["settled"] else "not settled"
    pairs = [
        ("graph", f"{told['pages']:,} pages of {told['hosts']:,} hosts, {told['links']:,} links"),
        ("starts", f"{told['trusted']:,} trusted" if told["trusted"] else "every page alike"),
        ("steps", f"{survey} of the survey, {len(steps) - survey} of the ranks: {end} in {told['elapsed_s']:.1f} s"),
    ]
    show_pairs(pairs)
    count = told["pages"]
    for title, rows, name in (("pages", told["top_pages"], "url"), ("hosts", told["top_hosts"], "host")):
        if rows:
            click.echo()
            mean = count if name == "url" else told["hosts"]
            head = ("× mean", title)
            show_columns(head, [(row["rank"] * mean, row[name] or "?") for row in rows])
    click.echo()
    named = {(reason.name or "").lower(): text for reason, text in TEXTS.items()}
    for name, pages in told["damped"].items():
        if pages:
            click.echo(f"{pages:,} pages damped, {named[name]}")
    for row in told["damped_pages"]:
        click.echo(f"  {printable(row['url'] or '?')}  mass {row['mass']:.2f}")


def explained(ranks: Ranks, url: str) -> dict[str, Any]:
    """What is known of one page's rank."""
    if not ranks.about:
        raise BadInput("there are no ranks yet: run lycosa rank first")
    page = ranks.page(cut(url).key())
    if page is None:
        [rank], [host_rank] = ranks.of([cut(url).key()])
        start = {"url": url, "rank": float(rank), "host_rank": float(host_rank)}
        return {**start, "place": None, "mass": None, "reasons": ["new: it starts with the mean rank of its host"]}
    return {
        "url": url, "rank": page.rank, "host_rank": page.host_rank, "place": page.place, "of": page.of,
        "mass": page.mass, "reasons": told(page.reasons),
    }  # fmt: skip


def show_explained(told: dict[str, Any]) -> None:
    pairs = [("url", told["url"]), ("rank", f"{told['rank']:.3e}"), ("host rank", f"{told['host_rank']:.3e}")]
    if told["place"] is not None:
        pairs += [("place", f"{told['place']:,} of {told['of']:,}"), ("spam mass", f"{told['mass']:.2f}")]
    show_pairs([*pairs, *(("reason", reason) for reason in told["reasons"])])
