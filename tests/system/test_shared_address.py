"""Gaps that a server can measure: between names of one address, after redirects, and over a stop and a restart."""

from __future__ import annotations

import asyncio
import re
import signal
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, cast

import pytest
from crawling import World, finish, lycosa, outcomes, start, within
from dnsmasq import dnsmasq

ADDRESS = "127.0.97.1"
NAMES = ("one.lycosa-a.test", "two.lycosa-b.test", "three.lycosa-c.test")
PAGES = 3


class Line(NamedTuple):
    """One request, on the server's clock: from its first byte to its answer, which is too short to take time."""

    host: str
    path: str
    start_s: float
    end_s: float


class Site:
    """Many names at one address, a few pages each; `/away` of the first name leads to the second."""

    def __init__(self) -> None:
        self.port = 0
        self.log: list[Line] = []
        self.changed = asyncio.Event()

    def seeds(self, names: Iterable[str]) -> list[str]:
        return [f"http://{name}:{self.port}/" for name in names]

    def answer(self, host: str, path: str) -> str:
        if path == "/robots.txt":
            return "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        if path.startswith("/away"):
            target = f"http://{NAMES[1]}:{self.port}/from{path}"
            return f"HTTP/1.1 302 Found\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n"
        text = f"<p>{host}{path}</p>" + "".join(f'<a href="/{n}">on</a>' for n in range(PAGES))
        return f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(text)}\r\n\r\n{text}"

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                first = await reader.readexactly(1)
                start_s = time.monotonic()
                head = (first + await reader.readuntil(b"\r\n\r\n")).decode()
                path, [host] = head.split(" ")[1], re.findall(r"Host: ([^:\r]+)", head)
                self.log.append(Line(host, path, start_s, time.monotonic()))
                writer.write(self.answer(host, path).encode())
                await writer.drain()
                self.changed.set()
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    async def until(self, count: int) -> None:
        """Wait for so many answers."""
        while len(self.log) < count:
            self.changed.clear()
            await self.changed.wait()


@asynccontextmanager
async def serving() -> AsyncIterator[Site]:
    site = Site()
    tasks: set[asyncio.Task[None]] = set()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(cast("asyncio.Task[None]", asyncio.current_task()))
        await site.talk(reader, writer)

    server = await asyncio.start_server(talk, ADDRESS, 0)
    site.port = server.sockets[0].getsockname()[1]
    try:
        yield site
    finally:
        server.close()
        await asyncio.gather(*tasks)


def least_gap_s(lines: Iterable[Line]) -> float:
    """From the end of an answer to the start of the next request."""
    ordered = sorted(lines, key=lambda line: line.start_s)
    return min(later.start_s - earlier.end_s for earlier, later in pairwise(ordered))


@pytest.fixture(scope="module")
def name_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """It knows all names."""
    zone = "".join(f"host-record={name},{ADDRESS}\n" for name in NAMES)
    with dnsmasq(tmp_path_factory.mktemp("dnsmasq"), zone) as address:
        yield address


def gaps(directory: Path, delay: str, address_delay: str) -> list[str]:
    own = 'polite.own_hosts=["test"]'
    return ["--delay", delay, "-s", f"polite.address_delay={address_delay}", "-s", own, "--dir", str(directory)]


@pytest.mark.parametrize("count", [2, 3])
def test_names_of_one_address_keep_the_gap_of_the_address(count: int, name_server: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with serving() as site:
            manners = gaps(tmp_path / "crawl", "400ms", "250ms")
            ended = await lycosa(
                "crawl", *site.seeds(NAMES[:count]), *manners, "--json", world=World(nameserver=name_server)
            )
            assert ended.summary["pages"]["fetched"] == count * (PAGES + 1)
            assert len(site.log) == count * (PAGES + 2)
            assert {line.host for line in site.log} == set(NAMES[:count])
            assert least_gap_s(site.log) >= 0.25
            for name in NAMES[:count]:
                assert least_gap_s(line for line in site.log if line.host == name) >= 0.4
            turns = [line.host for line in sorted(site.log, key=lambda line: line.start_s)]
            assert sum(one != other for one, other in pairwise(turns)) > count, "the names take turns"

    within(40, main)


def test_a_redirect_to_another_host_keeps_the_gap_of_that_host(name_server: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with serving() as site:
            [one, two] = site.seeds(NAMES[:2])
            seeds = [*(f"{one}away{n}" for n in range(3)), two]
            manners = gaps(tmp_path / "crawl", "300ms", "1ms")
            await lycosa("crawl", *seeds, *manners, world=World(nameserver=name_server))
            arrived = [line for line in site.log if line.path.startswith("/from")]
            assert len(arrived) == 3
            for name in NAMES[:2]:
                assert least_gap_s(line for line in site.log if line.host == name) >= 0.3
            assert outcomes(tmp_path / "crawl")[f"{two}from/away0"] == ("fetched", "")

    within(40, main)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=["stopped", "killed"])
def test_a_restart_within_the_delay_keeps_the_gap(how: signal.Signals, name_server: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with serving() as site:
            command = ["crawl", *site.seeds(NAMES[:2]), *gaps(tmp_path / "crawl", "1500ms", "1500ms")]
            world = World(nameserver=name_server)
            process = await start(*command, world=world)
            await site.until(3)
            process.send_signal(how)
            ended = await finish(process)
            assert ended.code == (0 if how == signal.SIGINT else -signal.SIGKILL)
            before = len(site.log)
            process = await start(*command, world=world)
            await site.until(before + 2)
            process.send_signal(signal.SIGINT)
            await finish(process)
            assert least_gap_s(site.log) >= 1.5

    within(40, main)
