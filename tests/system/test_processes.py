"""A crawl in several processes: nothing lost, nothing twice, and as polite as in one."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from crawling import NameServer, naming
from small_crawl import ENVIRONMENT, OWN, done, pages, told, web
from test_shared_address import ADDRESS, Site, least_gap_s, serving

from lycosa.backends.control import ask
from lycosa.backends.layout import stores_of
from lycosa.errors import BadInput
from lycosa.kit.keys import host_key, owner_of
from lycosa.sim.audit import audit
from lycosa.sim.plan import WorldPlan
from lycosa.sim.server import Served
from lycosa.web.url import Normaliser

PLAN = WorldPlan(seed=7, hosts=8, pages=160, page_bytes=3_000, crawl_delay_share=0.0, broken_robots_share=0.0)


def crawl_of(served: Served, directory: Path, processes: int, *more: str) -> list[str]:
    seed = served.seeds(1)[0]
    options = ["--scope", "web", "--delay", "0s", "-s", OWN, "--dir", str(directory), "--processes", str(processes)]
    return ["crawl", seed, *options, *more]


async def start(*arguments: str, program: tuple[str, ...] = ("-m", "lycosa")) -> asyncio.subprocess.Process:
    """A crawl in a process group of its own, as a shell starts it."""
    return await asyncio.create_subprocess_exec(
        sys.executable, *program, *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        env=ENVIRONMENT, start_new_session=True,
    )  # fmt: skip


async def ended(process: asyncio.subprocess.Process, code: int = 0) -> tuple[Any, str]:
    reading = asyncio.create_task(process.communicate())
    if not (await asyncio.wait([reading], timeout=60))[0]:
        os.killpg(process.pid, signal.SIGKILL)
        raise TimeoutError(f"it did not end; it said: {(await reading)[1].decode()}")
    out, err = await reading
    assert process.returncode == code, err.decode()
    return (json.loads(out) if out else None), err.decode()


def shards_of(pid: int) -> list[int]:
    """The processes that a crawl has started."""
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def begun(pid: int) -> set[int]:
    """Those of them whose interpreter has just begun: until then whoever starts one waits for it."""
    found = set()
    for shard in shards_of(pid):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            if b"lycosa.shard" in Path(f"/proc/{shard}/cmdline").read_bytes():
                found.add(shard)
    return found


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def until(holds: Any, seconds: float = 20.0) -> None:
    async with asyncio.timeout(seconds):
        while not holds():  # noqa: ASYNC110 - processes of others can only be watched
            await asyncio.sleep(0.01)


def expected(served: Served) -> set[str]:
    reach = served.world.truth.walk(served.seeds(1), robots=True, sitemaps=False)
    return set(map(Normaliser(), reach.pages))


def found(directory: Path) -> set[str]:
    return {page["url"] for page in pages(directory) if page["status"] == 200}


def repeated(served: Served) -> int:
    return len(served.log) - len({(line.host, line.target) for line in served.log})


def test_two_processes_find_every_page_once_and_the_same_copies_as_one(tmp_path: Path) -> None:
    async def run() -> None:
        async with web(PLAN) as served:
            one, _ = await ended(await start(*crawl_of(served, tmp_path / "one", 1, "--json")))
            served.log.clear()
            two, _ = await ended(await start(*crawl_of(served, tmp_path / "two", 2, "--json")))
            assert two["state"] == "finished"
            for name in ("pages", "urls", "duplicates", "failures"):
                assert two[name] == one[name]
            assert two["hosts"]["known"] == one["hosts"]["known"]
            assert repeated(served) == 0
            manners = audit(served.log, by="host")
            assert manners.robots_first
            assert max(manners.most_at_once.values()) == 1
            assert found(tmp_path / "two") == found(tmp_path / "one") >= expected(served)
            assert len(stores_of(tmp_path / "two")) == 2

    asyncio.run(run())
    check_readers(tmp_path)


def check_readers(tmp_path: Path) -> None:
    """Every command tells the same of both crawls."""
    one, two = tmp_path / "one", tmp_path / "two"
    assert told("verify", "--dir", two)["faults"] == []
    assert told("report", "politeness", "--dir", two)["polite"]
    assert told("report", "hosts", "--dir", two)["hosts_asked"] == told("report", "hosts", "--dir", one)["hosts_asked"]
    for crawl in (one, two):
        told("export", "parquet", crawl / "out", "--dir", crawl)
    assert rows(two / "out") == rows(one / "out")
    page = next(page for page in pages(two) if page["alias_of"])
    assert told("explain", page["url"], "--dir", two)["outcome"] == "fetched"
    told("backup", tmp_path / "copy", "--dir", two)
    assert found(tmp_path / "copy") == found(two)
    host = page["url"].split("/")[2].partition(":")[0]
    told("forget", host, "--yes", "--dir", two)
    assert not [url for url in found(two) if url.split("/")[2].partition(":")[0] == host]
    assert told("verify", "--dir", two)["faults"] == []


def rows(directory: Path) -> dict[str, set[str]]:
    import pyarrow.parquet as pq

    return {
        table: {row for file in (directory / table).rglob("*.parquet") for row in pq.read_table(file)[name].to_pylist()}
        for table, name in (("pages", "url"), ("links", "target"), ("requests", "url"))
    }


def test_a_shard_that_is_killed_is_started_again_and_nothing_is_lost(tmp_path: Path) -> None:
    async def run() -> None:
        async with web(PLAN, latency=0.1) as served:
            process = await start(*crawl_of(served, tmp_path, 2, "-s", "fetch.slots=4", "--json"))
            for count in (40, 90):
                await until(lambda count=count: served.requests > count)
                os.kill(shards_of(process.pid)[count % 2], signal.SIGKILL)
            summary, err = await ended(process)
            assert summary["state"] == "finished"
            assert "started again" in err
            assert found(tmp_path) >= expected(served)
            assert repeated(served) <= 2 * 4
        assert told("verify", "--dir", tmp_path)["faults"] == []

    asyncio.run(run())


IMPATIENT = """
from lycosa.cli.main import run
import lycosa.supervisor
lycosa.supervisor._PATIENCE_S, lycosa.supervisor._MOST_SILENT = 0.5, 3
run()
"""


async def check_hung(process: asyncio.subprocess.Process, served: Served, directory: Path, times: int = 1) -> None:
    """The crawl ends although so many shards did not, and nothing is lost."""
    summary, err = await ended(process)
    assert summary["state"] == "finished"
    assert err.count("does not answer any more") >= times
    assert found(directory) >= expected(served)


def test_a_shard_that_hangs_is_started_again_and_nothing_is_lost(tmp_path: Path) -> None:
    async def run() -> None:
        async with web(PLAN, latency=0.2) as served:
            crawl = crawl_of(served, tmp_path, 2, "-s", "fetch.slots=4", "--json")
            process = await start(*crawl, program=("-c", IMPATIENT))
            await until(lambda: served.requests > 80)  # seconds: it has answered before
            os.kill(shards_of(process.pid)[0], signal.SIGSTOP)
            await check_hung(process, served, tmp_path)

    asyncio.run(run())


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells whether another process works")
def test_a_shard_that_hangs_before_it_has_said_a_word_is_started_again(tmp_path: Path) -> None:
    async def run() -> None:
        async with web(PLAN, latency=0.2) as served:
            crawl = crawl_of(served, tmp_path, 2, "-s", "fetch.slots=4", "--json")
            process = await start(*crawl, program=("-c", IMPATIENT))
            await until(lambda: served.requests > 40)
            first = shards_of(process.pid)
            os.kill(first[1], signal.SIGKILL)
            await until(lambda: begun(process.pid) - set(first))
            os.kill((begun(process.pid) - set(first)).pop(), signal.SIGSTOP)
            await check_hung(process, served, tmp_path)

    asyncio.run(run())


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells whether another process works")
def test_a_shard_that_hangs_when_it_closes_does_not_keep_the_crawl(tmp_path: Path) -> None:
    hangs = "import signal, lycosa.wiring; lycosa.wiring.Crawl.close = lambda crawl: signal.pause()"
    hanging = IMPATIENT.replace("import lycosa.supervisor", f"import lycosa.supervisor; {hangs}")

    async def run() -> None:
        async with web(PLAN) as served:
            crawl = crawl_of(served, tmp_path, 2, "--json")
            await check_hung(await start(*crawl, program=("-c", hanging)), served, tmp_path, times=2)

    asyncio.run(run())


HOPELESS = """
from lycosa.cli.main import run
import socket, subprocess, lycosa.supervisor as supervisor
supervisor._PATIENCE_S, supervisor._MOST_SILENT, supervisor._WITHIN_S = 0.1, 2, 0.0
ends = []
def hang():
    ours, end = socket.socketpair()
    ends.append(end)  # somebody holds it although the shard is dead
    return subprocess.Popen(["sleep", "1000"]), ours
