"""Proves WARC files, and cuts what a crash left half written.

`verify` re-reads everything: gzip checksums, record structure, lengths, block and payload digests, the order and the
ids of groups, and that every revisit refers to a stored response. A flipped bit is found, except where it changes
nothing that can be read (the bits that fill the last byte of a deflate stream, say).

`repair` cuts each file at its last whole group. It reads only the end of a file: group ids depend on the offset, so
the first group found there is a true one and not a copy inside a payload, and what comes before was synced. It never
touches a file that is being written or that Lycosa did not write, leaves damage alone that no crash does (a flipped
bit with whole groups after it is for `verify` to tell), and removes only files without even a whole first record.
"""

from __future__ import annotations

import base64
import glob
import os
from array import array
from collections.abc import Callable, Collection, Iterator
from hashlib import new as new_hash
from pathlib import Path
from typing import BinaryIO
from uuid import UUID

import msgspec
import numpy
from isal import isal_zlib
from xxhash import xxh3_64_intdigest

from lycosa.backends.warc import FORMAT, FORMAT_FIELD, UNNAMED, group_ids, is_being_written
from lycosa.backends.warc_read import BAD_GZIP, PLAIN_MAGIC, Record, Unreadable, is_group, iter_records

UNSYNCED_BYTES = 1 << 25  # more than a writer appends between two syncs
_SYNCED_BYTES = 1 << 20  # of a file that was followed by another a glance is enough
_HOLE = bytes(512)  # what a power failure leaves of a block; deflate never writes as many zeros
_CHUNK = 1 << 20
_ALGORITHMS = {"sha256": "sha256", "sha-256": "sha256", "sha1": "sha1", "sha-1": "sha1", "md5": "md5"}
_MOST_FAULTS = 10_000


class VerifyReport(msgspec.Struct, frozen=True):
    """What `verify` read and what it found; no faults means that the store is proved."""

    files: int
    records: int
    bytes: int
    faults: list[str]


def warc_files(directory: Path, prefix: str = "") -> list[Path]:
    return sorted(directory.glob(f"{glob.escape(prefix)}*.warc.gz"))


# --- repair ---


def repair(directory: Path, prefix: str = "", besides: Collection[str] = ()) -> list[str]:
    """Cut torn tails of all files whose name begins with `prefix`; one sentence for each thing done.

    Files of the writers named in `besides` are left to them.
    """
    for left in directory.glob(f".{glob.escape(prefix)}*{UNNAMED}"):
        with left.open("rb") as file:
            if not is_being_written(file.fileno()):
                left.unlink()
    done: list[str] = []
    paths = [path for path in warc_files(directory, prefix) if _writer_of(path) not in besides]
    newest = {_writer_of(path): path for path in sorted(paths, key=lambda path: path.stat().st_mtime_ns)}
    for path in paths:
        with path.open("rb") as file:
            if not is_being_written(file.fileno()):
                is_newest = newest[_writer_of(path)] == path
                done += _mend(path, file, UNSYNCED_BYTES if is_newest else _SYNCED_BYTES)
    return done


def _writer_of(path: Path) -> str:
    return path.name.rsplit("-", 2)[0]


def _mend(path: Path, file: BinaryIO, window: int) -> list[str]:
    size = os.fstat(file.fileno()).st_size
    first = next(iter_records(file), None)
    if first is None or first.is_torn or not file_begins(file):
        path.unlink()
        return [f"{path.name}: removed, for not even its first record was whole"]
    file_id = own_id(first, path.name)
    if file_id is None:
        return []
    end = _sound_end(file, first.length, size, file_id, window)
    if end == size:
        return []
    follows = _next_start(file, end + 1, size, file_id)
    if follows is not None and not _has_hole(file, end, follows):
        return [f"{path.name}: damaged at byte {end} but not torn, so left as it is; lycosa verify tells more"]
    _cut(path, end)
    return [f"{path.name}: cut {size - end} bytes of an unfinished group at byte {end}"]


def _has_hole(file: BinaryIO, start: int, end: int) -> bool:
    file.seek(start)
    return _HOLE in file.read(end - start)


