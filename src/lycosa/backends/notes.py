"""Notes of the URLs that have rows: a look at one costs one or two microseconds, at a row four to ten.

They are a memory, not a record. A note that is missing costs a look at the row; so a note may be dropped whenever that
is simpler, and a directory without notes works. But a note of a URL that has no row would hide the URL for ever. So:

- A URL is noted after its row was written.
- A file says how many URLs its store had taken in when the last of its notes was new, and that is on the disk before
  the notes are. If it knows of more than the store does, there was a power cut, and it is thrown away.
- Each time they are opened, the files and the store get the same new epoch. Files of another one are thrown away: the
  store was used without them, or an older copy of it was put back.

For each filter of `crawl.seen` there is a file, made once for as many notes as the filter holds keys: buckets of 64
notes of 8 bytes, read with one call. New notes wait in a buffer in memory, which is looked at like a file. When it is
full another is begun, and while that one fills, the full one is swept into the file, from its first bucket to its last,
some with each call: each bucket is written once for many notes, and no call is long. What is in memory when the process
ends is forgotten.

A note is a hash with a secret of its file, so nobody can make up a URL that looks like another one.
"""

from __future__ import annotations

import os
import struct
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from lycosa.ports import Place

try:
    from lycosa import native
except ImportError:  # no compiler where it was installed: the rows tell what is known, slower
    native = None  # type: ignore[assignment]

_HEADS = "heads"  # the name of the file that tells of all others: a line for the epoch, then one for each
_LINE_BYTES = 64
_FIRST_LINE = struct.Struct("<8s16s")  # what this is, epoch
_LINE = struct.Struct("<QQ16s")  # URLs that the store had taken in, buckets, secret
_MAGIC = b"LYNOTES1"
_EPOCH_BYTES = _SECRET_BYTES = 16
_BUCKET_BYTES = 512
_MOST_BUCKETS = (1 << 32) - 1
_FILL = 48  # notes for which a bucket is made; it has room for 64
_MOST_FILES = 63  # of 32 M notes each; whatever is beyond has none
_HEADS_BYTES = (1 + _MOST_FILES) * _LINE_BYTES
_BUFFERED = 16  # a buffer has this part of its file's notes,
_MOST_BUFFERED = 1_000_000  # but no more than this
_LEAST_BUFFERED = 1_000
_CHUNK = 128  # buckets: too few to be worth a call before there are so many
_HASTE = 2  # a full buffer is swept while the next one is filled to a half


class _File(NamedTuple):
    descriptor: int
    buckets: int
    secret: bytes


_NO_FILE = _File(-1, 1, bytes(_SECRET_BYTES))