supervisor.spawn, supervisor.bear = hang, lambda count, may_copy: [hang() for _ in range(count)]
run()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells whether another process works")
def test_shards_that_hang_whenever_they_are_started_end_the_crawl(tmp_path: Path) -> None:
    async def run() -> None:
        async with web(PLAN) as served:
            process = await start(*crawl_of(served, tmp_path, 2), program=("-c", HOPELESS))
            _, err = await ended(process, code=2)
            assert "has died 5 times before it had begun" in err.splitlines()[-1]

    asyncio.run(run())


def test_what_a_shard_cannot_do_is_answered_by_a_sentence_and_it_crawls_on(tmp_path: Path) -> None:
    async def run() -> None:
        async with web(PLAN, latency=0.1) as served:
            process = await start(*crawl_of(served, tmp_path, 2, "-s", "fetch.slots=4", "--json"))
            await until(lambda: served.requests > 20)
            for wrong in ({"max_rps": "a"}, {"crawl_delay_s": -1.0}, [], 7):
                with pytest.raises(BadInput):
                    await asyncio.to_thread(ask, tmp_path, {"do": "override", "host": "x", "override": wrong})
            summary, err = await ended(process)
            assert summary["state"] == "finished"
            assert "ended" not in err
            assert "Traceback" not in err
            assert found(tmp_path) >= expected(served)

    asyncio.run(run())


