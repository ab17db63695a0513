"""Lets beasts loose on loopback: `async with unleash(beasts) as den`, one address each, one port for all.

One more address, the canary, belongs to nobody: its robots.txt forbids everything and every connection to it
is noted. When the context is left all connections are cut, all tasks are done, and nothing listens any more.
"""

import asyncio
import ipaddress
import socket
import struct
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import cast

from lycosa.errors import LycosaError
from lycosa.sim.bestiary.beast import Beast, ClientLeftError, Line, Pace, reply
from lycosa.sim.loopback import listen_all
from lycosa.sim.server import parse_head
from lycosa.sim.world import Request

FIRST_ADDRESS = "127.0.40.1"
_MOST_HEAD_BYTES = 200_000
_PATIENCE = Pace()


class Den:
    """The beasts at large."""

    def __init__(self, places: dict[Beast, str], port: int, pace: Pace) -> None:
        self.addresses = {beast.name: address for beast, address in places.items()}
        self.canary_address, self.port, self.pace = self.addresses["canary"], port, pace
        self._origins = {beast.name: f"{beast.scheme}://{address}:{port}" for beast, address in places.items()}
        self.asked: Counter[tuple[str, str]] = Counter()
        self.canary_connections = 0
        self.canary_targets: list[str] = []
        self.wires: set[_Wire] = set()

    def url(self, name: str, target: str = "/") -> str:
        if name not in self._origins:
            raise LycosaError(f"No beast called {name!r} is loose: unleash it first.")
        return self._origins[name] + target

    def requests(self, name: str) -> int:
        """How many requests the beast has had, robots.txt included."""
        return sum(count for (asked, _), count in self.asked.items() if asked == name)

    async def quiet(self) -> None:
        """Wait until no connection is left."""
        await asyncio.gather(*(wire.ended() for wire in list(self.wires)))


class _Wire(asyncio.Protocol):
    """A connection as a `Line`."""

    def __init__(self, den: Den, beast: Beast) -> None:
        self.pace, self.keep, self.turn = den.pace, False, 0
        self._den, self._beast = den, beast
        self._buffer, self._sent_bytes = b"", 0
        self._arrived, self._left, self._room = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._room.set()

    @property
    def base(self) -> str:
        return self._den.url(self._beast.name, "")

    @property
    def canary(self) -> str:
        return f"{self._den.canary_address}:{self._den.port}"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        # As little room as can be, so that `send` waits for the network; TLS never resumes from a limit of 0.
        self._transport.set_write_buffer_limits(high=1)
        self._den.canary_connections += self._beast is CANARY
        self._den.wires.add(self)
        self._task = asyncio.get_running_loop().create_task(self._talk())

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        self._arrived.set()

    def connection_lost(self, exc: Exception | None) -> None:
        for event in (self._left, self._room, self._arrived):
            event.set()
        self._den.wires.discard(self)

    def pause_writing(self) -> None:
        self._room.clear()

    def resume_writing(self) -> None:
        self._room.set()

    async def send(self, data: bytes) -> None:
        if self._left.is_set() or self._transport.is_closing() or self._sent_bytes >= self.pace.cap_bytes:
            raise ClientLeftError
        self._sent_bytes += len(data)
        self._transport.write(data)
        await self._room.wait()

    async def pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._left.wait()
        if self._left.is_set():
            raise ClientLeftError

    def reset(self) -> None:
        lingering = self._transport.get_extra_info("socket")
        lingering.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._transport.abort()

    async def _talk(self) -> None:
        try:
            while (request := await self._read()) is not None:
                self.turn = self._den.asked[self._beast.name, request.target]
                self._den.asked[self._beast.name, request.target] += 1
                self.keep = False
                await self._answer(request)
                if not self.keep or request.headers.get("connection", "").lower() == "close":
                    break
        except ClientLeftError:
            pass
        finally:
            self._transport.close()  # sends what is left, if somebody reads it

    async def ended(self) -> None:
        await asyncio.gather(self._task, return_exceptions=True)
        await self._left.wait()

    async def cut(self) -> None:
        """End the conversation whatever its state."""
        self._task.cancel()
        self._transport.abort()
        await self.ended()

    async def _answer(self, request: Request) -> None:
        if request.target == "/robots.txt" and not self._beast.own_robots:
            await reply(self, "404 Not Found")
        else:
            await self._beast.serve(self, request)

    async def _read(self) -> Request | None:
        while b"\r\n\r\n" not in self._buffer and (self._beast.listens or not self._buffer):
            self._arrived.clear()
            if self._left.is_set() or len(self._buffer) > _MOST_HEAD_BYTES:
                return None
            await self._arrived.wait()
        if not self._beast.listens:
            return Request("", "", "")
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        request = parse_head(head)
        if request is not None and self._beast is CANARY:
            self._den.canary_targets.append(request.target)
        return request


async def _serve_canary(line: Line, request: Request) -> None:
    if request.target == "/robots.txt":
        await reply(line, "200 OK", b"User-agent: *\nDisallow: /\n")
    else:
        await reply(line, "200 OK", b"<p>You should not be here.</p>")


CANARY = Beast(
    "canary",
    "canary",
    "Forbids everything and notes who comes.",
    "At most its robots.txt is asked for.",
    _serve_canary,
    own_robots=True,
)


@asynccontextmanager
async def unleash(
    beasts: Sequence[Beast],
    port: int = 0,
    *,
    pace: Pace = _PATIENCE,
    first_address: str = FIRST_ADDRESS,
) -> AsyncIterator[Den]:
    """Each beast at its own address, counting up from the first one in order; the canary has the last."""
    start = ipaddress.ip_address(first_address)
    everyone = [*beasts, CANARY]
    places = {beast: str(start + offset) for offset, beast in enumerate(everyone)}
    sockets, port = listen_all(list(places.values()), port)
    den = Den(places, port, pace)
    servers: list[asyncio.Server] = []
    try:
        for beast, listener in zip(everyone, sockets, strict=True):
            servers.append(await _open(den, beast, listener))
        yield den
    finally:
        for server in servers:
            server.close()
        await asyncio.gather(*(wire.cut() for wire in list(den.wires)))
        for listener in sockets:
            listener.close()


async def _open(den: Den, beast: Beast, listener: socket.socket) -> asyncio.Server:
    context = beast.tls(den.addresses[beast.name]) if beast.tls else None
    loop = asyncio.get_running_loop()
    return await loop.create_server(lambda: _Wire(den, beast), sock=listener, ssl=context, backlog=128)
