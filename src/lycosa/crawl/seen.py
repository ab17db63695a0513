"""Which URLs are known already, in three tiers: recently met, perhaps met (Bloom filters), and what is on disk.

Only that decides: the filter saves looking for what is certainly new, so nothing is ever skipped wrongly; `audit`
looks whether that holds. When a filter is full another is begun beside it, stricter, so that all of them together
take at most one absent key in a hundred for a known one.

On disk there are the filters, in segments, and a log of the keys added since. A filter only ever gains bits, so its
segments need not be of one moment: a round writes them one by one, two bytes for each that the log grows by, and when
it is through, the log from before it began is not needed any more. No write is long, none is repeated more often than
keys are added, and opening costs reading the filters and the last of the log. Should the filters be missing, they are
made again from the rows.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lycosa.kit.bloom import add_keys, bits_of_next, capacity_of_next, find_keys, make_bloom
from lycosa.kit.keys import KEY_BYTES
from lycosa.kit.recent import Recent
from lycosa.ports import Change, Place, Store

_FIRST_CAPACITY = 1_000_000
_MOST_CAPACITY = 32_000_000
_SEGMENT_BYTES = 64 * 1024
_ABOUT = b"blocks"  # the capacity of the first filter; what is here can be trusted once it is written
_SAVED = 2  # bytes of the filters that are written for each byte of the log
_CLEARED = 4  # entries of the log that are no longer needed, for each that is added
_CHUNK = 10_000
EPOCH = b"noted"  # the row of `meta` by which a store and its notes know each other
_each_key = struct.Struct(f"{KEY_BYTES}s").iter_unpack


class Audit(NamedTuple):
    """Rows that were looked at, and how many of them the filter denies: URLs that would be taken in twice."""

    checked: int
    missed: int


def added_to_log(store: Store, keys: Sequence[bytes]) -> list[Change]:
    """The changes that make keys known to a store that no crawl has open: into the log of its first filter."""
    name = (0).to_bytes(2, "big")
    head = store.get("seen", b"head" + name)
    entry = int.from_bytes(head[8:], "big") if head else 0
    for key, _ in store.scan("seen", b"keys" + name, b"keys" + name + b"\xff" * 9):
        entry = max(entry, int.from_bytes(key[-8:], "big") + 1)
    changes: list[Change] = [("seen", b"keys" + name + entry.to_bytes(8, "big"), b"".join(keys))]
    if store.get("meta", b"state") == b"running":  # it was cut off: who opens it next could not tell by the total
        changes.append(("meta", EPOCH, None))
    return changes


class _Filter:
    """A filter, and which entries of the log are in it but not yet in its segments."""

    def __init__(self, number: int, first_capacity: int) -> None:
        self.number = number
        self.capacity = capacity_of_next(number, first_capacity, _MOST_CAPACITY)
        self.bits = make_bloom(self.capacity, bits_of_next(number))
        self.added = 0
        self.saved_to = 0  # entries before this one are in the segments
        self.log_to = 0

    @property
    def name(self) -> bytes:
        return self.number.to_bytes(2, "big")

    @property
    def room(self) -> int:
        """How many keys more it is made for."""
        return max(0, self.capacity - self.added)

    def log_key(self, entry: int) -> bytes:
        return b"keys" + self.name + entry.to_bytes(8, "big")


class _Round:
    """The saving of one filter as it is now."""

    def __init__(self, kept: _Filter) -> None:
        self.kept = kept
        self.added, self.log_to = kept.added, kept.log_to  # what follows is in the segments or not
        self.at = 0

    def next_segment(self, size: int) -> Change:
        start, self.at = self.at, self.at + size
        return ("seen", b"bits" + self.kept.name + start.to_bytes(8, "big"), bytes(self.kept.bits[start : self.at]))

    @property
    def is_through(self) -> bool:
        return self.at >= len(self.kept.bits)

    def head(self) -> Change:
        return ("seen", b"head" + self.kept.name, self.added.to_bytes(8, "big") + self.log_to.to_bytes(8, "big"))


class Seen:
    def __init__(
        self,
        store: Store,
        recent: int = 500_000,
        first_capacity: int = _FIRST_CAPACITY,
        segment_bytes: int = _SEGMENT_BYTES,
    ) -> None:
        self._store = store
        self._segment_bytes = segment_bytes
        self.recent = Recent(recent)  # URLs that were judged and queued already
        about = store.get("seen", _ABOUT)
        self._first_capacity = int(about) if about else first_capacity
        self._is_new = about is None
        self._filters: list[_Filter] = []
        self._bits: list[bytearray] = []  # of each filter
        self._round: _Round | None = None
        self._earned = 0  # bytes of segments that may be written
        self._stale: list[tuple[_Filter, int, int]] = []  # entries of the log to delete
        if about:
            self._load()
        else:
            self._rebuild()

    # -- opening -------------------------------------------------------------------------------------------------------

    def _load(self) -> None:
        while self._load_filter(_Filter(len(self._filters), self._first_capacity)):
            pass
        if not self._filters:
            self._begin()

    def _load_filter(self, kept: _Filter) -> bool:
        """Read a filter and replay its log; False if there is none of this number."""
        head = self._store.get("seen", b"head" + kept.name)
        if head is not None:
            kept.added, kept.saved_to = int.from_bytes(head[:8], "big"), int.from_bytes(head[8:], "big")
            kept.log_to = kept.saved_to
            first = next(self._log(kept, 0), None)
            if first is not None and first[0] < kept.saved_to:
                self._stale.append((kept, first[0], kept.saved_to))
        has_segments = self._read_segments(kept)
        for entry, value in self._log(kept, kept.saved_to):
            keys = [key for (key,) in _each_key(value)]
            add_keys(kept.bits, keys)
            kept.added += len(keys)
            kept.log_to = entry + 1
        if head is None and not has_segments and not kept.log_to:
            return False
        self._use(kept)
        return True

    def _read_segments(self, kept: _Filter) -> bool:
        """Read the bits on disk; those of segments not yet written are zero, and their keys still in the log."""
        start, has_some = b"bits" + kept.name, False
        for key, value in self._store.scan("seen", start, start + b"\xff" * 9):
            at, has_some = int.from_bytes(key[len(start) :], "big"), True
            kept.bits[at : at + len(value)] = value
        return has_some

    def _log(self, kept: _Filter, start: int) -> Iterator[tuple[int, bytes]]:
        for key, value in self._store.scan("seen", kept.log_key(start), kept.log_key((1 << 64) - 1)):
            yield int.from_bytes(key[-8:], "big"), value

    def _rebuild(self) -> None:
        """Make the filters from the rows: none in a new store, all of them in one without filters that we can read."""
        self._store.write([("meta", EPOCH, None)])  # notes are in the places of the filters that were
        while old := [key for key, _ in itertools.islice(self._store.scan("seen"), _CHUNK)]:
            self._store.write([("seen", key, None) for key in old])
        self._begin()
        keys = (key for key, _ in self._store.scan("urls"))
        while chunk := list(itertools.islice(keys, min(_CHUNK, self._filters[-1].room))):
            self._put(chunk)
            if not self._filters[-1].room:
                self._begin()
        if self._filters[0].added:
            self._save_all()

    def _save_all(self) -> None:
        """At once, while nothing waits for us: else every start would make them again."""
        for kept in self._filters:
            whole = _Round(kept)
            while not whole.is_through:
                self._store.write([whole.next_segment(self._segment_bytes)])
            self._store.write([whole.head()])
        self._store.write([self._about()])

    # -- asking --------------------------------------------------------------------------------------------------------

    def places(self, keys: Sequence[bytes]) -> list[int]:
        """For each the filters that perhaps have it, as bits of a number; 0 for those that are certainly new."""
        return find_keys(self._bits, keys)

    def perhaps_known(self, keys: Sequence[bytes]) -> list[bytes]:
        """Those that are worth a look."""
        return [key for key, places in zip(keys, self.places(keys), strict=True) if places]

    def audit(self, sample: int = 10_000) -> Audit:
        """Does the filter know the URLs that have a row? Looks at about `sample` of them, from all over the keys."""
        checked = missed = 0
        places = max(1, sample // 10)
        for place in range(places):
            start = (place * (1 << 64) // places).to_bytes(8, "big")
            keys = [key for key, _ in itertools.islice(self._store.scan("urls", start), 10)]
            checked += len(keys)
            missed += len(keys) - len(self.perhaps_known(keys))
        return Audit(checked, missed)

    @property
    def memory_bytes(self) -> int:
        return sum(map(len, self._bits))

    @property
    def filters(self) -> int:
        return len(self._filters)

    @property
    def newest(self) -> Place:
        """The filter that was added to last."""
        return Place(len(self._filters) - 1, self._filters[-1].capacity)

    @property
    def total(self) -> int:
        """How many keys were added, ever: no store that lost some has as many."""
        return sum(kept.added for kept in self._filters)

    # -- adding --------------------------------------------------------------------------------------------------------

    def add(self, keys: Sequence[bytes]) -> list[Change]:
        """Add keys to the filter; the changes that make it last belong into the batch that writes their rows."""
        if not keys:
            return []
        kept = self._put(keys)
        changes: list[Change] = [("seen", kept.log_key(kept.log_to), b"".join(keys))]
        kept.log_to += 1
        self._earned += _SAVED * KEY_BYTES * len(keys)
        if self._is_new:
            changes.append(self._about())
        changes += self._save_some()
        if self._stale:
            changes += self._clear_some()
        return changes

    def _about(self) -> Change:
        self._is_new = False
        return ("seen", _ABOUT, str(self._first_capacity).encode())

    def _begin(self) -> None:
        self._use(_Filter(len(self._filters), self._first_capacity))

    def _use(self, kept: _Filter) -> None:
        self._filters.append(kept)
        self._bits.append(kept.bits)

    def _put(self, keys: Sequence[bytes]) -> _Filter:
        kept = self._filters[-1]
        if not kept.room:
            self._begin()
            kept = self._filters[-1]
        add_keys(kept.bits, keys)
        kept.added += len(keys)
        return kept

    def _save_some(self) -> list[Change]:
        """As much of the filters as the log has grown by, full ones first."""
        changes: list[Change] = []
        while self._earned >= self._segment_bytes:
            if self._round is None:
                self._round = self._next_round()
            self._earned -= self._segment_bytes
            changes.append(self._round.next_segment(self._segment_bytes))
            if self._round.is_through:
                changes.append(self._round.head())
                self._end(self._round)
                self._round = None
        return changes

    def _next_round(self) -> _Round:
        waiting = (kept for kept in self._filters if kept.saved_to < kept.log_to)
        return _Round(next(waiting, self._filters[-1]))

    def _end(self, done: _Round) -> None:
        kept = done.kept
        self._stale.append((kept, kept.saved_to, done.log_to))
        kept.saved_to = done.log_to

    def _clear_some(self) -> list[Change]:
        kept, first, end = self._stale.pop()
        until = min(end, first + _CLEARED)
        if until < end:
            self._stale.append((kept, until, end))
        return [("seen", kept.log_key(entry), None) for entry in range(first, until)]
