"""Notes of the URLs that have rows: a look at one costs a microsecond, at a row among millions ten.

They are a memory, not a record. A note that is missing costs a look at the row; so a note may be dropped whenever that
is simpler, and a directory without notes works. But a note of a URL that has no row would hide the URL for ever. So
notes are kept only after their rows, and a file says how many URLs its store had taken in when the last of its notes
was new. That is on the disk before the notes are, and a file that knows of more URLs than its store does (there was a
power cut, or an older copy of the store was put back) is thrown away.

For each filter of `crawl.seen` there is a file, made once for as many notes as the filter holds keys: a head, then
buckets of 64 notes of 8 bytes, read with one call. New notes wait in a buffer in memory, which is found like a file.
When it is full another is begun, and while that one fills the full one is swept into the file, from its first bucket to
its last, some with each call: no write is long, and each bucket is written once for many notes. What is in memory
when the process ends is forgotten.

A note is a hash with a secret of its file, so nobody can make up a URL that looks like another one.
"""

from __future__ import annotations

import os
import struct
from contextlib import suppress
from pathlib import Path

from lycosa.ports import Place

try:
    from lycosa import native
except ImportError:  # no compiler where it was installed: the rows tell what is known, slower
    native = None  # type: ignore[assignment]

_HEAD = struct.Struct("<8sQQ24s")  # what it is, URLs that the store had taken in, buckets, secret
_MAGIC = b"LYNOTES1"
_BUCKET_BYTES = 512
_FILL = 48  # notes for which a bucket is made; it has room for 64
_MOST_FILES = 64  # of 32 M notes each; whatever is beyond has none
_BUFFERED = 16  # a buffer has this part of its file's notes,
_MOST_BUFFERED = 1_000_000  # but no more than this
_LEAST_BUFFERED = 1_000
_CHUNK = 128  # buckets: too few to be worth a call before there are so many
_HASTE = 2  # a full buffer is swept while the next one is filled to a half
_NO_FILE = (-1, 1, bytes(24))


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
        self._files: list[tuple[int, int, bytes]] = []  # descriptor, buckets and secret, by the number of the place
        self._young: _Buffer | None = None
        self._full: _Buffer | None = None
        self._at = 0  # buckets of its file that were swept
        self._due = 0  # and that are to be

    def open(self, total: int) -> None:
        """Use the notes that are there. `total` is how many URLs the store has taken in so far."""
        for number in range(_MOST_FILES) if native is not None else ():
            self._open(number, total)

    def _open(self, number: int, total: int) -> None:
        path = self._path(number)
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return
        magic, noted, buckets, secret = _HEAD.unpack(os.pread(descriptor, _HEAD.size, 0).ljust(_HEAD.size, b"\0"))
        if magic == _MAGIC and noted <= total and os.fstat(descriptor).st_size == (buckets + 1) * _BUCKET_BYTES:
            self._put(number, (descriptor, buckets, secret))
        else:
            os.close(descriptor)
            path.unlink()

    def find(self, keys: list[bytes], checks: list[bytes], places: list[int]) -> list[bool]:
        if native is None:
            return [False] * len(keys)
        buffers = [buffer.held for buffer in (self._young, self._full) if buffer is not None]
        return native.find_notes(buffers, self._files, keys, checks, places)

    def add(self, keys: list[bytes], checks: list[bytes], place: Place, total: int) -> None:
        if native is None or place.number >= _MOST_FILES:
            return
        young = self._young
        if young is None or young.place != place:
            young = self._begin(place, total)
        young.count += native.add_notes(young.held, keys, checks)
        if young.count >= young.most:
            self._set_aside(young, total)
        if self._full is not None:
            self._sweep(self._full, len(keys))

    def _begin(self, place: Place, total: int) -> _Buffer:
        """Note what belongs to another place from now on."""
        if self._young is not None:
            self._set_aside(self._young, total)
        known = self._files[place.number] if place.number < len(self._files) else _NO_FILE
        secret = known[2] if known is not _NO_FILE else os.urandom(24)
        self._young = _Buffer(place, secret)
        return self._young

    def _set_aside(self, young: _Buffer, total: int) -> None:
        """A buffer is full: it is to be swept, and another begun."""
        if self._full is not None:
            self._sweep(self._full, self._full.most)
        self._young = _Buffer(young.place, young.held[1])
        try:
            self._head(young, total)
        except OSError:
            self._drop(young.place.number)
        else:
            self._full, self._at, self._due = young, 0, 0

    def _head(self, young: _Buffer, total: int) -> None:
        """Have the file say how many URLs its store has, before it gets notes of the last of them."""
        number, secret = young.place.number, young.held[1]
        if number >= len(self._files) or self._files[number] is _NO_FILE:
            self._directory.mkdir(exist_ok=True)
            descriptor = os.open(self._path(number), os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
            self._put(number, (descriptor, -(-young.place.capacity // _FILL), secret))
        descriptor, buckets, _ = self._files[number]
        os.ftruncate(descriptor, (buckets + 1) * _BUCKET_BYTES)
        os.pwrite(descriptor, _HEAD.pack(_MAGIC, total, buckets, secret), 0)
        os.fdatasync(descriptor)

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

    def _drop(self, number: int) -> None:
        """Go on without a file that cannot be written; a full disk is told by the store."""
        if self._full is not None and self._full.place.number == number:
            self._full = None
        if number < len(self._files) and self._files[number] is not _NO_FILE:
            os.close(self._files[number][0])
            self._files[number] = _NO_FILE
        with suppress(OSError):
            self._path(number).unlink()

    def close(self) -> None:
        for file in self._files:
            if file is not _NO_FILE:
                os.close(file[0])
        self._files, self._young, self._full = [], None, None

    def _put(self, number: int, file: tuple[int, int, bytes]) -> None:
        self._files += [_NO_FILE] * (number + 1 - len(self._files))
        self._files[number] = file

    def _path(self, number: int) -> Path:
        return self._directory / f"{number:02d}.notes"
