"""A crawl divided anew: its rows go to as many shards as are wanted now. Nothing is lost, whenever it is interrupted.

New stores are written beside the old ones. Only when they are complete and synced is that noted, and then they take
the places of the old ones. Killed before the note, it begins again; killed after it, the next start ends it. Bodies and
tables stay where they are: rows name the files. What was on its way between shards is kept for whoever owns it now.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

import msgspec

from lycosa.backends.directory_lock import locked
from lycosa.backends.durable import sync_directory
from lycosa.backends.journal import Journal
from lycosa.backends.layout import FEED, READY, REPARTITION, TABLES, note_shards, shard_name, shards_of
from lycosa.backends.parquet import SCHEMAS, list_files
from lycosa.backends.parquet_feed import flush_feed
from lycosa.backends.rocks import FAMILIES, RocksStore
from lycosa.backends.sharded import add_counts
from lycosa.crawl.feed import flushed_to, settled_to
from lycosa.crawl.forget import unfinished
from lycosa.crawl.lease import JOINED
from lycosa.crawl.mend import MEND
from lycosa.crawl.messages import Parcel
from lycosa.crawl.outbox import read_parcel
from lycosa.crawl.places import owner_of_row
from lycosa.crawl.reopen import BUDGETS, least_of
from lycosa.crawl.rows import read_counts
from lycosa.crawl.shares import GRANTED, LEDGER
from lycosa.errors import BadInput
from lycosa.kit.keys import host_key, owner_of
from lycosa.ports import Change
from lycosa.web.url import host_of

_AT_ONCE = 2_000  # rows a batch
_TOLD_S = 2.0
_COUNTED = {"queue": "queued", "due": "delayed", "hosts": "hosts"}  # families whose rows are counted in the stats
_DOMAIN, _HOST, _OVERRIDE = b"domain:", b"host:", b"override:"
Tell = Callable[[str], None]


def repartition(directory: Path, shards: int, tell: Tell) -> None:
    """See that the crawl in a directory has so many shards."""
    if not shards_of(directory) and not (directory / REPARTITION).exists():
        return
    with locked(directory):
        _complete(directory)
        before = shards_of(directory)
        if before not in (0, shards):
            _divide(directory, before, shards, tell)


def complete(directory: Path) -> None:
    """End a division that was killed when all was copied; one that was killed before is left undone."""
    if (directory / REPARTITION).exists():
        with locked(directory):
            _complete(directory)


def _complete(directory: Path) -> None:
    place = directory / REPARTITION
    if (place / READY).exists():
        _switch(directory, int((place / READY).read_text()))
    shutil.rmtree(place, ignore_errors=True)


def _divide(directory: Path, before: int, shards: int, tell: Tell) -> None:
    place = directory / REPARTITION
    old = [number for number in range(before) if (directory / shard_name(number)).is_dir()]
    if not old:  # it was killed before the first store was made
        note_shards(directory, shards)
        return
    with contextlib.ExitStack() as closing:
        stores = {number: _open(closing, directory / shard_name(number)) for number in old}
        _check(stores)
        tell(f"the crawl in {directory} is divided anew, from {before} to {shards} processes")
        place.mkdir()
        new = [_open(closing, place / shard_name(number)) for number in range(shards)]
        _Division(directory, stores, new, tell).copy()
        for store in new:
            store.sync()
    _note(place, shards)
    _switch(directory, shards)


def _open(closing: contextlib.ExitStack, path: Path) -> RocksStore:
    store = RocksStore(path)
    closing.callback(store.close)
    return store


def _check(stores: dict[int, RocksStore]) -> None:
    for store in stores.values():
        begun = unfinished(store)
        if begun is not None:
            raise BadInput(f"lycosa forget {begun.target.name} did not come to its end here: run it again first")


def _note(place: Path, shards: int) -> None:
    fresh = place / f".{READY}"
    with fresh.open("w") as out:
        out.write(str(shards))
        out.flush()
        os.fsync(out.fileno())
    fresh.rename(place / READY)
    sync_directory(place)


def _switch(directory: Path, shards: int) -> None:
    """Put the new stores in their places. Where one still waits, what is in its place is old."""
    place = directory / REPARTITION
    waiting = {path.name for path in place.glob("shard-*")}
    for path in sorted(directory.glob("shard-*")):
        if path.is_dir() and (path.name in waiting or int(path.name.removeprefix("shard-")) >= shards):
            path.rename(place / f"old-{path.name}")
    for name in sorted(waiting):
        (place / name).rename(directory / name)
    sync_directory(directory)
    note_shards(directory, shards)
    shutil.rmtree(place)


def _all_lines(found: Sequence[bytes]) -> bytes:
    return b"\n".join(dict.fromkeys(line for value in found for line in value.split(b"\n") if line))


def _state(found: Sequence[bytes]) -> bytes:
    return b"finished" if set(found) == {b"finished"} else b"stopped"


# How what several shards say becomes what all of them say.
_JOINS: dict[bytes, Callable[[Sequence[bytes]], bytes]] = {
    b"seeds": _all_lines,
    b"forgotten": _all_lines,
    b"state": _state,
    b"turn": max,
    b"elapsed": partial(max, key=float),
    b"synced": partial(min, key=float),
    MEND: partial(min, key=float),
    BUDGETS: least_of,
}


class _Division:
    """Copies every row of the old stores to where it belongs among the new ones."""

    def __init__(self, directory: Path, old: dict[int, RocksStore], new: Sequence[RocksStore], tell: Tell) -> None:
        self._directory = directory
        self._old = old
        self._new = new
        self._tell = tell
        self._told_at = time.monotonic()
        self._copied = 0
        self._counts = [Counter[str]() for _ in new]
        self._parcels = 0

    def copy(self) -> None:
        self._flush_feeds()
        for store in self._old.values():
            for family in FAMILIES:
                if family not in ("meta", "seen", "outbox"):  # filters are made anew from the rows
                    self._copy_family(store, family)
        for store in self._old.values():
            self._reroute(store)
        self._copy_meta()

    def _copy_family(self, store: RocksStore, family: str) -> None:
        rows = store.scan(family)
        while some := list(islice(rows, _AT_ONCE)):
            batches: list[list[Change]] = [[] for _ in self._new]
            for key, value in some:
                owner = owner_of_row(family, key, len(self._new)) or 0
                batches[owner].append((family, key, value))
            for number, batch in enumerate(batches):
                if batch:
                    self._new[number].write(batch)
                    if family in _COUNTED:
                        self._counts[number][_COUNTED[family]] += len(batch)
            self._copied += len(some)
            if time.monotonic() - self._told_at > _TOLD_S:
                self._told_at = time.monotonic()
                self._tell(f"{self._copied:,} rows")

    def _flush_feeds(self) -> None:
        """Put all rows of tables into files. If a power cut has taken some of them, it is noted in their store."""
        for number, store in self._old.items():
            fed, settled = flushed_to(store), settled_to(store)
            journal = Journal(self._directory / FEED, shard_name(number), settled)
            if journal.found < settled and fed < settled:
                # Flushing hides it: should we be killed, whoever comes next is to know.
                store.write([("meta", MEND, store.get("meta", b"synced") or b"0")])
                store.sync()
            journal.close()
            flush_feed(self._directory, shard_name(number), store)

    # -- what was on its way -------------------------------------------------------------------------------------------

    def _reroute(self, store: RocksStore) -> None:
        """Parcels in the outbox: each of the new shards gets its own, addressed to itself."""
        for _, value in store.scan("outbox"):
            for number, parcel in enumerate(self._divided(read_parcel(value))):
                if parcel != Parcel([], [], [], []):
                    self._parcels += 1
                    key = number.to_bytes(2, "big") + self._parcels.to_bytes(8, "big")
                    self._new[number].write([("outbox", key, msgspec.msgpack.encode(parcel))])

    def _divided(self, parcel: Parcel) -> list[Parcel]:
        parts = [Parcel([], [], [], []) for _ in self._new]
        for candidate in parcel.urls:
            parts[self._owner(host_of(candidate.url))].urls.append(candidate)
        for change in parcel.rows:
            owner = owner_of_row(change[0], change[1], len(self._new))
            for part in parts if owner is None else [parts[owner]]:
                part.rows.append(change)
        for answer in parcel.answers:
            parts[self._owner(host_of(f"{answer.origin}/"))].answers.append(answer)
        for lost in parcel.lost:
            parts[owner_of(int.from_bytes(lost.content_hash[:8], "big"), len(parts))].lost.append(lost)
        return parts

    def _owner(self, name: str) -> int:
        return owner_of(host_key(name), len(self._new))

    # -- meta ----------------------------------------------------------------------------------------------------------

    def _copy_meta(self) -> None:
        stats = add_counts(read_counts(store.get("meta", b"stats")) for store in self._old.values())
        everywhere = self._said_by_all()
        owned = self._owned(stats)
        for number, store in enumerate(self._new):
            counts = self._counts[number]
            if number == 0:  # counts of the whole; what is counted in rows is with the rows
                counts.update({name: n for name, n in stats.items() if name not in _COUNTED.values()})
            fed = self._fed(number).to_bytes(8, "big")
            store.write(
                [
                    *[("meta", key, value) for key, value in everywhere.items()],
                    *[("meta", key, value) for key, value in owned[number].items()],
                    ("meta", b"stats", msgspec.msgpack.encode(dict(counts))),
                    ("meta", b"settled", fed),
                    ("meta", b"fed", fed),
                ]
            )

    def _fed(self, number: int) -> int:
        """Table files carry numbers, by the name of their shard: they go on where any shard of that name ended."""
        name = shard_name(number)
        files = [
            file.last
            for table in SCHEMAS
            for file in list_files(self._directory / TABLES, table)
            if file.writer == name
        ]
        return max([flushed_to(self._old[number]) if number in self._old else 0, *files])

    def _said_by_all(self) -> dict[bytes, bytes]:
        """What every shard has."""
        said: dict[bytes, bytes] = {}
        for name, join in _JOINS.items():
            found = list(self._values(name))
            if name == MEND and b"running" in self._values(b"state"):
                found.append(b"inf")  # not closed in an orderly way: whoever opens it looks closer
            if found:
                said[name] = join(found)
        for store in self._old.values():
            said.update(store.scan("meta", JOINED, JOINED[:-1] + b";"))
        return said

    def _values(self, name: bytes) -> Iterator[bytes]:
        for store in self._old.values():
            value = store.get("meta", name)
            if value is not None:
                yield value

    def _owned(self, stats: Counter[str]) -> list[dict[bytes, bytes]]:
        """What belongs to one shard: budgets and overrides. What was granted and not used is granted anew."""
        owned: list[dict[bytes, bytes]] = [{} for _ in self._new]
        used: Counter[bytes] = Counter()
        for store in self._old.values():
            for prefix in (_DOMAIN, _HOST):
                for key, value in store.scan("meta", prefix, prefix[:-1] + b";"):
                    used[key] += int(value)
            for key, value in store.scan("meta", _OVERRIDE, _OVERRIDE[:-1] + b";"):
                owned[self._owner(key.removeprefix(_OVERRIDE).decode())][key] = value
        for key, pages in used.items():
            is_domain = key.startswith(_DOMAIN)
            part = owned[self._owner(key.decode() if is_domain else key.removeprefix(_HOST).decode())]
            part[key] = str(pages).encode()
            if is_domain:
                part[GRANTED + key] = part[LEDGER + key] = part[key]
        for name, pages in (("crawl", stats["fetched"]), (f"day:{stats['today']}", stats["today_pages"])):
            owned[self._owner(name)][LEDGER + name.encode()] = str(pages).encode()
            owned[0][GRANTED + name.encode()] = str(pages).encode()  # where the counts of the whole are
        return owned
