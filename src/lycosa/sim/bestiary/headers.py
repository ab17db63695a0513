"""Heads that are huge, malformed, missing or untrue (RFC 9110 5, RFC 9112 2 to 5)."""

from lycosa.sim.bestiary.beast import OK, Beast, Line, flood, say
from lycosa.sim.world import Request

_BODY = b"<p>hello</p>"
_LENGTH = b"Content-Length: 12\r\n\r\n" + _BODY
_PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)) * 8
_COOKIES = 5000


async def _header_bomb(line: Line, request: Request) -> None:
    await line.send(OK)
    for start in range(0, 100_000, 1000):
        await line.send(b"".join(b"X-Filler-%d: yes\r\n" % n for n in range(start, start + 1000)))
    await line.send(_LENGTH)


async def _header_bomb_long(line: Line, request: Request) -> None:
    await line.send(OK + b"X-Long: ")
    for _ in range(640):
        await line.send(b"y" * 16_384)
    await line.send(b"\r\n" + _LENGTH)


async def _header_endless(line: Line, request: Request) -> None:
    await line.send(OK)
    await flood(line, b"X-More: and more\r\n" * 512)


async def _cookie_flood(line: Line, request: Request) -> None:
    await line.send(OK)
    for start in range(0, _COOKIES, 500):
        await line.send(b"".join(b"Set-Cookie: c%d=%s\r\n" % (n, b"v" * 200) for n in range(start, start + 500)))
    await line.send(b"Set-Cookie: big=" + b"v" * 1_000_000 + b"\r\n" + _LENGTH)


def _status(code: str) -> bytes:
    return f"HTTP/1.1 {code} Whatever\r\nContent-Type: text/html\r\n".encode() + _LENGTH


HEADERS = (
    Beast(
        "header-bomb",
        "headers",
        "Sends a hundred thousand headers.",
        "Cut off at a limit of count or size.",
        _header_bomb,
    ),
    Beast(
        "header-bomb-long",
        "headers",
        "Sends one header of ten megabytes.",
        "Cut off at a limit of size.",
        _header_bomb_long,
    ),
    Beast(
        "header-bomb-endless",
        "headers",
        "Sends headers and never comes to the body.",
        "Cut off at a limit of count or size.",
        _header_endless,
    ),
    Beast(
        "bare-lf",
        "headers",
        "Ends its lines with LF alone.",
        "Accepted.",
        say(b"HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Length: 12\n\n" + _BODY),
    ),
    Beast(
        "obs-fold",
        "headers",
        "Continues a header on the next line.",
        "Unfolded, or refused.",
        say(OK + b"X-Folded: one\r\n two\r\n\tthree\r\n" + _LENGTH),
    ),
    Beast(
        "non-ascii",
        "headers",
        "Redirects to a path in raw UTF-8 and Latin-1, with a reason and a header in Latin-1.",
        "Read as bytes; the path as UTF-8 where it is, else as Latin-1.",
        say(
            b"HTTP/1.1 302 Trouv\xe9\r\nX-Caf\xe9: \xff\xfe\r\nLocation: /caf\xc3\xa9?q=\xe9\r\n",
            b"Content-Length: 0\r\n\r\n",
        ),
    ),
    Beast(
        "nul-in-header",
        "headers",
        "Puts a NUL into a header.",
        "Refused or replaced.",
        say(OK + b"X-Nul: a\x00b\r\n" + _LENGTH),
    ),
    Beast(
        "cr-in-header",
        "headers",
        "Puts a lone CR into a header.",
        "Refused or replaced.",
        say(OK + b"X-Cr: a\rX-Forged: b\r\n" + _LENGTH),
    ),
    Beast(
        "no-status",
        "headers",
        "Sends a body and nothing else, as in HTTP/0.9.",
        "Refused at once; no waiting for a head.",
        say(b"<html><p>no head at all</p></html>\n"),
    ),
    *(
        Beast(
            f"weird-status-{code}",
            "headers",
            f"Answers with status {code}.",
            "An error of this URL; nothing crashes.",
            say(_status(code)),
        )
        for code in ("000", "99", "600", "999", "20x")
    ),
    Beast(
        "empty-reply",
        "headers",
        "Closes without a word.",
        "Tried again later, a few times at most.",
        say(),
    ),
    Beast(
        "set-cookie-flood",
        "headers",
        "Sets five thousand cookies, and one of a megabyte.",
        "Few are kept, or none; or the head is cut off at its limit.",
        _cookie_flood,
    ),
    Beast(
        "content-type-lie",
        "headers",
        "Calls a picture HTML.",
        "Looked at before it is parsed; no text comes of it.",
        say(OK + b"Content-Length: %d\r\n\r\n" % len(_PNG) + _PNG, keep=True),
    ),
    Beast(
        "content-type-lie-image",
        "headers",
        "Calls HTML a picture.",
        "Looked at, or left alone as a picture.",
        say(b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n" + _LENGTH, keep=True),
    ),
)
