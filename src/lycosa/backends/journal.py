"""A journal: numbered entries in files that only grow, until they are no longer needed.

    NAME-FIRST.log      a segment: its version, then entries FIRST, FIRST + 1, …, each as length, CRC-32 and bytes

What `append` returned from survives the death of the process; what was appended before `sync` returned survives the
death of the machine. A torn or damaged tail is cut when the journal is opened, and so is what its owner does not
acknowledge. Readers need no lock: they see whole entries, as far as there are any.
"""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from isal.isal_zlib import crc32

from lycosa.errors import LycosaError

_VERSION = b"lycosa journal 1\n"
_HEAD = struct.Struct("<II")
_LONGEST_ENTRY = 256 << 20
_READ_BYTES = 1 << 20  # at once: each time costs a wait for the interpreter


class JournalTrouble(LycosaError):
    """A journal that cannot be written."""


class _Segment(NamedTuple):
    first: int
    path: Path


class Journal:
    """Fulfils `ports.Journal`. `last` is the number of the last entry that counts: what is beyond it is cut."""

    def __init__(self, directory: Path, name: str, last: int) -> None:
        self._directory = directory
        self._name = name
        self._fd = -1
        self._end = 0
        directory.mkdir(parents=True, exist_ok=True)
        self.found = self._cut_to(last)  # the last entry there was: less than `last` only after a power cut
        self.last = last

    def append(self, entry: bytes) -> int:
        """Write an entry; its number. On JournalTrouble nothing of it is left."""
        if self._fd < 0:
            self._open()
        head, size = _HEAD.pack(len(entry), crc32(entry)), _HEAD.size + len(entry)
        try:
            written = os.writev(self._fd, (head, entry))
            while written < size:
                written += os.write(self._fd, (head + entry)[written:])
        except OSError as error:
            os.ftruncate(self._fd, self._end)
            raise self._trouble(error) from error
        self._end += size
        self.last += 1
        return self.last

    @property
    def open_bytes(self) -> int:
        """The size of the segment that is being written."""
        return self._end

    def seal(self) -> int:
        """Begin another segment with the next entry; the number of the last one before it."""
        self.sync()
        self.close()
        return self.last

    def sync(self) -> None:
        if self._fd >= 0:
            try:
                os.fdatasync(self._fd)
            except OSError as error:
                raise self._trouble(error) from error

    def read(self, after: int, until: int) -> Iterator[tuple[int, bytes]]:
        """As `read_journal`; what was checked when we opened, or written since, is not checked again."""
        return read_journal(self._directory, self._name, after, until, is_checked=True)

    def drop_to(self, last: int) -> None:
        """Remove the sealed segments that hold nothing beyond entry `last`."""
        segments = _segments(self._directory, self._name)
        for number, segment in enumerate(segments):
            end = segments[number + 1].first - 1 if number + 1 < len(segments) else self.last
            is_open = self._fd >= 0 and number + 1 == len(segments)
            # One that begins beyond `last` may just have been begun, in another thread than this one.
            if segment.first <= last and end <= last and not is_open:
                segment.path.unlink(missing_ok=True)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd, self._end = -1, 0

    def _open(self) -> None:
        path = self._directory / f"{self._name}-{self.last + 1:012d}.log"
        try:
            self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o666)
            self._end = os.write(self._fd, _VERSION)
            if self._end < len(_VERSION):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            self.close()  # or the next entry would follow half a beginning: as it is, the file is begun anew
            raise self._trouble(error) from error

    def _cut_to(self, last: int) -> int:
        found = 0
        for segment in _segments(self._directory, self._name):
            number, end = segment.first - 1, len(_VERSION)
            with segment.path.open("rb") as file:
                for entry in _entries_of(file):
                    if number >= last:
                        break
                    number += 1
                    end += _HEAD.size + len(entry)
            if number < segment.first:
                segment.path.unlink()
            else:
                os.truncate(segment.path, end)
                found = max(found, number)
        return found

    def _trouble(self, error: OSError) -> JournalTrouble:
        return JournalTrouble(
            f"cannot write in {self._directory}: {error.strerror or error}; make room there and start the crawl again"
        )


def read_journal(
    directory: Path, name: str, after: int, until: int, *, is_checked: bool = False
) -> Iterator[tuple[int, bytes]]:
    """The entries `after` < number <= `until`, as far as they are there and whole."""
    segments = _segments(directory, name)
    for place, segment in enumerate(segments):
        if segment.first > until or (place + 1 < len(segments) and segments[place + 1].first - 1 <= after):
            continue
        try:
            file = segment.path.open("rb", _READ_BYTES)
        except FileNotFoundError:  # it was no longer needed, meanwhile
            continue
        with file:
            for number, entry in enumerate(_entries_of(file, is_checked=is_checked), segment.first):
                if after < number <= until:
                    yield number, entry


def list_segments(directory: Path, name: str) -> list[tuple[int, Path]]:
    """The files of a journal, each with the number of its first entry."""
    return [(segment.first, segment.path) for segment in _segments(directory, name)]


def read_segment(path: Path, offset: int) -> Iterator[tuple[int, bytes]]:
    """The whole entries of one file from an offset on (0 is its beginning), each with the offset behind it."""
    with path.open("rb") as file:
        if offset:
            file.seek(offset)
        at = offset or len(_VERSION)
        for entry in _entries_of(file, is_begun=bool(offset)):
            at += _HEAD.size + len(entry)
            yield at, entry


def _segments(directory: Path, name: str) -> list[_Segment]:
    found = [_Segment(int(path.stem.rpartition("-")[2]), path) for path in directory.glob(f"{name}-*.log")]
    return sorted(found)


def _entries_of(file: BinaryIO, *, is_begun: bool = False, is_checked: bool = False) -> Iterator[bytes]:
    version = _VERSION if is_begun else file.read(len(_VERSION))
    if not any(version):
        return  # not even the beginning: zeros are what a power failure leaves
    if version != _VERSION and len(version) == len(_VERSION):
        raise JournalTrouble(f"{file.name} was written by another version of Lycosa: use that one to end the crawl")
    while len(head := file.read(_HEAD.size)) == _HEAD.size:
        length, check = _HEAD.unpack(head)
        entry = file.read(length) if length <= _LONGEST_ENTRY else b""
        if len(entry) < length or (not is_checked and crc32(entry) != check):
            return
        yield entry