def test_all_processes_killed_at_once_lose_nothing(tmp_path: Path) -> None:
    async def run() -> None:
        async with web(PLAN, latency=0.1) as served:
            command = crawl_of(served, tmp_path, 2, "-s", "fetch.slots=4", "--json")
            process = await start(*command)
            await until(lambda: served.requests > 60)
            everybody = [process.pid, *shards_of(process.pid)]
            assert len(everybody) == 3
            for pid in everybody:
                os.kill(pid, signal.SIGKILL)
            await process.communicate()
            summary, _ = await ended(await start(*command))
            assert summary["state"] == "finished"
            assert found(tmp_path) >= expected(served)
            assert repeated(served) <= 2 * 4

    asyncio.run(run())


def test_a_signal_to_the_whole_group_drains_all_and_the_crawl_goes_on(tmp_path: Path) -> None:
    async def run() -> None:
        async with web(PLAN, latency=0.2) as served:
            command = crawl_of(served, tmp_path, 2, "--json")
            process = await start(*command, "-s", "fetch.slots=1")
            await until(lambda: served.requests > 15)
            assert "in use" in (await done(*command, code=2))[1].decode()
            assert told("status", "--dir", tmp_path)["state"] == "running"
            os.killpg(process.pid, signal.SIGINT)
            summary, err = await ended(process)
            assert "Traceback" not in err
            assert summary["state"] == "stopped"
            assert 0 < summary["pages"]["fetched"] < 140
            assert told("status", "--dir", tmp_path)["pages"] == summary["pages"]
            summary, _ = await ended(await start(*command, "-s", "fetch.slots=64"))
            assert summary["state"] == "finished"
            assert found(tmp_path) >= expected(served)
            assert repeated(served) == 0

    asyncio.run(run())


def test_shards_stop_when_their_supervisor_is_killed_and_others_can_go_on(tmp_path: Path) -> None:
    async def run() -> None:
        async with web(PLAN, latency=0.05) as served:
            command = crawl_of(served, tmp_path, 2, "-s", "fetch.slots=4", "--json")
            process = await start(*command)
            await until(lambda: served.requests > 30)
            shards = shards_of(process.pid)
            process.kill()
            await until(lambda: not any(map(is_alive, shards)), 8)
            await process.communicate()
            summary, _ = await ended(await start(*command))
            assert summary["state"] == "finished"
            assert found(tmp_path) >= expected(served)

    asyncio.run(run())


def test_a_shard_that_dies_again_and_again_ends_the_crawl_with_one_sentence(tmp_path: Path) -> None:
    async def run() -> None:
        async with web(PLAN, latency=0.2) as served:
            process = await start(*crawl_of(served, tmp_path, 2, "-s", "fetch.slots=1"))
            killing = asyncio.create_task(kill_newest(process.pid))
            _, err = await ended(process, 2)
            killing.cancel()
            assert err.splitlines()[-1].startswith("lycosa: a process of this crawl")
            assert "nothing is lost" in err

    asyncio.run(run())


