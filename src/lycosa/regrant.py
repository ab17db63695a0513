"""A lowered budget holds for shards too: what they were granted of the larger one and have not used is taken back.

Grants outlive a run, so that a crash overdraws nothing. When a limit is lower than in the run before, every shard keeps
of each grant what it has used, and the owner's ledger says what all have used. Nobody may be crawling.
"""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

from lycosa.backends.layout import stores_of
from lycosa.backends.rocks import RocksStore
from lycosa.config import Settings
from lycosa.crawl.rows import read_counts
from lycosa.crawl.shares import GRANTED, LEDGER
from lycosa.kit.keys import host_key, owner_of
from lycosa.ports import Store


def is_lowered(before: Settings, now: Settings) -> bool:
    """Is any budget that shards share smaller than it was?"""
    pairs = (
        (before.crawl.max_pages, now.crawl.max_pages),
        (before.budget.day_pages, now.budget.day_pages),
        (before.budget.domain_pages, now.budget.domain_pages),
    )
    return any(_most(new) < _most(old) for old, new in pairs)


def regrant(directory: Path) -> None:
    stores: list[RocksStore] = []
    try:
        for path in stores_of(directory):
            stores.append(RocksStore(path))
        used: Counter[str] = Counter()
        for store in stores:
            kept = {name: _used(store, name, granted) for name, granted in _grants(store)}
            used.update(kept)
            store.write([("meta", GRANTED + name.encode(), str(pages).encode()) for name, pages in kept.items()])
        for name, pages in used.items():
            owner = stores[owner_of(host_key(name), len(stores))]
            owner.write([("meta", LEDGER + name.encode(), str(pages).encode())])
        for store in stores:
            store.sync()
    finally:
        for store in stores:
            store.close()


def _grants(store: Store) -> list[tuple[str, int]]:
    found = store.scan("meta", GRANTED, GRANTED[:-1] + b";")
    return [(key.removeprefix(GRANTED).decode(), int(value)) for key, value in found]


def _used(store: Store, name: str, granted: int) -> int:
    """How much of a grant a shard has used."""
    stats = Counter(read_counts(store.get("meta", b"stats")))
    if name == "crawl":
        return stats["fetched"]
    if name.startswith("day:"):
        return stats["today_pages"] if name == f"day:{stats['today']}" else granted
    return int(store.get("meta", name.encode()) or 0)


def _most(pages: int | None) -> float:
    return math.inf if pages is None else pages
