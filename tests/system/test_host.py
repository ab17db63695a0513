"""Operators change the pace of a host while the crawl runs."""

from __future__ import annotations

import asyncio
import signal
from itertools import pairwise
from pathlib import Path

from crawling import OWN, finish, lycosa, start, within

from lycosa.sim.plan import WorldPlan
from lycosa.sim.server import Served, serve
from lycosa.sim.world import World

PLAN = WorldPlan(seed=3, hosts=1, pages=400, page_bytes=1_000, crawl_delay_share=0.0, broken_robots_share=0.0)


async def asked(served: Served, count: int) -> None:
    while served.requests < count:  # noqa: ASYNC110 - the count is all there is to watch
        await asyncio.sleep(0.01)


def test_a_paused_host_is_left_alone_at_once_and_asked_again_when_it_is_resumed(tmp_path: Path) -> None:
    directory = str(tmp_path / "crawl")

    async def main() -> None:
        async with serve(World(PLAN), 0) as served:
            seed = served.seeds(1)[0]
            host = seed.split("/")[2].split(":")[0]
            crawl = await start("crawl", seed, "--delay", "20ms", "-s", OWN, "--dir", directory, "--json")
            await asked(served, 5)
            paused = await lycosa("host", host, "--pause", "--dir", directory)
            assert paused.code == 0, paused.err
            assert "paused" in (await lycosa("host", "--dir", directory)).out
            before = served.requests
            await asyncio.sleep(1.0)
            assert served.requests <= before + 1  # one may have been under way
            assert crawl.returncode is None
            resumed = await lycosa("host", host, "--resume", "--dir", directory)
            assert resumed.code == 0, resumed.err
            await asked(served, before + 10)
            crawl.send_signal(signal.SIGINT)
            assert (await finish(crawl)).summary["state"] == "stopped"

    within(40, main)


def test_what_is_set_while_nothing_runs_holds_for_the_next_crawl(tmp_path: Path) -> None:
    directory = str(tmp_path / "crawl")

    async def main() -> None:
        async with serve(World(PLAN), 0) as served:
            seed = served.seeds(1)[0]
            host = seed.split("/")[2].split(":")[0]
            crawl = ["crawl", seed, "--delay", "0s", "-s", OWN, "--dir", directory, "--json"]
            assert (await lycosa(*crawl, "--max-pages", "3")).code == 0
            assert (await lycosa("host", host, "--delay", "400ms", "--dir", directory)).code == 0
            before = len(served.log)
            assert (await lycosa(*crawl, "--max-pages", "7")).code == 0
            starts = [line.start_s for line in served.log[before:]]
            gaps = [later - earlier for earlier, later in pairwise(starts)]
            assert len(gaps) >= 3
            assert min(gaps) >= 0.4

    within(40, main)


def test_what_cannot_be_set_is_refused_in_one_sentence(tmp_path: Path) -> None:
    async def main() -> None:
        nowhere = await lycosa("host", "a.example", "--pause", "--dir", str(tmp_path / "nothing"))
        assert nowhere.code == 2
        assert "holds no crawl" in nowhere.err
        nothing = await lycosa("host", "a.example", "--pause", "--resume", "--dir", str(tmp_path))
        assert nothing.code == 2
        assert "one of --delay, --pause and --resume" in nothing.err

    within(20, main)
