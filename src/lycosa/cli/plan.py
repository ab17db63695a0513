"""`lycosa crawl --plan`: what a crawl would do, asking for robots.txt only."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from typing import Any

import click
import msgspec

from lycosa.cli.columns import show_columns, show_pairs
from lycosa.cli.probe import Verdict, ask_rules
from lycosa.cli.report import delay_for
from lycosa.config import Settings
from lycosa.crawl.rules import origin_of
from lycosa.job import read_seeds
from lycosa.kit.units import show_duration
from lycosa.web.politeness import is_parked_by
from lycosa.web.robots import Robots, target_of
from lycosa.web.url import Normaliser, host_of

_ANSWER_S = 0.5  # how long a page takes to come, as a guess


class SeedPlan(msgspec.Struct, frozen=True):
    """One seed, and what its robots.txt says to it."""

    url: str
    host: str
    verdict: str  # allowed, forbidden, unreachable, parked
    reason: str | None
    gap_s: float
    sitemaps: int


def show_plan(seeds: Sequence[str], settings: Settings, as_json: bool) -> None:
    normal = Normaliser(settings.urls.tracking, settings.urls.session)
    known = {verdict.origin: verdict for verdict in ask_rules(seeds, settings)}
    plans = [_plan(url, known[origin_of(url)], settings) for url in read_seeds(normal, seeds)]
    told = {
        "seeds": msgspec.to_builtins(plans),
        "scope": _scope(settings),
        "estimate": estimate(plans, settings.crawl.max_pages, settings.fetch.slots),
    }
    if as_json:
        click.echo(json.dumps(told))
        return
    rows = [(plan.url, plan.verdict, plan.reason, plan.gap_s, plan.sitemaps) for plan in plans]
    show_columns(("seed", "robots.txt", "why", "gap s", "sitemaps"), rows)
    click.echo()
    show_pairs([(name, str(value)) for name, value in told["scope"].items() if value not in (None, [])])
    click.echo()
    click.secho(_sentence(told["estimate"]), bold=True)


def _plan(url: str, found: Verdict, settings: Settings) -> SeedPlan:
    row, matcher = found.row, found.matcher
    delay_s = delay_for(settings)(host_of(url))
    if matcher is None or row is None:
        reason = row.reason if row is not None and row.reason else "no answer"
        return SeedPlan(url, host_of(url), "unreachable", reason, delay_s, 0)
    sitemaps = len(Robots.parse(zlib.decompress(row.body)).sitemaps) if row.body else 0
    gap_s = max(delay_s, matcher.crawl_delay_s or 0.0)
    verdict, why = "allowed", row.reason or None
    if not matcher.allows(target_of(url)):
        verdict = "forbidden"
    elif is_parked_by(matcher.crawl_delay_s):
        verdict, why = "parked", f"Crawl-delay {show_duration(gap_s)}"
    elif gap_s > delay_s:
        why = f"Crawl-delay {show_duration(gap_s)}"
    return SeedPlan(url, host_of(url), verdict, why, gap_s, sitemaps)


def _scope(settings: Settings) -> dict[str, Any]:
    crawl = settings.crawl
    return {
        "scope": crawl.scope,
        "include": list(crawl.include),
        "exclude": list(crawl.exclude),
        "max_pages": crawl.max_pages,
        "max_depth": crawl.max_depth,
        "agent": settings.agent.name,
        "contact": settings.agent.contact or None,
    }


def estimate(plans: Sequence[SeedPlan], max_pages: int | None, slots: int) -> dict[str, Any]:
    """How fast the hosts that may be crawled can be asked; with a number of pages, how long that takes."""
    gaps = {plan.host: plan.gap_s for plan in plans if plan.verdict == "allowed"}
    per_s = min(sum(1 / (gap_s + _ANSWER_S) for gap_s in gaps.values()), slots / _ANSWER_S)
    seconds = max_pages / per_s if max_pages is not None and per_s else None
    return {
        "hosts": len(gaps),
        "pages_per_hour": round(per_s * 3600),
        "seconds": None if seconds is None else round(seconds, 1),
    }


def _sentence(told: dict[str, Any]) -> str:
    if not told["hosts"]:
        return "nothing of this may be crawled"
    pace = f"about {told['pages_per_hour']:,} pages an hour from {told['hosts']:,} hosts"
    return pace if told["seconds"] is None else f"{pace}, so about {show_duration(told['seconds'])} in all"
