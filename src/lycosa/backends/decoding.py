"""Content codings undone as the bytes arrive (RFC 9110 8.4): gzip, deflate with and without its wrapping, br, zstd.

Nothing a server sends makes this take more than the caps: the decoded bytes and those between two layers stay under
the limit given and under a ratio to what was received, windows of zstd under 8 MB, layers under four. Output is made
in pieces, so a bomb is noticed after a piece and not after a gigabyte.

Bytes that are not what the header says are no error. Unknown codings, too many layers, and a stream that is wrong
from its first byte on ("says gzip, is not") leave the body as it was received. A stream that stops short or breaks
later gives what could be decoded, and says that it is not whole. Never raises for what a server sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple, Protocol

import brotli
import zstandard
from isal import isal_zlib

MOST_RATIO = 200
FREE_BYTES = 1_000_000  # decoded whatever the ratio
MOST_LAYERS = 3
_PIECE = 65_536
_MOST_SALVAGED = 2 * _PIECE  # byte by byte takes its time, 2 µs each
_MOST_MEMBERS = 10_000  # even an empty one costs some
_WINDOW = 8 << 20
_ZSTD_SLICE = 512  # 4 bytes of zstd can become 128 KiB, and its decoder takes no limit: so little in at a time
_GZIP_MAGIC, _ZSTD_MAGIC = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_ISAL_ERROR: Any = isal_zlib.error  # its type stub calls it an instance
_ERRORS: tuple[type[Exception], ...] = (_ISAL_ERROR, brotli.error, zstandard.ZstdError)


class Decoded(NamedTuple):
    """What came of a body."""

    body: bytes
    state: str
    """`whole`, `cut` (the stream stopped short or broke), `full` (a cap was reached) or `as-is` (not decoded)."""


class _Stream(Protocol):
    def feed(self, data: bytes) -> Iterator[bytes]:
        """Pieces of what is inside; raises one of `_ERRORS` when the stream is broken."""

    @property
    def is_done(self) -> bool: ...

    @property
    def rest(self) -> bytes:
        """What came after its end."""


class _Inflate:
    """One gzip member or one deflate stream; `wbits` as zlib has it."""

    def __init__(self, wbits: int) -> None:
        self._stream = isal_zlib.decompressobj(wbits)

    def feed(self, data: bytes) -> Iterator[bytes]:
        is_filled = True
        while (data or is_filled) and not self._stream.eof:
            piece = self._stream.decompress(data, _PIECE)
            data, is_filled = self._stream.unconsumed_tail, len(piece) == _PIECE
            yield piece

    @property
    def is_done(self) -> bool:
        return bool(self._stream.eof)

    @property
    def rest(self) -> bytes:
        return bytes(self._stream.unused_data)


class _Zstd:
    """One frame."""

    def __init__(self) -> None:
        self._stream = zstandard.ZstdDecompressor(max_window_size=_WINDOW).decompressobj()
        self._after = b""

    def feed(self, data: bytes) -> Iterator[bytes]:
        for at in range(0, len(data), _ZSTD_SLICE):
            yield self._stream.decompress(data[at : at + _ZSTD_SLICE])
            if self._stream.eof:
                self._after = data[at + _ZSTD_SLICE :]
                return

    @property
    def is_done(self) -> bool:
        return bool(self._stream.eof)

    @property
    def rest(self) -> bytes:
        return bytes(self._stream.unused_data) + self._after


class _Brotli:
    def __init__(self) -> None:
        self._stream = brotli.Decompressor()

    def feed(self, data: bytes) -> Iterator[bytes]:
        piece = self._stream.process(data, output_buffer_limit=_PIECE)
        yield piece
        # A piece of full size may not be all that the input holds, even if all of the input was taken.
        while not self.is_done and (len(piece) >= _PIECE or not self._stream.can_accept_more_data()):
            piece = self._stream.process(b"", output_buffer_limit=_PIECE)
            yield piece

    @property
    def is_done(self) -> bool:
        return bool(self._stream.is_finished())

    @property
    def rest(self) -> bytes:
        return b""


class _Layer:
    """One coding: a stream, and as many more of its kind as follow it (gzip members, zstd frames)."""

    def __init__(self, begin: Callable[[bytes], _Stream], magic: bytes, needs: int = 0) -> None:
        self._begin, self._magic, self._needs = begin, magic, needs
        self._stream: _Stream | None = None
        self._held = b""  # too little to tell what it is
        self._members = 0
        self._is_over = False

    @property
    def is_done(self) -> bool:
        return self._stream is not None and self._stream.is_done

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Pieces of what is inside; raises one of `_ERRORS` when the stream is broken."""
        data, self._held = self._held + data, b""
        while data and not self._is_over:
            if self._stream is None or self._stream.is_done:
                is_next = self._stream is not None
                if len(data) < (len(self._magic) if is_next else self._needs):
                    self._held = data
                    return
                if self._members >= _MOST_MEMBERS or (is_next and not self._follows(data)):
                    self._is_over = True  # padding after the end
                    return
                self._stream = self._begin(data)
                self._members += 1
            yield from self._stream.feed(data)
            data = self._stream.rest if self._stream.is_done else b""

    def _follows(self, data: bytes) -> bool:
        """Is this another stream of the same kind?"""
        return bool(self._magic) and data.startswith(self._magic)


