"""Content codings that explode, nest, lie or stop short (RFC 9110 8.4)."""

import gzip
import zlib
from collections.abc import AsyncIterator, Callable

from lycosa.sim.bestiary.beast import OK, Beast, Line, Serve, say
from lycosa.sim.bestiary.bombs import brotli_zeros, deflate_zeros, gzip_zeros, zstd_zeros
from lycosa.sim.world import Request

_PAGE = b"<!DOCTYPE html>\n<title>Coded</title>\n" + b"<p>one line like every other</p>\n" * 200
_LAYERS = 100
_HUGE_WINDOW_LOG = 31  # 2 GiB


def _drop(coding: str, make: Callable[[int], AsyncIterator[bytes]]) -> Serve:
    """Send a stream that grows to `bomb_bytes` when decoded."""

    async def serve(line: Line, request: Request) -> None:
        await line.send(OK + f"Content-Encoding: {coding}\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        async for part in make(line.pace.bomb_bytes):
            if part:
                await line.send(b"%x\r\n%s\r\n" % (len(part), part))
        await line.send(b"0\r\n\r\n")

    return serve


def _coded(coding: str, body: bytes) -> Serve:
    return say(OK + f"Content-Encoding: {coding}\r\nContent-Length: {len(body)}\r\n\r\n".encode(), body, keep=True)


async def _nested(line: Line, request: Request) -> None:
    body = _PAGE
    for _ in range(_LAYERS):
        body = gzip.compress(body, 1, mtime=0)
    await _coded(", ".join(["gzip"] * _LAYERS), body)(line, request)


def _raw_deflate() -> bytes:
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -15)
    return squeeze.compress(_PAGE) + squeeze.flush()


ENCODING = (
    Beast(
        "gzip-bomb",
        "encoding",
        "Sends a megabyte of gzip that becomes a gigabyte.",
        "Decoded piece by piece, and stopped at a limit of size or ratio.",
        _drop("gzip", gzip_zeros),
    ),
    Beast(
        "deflate-bomb",
        "encoding",
        "Sends a megabyte of deflate that becomes a gigabyte.",
        "Decoded piece by piece, and stopped at a limit of size or ratio.",
        _drop("deflate", deflate_zeros),
    ),
    Beast(
        "br-bomb",
        "encoding",
        "Sends a little Brotli that becomes a gigabyte.",
        "Decoded piece by piece, and stopped at a limit of size or ratio.",
        _drop("br", brotli_zeros),
    ),
    Beast(
        "zstd-bomb",
        "encoding",
        "Sends 32 KB of Zstandard that become a gigabyte.",
        "Decoded piece by piece, and stopped at a limit of size or ratio.",
        _drop("zstd", zstd_zeros),
    ),
    Beast(
        "zstd-window",
        "encoding",
        "Asks for a Zstandard window of 2 GiB.",
        "Refused: windows over 8 MB are not for the web.",
        _drop("zstd", lambda size: zstd_zeros(1 << 17, _HUGE_WINDOW_LOG)),
    ),
    Beast(
        "nested-encoding",
        "encoding",
        "Compresses a page a hundred times over, and says so.",
        "Refused beyond a handful of layers.",
        _nested,
    ),
    Beast(
        "ce-lie",
        "encoding",
        "Says gzip and sends plain text.",
        "Read as it is, or this URL fails; nothing crashes.",
        _coded("gzip", _PAGE),
    ),
    Beast(
        "gzip-cut",
        "encoding",
        "Sends a gzip stream without its second half.",
        "What could be decoded is kept and marked as cut.",
        _coded("gzip", gzip.compress(_PAGE, 6, mtime=0)[:60]),
    ),
    Beast(
        "deflate-raw",
        "encoding",
        "Sends deflate without the zlib wrapping.",
        "Both forms are understood.",
        _coded("deflate", _raw_deflate()),
    ),
)
