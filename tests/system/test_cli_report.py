"""`lycosa report`, `status` and `explain` on whole crawls: the log of requests agrees with the log of the server."""

from __future__ import annotations

import asyncio
import json
import signal
from collections import Counter
from pathlib import Path

import pytest
from small_crawl import crawl_of, done, lycosa, start, told, web

from lycosa.backends.rocks import RocksStore
from lycosa.crawl.rows import FORMAT, UrlRow, pack
from lycosa.sim.audit import audit
from lycosa.sim.server import Served


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Served]:
    directory = tmp_path_factory.mktemp("report") / "crawl"

    async def run() -> Served:
        async with web() as served:
            command = crawl_of(served.seeds(1)[0], directory, "--max-pages", "25")
            command[command.index("0s")] = "150ms"
            await done(*command)
            return served

    return directory, asyncio.run(run())


def test_a_polite_crawl_is_proved_polite(crawled: tuple[Path, Served]) -> None:
    directory, served = crawled
    report = told("report", "politeness", "--dir", directory)
    assert (report["polite"], report["violations"], report["out_of_order"]) == (True, 0, 0)
    asked = Counter(line.host for line in served.log)
    assert {host["name"]: host["requests"] for host in report["hosts"]} == asked
    seen = audit(served.log, by="host")
    for host in report["hosts"]:
        assert host["most_at_once"] == 1
        assert host["required_gap_s"] == 0.15
        if host["least_gap_s"] is not None:
            assert 0.15 <= host["least_gap_s"] <= seen.least_gap_s[host["name"]] + 0.1
    assert "polite: every gap was kept" in lycosa("report", "politeness", "--dir", directory).stdout.decode()


def test_a_crawl_that_was_faster_than_its_settings_say_is_told_with_exit_code_1(crawled: tuple[Path, Served]) -> None:
    directory, _ = crawled
    settings = directory / "lycosa.toml"
    as_it_was = settings.read_text()
    settings.write_text(as_it_was.replace('delay = "150ms"', 'delay = "10s"', 1))
    try:
        report = told("report", "politeness", "--dir", directory, code=1)
        assert report["violations"] > 5
        assert b"not polite" in lycosa("report", "politeness", "--dir", directory, code=1).stdout
    finally:
        settings.write_text(as_it_was)


def test_requests_that_a_kill_interrupted_are_in_the_proof(tmp_path: Path) -> None:
    async def run() -> None:
        async with web(latency=1.0) as served:
            command = crawl_of(served.seeds(1)[0], tmp_path / "crawl")
            process = await start(*command)
            while served.requests < 8 and process.returncode is None:  # noqa: ASYNC110
                await asyncio.sleep(0.005)
            process.send_signal(signal.SIGKILL)
            await process.communicate()
            await done(*command)
            report = told("report", "politeness", "--dir", tmp_path / "crawl")
            assert report["interrupted"] >= 1
            assert report["polite"]

    asyncio.run(run())


def test_attention_is_counted_as_the_server_counted_it(crawled: tuple[Path, Served]) -> None:
    directory, served = crawled
    report = told("report", "hosts", "--dir", directory)
    asked = Counter(line.host for line in served.log)
    assert {host["host"]: host["requests"] for host in report["hosts"]} == asked
    assert [host["requests"] for host in report["hosts"]] == sorted(asked.values(), reverse=True)
    assert sum(host["pages"] for host in report["hosts"]) == told("status", "--dir", directory)["pages"]["fetched"]
    assert all(host["delay_s"] >= 0.15 and host["worst_s"] >= host["mean_s"] > 0 for host in report["hosts"])
    first = told("report", "hosts", "--limit", "1", "--dir", directory)
    assert (len(first["hosts"]), first["hosts_asked"]) == (1, len(asked))
    assert told("report", "hosts", "--since", "2100-01-01", "--dir", directory)["hosts"] == []


def test_refusals_are_listed_by_rule(tmp_path: Path) -> None:
    async def run() -> None:
        async with web() as served:
            command = crawl_of(served.seeds(1)[0], tmp_path / "crawl")
            command[command.index("web")] = "host"
            await done(*command)

    asyncio.run(run())
    report = told("report", "traps", "--dir", tmp_path / "crawl")
    rules = {rule["rule"]: rule for rule in report["rules"]}
    assert rules["scope.host"]["count"] > 0
    assert rules["scope.host"]["examples"]
    assert len(rules["scope.host"]["hosts"]) == 1
    assert b"scope.host" in lycosa("report", "traps", "--dir", tmp_path / "crawl").stdout


def test_status_and_explain_are_for_people(crawled: tuple[Path, Served]) -> None:
    directory, served = crawled
    status = lycosa("status", "--dir", directory).stdout.decode()
    assert "25 fetched" in status
    told_why = lycosa("explain", served.seeds(1)[0], "--dir", directory).stdout.decode()
    assert told_why.splitlines()[0].endswith(": fetched")
    assert "found" in told_why


def test_a_crawl_of_a_newer_version_is_refused_in_one_sentence(crawled: tuple[Path, Served], tmp_path: Path) -> None:
    directory, _ = crawled
    told("backup", tmp_path / "copy", "--dir", directory)
    store = RocksStore(tmp_path / "copy" / "shard-00")
    key, _ = next(store.scan("urls"))
    store.write([("urls", key, pack(UrlRow(FORMAT + 1, "http://a/", "", "done", 0, 0, 0.0)))])
    store.close()
    ended = lycosa("pages", "--dir", tmp_path / "copy", code=2)
    [line] = ended.stderr.decode().splitlines()
    assert "newer version" in line


def test_status_of_a_running_crawl_is_live_and_times_of_all_runs_add_up(tmp_path: Path) -> None:
    async def run() -> None:
        async with web(latency=0.3) as served:
            command = crawl_of(served.seeds(1)[0], tmp_path / "crawl", "-s", "fetch.slots=2")
            process = await start(*command)
            while served.requests < 10 and process.returncode is None:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            live = json.loads((await done("status", "--dir", tmp_path / "crawl", "--json"))[0])
            assert live["state"] == "running"
            assert live["hosts"]["active"] >= 1
            process.send_signal(signal.SIGTERM)
            await process.communicate()
            first = told("status", "--dir", tmp_path / "crawl")
            out, _ = await done(*command, "--max-pages", str(first["pages"]["fetched"] + 5), "--json")
            second, run = told("status", "--dir", tmp_path / "crawl"), json.loads(out)
            assert second["elapsed_s"] == pytest.approx(first["elapsed_s"] + run["elapsed_s"], abs=0.01)
            assert run["rate"]["pages_per_s"] == pytest.approx(5 / run["elapsed_s"], rel=0.01)

    asyncio.run(run())