def _begin_deflate(start: bytes) -> _Stream:
    """With the wrapping of zlib (RFC 1950) that the name means, or bare (RFC 1951) as some servers took it."""
    is_zlib = start[0] & 0x0F == 8 and int.from_bytes(start[:2], "big") % 31 == 0
    return _Inflate(15 if is_zlib else -15)


_MAGIC = {"gzip": _GZIP_MAGIC, "x-gzip": _GZIP_MAGIC, "zstd": _ZSTD_MAGIC}
_LAYERS: dict[str, Callable[[], _Layer]] = {
    "gzip": lambda: _Layer(lambda start: _Inflate(31), _GZIP_MAGIC),
    "x-gzip": lambda: _Layer(lambda start: _Inflate(31), _GZIP_MAGIC),
    "deflate": lambda: _Layer(_begin_deflate, b"", needs=2),
    "br": lambda: _Layer(lambda start: _Brotli(), b""),
    "zstd": lambda: _Layer(lambda start: _Zstd(), _ZSTD_MAGIC),
}


def read_codings(values: list[str]) -> tuple[str, ...] | None:
    """The codings of Content-Encoding fields, in the order applied; None if they cannot be undone."""
    names = [name.strip().lower() for value in values for name in value.split(",")]
    found = tuple(name for name in names if name not in ("", "identity"))
    known = len(found) <= MOST_LAYERS and all(name in _LAYERS for name in found)
    return found if known else None


class Decoder:
    """Undoes a stack of codings under caps."""

    def __init__(self, codings: tuple[str, ...], max_bytes: int) -> None:
        self._codings = codings
        self._max_bytes, self._received = max_bytes, 0
        self._first: list[bytes] = []  # the input, until something came of it
        self._decoded = bytearray()  # not a list: tiny pieces would take many times their size
        self._is_broken = self.is_full = False
        self._begin()

    def _begin(self) -> None:
        self._layers = [_LAYERS[name]() for name in reversed(self._codings)]
        self._produced = [0] * len(self._layers)

    def feed(self, data: bytes) -> bool:
        """Take some bytes; False when a cap is reached and more would be in vain."""
        if self._is_broken or self.is_full:
            return not self.is_full
        self._received += len(data)
        if not self._decoded and self._received <= _MOST_SALVAGED:
            self._first.append(data)
        try:
            self._push(0, data)
        except _ERRORS:
            self._is_broken = True
            self._salvage()
        return not self.is_full

    def finish(self, payload: bytes) -> Decoded:
        """What came of all that was fed, which was `payload`."""
        body = bytes(self._decoded)
        if self.is_full:
            return Decoded(body, "full")
        if not payload:
            return Decoded(b"", "whole")  # servers name a coding for empty bodies too
        if not body and (self._is_broken or not payload.startswith(_MAGIC.get(self._codings[-1], b""))):
            return Decoded(payload, "as-is")
        is_whole = not self._is_broken and all(layer.is_done for layer in self._layers)
        return Decoded(body, "whole" if is_whole else "cut")

    def _push(self, depth: int, data: bytes) -> None:
        for piece in self._layers[depth].feed(data):
            self._produced[depth] += len(piece)
            room = self._room() - self._produced[depth]
            if depth + 1 < len(self._layers):
                self._push(depth + 1, piece)
            else:
                self._decoded += piece if room >= 0 else piece[: max(0, len(piece) + room)]
            if room < 0:
                self.is_full = True
            if self.is_full:
                return

    def _room(self) -> int:
        return min(self._max_bytes, MOST_RATIO * self._received + FREE_BYTES)

    def _salvage(self) -> None:
        """Get out what lies before the fault: a wrong checksum or a byte too many should not cost a page.

        Decoders keep their output to themselves when they fail, so the beginning is fed again, byte by byte.
        """
        if self._decoded or self._received > _MOST_SALVAGED:
            return
        self._begin()
        data = b"".join(self._first)
        with suppress(*_ERRORS):
            for at in range(len(data)):
                self._push(0, data[at : at + 1])
                if self.is_full:
                    return
