"""The stores of all shards, read and written as if they were one.

Rows are looked for where they belong, and scans go over all shards in the order of keys. `meta` is what all of them
say together: counts are added up. A batch that concerns several shards is one batch for each, the first shard's last:
what is noted there holds only when the rest is written.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from lycosa.crawl.places import SORTED, owner_of_row
from lycosa.crawl.rows import read_counts
from lycosa.kit.keys import host_key, owner_of
from lycosa.ports import Change, Store

_OVERRIDE = b"override:"
_OF_ALL = (b"forgotten", b"seeds")  # every shard has them
_STATES = (b"running", b"stopped", b"finished")  # the first that any shard has is that of the crawl


class ShardedStore:
    """Fulfils `ports.Store`."""

    def __init__(self, stores: Sequence[Store]) -> None:
        self.stores = stores

    def get(self, family: str, key: bytes) -> bytes | None:
        if family == "meta":
            return self._meta(key)
        return self._store_of(family, key).get(family, key)

    def get_many(self, family: str, keys: Sequence[bytes]) -> list[bytes | None]:
        return [self.get(family, key) for key in keys]

    def scan(self, family: str, start: bytes = b"", end: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        parts = [store.scan(family, start, end) for store in self.stores]
        if family in SORTED:
            for part in parts:
                yield from part
            return
        last = None
        for key, value in heapq.merge(*parts):
            if key != last:  # of what every shard has, one
                yield key, (self._meta(key) or value) if family == "meta" else value
            last = key

    def write(self, changes: Iterable[Change]) -> None:
        batches: list[list[Change]] = [[] for _ in self.stores]
        for family, key, value in changes:
            if family == "meta":
                for shard, written in self._spread(key, value):
                    batches[shard].append((family, key, written))
            else:
                owner = owner_of_row(family, key, len(self.stores)) or 0
                batches[owner].append((family, key, value))
        for store, batch in reversed(list(zip(self.stores, batches, strict=True))):
            if batch:
                store.write(batch)

    def sync(self) -> None:
        for store in reversed(self.stores):
            store.sync()

    def close(self) -> None:
        for store in self.stores:
            store.close()

    def _store_of(self, family: str, key: bytes) -> Store:
        return self.stores[owner_of_row(family, key, len(self.stores)) or 0]

    # -- meta ----------------------------------------------------------------------------------------------------------

    def _meta(self, key: bytes) -> bytes | None:
        if key.startswith(_OVERRIDE):
            return self._owner_of_host(key).get("meta", key)
        found = [value for value in (store.get("meta", key) for store in self.stores) if value is not None]
        if not found or len(self.stores) == 1:
            return found[0] if found else None
        if key == b"stats":
            return msgspec.msgpack.encode(dict(add_counts(map(read_counts, found))))
        if key == b"state":
            return next((state for state in _STATES if state in found), found[0])
        if key == b"elapsed":
            return max(found, key=float)
        if key in _OF_ALL:
            return max(found, key=len)
        return found[0]

    def _spread(self, key: bytes, value: bytes | None) -> Iterator[tuple[int, bytes | None]]:
        """Which shards get what when a row of `meta` is written."""
        if key == b"stats" and value is not None:
            # The difference goes to the first: its counts are nobody's but those of the whole.
            wanted, known = Counter(read_counts(value)), Counter(read_counts(self._meta(key)))
            own = Counter(read_counts(self.stores[0].get("meta", key)))
            own.update(wanted)
            own.subtract(known)
            yield 0, msgspec.msgpack.encode(dict(own))
        elif key.startswith(_OVERRIDE):
            yield self._host_shard(key), value
        elif key in _OF_ALL:
            for shard in range(len(self.stores)):
                yield shard, value
        else:
            yield 0, value

    def _host_shard(self, key: bytes) -> int:
        return owner_of(host_key(key.removeprefix(_OVERRIDE).decode()), len(self.stores))

    def _owner_of_host(self, key: bytes) -> Store:
        return self.stores[self._host_shard(key)]


def add_counts(counts: Iterable[dict[str, int]]) -> Counter[str]:
    """The counts of all shards together. The day is no count: of the newest one the pages are added up."""
    total: Counter[str] = Counter()
    found = list(counts)
    today = max((each.get("today", 0) for each in found), default=0)
    for each in found:
        total.update({name: n for name, n in each.items() if name not in ("today", "today_pages")})
        if today and each.get("today", 0) == today:
            total["today_pages"] += each.get("today_pages", 0)
    if today:
        total["today"] = today
    return total
