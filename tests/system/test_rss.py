"""Memory stays where it is however long a crawl gets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from typing import cast

from crawling import OWN, finish, resident_bytes, start, within

from lycosa.sim.loopback import listen_all

HOSTS, PAGES_A_HOST = 60, 250
MOST_BYTES = 350 << 20
MOST_GROWTH = 0.15
WORDS = "the crawler counts what it holds and lets go of what it has read " * 8


class Site(asyncio.Protocol):
    """Hosts of small pages, each leading to two more of its own and to the same page of the next host."""

    requests = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._address, self._port = transport.get_extra_info("sockname")

    def data_received(self, data: bytes) -> None:
        for line in data.split(b"GET ")[1:]:
            path = line.split(b" ", 1)[0].decode()
            Site.requests += 1
            self._transport.write(self._answer(path))

    def _answer(self, path: str) -> bytes:
        if not path[1:].isdigit():
            return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        page, start, number = int(path[1:]), *self._address.rsplit(".", 1)
        links = [f"/{more}" for more in (2 * page + 1, 2 * page + 2) if more < PAGES_A_HOST]
        links.append(f"http://{start}.{int(number) % HOSTS + 1}:{self._port}/{page}")
        anchors = "".join(f'<a href="{link}">on</a> ' for link in links)
        body = (
            f"<!DOCTYPE html><title>{path}</title><p>{number} {path} {WORDS}{page * 7919 % 1009}</p>{anchors}".encode()
        )
        return b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


@asynccontextmanager
async def serving() -> AsyncIterator[list[str]]:
    """The first page of every host."""
    addresses = [f"127.0.98.{n + 1}" for n in range(HOSTS)]
    sockets, port = listen_all(addresses)
    loop = asyncio.get_running_loop()
    servers = [await loop.create_server(Site, sock=each) for each in sockets]
    try:
        yield [f"http://{address}:{port}/0" for address in addresses]
    finally:
        for server in servers:
            server.close()


def held_about(share: float, samples: list[tuple[int, int]]) -> float:
    """What was held around this part of the way."""
    total = samples[-1][0]
    return median(held for count, held in samples if abs(count / total - share) <= 0.05)


def test_memory_is_bounded_and_flat_over_the_second_half_of_a_crawl(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving() as seeds:
            command = ["crawl", *seeds, "--delay", "0s", "-s", OWN, "--dir", str(tmp_path / "crawl"), "--json"]
            process = await start(*command)
            samples: list[tuple[int, int]] = []  # requests so far, bytes
            ended = asyncio.ensure_future(finish(process))
            while not ended.done():
                if held := resident_bytes(process.pid):
                    samples.append((Site.requests, held))
                await asyncio.wait([ended], timeout=0.1)
            assert (await ended).summary["pages"]["fetched"] == HOSTS * PAGES_A_HOST
            # A moment of more, when tables are written, is not growth.
            assert max(held for _, held in samples) <= MOST_BYTES
            assert held_about(0.95, samples) <= held_about(0.5, samples) * (1 + MOST_GROWTH)

    within(120, main)
