"""Redirects between hosts of different shards: rules that lie elsewhere, and where seeds lead."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest
from crawling import NameServer, naming
from small_crawl import done, pages

from lycosa.kit.keys import host_key, owner_of

ADDRESS = "127.0.97.2"
NAMES = [f"site{number}.lycosa.test" for number in range(40)]
A, B, C = (next(name for name in NAMES if owner_of(host_key(name), 3) == own) for own in range(3))


class Site:
    """What each host answers, by path: a page, or where it leads."""

    def __init__(self, answers: dict[tuple[str, str], str]) -> None:
        self.answers = answers
        self.asked: list[tuple[str, str]] = []
        self.port = 0

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                path, [host] = head.split(" ")[1], re.findall(r"Host: ([^:\r]+)", head)
                self.asked.append((host, path))
                writer.write(self.answer(host, path))
                await writer.drain()
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    def answer(self, host: str, path: str) -> bytes:
        said = self.answers.get((host, path))
        if said is None:
            return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        said = said.replace("PORT", str(self.port))
        if said.startswith("http"):
            return f"HTTP/1.1 302 Found\r\nLocation: {said}\r\nContent-Length: 0\r\n\r\n".encode()
        kind = "text/plain" if "robots" in path else "text/html"
        return f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(said)}\r\n\r\n{said}".encode()


@contextlib.asynccontextmanager
async def serving(site: Site) -> AsyncIterator[None]:
    tasks: set[asyncio.Task[None]] = set()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(cast("asyncio.Task[None]", asyncio.current_task()))
        await site.talk(reader, writer)

    server = await asyncio.start_server(talk, ADDRESS, 0)
    site.port = server.sockets[0].getsockname()[1]
    try:
        yield
    finally:
        server.close()
        await asyncio.gather(*tasks)


async def crawl(site: Site, directory: Path, *seeds: str) -> dict[str, Any]:
    known = NameServer({})
    known.wildcard = [ADDRESS]
    async with serving(site), naming(known) as server:
        settings = [f'network.nameservers=["{server}"]', 'polite.own_hosts=["lycosa.test", "127.0.0.0/8"]']
        options = [part for setting in settings for part in ("-s", setting)]
        named = [seed.replace("PORT", str(site.port)) for seed in seeds]
        fixed = ["--dir", str(directory), "--delay", "0s", "--processes", "3", "--json"]
        out, _ = await asyncio.wait_for(done("crawl", *named, *fixed, *options), 30)
        summary: dict[str, Any] = json.loads(out)
        return summary


def test_rules_that_lie_on_a_host_of_another_shard_are_asked_for_and_obeyed(tmp_path: Path) -> None:
    site = Site(
        {
            (A, "/robots.txt"): f"http://{B}:PORT/moved",
            (B, "/moved"): f"http://{C}:PORT/robots-of-a",
            (C, "/robots-of-a"): "User-agent: *\nDisallow: /secret\n",
            (A, "/"): "<a href=/open>o</a> <a href=/secret>s</a>",
            (A, "/open"): "open",
            (A, "/secret"): "secret",
        }
    )
    asyncio.run(crawl(site, tmp_path, f"http://{A}:PORT/"))
    assert (A, "/open") in site.asked
    assert (A, "/secret") not in site.asked
    assert site.asked.index((C, "/robots-of-a")) < site.asked.index((A, "/"))


def test_where_a_seed_leads_joins_the_scope_also_in_another_shard(tmp_path: Path) -> None:
    site = Site(
        {
            (A, "/"): f"http://{B}:PORT/home",
            (B, "/home"): "<a href=/next>n</a>",
            (B, "/next"): "next",
        }
    )
    asyncio.run(crawl(site, tmp_path, f"http://{A}:PORT/"))
    fetched = {page["url"].split("/", 3)[3] for page in pages(tmp_path) if page["status"] == 200}
    assert fetched == {"home", "next"}


@pytest.mark.parametrize("budget", [("--max-pages", "1000"), ("-s", "budget.day_pages=1000")])
def test_a_host_that_wants_to_be_left_alone_keeps_no_crawl_with_a_budget_from_its_end(
    tmp_path: Path, budget: tuple[str, str]
) -> None:
    slow = "User-agent: *\nCrawl-delay: 200\n"  # longer than a crawl waits
    site = Site(
        {(A, "/robots.txt"): slow, (B, "/robots.txt"): slow, (C, "/"): "<a href=/next>n</a>", (C, "/next"): "x"}
    )
    summary = asyncio.run(crawl(site, tmp_path, *(f"http://{host}:PORT/" for host in (A, B, C)), *budget))
    assert (summary["state"], summary["pages"]["fetched"]) == ("finished", 2)
    assert summary["urls"] == {"known": 4, "queued": 0, "parked": 2}
