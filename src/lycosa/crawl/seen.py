"""Which URLs are known already, in three tiers: recently met, perhaps met (a Bloom filter), and the rows themselves.

Only the rows decide: the filter saves looking for what is certainly new, so nothing is ever skipped wrongly. It is kept
in memory at ten bits a key, saved now and then, and the keys added since are in the store, so opening costs a file read
and not a scan. When a filter is full another is begun beside it, twice as large.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from fastbloom_rs import BloomFilter

from lycosa.kit.keys import KEY_BYTES
from lycosa.ports import Change, Store

_FIRST_CAPACITY = 1_000_000
_FALSE_RATE = 0.01
_SAVED_EVERY = 200_000  # keys
_LATEST = b"latest"


class Seen:
    def __init__(self, store: Store, recent: int = 100_000, first_capacity: int = _FIRST_CAPACITY) -> None:
        self._store = store
        self._recent: OrderedDict[str, None] = OrderedDict()
        self._most_recent = recent
        self._filters: list[tuple[BloomFilter, int]] = []
        self._added = 0  # to the newest filter
        self._unsaved = 0
        self._sequence = 0
        self._load(first_capacity)

    def _load(self, first_capacity: int) -> None:
        for key, value in self._store.scan("seen", b"filter", b"filtes"):
            capacity = int.from_bytes(key[6:14], "big")
            hashes, self._added = int.from_bytes(value[:4], "big"), int.from_bytes(value[4:12], "big")
            self._filters.append((BloomFilter.from_bytes(value[12:], hashes), capacity))
        if not self._filters:
            self._filters.append((BloomFilter(first_capacity, _FALSE_RATE), first_capacity))
        for key, value in self._store.scan("seen", b"log", b"loh"):
            self._sequence = int.from_bytes(key[3:], "big") + 1
            keys = [value[at : at + KEY_BYTES] for at in range(0, len(value), KEY_BYTES)]
            self._filters[-1][0].add_bytes_batch(keys)
            self._added += len(keys)
            self._unsaved += len(keys)

    def was_met_lately(self, url: str) -> bool:
        if url in self._recent:
            self._recent.move_to_end(url)
            return True
        return False

    def may_know(self, keys: Sequence[bytes]) -> list[bool]:
        """For each key: False is certain, True is worth a look."""
        if not keys:
            return []
        answers = [kept.contains_bytes_batch(list(keys)) for kept, _ in self._filters]
        return answers[0] if len(answers) == 1 else [any(each) for each in zip(*answers, strict=True)]

    def remember(self, url: str) -> None:
        self._recent[url] = None
        if len(self._recent) > self._most_recent:
            self._recent.popitem(last=False)

    def add(self, keys: Sequence[bytes]) -> list[Change]:
        """Add keys to the filter; the changes that make it last belong into the batch that writes their rows."""
        if not keys:
            return []
        self._filters[-1][0].add_bytes_batch(list(keys))
        self._added += len(keys)
        self._unsaved += len(keys)
        entry: Change = ("seen", b"log" + self._sequence.to_bytes(8, "big"), b"".join(keys))
        self._sequence += 1
        if self._unsaved < _SAVED_EVERY:
            return [entry]
        return [*self._save(), *self._clear_log()]

    def _save(self) -> list[Change]:
        kept, capacity = self._filters[-1]
        head = kept.hashes().to_bytes(4, "big") + self._added.to_bytes(8, "big")
        self._unsaved = 0
        saved: list[Change] = [("seen", b"filter" + capacity.to_bytes(8, "big"), head + kept.get_bytes())]
        if self._added >= capacity:
            self._filters.append((BloomFilter(2 * capacity, _FALSE_RATE), 2 * capacity))
            self._added = 0
        return saved

    def _clear_log(self) -> list[Change]:
        return [("seen", key, None) for key, _ in self._store.scan("seen", b"log", b"loh")]
