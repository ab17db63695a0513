"""A larger budget goes on: pages that the one before refused are queued again.

The budgets in force are noted with the crawl. When it is opened with a larger one, the URLs that were dropped for the
old one are looked for, once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import msgspec

from lycosa.crawl.frontier import Frontier
from lycosa.crawl.rows import UrlRow, unpack
from lycosa.ports import Store

BUDGETS = b"budgets"  # in `meta`: those in force, as JSON


def reopen(store: Store, frontier: Frontier, budgets: Mapping[str, int | None]) -> int:
    """`budgets` are pages by the reason that refuses more, None for no limit. How many URLs are queued again."""
    noted = store.get("meta", BUDGETS)
    before = msgspec.json.decode(noted, type=dict[str, int | None]) if noted is not None else dict(budgets)
    larger = {name for name, pages in budgets.items() if _most(pages) > _most(before.get(name, pages))}
    rows = ((key, unpack(value, UrlRow)) for key, value in store.scan("urls")) if larger else ()
    refused = [(key, row) for key, row in rows if row.state == "dropped" and row.reason in larger]
    for key, row in refused:
        frontier.stats["refused"] -= 1
        frontier.stats[f"refused:{row.reason}"] -= 1
        frontier.queue_again(key, row, [])
    store.write([("meta", BUDGETS, msgspec.json.encode(dict(budgets)))])
    return len(refused)


def least_of(noted: Iterable[bytes]) -> bytes:
    """What several stores have noted as one: the smaller budgets, so that a larger one is not overlooked."""
    least: dict[str, int | None] = {}
    for each in noted:
        for name, pages in msgspec.json.decode(each, type=dict[str, int | None]).items():
            least[name] = min(pages, least.get(name, pages), key=_most)
    return msgspec.json.encode(least)


def _most(pages: int | None) -> float:
    return math.inf if pages is None else pages
