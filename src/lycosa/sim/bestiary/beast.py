"""What a misbehaving server is, and the raw line it speaks on.

A beast is a value: a name, two sentences, and a coroutine that is given a parsed request and a `Line` on
which it may send any bytes at any pace. Bounds that no beast can break: sending fails once the client has
left, and a connection that has carried `Pace.cap_bytes` is cut. All waiting is scaled by `Pace`, so tests can
make ten seconds a millisecond.
"""

import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from lycosa.sim.world import Request


class ClientLeftError(Exception):
    """The other side is gone, or has been sent all it may get; ends the beast's turn."""


@dataclass(frozen=True)
class Pace:
    drip_s: float = 10.0
    """Between two bytes of a slow one."""
    breath_s: float = 0.002
    """Between two blocks of an endless one."""
    silence_s: float = 3600.0
    cap_bytes: int = 64_000_000
    """On one connection."""
    bomb_bytes: int = 1 << 30
    """What a bomb grows to."""


class Line(Protocol):
    """One connection, as a beast sees it."""

    pace: Pace
    keep: bool
    """Whether to read another request when the beast is done; off until it is set."""

    async def send(self, data: bytes) -> None:
        """Returns when the data has left; raises ClientLeftError if it cannot."""

    async def pause(self, seconds: float) -> None:
        """Raises ClientLeftError as soon as the client leaves."""

    def reset(self) -> None:
        """Cut the connection with a TCP RST."""

    @property
    def turn(self) -> int:
        """How often this target has been asked of this beast before."""

    @property
    def base(self) -> str:
        """The beast's own origin, `http://127.0.x.y:port`."""

    @property
    def canary(self) -> str:
        """`address:port` of a place that nobody should visit."""


Serve = Callable[[Line, Request], Awaitable[None]]


@dataclass(frozen=True)
class Beast:
    name: str
    category: str
    does: str
    expects: str
    serve: Serve
    own_robots: bool = False
    """It answers /robots.txt itself; the others have none (404)."""
    listens: bool = True
    """It waits for a request; the others speak as soon as anything arrives, to an empty request."""
    scheme: str = "http"
    tls: Callable[[str], ssl.SSLContext] | None = None
    """Makes the TLS side of its address; without it an https beast gets the bytes of the handshake."""


OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"


async def reply(line: Line, status: str, body: bytes = b"", *headers: str) -> None:
    """A well-formed answer, after which the connection goes on."""
    kind, length = "Content-Type: text/html; charset=utf-8", f"Content-Length: {len(body)}"
    line.keep = True
    await line.send("\r\n".join([f"HTTP/1.1 {status}", kind, *headers, length, "\r\n"]).encode() + body)


async def drip(line: Line, data: bytes) -> None:
    """Byte by byte."""
    for byte in data:
        await line.send(bytes((byte,)))
        await line.pause(line.pace.drip_s)


async def flood(line: Line, block: bytes) -> None:
    """The block over and over, until the client leaves or the cap is reached."""
    while True:
        await line.send(block)
        await line.pause(line.pace.breath_s)


def say(*parts: bytes, keep: bool = False) -> Serve:
    """A beast that sends exactly these bytes and closes, or waits for more."""

    async def serve(line: Line, request: Request) -> None:
        for part in parts:
            await line.send(part)
        line.keep = keep

    return serve


def write_links(*targets: str) -> bytes:
    anchors = "\n".join(f'<a href="{target}">on</a>' for target in targets)
    return f"<!DOCTYPE html>\n<title>A page</title>\n<p>Some words to read here.</p>\n{anchors}\n".encode()
