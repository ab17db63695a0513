"""A world on real loopback sockets: one HTTP/1.1 server, every host at its own 127.x.y.z, all at one port.

Speaks keep-alive, HEAD, pipelining and conditional requests; the Host header chooses the site. Every request
is logged, in memory and if wanted in a file (one JSON object a line), so that a test can audit what a visitor
did. Latency is the world's own, scaled, or none.

Never listens beyond loopback, and nothing listens any more once the context is left.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

import msgspec

from lycosa.sim.audit import LogLine
from lycosa.sim.loopback import listen_all
from lycosa.sim.world import Answer, Request, World

_MOST_HEAD_BYTES = 65_536


@dataclass(frozen=True)
class Serving:
    """How to serve."""

    latency: float = 0.0
    """Times the world's own latency; 0 answers at once."""
    keep_log: bool = True
    log_file: Path | None = None
    wall: Callable[[], float] = time.time
    """The moment that decides which version of a page is shown."""


PLAIN = Serving()


class Served:
    """A world being served, with its log."""

    def __init__(self, world: World, how: Serving) -> None:
        self.world, self.how = world, how
        self.port = world.plan.port
        self.log: list[LogLine] = []
        self.requests = 0
        self.in_flight: Counter[str] = Counter()
        self.connections: set[Connection] = set()
        self.emptied = asyncio.Event()
        self.file: IO[bytes] | None = None

    def seeds(self, hosts: int = 1) -> list[str]:
        return self.world.seeds(hosts)

    def record(self, line: LogLine) -> None:
        self.requests += 1
        if self.how.keep_log:
            self.log.append(line)
        if self.file:
            self.file.write(msgspec.json.encode(line) + b"\n")


class Connection(asyncio.Protocol):
    """Reads requests and answers them one after another."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._buffer = b""
        self._start_s: float | None = None
        self._busy = False
        self._finish: Callable[[], None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._address = str(transport.get_extra_info("sockname")[0])
        # With no room in the buffer, resume_writing tells when the last byte has left.
        self._transport.set_write_buffer_limits(high=0)
        self._served.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end()
        self._served.connections.discard(self)
        if not self._served.connections:
            self._served.emptied.set()

    def data_received(self, data: bytes) -> None:
        if self._start_s is None:
            self._start_s = time.monotonic()
        self._buffer += data
        self._proceed()

    def resume_writing(self) -> None:
        self._end()
        self._proceed()

    def close(self) -> None:
        self._transport.abort()

    def _end(self) -> None:
        finish, self._finish = self._finish, None
        if finish:
            finish()

    def _proceed(self) -> None:
        """Take the next request off the buffer, unless one is being answered."""
        while not self._busy and not self._transport.is_closing():
            head, mark, rest = self._buffer.partition(b"\r\n\r\n")
            if not mark:
                if len(head) > _MOST_HEAD_BYTES:
                    self._transport.abort()
                return
            self._buffer = rest
            start_s = self._start_s or time.monotonic()
            self._start_s = time.monotonic() if rest else None
            request = parse_head(head)
            if request is None:
                self._transport.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                self._transport.close()
                return
            self._begin(request, start_s)

    def _begin(self, request: Request, start_s: float) -> None:
        served, self._busy = self._served, True
        host = request.host.partition(":")[0]
        served.in_flight[host] += 1
        in_flight = served.in_flight[host]
        answer = served.world.answer(request, served.how.wall())

        def finish() -> None:
            self._busy = False
            served.in_flight[host] -= 1
            if not served.in_flight[host]:
                del served.in_flight[host]
            line = LogLine(
                host,
                self._address,
                request.method,
                request.target,
                answer.status,
                start_s,
                time.monotonic(),
                len(answer.body),
                in_flight,
                request.headers.get("user-agent", ""),
            )
            served.record(line)
            if request.headers.get("connection", "").lower() == "close":
                self._transport.close()

        self._finish = finish
        if served.how.latency:
            asyncio.get_running_loop().call_later(answer.latency_s * served.how.latency, self._send, answer)
        else:
            self._send(answer, turn=False)

    def _send(self, answer: Answer, turn: bool = True) -> None:
        if self._transport.is_closing():
            return
        self._transport.write(write_answer(answer))
        if self._transport.get_write_buffer_size() == 0:
            self._end()
            if turn:
                self._proceed()


def parse_head(head: bytes) -> Request | None:
    """A request from its head; None if it is no HTTP. Bodies are not expected."""
    lines = head.decode("latin-1").split("\r\n")
    method, _, rest = lines[0].partition(" ")
    target, _, version = rest.partition(" ")
    if not target or not version.startswith("HTTP/1."):
        return None
    headers = {}
    for line in lines[1:]:
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    return Request(method, headers.get("host", ""), target, headers)


def write_answer(answer: Answer) -> bytes:
    lines = [
        f"HTTP/1.1 {answer.status} {answer.reason}",
        *(f"{name}: {value}" for name, value in answer.headers),
    ]
    return "\r\n".join([*lines, "\r\n"]).encode("latin-1") + answer.body


async def _hang_up(served: Served) -> None:
    served.emptied.clear()
    for connection in list(served.connections):
        connection.close()
    with suppress(TimeoutError):  # a transport that does not report its end is no reason to hang
        async with asyncio.timeout(5 if served.connections else 0):
            await served.emptied.wait()


@asynccontextmanager
async def serve(
    world: World,
    port: int = 0,
    by: str = "address",
    *,
    hosts: Iterable[int] | None = None,
    how: Serving = PLAIN,
) -> AsyncIterator[Served]:
    """Serve all hosts of the world, or those given; links are written for the port, by name or by address."""
    chosen = range(world.plan.hosts) if hosts is None else hosts
    found = world.found_at(by=by, port=port or 80)
    addresses = list(dict.fromkeys(found.atlas.address(host) for host in chosen))
    sockets, port = listen_all(addresses, port)
    served = Served(world.found_at(by=by, port=port), how)
    loop, servers = asyncio.get_running_loop(), []
    try:
        served.file = how.log_file.open("wb") if how.log_file else None
        for listener in sockets:
            servers.append(await loop.create_server(lambda: Connection(served), sock=listener, backlog=1024))
        yield served
    finally:
        for server in servers:
            server.close()
        await _hang_up(served)
        for listener in sockets:
            listener.close()
        if served.file:
            served.file.close()