async def kill_newest(pid: int) -> None:
    """Whatever the crawl starts after its first two processes dies at once; and one of those, to begin with."""
    await until(lambda: len(shards_of(pid)) == 2)
    kept = shards_of(pid)[0]
    while True:
        for shard in shards_of(pid):
            if shard != kept:
                with contextlib.suppress(ProcessLookupError):  # somebody has noticed its end already
                    os.kill(shard, signal.SIGKILL)
        await asyncio.sleep(0.01)


def names_of_both_shards() -> Iterator[list[str]]:
    names = [f"name{number}.lycosa.test" for number in range(20)]
    for own in range(2):
        yield [name for name in names if owner_of(host_key(name), 2) == own][:2]


def test_names_of_different_shards_on_one_address_keep_its_gap(tmp_path: Path) -> None:
    async def run() -> None:
        names = [name for part in names_of_both_shards() for name in part]
        known = NameServer({})
        known.wildcard = [ADDRESS]
        async with serving() as site, naming(known) as server:
            await crawl_names(site, server, names, tmp_path)
            assert {line.host for line in site.log} == set(names)
            assert least_gap_s(site.log) >= 0.2

    asyncio.run(run())


async def crawl_names(site: Site, server: str, names: list[str], directory: Path) -> None:
    settings = [f'network.nameservers=["{server}"]', 'polite.own_hosts=["lycosa.test", "127.0.0.0/8"]']
    settings += ["polite.address_delay=200ms", "polite.delay=200ms"]
    options = [part for setting in settings for part in ("-s", setting)]
    await done("crawl", *site.seeds(names), "--dir", str(directory), "--processes", "2", *options)


@pytest.mark.parametrize("steps", [(1, 2, 3, 1)])
def test_a_crawl_can_be_divided_anew_as_often_as_one_likes(tmp_path: Path, steps: tuple[int, ...]) -> None:
    async def run() -> None:
        async with web(PLAN) as served:
            for number, processes in enumerate(steps):
                limit = [] if number == len(steps) - 1 else ["--max-pages", str(30 * (number + 1))]
                more = [*limit, "--json"] if limit else ["-s", "crawl.max_pages=1000000", "--json"]
                summary, _ = await ended(await start(*crawl_of(served, tmp_path, processes, *more)))
                assert summary["state"] == "finished"
                if limit:
                    assert summary["pages"]["fetched"] == 30 * (number + 1)
                assert len(stores_of(tmp_path)) == processes
                assert found(tmp_path) == {row["url"] for row in table_pages(tmp_path) if row["status"] == 200}
            assert found(tmp_path) >= expected(served)
            assert repeated(served) == 0

    asyncio.run(run())
    assert told("verify", "--dir", tmp_path)["faults"] == []
    assert told("report", "politeness", "--dir", tmp_path)["polite"]


def table_pages(directory: Path) -> list[dict[str, Any]]:
    from lycosa.cli.opened import opened

    with opened(directory) as crawl:
        listed = list(crawl.rows("pages", ("url", "status")))
    assert len(listed) == len({row["url"] for row in listed})
    return listed


def test_a_budget_holds_for_all_processes_together_also_when_it_is_lowered_or_raised(tmp_path: Path) -> None:
    async def run() -> None:
        directory = tmp_path / "c"
        async with web(PLAN) as served:
            for most, fetched in ((20, 20), (40, 40), (30, 40), (55, 55)):
                summary, _ = await ended(
                    await start(*crawl_of(served, directory, 2, "--max-pages", str(most), "--json"))
                )
                assert summary["pages"]["fetched"] == fetched, (most, summary)
            assert summary["urls"]["parked"] == 0
            summary, _ = await ended(await start(*crawl_of(served, directory, 2, "--max-pages", "100000", "--json")))
            assert summary["state"] == "finished"
        assert found(directory) >= expected(served)

    asyncio.run(run())


def test_a_lowered_budget_takes_back_what_was_granted(tmp_path: Path) -> None:
    async def run() -> None:
        directory = tmp_path / "c"
        async with web(PLAN, latency=0.05) as served:
            crawl = await start(*crawl_of(served, directory, 2, "--max-pages", "100000", "--json"))
            await until(lambda: len(served.log) > 30)
            os.killpg(crawl.pid, signal.SIGINT)
            await ended(crawl)
            before = told("status", "--dir", directory)["pages"]["fetched"]
            few = str(before + 5)
            summary, _ = await ended(await start(*crawl_of(served, directory, 2, "--max-pages", few, "--json")))
            assert summary["pages"]["fetched"] == before + 5

    asyncio.run(run())