class _Buffer:
    """Notes that are not in their file yet: slots, half of them free, and the secret."""

    def __init__(self, place: Place, secret: bytes) -> None:
        self.place = place
        self.most = min(_MOST_BUFFERED, max(_LEAST_BUFFERED, place.capacity // _BUFFERED))
        self.held = (bytearray(2 * 8 * self.most), secret)
        self.count = 0


class NoteFiles:
    """Fulfils `ports.Notes`."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._epoch = b""
        self._heads = -1  # the descriptor of their file, once there is one
        self._files: list[tuple[int, int, bytes]] = []  # by the number of their place
        self._young: _Buffer | None = None
        self._full: _Buffer | None = None
        self._at = 0  # buckets of its file that were swept
        self._due = 0  # and that are to be

    # -- opening and closing -------------------------------------------------------------------------------------------

    def open(self, total: int, epoch: bytes) -> bytes:
        self._epoch = os.urandom(_EPOCH_BYTES)
        if native is not None and self._directory.is_dir():
            with suppress(OSError):  # what cannot be read or written now is of another epoch from now on
                self._open_all(total, epoch)
        return self._epoch

    def _open_all(self, total: int, epoch: bytes) -> None:
        self._open_heads()
        heads = os.pread(self._heads, _HEADS_BYTES, 0).ljust(_HEADS_BYTES, b"\0")
        is_ours = _FIRST_LINE.unpack_from(heads) == (_MAGIC, epoch)
        kept = bytearray(_HEADS_BYTES)
        _FIRST_LINE.pack_into(kept, 0, _MAGIC, self._epoch)
        for number in range(_MOST_FILES):
            at = _line_of(number)
            noted, buckets, secret = _LINE.unpack_from(heads, at)
            if is_ours and noted <= total and self._open_file(number, buckets, secret):
                kept[at : at + _LINE_BYTES] = heads[at : at + _LINE_BYTES]
            else:
                self._drop(number)
        os.pwrite(self._heads, kept, 0)
        os.fdatasync(self._heads)  # before the store has the new epoch: else it could vouch for what was dropped

    def _open_heads(self) -> None:
        self._heads = os.open(self._directory / _HEADS, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)

    def _open_file(self, number: int, buckets: int, secret: bytes) -> bool:
        try:
            descriptor = os.open(self._path(number), os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return False
        self._put(number, _File(descriptor, buckets, secret))
        return 0 < buckets <= _MOST_BUCKETS and os.fstat(descriptor).st_size == buckets * _BUCKET_BYTES

    def close(self) -> None:
        descriptors = [self._heads, *(descriptor for descriptor, _, _ in self._files)]
        self._heads, self._files, self._young, self._full = -1, [], None, None
        for descriptor in descriptors:
            _close(descriptor)

    # -- asking and adding ---------------------------------------------------------------------------------------------

    def find(self, urls: list[str], places: list[int]) -> list[bool]:
        if native is None:
            return [False] * len(urls)
        buffers = [buffer.held for buffer in (self._young, self._full) if buffer is not None]
        return native.find_notes(buffers, self._files, urls, places)

    def add(self, urls: list[str], place: Place, total: int) -> None:
        if native is None or place.number >= _MOST_FILES:
            return
        while urls:
            young = self._young
            if young is None or young.place != place:
                young = self._begin(place, total)
            some, urls = urls[: young.most - young.count], urls[young.most - young.count :]
            young.count += native.add_notes(young.held, some)
            if young.count >= young.most:
                self._set_aside(young, total)
            if self._full is not None:
                self._sweep(self._full, len(some))

    def _begin(self, place: Place, total: int) -> _Buffer:
        """Note what belongs to another place from now on."""
        if self._young is not None and self._young.count:
            self._set_aside(self._young, total)
        has_file = self._has(place.number)
        secret = self._files[place.number][2] if has_file else os.urandom(_SECRET_BYTES)
        self._young = _Buffer(place, secret)
        return self._young

    def _set_aside(self, young: _Buffer, total: int) -> None:
        """A buffer is full: it is to be swept, and another begun."""
        if self._full is not None:
            self._sweep(self._full, self._full.most)
        self._young = _Buffer(young.place, young.held[1])
        try:
            self._prepare(young, total)
        except OSError:
            self._drop(young.place.number)
        else:
            self._full, self._at, self._due = young, 0, 0

    def _prepare(self, young: _Buffer, total: int) -> None:
        """Have it on the disk how many URLs the store has, before there are notes of the last of them."""
        number, secret = young.place.number, young.held[1]
        if self._heads < 0:
            self._directory.mkdir(exist_ok=True)
            self._open_heads()
            os.pwrite(self._heads, _FIRST_LINE.pack(_MAGIC, self._epoch).ljust(_HEADS_BYTES, b"\0"), 0)
        if not self._has(number):
            self._make(number, -(-young.place.capacity // _FILL), secret)
        line = _LINE.pack(total, self._files[number][1], secret)
        os.pwrite(self._heads, line, _line_of(number))
        os.fdatasync(self._heads)

    def _make(self, number: int, buckets: int, secret: bytes) -> None:
        descriptor = os.open(self._path(number), os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
        self._put(number, _File(descriptor, buckets, secret))
        os.ftruncate(descriptor, buckets * _BUCKET_BYTES)

    def _sweep(self, full: _Buffer, added: int) -> None:
        """Write notes into as many buckets as it takes to be through in time."""
        file = self._files[full.place.number]
        buckets = file[1]
        self._due = min(buckets, self._due + -(-buckets * added * _HASTE // full.most))
        if self._due - self._at < _CHUNK and self._due < buckets:
            return
        try:
            native.sweep_notes(full.held, file, self._at, self._due)
        except OSError:
            self._drop(full.place.number)
        else:
            self._at = self._due
            if self._at == buckets:
                self._full = None

    # -- files ---------------------------------------------------------------------------------------------------------

    def _drop(self, number: int) -> None:
        """Go on without a file that is of no use, or cannot be written; a full disk is told by the store."""
        if self._full is not None and self._full.place.number == number:
            self._full = None
        if self._has(number):
            descriptor, self._files[number] = self._files[number][0], _NO_FILE
            _close(descriptor)
        with suppress(OSError):
            self._path(number).unlink(missing_ok=True)

    def _has(self, number: int) -> bool:
        return number < len(self._files) and self._files[number] is not _NO_FILE

    def _put(self, number: int, file: _File) -> None:
        self._files += [_NO_FILE] * (number + 1 - len(self._files))
        self._files[number] = file

    def _path(self, number: int) -> Path:
        return self._directory / f"{number:02d}.notes"


def _line_of(number: int) -> int:
    """Where the heads tell of a file."""
    return (1 + number) * _LINE_BYTES


def _close(descriptor: int) -> None:
    if descriptor >= 0:
        with suppress(OSError):  # it is closed all the same
            os.close(descriptor)
