"""Small bodies that grow: compressed streams of zeros, made as they are sent.

A full flush makes a deflate block independent of what came before, so one compressed megabyte can be sent a
thousand times and is never held more than once. A Zstandard frame of run-length blocks (RFC 8878) needs no
library at all: four bytes become 128 KiB. Brotli has no such seam and is compressed slice by slice.
"""

import asyncio
import struct
import zlib
from collections.abc import AsyncIterator
from importlib import import_module
from typing import Any

from lycosa.errors import LycosaError

_SLICE = 1 << 20
_RUN = 1 << 17
_ADLER = 65_521


async def gzip_zeros(size: int) -> AsyncIterator[bytes]:
    yield b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
    block, checksum = _deflate_slice(), 0
    for _ in range(size // _SLICE):
        yield block
        checksum = zlib.crc32(bytes(_SLICE), checksum)
        await asyncio.sleep(0)  # a checksum of a gigabyte takes a while: let others run
    yield b"\x03\x00" + struct.pack("<II", checksum, size // _SLICE * _SLICE & 0xFFFFFFFF)


async def deflate_zeros(size: int) -> AsyncIterator[bytes]:
    yield b"\x78\xda"
    block, slices = _deflate_slice(), size // _SLICE
    for _ in range(slices):
        yield block
    yield b"\x03\x00" + struct.pack(">I", (slices * _SLICE % _ADLER) << 16 | 1)


async def zstd_zeros(size: int, window_log: int = 20) -> AsyncIterator[bytes]:
    yield b"\x28\xb5\x2f\xfd\x00" + bytes(((window_log - 10) << 3,))
    runs = max(1, size // _RUN)
    block = (_RUN << 3 | 1 << 1).to_bytes(3, "little") + b"\0"
    for start in range(0, runs - 1, 1024):
        yield block * min(1024, runs - 1 - start)
    yield (_RUN << 3 | 1 << 1 | 1).to_bytes(3, "little") + b"\0"


async def brotli_zeros(size: int) -> AsyncIterator[bytes]:
    try:
        brotli: Any = import_module("brotli")  # only this beast needs it
    except ImportError as missing:
        raise LycosaError("The Brotli bomb needs the brotli package: install it or leave the beast out.") from missing
    squeeze = brotli.Compressor(quality=5)
    for _ in range(size // _SLICE):
        yield squeeze.process(bytes(_SLICE)) + squeeze.flush()
        await asyncio.sleep(0)
    yield squeeze.finish()


def _deflate_slice() -> bytes:
    """A megabyte of zeros as a block that can be repeated."""
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -15)
    return squeeze.compress(bytes(_SLICE)) + squeeze.flush(zlib.Z_FULL_FLUSH)
