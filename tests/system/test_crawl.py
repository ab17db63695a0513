"""The whole crawler against the synthetic web, on real sockets and in its own process."""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path
from typing import Any

import pytest
import small_crawl
from small_crawl import done, start, web

from lycosa.sim.audit import audit
from lycosa.sim.server import Served
from lycosa.web.url import Normaliser


async def told(*arguments: str) -> Any:
    """What a command with --json says, while we serve."""
    return json.loads((await done(*arguments, "--json"))[0])


async def pages(directory: Path) -> list[dict[str, Any]]:
    out, _ = await done("pages", "--dir", directory, "--limit", "100000", "--json")
    return [json.loads(line) for line in out.splitlines()]


def crawl_of(served: Served, directory: Path, *more: str) -> list[str]:
    return small_crawl.crawl_of(served.seeds(1)[0], directory, *more)


def expected(served: Served) -> set[str]:
    """The normal forms of all pages that a polite visitor reaches by links."""
    reach = served.world.truth.walk(served.seeds(1), robots=True, sitemaps=False)
    return set(map(Normaliser(), reach.pages))


def requested(served: Served) -> list[str]:
    return [f"http://{line.host}:{served.port}{line.target}" for line in served.log if line.target != "/robots.txt"]


async def until_asked(served: Served, count: int, process: asyncio.subprocess.Process) -> None:
    """Wait until the server has answered so many requests, or the crawl has ended."""
    while served.requests < count and process.returncode is None:  # noqa: ASYNC110 - the count is all there is to watch
        await asyncio.sleep(0.01)


def test_a_crawl_finds_every_page_that_may_be_fetched_once_and_nothing_forbidden(tmp_path: Path) -> None:
    async def run() -> None:
        async with web() as served:
            summary = await told(*crawl_of(served, tmp_path / "crawl"))
            assert summary["state"] == "finished"
            asked = requested(served)
            assert len(asked) == len(set(asked)), "something was requested twice"
            manners = audit(served.log, by="host")
            assert manners.robots_first
            assert max(manners.most_at_once.values()) == 1
            found = {page["url"] for page in await pages(tmp_path / "crawl") if page["status"] == 200}
            assert found >= expected(served)
            assert all(map(served.world.truth.allows, asked))

    asyncio.run(run())


def test_a_crawl_that_is_killed_again_and_again_loses_no_page(tmp_path: Path) -> None:
    async def run() -> None:
        async with web(latency=0.2) as served:
            command = crawl_of(served, tmp_path / "crawl", "-s", "fetch.slots=8")
            for moment in (15, 45, 80):
                process = await start(*command)
                await until_asked(served, moment, process)
                process.send_signal(signal.SIGKILL)
                await process.communicate()
            summary = await told(*command)
            assert summary["state"] == "finished"
            listed = {page["url"] for page in await pages(tmp_path / "crawl") if page["status"] == 200}
            assert listed >= expected(served)
            report = await told("verify", "--dir", str(tmp_path / "crawl"))
            assert report["faults"] == []
            repeated = len(served.log) - len({(line.host, line.target) for line in served.log})
            assert repeated <= 3 * 8

    asyncio.run(run())


def test_a_larger_budget_goes_on_with_what_the_smaller_refused(tmp_path: Path) -> None:
    async def main() -> None:
        async with web() as served:
            few = await told(*crawl_of(served, tmp_path / "c", "-s", "budget.host_pages=3"))
            assert few["pages"]["refused"] > 0
            more = await told(*crawl_of(served, tmp_path / "c", "-s", "budget.host_pages=8"))
            assert few["pages"]["fetched"] < more["pages"]["fetched"]
            whole = await told(*crawl_of(served, tmp_path / "c", "-s", "budget.host_pages=null"))
            reach = served.world.truth.walk(served.seeds(1), robots=True, sitemaps=False)
            assert whole["pages"]["fetched"] >= len(reach.pages)
            assert {page["url"] for page in await pages(tmp_path / "c")} >= {*reach.pages}

    asyncio.run(main())


