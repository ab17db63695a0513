"""Frames on a stream: four bytes of length, then so many bytes. Whoever sends one that is too long is cut off."""

from __future__ import annotations

from collections.abc import Iterator

LONGEST = 64 << 20


class TooLong(ValueError):
    """A frame that nobody of ours sends."""


def framed(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


class Unframer:
    """Takes bytes as they come, gives frames as they are complete."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        self._buffer += data
        start = 0
        try:
            while len(self._buffer) - start >= 4:
                length = int.from_bytes(self._buffer[start : start + 4], "big")
                if length > LONGEST:
                    raise TooLong(f"a frame of {length} bytes")
                if len(self._buffer) - start - 4 < length:
                    break
                yield bytes(self._buffer[start + 4 : start + 4 + length])
                start += 4 + length
        finally:
            del self._buffer[:start]
