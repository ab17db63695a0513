"""A disk without room pauses the crawl; with room made, it goes on and nothing is lost."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from crawling import finish, lycosa, start, within
from small_crawl import crawl_of

from lycosa.sim.plan import WorldPlan
from lycosa.sim.server import serve
from lycosa.sim.world import World

PLAN = WorldPlan(seed=9, hosts=3, pages=400, page_bytes=40_000, crawl_delay_share=0.0, broken_robots_share=0.0)
BALLAST_MB = 24


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 40 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    if (
        os.getuid() != 0
        or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40m", "none", place], check=False).returncode
    ):
        pytest.skip("a small disk can be mounted by root only")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


def test_a_full_disk_pauses_the_crawl_and_it_goes_on_when_there_is_room(small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(os.urandom(BALLAST_MB << 20))

    async def main() -> None:
        async with serve(World(PLAN), 0) as served:
            crawl = await start(*crawl_of(served.seeds(1)[0], small_disk / "crawl", "--json"))
            assert crawl.stderr is not None
            while b"paused" not in (line := await crawl.stderr.readline()):
                assert line, "it ended without a pause"
            assert b"has" in line or b"No space" in line
            ballast.unlink()
            ended = await finish(crawl)
            assert ended.summary["state"] == "finished", ended.err
            reach = served.world.truth.walk(served.seeds(1), robots=True, sitemaps=False)
            assert ended.summary["pages"]["fetched"] >= len(reach.pages)
        proof = await lycosa("verify", "--dir", str(small_disk / "crawl"))
        assert proof.code == 0, proof.out

    within(120, main)


def test_a_crawl_that_waits_for_room_can_be_stopped(small_disk: Path) -> None:
    (small_disk / "ballast").write_bytes(os.urandom(BALLAST_MB << 20))

    async def main() -> None:
        async with serve(World(PLAN), 0) as served:
            crawl = await start(*crawl_of(served.seeds(1)[0], small_disk / "crawl", "--json"))
            assert crawl.stderr is not None
            while b"paused" not in (line := await crawl.stderr.readline()):
                assert line, "it ended without a pause"
            crawl.terminate()
            ended = await finish(crawl)
            assert (ended.code, ended.summary["state"]) == (0, "stopped"), ended.err
            assert ended.summary["pages"]["fetched"] > 0

    within(60, main)


def test_the_crawl_stops_when_its_directory_is_as_large_as_it_may_be(tmp_path: Path) -> None:
    async def main() -> None:
        async with serve(World(PLAN), 0) as served:
            limits = ["--delay", "20ms", "-s", "disk.max_bytes=1MB", "--json"]
            ended = await lycosa(*crawl_of(served.seeds(1)[0], tmp_path / "crawl", *limits))
            assert ended.summary["state"] == "stopped"
            assert ended.summary["urls"]["queued"] > 0
            assert "disk.max_bytes" in ended.err

    within(60, main)