def test_a_signal_drains_the_crawl_and_the_same_command_goes_on(tmp_path: Path) -> None:
    async def run() -> None:
        async with web(latency=0.2) as served:
            command = crawl_of(served, tmp_path / "crawl", "-s", "fetch.slots=4")
            process = await start(*command, "--json")
            await until_asked(served, 20, process)
            process.send_signal(signal.SIGTERM)
            out, _ = await process.communicate()
            assert process.returncode == 0
            assert json.loads(out)["state"] == "stopped"
            assert (await told(*command))["state"] == "finished"
            seen = [(line.host, line.target) for line in served.log]
            assert len(seen) == len(set(seen)), "a clean stop repeats nothing, robots.txt included"

    asyncio.run(run())


def test_the_delay_is_kept_on_every_host(tmp_path: Path) -> None:
    async def run() -> None:
        async with web() as served:
            command = crawl_of(served, tmp_path / "crawl", "--max-pages", "12")
            command[command.index("0s")] = "300ms"
            await told(*command)
            gaps = audit(served.log, by="host").least_gap_s
            assert min(gaps.values()) >= 0.3

    asyncio.run(run())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["crawl"], "nothing to crawl"),
        (["crawl", "ftp://example.org/"], "http"),
        (["crawl", "http://exa mple/"], "is not a URL"),
        (["crawl", "http://127.0.0.1:9/"], "--contact"),
        (["crawl", "http://127.0.0.1:9/", "--contact", "x", "--delay", "0s"], "polite.own_hosts"),
        (["crawl", "http://127.0.0.1:9/", "--contact", "x", "--include", "re:("], "regular expression"),
        (["crawl", "http://127.0.0.1:9/", "-s", "crawl.sope=web"], "crawl.scope"),
        (["crawl", "http://127.0.0.1:9/", "--contact", "x", "-s", "network.ca_file=/no.pem"], "network.ca_file"),
        (["crawl", "--seeds-file", "/nowhere"], "/nowhere"),
        (["status"], "--dir"),
        (["get", "http://a/"], "--dir"),
    ],
)
def test_bad_usage_is_one_sentence_and_exit_code_2(arguments: list[str], says: str, tmp_path: Path) -> None:
    async def run() -> None:
        process = await start(*arguments, "--dir", str(tmp_path / "crawl"))
        out, err = await process.communicate()
        assert process.returncode == 2
        assert out == b""
        assert err.count(b"\n") == 1
        assert says in err.decode()

    asyncio.run(run())


def test_a_second_crawl_in_the_same_directory_is_refused(tmp_path: Path) -> None:
    async def run() -> None:
        async with web(latency=1.0) as served:
            command = crawl_of(served, tmp_path / "crawl")
            first = await start(*command)
            await until_asked(served, 1, first)
            second = await start(*command)
            _, err = await second.communicate()
            assert second.returncode == 2
            assert b"in use by another crawl" in err
            first.send_signal(signal.SIGTERM)
            await first.communicate()
            assert first.returncode == 0

    asyncio.run(run())


def test_explain_says_why_a_url_was_or_was_not_fetched(tmp_path: Path) -> None:
    async def run() -> None:
        async with web() as served:
            await told(*crawl_of(served, tmp_path / "crawl"))
            seed = served.seeds(1)[0]
            assert (await told("explain", seed, "--dir", str(tmp_path / "crawl")))["outcome"] == "fetched"
            missing = await told("explain", f"{seed}never-linked", "--dir", str(tmp_path / "crawl"))
            assert missing["outcome"] == "unknown"

    asyncio.run(run())


def test_the_demo_crawls_and_leaves_a_crawl_to_look_at(tmp_path: Path) -> None:
    async def run() -> None:
        process = await start("demo", "--hosts", "3", "--pages", "30", "--dir", str(tmp_path / "crawl"))
        out, err = await process.communicate()
        assert process.returncode == 0, err.decode()
        assert b"0 faults" in out
        assert (await told("status", "--dir", str(tmp_path / "crawl")))["pages"]["fetched"] > 10

    asyncio.run(run())
