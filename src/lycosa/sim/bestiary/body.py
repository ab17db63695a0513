"""Bodies that are late, endless, cut, or not as long as they say (RFC 9112 6 to 8)."""

from lycosa.sim.bestiary.beast import OK, Beast, Line, drip, flood, say
from lycosa.sim.world import Request

_CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
_PARAGRAPH = b"<p>and so it goes on and on</p>\n" * 512  # 16 KiB
_CHUNK = b"%x\r\n%s\r\n" % (len(_PARAGRAPH), _PARAGRAPH)


async def _slow_headers(line: Line, request: Request) -> None:
    await line.send(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while True:
        await drip(line, b"z")


async def _slow_body(line: Line, request: Request) -> None:
    await line.send(OK + b"Content-Length: 1000000\r\n\r\n")
    while True:
        await drip(line, b"z")


async def _endless_chunked(line: Line, request: Request) -> None:
    await line.send(_CHUNKED)
    await flood(line, _CHUNK)


async def _endless_close(line: Line, request: Request) -> None:
    await line.send(OK + b"\r\n")
    await flood(line, _PARAGRAPH)


async def _chunk_ext_bomb(line: Line, request: Request) -> None:
    await line.send(_CHUNKED + b"5;pad=")
    await flood(line, b"x" * 16_384)


async def _chunk_trailer_bomb(line: Line, request: Request) -> None:
    await line.send(_CHUNKED + b"5\r\nhello\r\n0\r\n")
    await flood(line, b"X-Trailer: and one more\r\n" * 512)


async def _reset_mid(line: Line, request: Request) -> None:
    await line.send(OK + b"Content-Length: 100000\r\n\r\n" + b"z" * 1000)
    await line.pause(line.pace.breath_s)  # let the client read some of it first
    line.reset()


BODY = (
    Beast(
        "slow-headers",
        "body",
        "Sends one byte of a header every ten seconds.",
        "A deadline for the head as a whole ends it; the slot is freed.",
        _slow_headers,
    ),
    Beast(
        "slow-body",
        "body",
        "Sends one byte of the body every ten seconds.",
        "A total deadline or a least rate ends it; a part is kept only if marked as cut by time.",
        _slow_body,
    ),
    Beast(
        "endless-chunked",
        "body",
        "Sends chunks for ever.",
        "Reading stops at the size limit and the page is marked as cut by length.",
        _endless_chunked,
    ),
    Beast(
        "endless-close",
        "body",
        "Gives no length and never closes.",
        "Reading stops at the size limit.",
        _endless_close,
    ),
    Beast(
        "cl-too-long",
        "body",
        "Promises 5,000 bytes, sends 20 and closes.",
        "Counted as incomplete and tried again; never stored as whole.",
        say(OK + b"Content-Length: 5000\r\n\r\n" + b"<p>that was it</p>\r\n"),
    ),
    Beast(
        "cl-too-short",
        "body",
        "Sends a second, forged answer after the length it gave.",
        "Exactly the given length is read and the connection is not used again.",
        say(
            OK + b"Content-Length: 12\r\n\r\n<p>hello</p>" + OK + b"Content-Length: 6\r\n\r\nforged",
            keep=True,
        ),
    ),
    Beast(
        "cl-duplicate",
        "body",
        "Gives two lengths that differ.",
        "The answer is refused and the connection closed.",
        say(OK + b"Content-Length: 12\r\nContent-Length: 5\r\n\r\n<p>hello</p>"),
    ),
    Beast(
        "cl-and-te",
        "body",
        "Gives a length and sends chunks.",
        "The chunks count and the connection is closed afterwards.",
        say(
            OK + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\nc\r\n<p>hello</p>\r\n0\r\n\r\n",
            keep=True,
        ),
    ),
    Beast(
        "cl-negative",
        "body",
        "Gives a length below zero.",
        "The answer is refused; nothing crashes.",
        say(OK + b"Content-Length: -1\r\n\r\n<p>hello</p>"),
    ),
    Beast(
        "cl-word",
        "body",
        "Gives a word for a length.",
        "The answer is refused; nothing crashes.",
        say(OK + b"Content-Length: abc\r\n\r\n<p>hello</p>"),
    ),
    Beast(
        "bad-chunk-size",
        "body",
        "Gives a chunk size that is no number.",
        "An error of this URL and of nothing else.",
        say(_CHUNKED + b"zz\r\nhello\r\n0\r\n\r\n"),
    ),
    Beast(
        "bad-chunk-size-huge",
        "body",
        "Gives a chunk size of seventeen digits.",
        "An error of this URL; no attempt to reserve that much.",
        say(_CHUNKED + b"fffffffffffffffff\r\nhello\r\n0\r\n\r\n"),
    ),
    Beast(
        "chunk-cut",
        "body",
        "Closes before the last chunk.",
        "Counted as incomplete and tried again.",
        say(_CHUNKED + b"c\r\n<p>hello</p>\r\n"),
    ),
    Beast(
        "chunk-ext-bomb",
        "body",
        "Writes megabytes of extension after a chunk size.",
        "Cut off at a small limit.",
        _chunk_ext_bomb,
    ),
    Beast(
        "chunk-trailer-bomb",
        "body",
        "Writes trailers without end after the last chunk.",
        "Cut off at a small limit.",
        _chunk_trailer_bomb,
    ),
    Beast(
        "reset-mid",
        "body",
        "Resets the connection in the middle of the body.",
        "Tried again later, a few times at most.",
        _reset_mid,
    ),
    Beast(
        "no-length-close",
        "body",
        "Gives no length and ends the body by closing.",
        "Accepted as a whole page.",
        say(b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n<p>the old way</p>\n"),
    ),
)
