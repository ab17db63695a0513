"""Trouble before the first request: wrong certificates, old versions, and HTTP/2 that is not (RFC 9110 4.3.4,
9113)."""

import ssl
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime

from lycosa.sim.bestiary.beast import Beast, Line, flood, reply
from lycosa.sim.bestiary.certificate import make_certificate
from lycosa.sim.world import Request

_LONG_AGO, _LAST_YEAR, _FAR_OFF = (datetime(year, 1, 1, tzinfo=UTC) for year in (2015, 2020, 2049))


def _context(name: str, end: datetime = _FAR_OFF, *protocols: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:  # the ssl module reads certificates from files only
        file.write(make_certificate(name, _LONG_AGO, end))
        file.flush()
        context.load_cert_chain(file.name)
    if protocols:
        context.set_alpn_protocols(list(protocols))
    return context


def _certified(end: datetime = _FAR_OFF, *protocols: str) -> Callable[[str], ssl.SSLContext]:
    return lambda address: _context(address, end, *protocols)


async def _page(line: Line, request: Request) -> None:
    await reply(line, "200 OK", b"<p>hello</p>")


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big") + payload


async def _old_hello(line: Line, request: Request) -> None:
    """A ServerHello that insists on TLS 1.0, whatever was offered."""
    hello = b"\x03\x01" + bytes(range(32)) + b"\0" + b"\x00\x2f" + b"\0"
    handshake = b"\x02" + len(hello).to_bytes(3, "big") + hello
    await line.send(b"\x16\x03\x01" + len(handshake).to_bytes(2, "big") + handshake)
    await line.pause(line.pace.breath_s)


async def _h2_junk(line: Line, request: Request) -> None:
    await line.send(b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n<p>hello</p>")


async def _h2_flood(line: Line, request: Request) -> None:
    await line.send(_frame(4, 0, 0, b"") + _frame(1, 0, 1, b"\x88"))  # SETTINGS, then HEADERS that do not end
    filler = b"\x00\x06x-fill\x7f\xa1\x07" + b"y" * 1056  # one literal header of a kilobyte
    await flood(line, _frame(9, 0, 1, filler) * 15)


_SANE = "Recorded as a failure of the certificate; nothing crashes and nothing is stored as trusted."

TLS = (
    Beast(
        "expired",
        "tls",
        "Shows a certificate that ran out years ago.",
        _SANE,
        _page,
        scheme="https",
        tls=_certified(_LAST_YEAR),
    ),
    Beast(
        "self-signed",
        "tls",
        "Shows a certificate that nobody vouches for.",
        _SANE,
        _page,
        scheme="https",
        tls=_certified(),
    ),
    Beast(
        "wrong-host",
        "tls",
        "Shows the certificate of another host.",
        _SANE,
        _page,
        scheme="https",
        tls=lambda address: _context("somewhere-else.test"),
    ),
    Beast(
        "tls10-only",
        "tls",
        "Knows nothing newer than TLS 1.0.",
        "Recorded as a failure of this host.",
        _old_hello,
        listens=False,
        scheme="https",
    ),
    Beast(
        "alpn-h2-junk",
        "tls",
        "Agrees on HTTP/2 and then speaks HTTP/1.",
        "An error of this URL and of nothing else.",
        _h2_junk,
        listens=False,
        scheme="https",
        tls=_certified(_FAR_OFF, "h2", "http/1.1"),
    ),
    Beast(
        "h2-bomb",
        "tls",
        "Sends headers in continuation frames without end.",
        "Cut off at a limit of size.",
        _h2_flood,
        listens=False,
        scheme="https",
        tls=_certified(_FAR_OFF, "h2"),
    ),
)
