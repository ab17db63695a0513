"""Crawling from Python, against the synthetic web on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from little_site import QUOTES, site

import lycosa
from lycosa.backends.rocks import StoreBusy
from lycosa.backends.warc import WriteFailed
from lycosa.errors import BadInput, BadSetting, BadUrl
from lycosa.sim.plan import WorldPlan
from lycosa.sim.server import Served, Serving, serve
from lycosa.sim.world import World
from lycosa.web.url import Normaliser

ROOT = Path(__file__).parents[2]
PLAN = WorldPlan(seed=5, hosts=6, pages=150, page_bytes=4_000, crawl_delay_share=0.0, broken_robots_share=0.0)
OWN: dict[str, Any] = {"polite.own_hosts": ["127.0.0.0/8"], "polite.delay": 0}
ON_LOOPBACK = {**os.environ, "LYCOSA_POLITE__OWN_HOSTS": '["127.0.0.0/8"]', "LYCOSA_POLITE__DELAY": "0"}


def within(seconds: float, main: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(seconds):
            await main()

    asyncio.run(bounded())


@contextlib.asynccontextmanager
async def web(latency: float = 0.0) -> AsyncIterator[Served]:
    async with serve(World(PLAN), 0, how=Serving(latency=latency)) as served:
        yield served


def expected(served: Served) -> set[str]:
    """The normal forms of all pages that a polite visitor reaches by links."""
    reach = served.world.truth.walk(served.seeds(1), robots=True, sitemaps=False)
    return set(map(Normaliser(), reach.pages))


def pages_asked(served: Served) -> int:
    return sum(line.target != "/robots.txt" for line in served.log)


def crawl_of(served: Served, slots: int = 8, **more: Any) -> Any:
    return lycosa.crawl(*served.seeds(1), scope="web", settings={**OWN, "fetch.slots": slots}, **more)


def test_every_page_arrives_once_with_what_is_on_it() -> None:
    async def main() -> None:
        async with web() as served:
            crawl = crawl_of(served)
            found = {}
            async for page in crawl:
                assert page.url not in found
                found[page.url] = page
            assert set(found) >= expected(served)
            assert crawl.counts["fetched"] == len(found)
            seed = found[Normaliser()(served.seeds(1)[0])]
            assert (seed.status, seed.depth, seed.content_type) == (200, 0, "text/html")
            assert seed.title
            assert seed.css("h1").get() == seed.title
            assert seed.extract({"links": ["a::attr(href)"]})["links"]
            assert {Normaliser()(link) for link in seed.links} & set(found)

    within(30, main)


def test_the_temporary_directory_is_gone_afterwards_and_no_task_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    async def main() -> None:
        async with web() as served:
            tasks = asyncio.all_tasks()
            async with crawl_of(served, max_pages=5) as pages:
                assert len([page async for page in pages]) == 5
                assert os.listdir(tmp_path) == []
            assert asyncio.all_tasks() == tasks

    within(30, main)


def test_a_slow_consumer_slows_the_crawl() -> None:
    async def main() -> None:
        async with web() as served:
            taken = 0
            async with crawl_of(served, slots=3, max_pages=20) as pages:
                async for _ in pages:
                    taken += 1
                    for _ in range(50):
                        await asyncio.sleep(0.001)  # it could run ahead now
                        assert pages_asked(served) <= taken - 1 + 3
            assert taken == 20

    within(30, main)


def test_a_crawl_that_is_broken_off_closes_cleanly_and_goes_on_where_it_was(tmp_path: Path) -> None:
    async def main() -> None:
        async with web(latency=0.2) as served:
            found: list[str] = []
            for most in (1, 10, 30, 1_000):
                async with crawl_of(served, dir=tmp_path / "crawl") as pages:
                    before = len(found)
                    async for page in pages:
                        found.append(page.url)
                        if len(found) - before == most:
                            break
            assert set(found) >= expected(served)
            repeated = len(found) - len(set(found))
            assert repeated <= 3, "only the page at which it was broken off comes again"

    within(60, main)


def test_a_break_without_more_ado_ends_the_crawl_too(tmp_path: Path) -> None:
    async def main() -> None:
        async with web(latency=0.2) as served:
            before = asyncio.all_tasks()
            async for _ in crawl_of(served, dir=tmp_path / "crawl"):
                break
            gc.collect()
            while asyncio.all_tasks() - before:
                await asyncio.wait(asyncio.all_tasks() - before)
            asked = served.requests
            async with crawl_of(served, dir=tmp_path / "crawl", max_pages=1) as pages:  # the store is free again
                assert len([page async for page in pages]) == 1
            assert served.requests > asked

    within(30, main)


def test_an_exception_of_the_consumer_ends_the_crawl_and_its_page_comes_again(tmp_path: Path) -> None:
    async def main() -> None:
        async with web() as served:
            failed: list[str] = []

            async def fail() -> None:
                async with crawl_of(served, dir=tmp_path / "crawl") as pages:
                    async for page in pages:
                        failed.append(page.url)
                        raise ZeroDivisionError

            with pytest.raises(ZeroDivisionError):
                await fail()
            async with crawl_of(served, dir=tmp_path / "crawl") as pages:
                assert set(failed) <= {page.url async for page in pages}
            assert len(failed) == 1

    within(30, main)


def test_a_consumer_that_is_cancelled_leaves_nothing_behind(tmp_path: Path) -> None:
    async def main() -> None:
        async with web(latency=0.5) as served:
            before = asyncio.all_tasks()
            begun = asyncio.Event()

            async def consume() -> None:
                async with crawl_of(served, dir=tmp_path / "crawl") as pages:
                    async for _ in pages:
                        begun.set()

            consumer = asyncio.create_task(consume())
            await begun.wait()
            consumer.cancel()
            await asyncio.sleep(0)
            consumer.cancel()  # again, while it drains
            with pytest.raises(asyncio.CancelledError):
                await consumer
            assert asyncio.all_tasks() == before
            async with crawl_of(served, dir=tmp_path / "crawl") as pages:
                assert len([page async for page in pages]) > 0

    within(60, main)


def test_a_consumer_that_is_cancelled_right_away_leaves_nothing_behind(tmp_path: Path) -> None:
    async def main() -> None:
        async with web() as served:
            before = asyncio.all_tasks()
            for steps in range(4):
                pages = aiter(crawl_of(served, dir=tmp_path / "crawl"))
                consumer = asyncio.ensure_future(anext(pages))
                for _ in range(steps):
                    await asyncio.sleep(0)
                consumer.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await consumer
                await pages.aclose()
                assert asyncio.all_tasks() == before

    within(30, main)


def test_what_fails_in_the_crawl_is_raised_in_the_consumer(tmp_path: Path) -> None:
    async def main() -> None:
        async with web(latency=0.2) as served:
            before = asyncio.all_tasks()
            (tmp_path / "crawl").mkdir()
            (tmp_path / "crawl" / "records").write_text("in the way")
            (tmp_path / "heads.toml").write_text('fields = {title = "h1"}')
            settings = {**OWN, "crawl.processors": [f"items:{tmp_path / 'heads.toml'}"]}
            with pytest.raises(WriteFailed, match="records"):
                async for _ in lycosa.crawl(*served.seeds(3), settings=settings, dir=tmp_path / "crawl"):
                    pass
            assert asyncio.all_tasks() == before

    within(30, main)


def test_two_crawls_cannot_share_a_directory_but_can_run_at_once(tmp_path: Path) -> None:
    async def main() -> None:
        async with web() as served:
            async with crawl_of(served, dir=tmp_path / "crawl") as pages:
                async for _ in pages:
                    with pytest.raises(StoreBusy):
                        async for _ in crawl_of(served, dir=tmp_path / "crawl"):
                            pass
                    break
            each = [crawl_of(served, max_pages=10), crawl_of(served, max_pages=10)]

            async def number_of(pages: Any) -> int:
                return len([page async for page in pages])

            assert await asyncio.gather(*map(number_of, each)) == [10, 10]

    within(30, main)


def test_bad_input_is_an_exception_with_one_sentence() -> None:
    async def first(*seeds: str, **how: Any) -> None:
        async for _ in lycosa.crawl(*seeds, **how):
            pass

    with pytest.raises(BadSetting, match=r"polite\.delay"):
        lycosa.crawl("http://a/", settings={"polite.dely": 1})
    for seeds, error, says in (
        ((), BadInput, "nothing to crawl"),
        (("ftp://a/",), BadInput, "http"),
        (("http://exa mple/",), BadUrl, "is not a URL"),
        (("http://a/",), BadSetting, "contact"),
    ):
        with pytest.raises(error, match=says):
            asyncio.run(first(*seeds))
    with pytest.raises(BadSetting, match="no processor 'nope'"):
        asyncio.run(first("http://a/", contact="x", settings={"crawl.processors": ["nope"]}))


def test_importing_is_cheap_and_the_name_means_the_same_whatever_was_imported() -> None:
    code = (
        "import sys, lycosa\n"
        "assert not {'asyncio', 'msgspec', 'pycurl', 'lycosa.api'} & set(sys.modules)\n"
        "assert callable(lycosa.crawl)\n"
        "import lycosa.crawl.loop as loop\n"
        "from lycosa.crawl import frontier\n"
        "assert lycosa.crawl.loop is loop\n"
        "assert type(lycosa.crawl('http://a/')).__name__ == 'Crawling'\n"
        "assert {'crawl', 'Items', 'Findings', 'PageView'} <= set(dir(lycosa))\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_the_example_writes_items_as_json_lines() -> None:
    with site(QUOTES) as seed:
        command = [
            sys.executable,
            "-X",
            "dev",
            "-W",
            "error",
            str(ROOT / "examples/quotes.py"),
            seed,
            "you@example.org",
        ]
        done = subprocess.run(command, env=ON_LOOPBACK, capture_output=True, check=True, timeout=60)
    found = {item["text"]: item for item in map(json.loads, done.stdout.splitlines())}
    assert sorted(found) == ["Be kind.", "Go.", "Stay."]
    assert found["Be kind."] == {"url": seed, "text": "Be kind.", "author": "Ada", "tags": ["life", "work"]}


def test_breaking_off_and_ending_the_program_at_once_says_nothing_on_stderr() -> None:
    code = (
        "import asyncio, sys, lycosa\n"
        "async def main():\n"
        "    async for page in lycosa.crawl(sys.argv[1]):\n"
        "        break\n"
        "asyncio.run(main())\n"
    )
    with site(QUOTES) as seed:
        command = [sys.executable, "-W", "error", "-c", code, seed]
        done = subprocess.run(command, env=ON_LOOPBACK, capture_output=True, check=True, timeout=60)
    assert done.stderr == b""


@pytest.mark.parametrize("name", ["quotes.py", "quotes.toml"])
def test_the_documentation_shows_the_examples_as_they_are(name: str) -> None:
    shown = "".join((ROOT / "docs" / page).read_text() for page in ("python.md", "processors.md"))
    assert (ROOT / "examples" / name).read_text().strip() in shown