def whole_bytes(path: Path) -> int:
    """How much of a file can be copied: all of it, or up to the last whole group while it is being written."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        first = next(iter_records(file), None)
        file_id = own_id(first, path.name) if first else None
        if first is None or file_id is None or not is_being_written(file.fileno()):
            return size
        return _sound_end(file, first.length, size, file_id, _SYNCED_BYTES)


def file_begins(file: BinaryIO) -> bool:
    """Does the file begin with anything but the zeros that a power failure leaves?"""
    file.seek(0)
    return any(file.read(4096))


def _sound_end(file: BinaryIO, first_end: int, size: int, file_id: bytes, window: int) -> int:
    """The end of the last group before which, as far as the window reaches, all is whole."""
    start: int | None = None
    while start is None:
        low = size - window
        start = _next_start(file, low, size, file_id) if low > first_end else first_end
        window *= 8
    held: list[Record] = []
    for record in iter_records(file, start, size):
        held.append(record)
        if len(held) == 3:
            if not is_own_group(held, file_id, start) or record.offset + record.length > size:
                break
            held, start = [], record.offset + record.length
    return start


def _next_start(file: BinaryIO, at: int, size: int, file_id: bytes) -> int | None:
    """Where the first group at or after `at` begins."""
    while at < size:
        file.seek(at)
        window = file.read(_CHUNK)
        found = window.find(PLAIN_MAGIC)
        if found < 0:
            at += max(len(window) - len(PLAIN_MAGIC) + 1, 1)
            continue
        if _is_start(file, at + found, file_id):
            return at + found
        at += found + 1
    return None


def _is_start(file: BinaryIO, at: int, file_id: bytes) -> bool:
    file.seek(at)
    try:
        begin = isal_zlib.decompressobj(31).decompress(file.read(4096), 512)
    except BAD_GZIP:
        return False
    return begin.startswith(b"WARC/1.1\r\n") and group_ids(file_id, at)[0].encode() in begin


def _cut(path: Path, end: int) -> None:
    with path.open("r+b") as file:
        file.truncate(end)
        os.fsync(file.fileno())


def own_id(first: Record, name: str) -> bytes | None:
    """The id of a file from its first record, or None for a file that Lycosa did not write."""
    if first.fault or first.kind != "warcinfo":
        return None
    told = dict(line.partition(": ")[::2] for line in first.block.decode("utf-8", "replace").split("\r\n"))
    if FORMAT_FIELD not in told:
        return None
    if told[FORMAT_FIELD] != str(FORMAT):
        raise Unreadable(
            f"{name} has format {told[FORMAT_FIELD]}, this version knows {FORMAT}: use the newer Lycosa that wrote it"
        )
    try:
        return UUID(first.identity[1:-1]).bytes
    except ValueError:
        return None  # copied by a tool that gave it another kind of id


def is_own_group(records: list[Record], file_id: bytes, start: int) -> bool:
    return is_group(records) and tuple(record.identity for record in records) == group_ids(file_id, start)


# --- verify ---


class _Pointers:
    """Which revisit refers to what, in 8 bytes for each response: a store may hold a hundred million."""

    def __init__(self) -> None:
        self._stored = array("Q")
        self._wanted = array("Q")
        self._where: list[str] = []

    def add(self, record: Record, where: str) -> None:
        fields = record.fields
        is_revisit, refers = record.kind == "revisit", "refers-to-" if record.kind == "revisit" else ""
        digest = fields.get("warc-payload-digest", "")
        key = f"{fields.get(f'warc-{refers}target-uri')} {fields.get(f'warc-{refers}date')} {digest}"
        if is_revisit:
            self._where.append(where)
        (self._wanted if is_revisit else self._stored).append(xxh3_64_intdigest(key.encode("utf-8", "replace")))

    def faults(self) -> Iterator[str]:
        stored, wanted = numpy.array(self._stored), numpy.array(self._wanted)
        found = numpy.isin(wanted, stored)
        for at in numpy.flatnonzero(~found):
            yield f"{self._where[at]}: refers to no stored response"


class _FileCheck:
    """Takes the records of one file in order and collects their faults."""

    def __init__(self, path: Path, pointers: _Pointers, faults: list[str]) -> None:
        self._name = path.name
        self._pointers = pointers
        self._faults = faults
        self._file_id: bytes | None = None
        self._held: list[Record] = []
        self._is_lost = False  # the rest of a damaged group is not told as well
        self._gzip_header = b""
        self.count = 0

    def take(self, record: Record) -> None:
        self.count += 1
        if record.fault:
            self._tell(record, record.fault)
            self._held, self._is_lost = [], True
            return
        if self.count == 1:
            self._file_id = own_id(record, self._name)
            self._gzip_header = record.gzip_header
            if record.kind != "warcinfo":
                self._tell(record, "the file does not begin with a warcinfo record")
        elif self._file_id is not None:
            self._take_own(record)
        # Nothing else covers these ten bytes.
        if self._file_id is not None and not self._gzip_header == record.gzip_header in _GZIP_HEADERS:
            self._tell(record, "its gzip header is not as it was written")
        for fault in digest_faults(record):
            self._tell(record, fault)
        if record.kind in ("response", "revisit") and record.is_http:
            self._pointers.add(record, f"{self._name} at byte {record.offset}")

    def _take_own(self, record: Record) -> None:
        if record.kind == "request":
            self.end()
            self._is_lost = False
        if self._is_lost:
            return
        self._held.append(record)
        if len(self._held) == 3:
            assert self._file_id is not None
            if not is_own_group(self._held, self._file_id, self._held[0].offset):
                self._tell(self._held[0], "its group is not request, answer and metadata as written here")
            self._held = []

    def end(self) -> None:
        if self._held:
            self._tell(self._held[0], "its group is not complete")
        self._held = []

    def _tell(self, record: Record, fault: str) -> None:
        if len(self._faults) < _MOST_FAULTS:
            kind = f" ({record.kind})" if record.kind else ""
            self._faults.append(f"{self._name} at byte {record.offset}{kind}: {fault}")


_GZIP_HEADERS = (PLAIN_MAGIC + b"\x00\xff", PLAIN_MAGIC + b"\x04\xff")


def verify(directory: Path, progress: Callable[[int, int], None] | None = None) -> VerifyReport:
    """Read every record of every file; `progress` is told bytes done and bytes in all, about once a megabyte."""
    paths = warc_files(directory)
    sizes = {path: path.stat().st_size for path in paths}
    total, before, records = sum(sizes.values()), 0, 0
    faults: list[str] = []
    pointers = _Pointers()
    for path in paths:
        check = _FileCheck(path, pointers, faults)
        told = before
        with path.open("rb") as file:
            is_live = is_being_written(file.fileno())  # then its last group may be on its way
            for record in iter_records(file, 0, sizes[path]):
                if record.is_torn and is_live:
                    break
                check.take(record)
                if progress and before + record.offset - told > _CHUNK:
                    told = before + record.offset
                    progress(told, total)
            if not is_live:
                check.end()
        if not sizes[path]:
            faults.append(f"{path.name}: empty")
        records += check.count
        before += sizes[path]
    if progress:
        progress(total, total)
    return VerifyReport(len(paths), records, total, faults + list(pointers.faults()))


def digest_faults(record: Record) -> Iterator[str]:
    block_digest = record.fields.get("warc-block-digest")
    if block_digest and not _holds(block_digest, record.block):
        yield "its block does not have the digest it was written with"
    payload_digest = record.fields.get("warc-payload-digest")
    if payload_digest and record.kind != "revisit" and not _holds(payload_digest, record.payload):
        yield "its payload does not have the digest it was written with"


def _holds(label: str, data: bytes) -> bool:
    algorithm, _, told = label.partition(":")
    name = _ALGORITHMS.get(algorithm.lower())
    if name is None:
        return True  # of a foreign file; nothing to compare with
    digest = new_hash(name, data, usedforsecurity=False).digest()
    return told.lower() == digest.hex() or told.upper() == base64.b32encode(digest).decode()
