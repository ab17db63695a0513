"""`python -m benchmarks.client`: what a request costs, with libcurl as we use it and with a bare client of our own.

The bare one knows keep-alive and Content-Length and nothing else: no redirects of connections, no chunks, no TLS, no
caps, no phases. It is the floor that an own client could approach, not a client. Both ask the synthetic web in another
process, so only their own processor time counts.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable

import uvloop

from benchmarks.timing import Row, show
from lycosa.backends.allocation import prepare_memory
from lycosa.backends.dns import Resolver
from lycosa.backends.http import CurlFetcher
from lycosa.backends.system import SystemClock
from lycosa.config import Fetch
from lycosa.model import Ask
from lycosa.web.addresses import OwnHosts

REQUESTS, AT_ONCE = 4_000, 20


class Bare(asyncio.Protocol):
    """One connection, one request at a time."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.answer: asyncio.Future[bytes] | None = None
        self._came = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]

    async def get(self, host: str, path: str) -> bytes:
        assert self.transport is not None
        self.answer, self._came = asyncio.get_running_loop().create_future(), b""
        self.transport.write(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: Bare\r\n\r\n".encode())
        return await self.answer

    def data_received(self, data: bytes) -> None:
        self._came += data
        head, found, body = self._came.partition(b"\r\n\r\n")
        length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
        if found and self.answer is not None and not self.answer.done() and len(body) >= int(length or b"0"):
            self.answer.set_result(body)


async def spend(ask: Callable[[], Awaitable[object]]) -> float:
    """Seconds of processor a request, many at once."""

    async def some() -> None:
        for _ in range(REQUESTS // AT_ONCE):
            await ask()

    started = time.process_time()
    await asyncio.gather(*[some() for _ in range(AT_ONCE)])
    return (time.process_time() - started) / REQUESTS


async def measure(address: str, port: int) -> list[Row]:
    prepare_memory()
    clock, url = SystemClock(), f"http://{address}:{port}/"
    resolver = Resolver(now=clock.now)
    fetcher = CurlFetcher(
        settings=Fetch(), agent="Bench/0", resolver=resolver, own=OwnHosts(["127.0.0.0/8"]), clock=clock
    )
    idle: list[Bare] = []

    async def ask_bare() -> None:
        bare = idle.pop() if idle else (await asyncio.get_running_loop().create_connection(Bare, address, port))[1]
        await bare.get(f"{address}:{port}", "/")
        idle.append(bare)

    ask = Ask(url)
    by_curl, by_hand = [], []
    for _ in range(3):
        by_curl.append(await spend(lambda: fetcher.fetch(ask)))
        by_hand.append(await spend(ask_bare))
    await fetcher.aclose()
    await resolver.aclose()
    return [
        Row("a request with libcurl, all checks, caps and phases", min(by_curl) * 1e6, "us", 400.0),
        Row("a request with a bare client of our own", min(by_hand) * 1e6, "us", 400.0),
    ]


def main() -> int:
    command = [sys.executable, "-m", "lycosa", "sim", "serve", "--hosts", "1", "--pages", "1", "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            told = json.loads(server.stdout.readline())
            rows = uvloop.run(measure(*_place(told)))
        finally:
            server.terminate()
    return 0 if show(rows) else 1


def _place(told: dict[str, object]) -> tuple[str, int]:
    seed = str(told["seeds"][0])  # type: ignore[index]
    host, _, port = seed.removeprefix("http://").rstrip("/").partition(":")
    return host, int(port)


if __name__ == "__main__":
    sys.exit(main())
