"""`crawl --plan`, `try fetch` and their like ask as a crawl asks; progress never reaches stdout."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

from small_crawl import ENVIRONMENT, OWN, crawl_of, done, start, web

from lycosa.sim.audit import audit
from lycosa.sim.plan import WorldPlan

FAST = ("-s", OWN, "-s", "polite.delay=0.1")
SLOW_HOSTS = WorldPlan(seed=5, hosts=6, pages=60, crawl_delay_share=1.0, broken_robots_share=0.0)


def test_a_plan_asks_for_robots_txt_only_and_shows_verdicts_and_a_duration(tmp_path: Path) -> None:
    async def run() -> None:
        async with web(SLOW_HOSTS) as served:
            seeds = [*served.seeds(6), "http://127.0.0.1:9/"]
            command = ["crawl", "--plan", *seeds, "-s", OWN, "--delay", "100ms", "--max-pages", "60"]
            out, err = await done(*command, "--dir", tmp_path / "crawl", "--json")
            plan = json.loads(out)
            assert {line.target for line in served.log} == {"/robots.txt"}
            assert len(served.log) == 6
            assert [seed["url"] for seed in plan["seeds"]] == seeds
            assert plan["seeds"][-1]["verdict"] == "unreachable"
            assert plan["seeds"][-1]["reason"] == "connect.refused"
            allowed = [seed for seed in plan["seeds"] if seed["verdict"] == "allowed"]
            assert allowed
            assert any(seed["gap_s"] > 0.1 and "Crawl-delay" in seed["reason"] for seed in allowed)
            assert plan["estimate"]["hosts"] == len(allowed)
            assert plan["estimate"]["seconds"] > 0
            assert plan["scope"]["max_pages"] == 60
            assert not (tmp_path / "crawl").exists(), "a plan leaves nothing behind"
            shown, _ = await done(*command, "--dir", tmp_path / "crawl")
            assert b"pages an hour" in shown
            assert err == b""

    asyncio.run(run())


def test_a_plan_needs_a_contact_and_a_seed_as_a_crawl_does(tmp_path: Path) -> None:
    async def run() -> None:
        _, err = await done("crawl", "--plan", "http://127.0.0.1:9/", "--dir", tmp_path / "crawl", code=2)
        assert b"--contact" in err
        _, err = await done("crawl", "--plan", "--dir", tmp_path / "crawl", code=2)
        assert b"name at least one seed" in err

    asyncio.run(run())


def test_fetch_asks_for_robots_txt_first_and_keeps_the_delay() -> None:
    async def run() -> None:
        async with web() as served:
            out, _ = await done("try", "fetch", served.seeds(1)[0], *FAST, "--json")
            told = json.loads(out)
            assert told["outcome"] == "fetched"
            assert [line.target for line in served.log] == ["/robots.txt", "/"]
            assert audit(served.log, by="host").worst_gap_s >= 0.1
            page = told["requests"][-1]
            assert (page["status"], page["address"]) == (200, "127.32.0.1")
            assert page["bytes_decoded"] >= page["bytes_received"] > 0
            assert page["timings"]["total_s"] > 0
            assert ["Content-Type", "text/html; charset=utf-8"] in page["headers"]
            shown, _ = await done("try", "fetch", served.seeds(1)[0], *FAST)
            assert b"HTTP/1.1 200" in shown

    asyncio.run(run())


def test_fetch_of_what_cannot_be_had_exits_with_one_and_tries_once() -> None:
    async def run() -> None:
        out, _ = await done("try", "fetch", "http://127.0.0.1:9/", *FAST, "--json", code=1)
        told = json.loads(out)
        assert (told["outcome"], told["reason"]) == ("failed", "robots.txt: connect.refused")
        assert len(told["requests"]) == 1
        _, err = await done("try", "fetch", "http://127.0.0.1:9/", code=2)
        assert b"--contact" in err

    asyncio.run(run())


def test_rules_pages_and_sitemaps_can_be_named_by_their_url() -> None:
    async def run() -> None:
        async with web() as served:
            seed = served.seeds(1)[0]
            out, _ = await done("try", "robots", seed, "/", *FAST, "--json")
            assert json.loads(out)["allowed"] == {"/": True}
            assert {line.target for line in served.log} == {"/robots.txt"}
            out, _ = await done("try", "extract", seed, *FAST, "--json")
            page = json.loads(out)
            assert page["base"] == seed
            assert page["links"]
            _, err = await done("try", "sitemap", f"{seed}none-here.xml", *FAST, code=2)
            assert b"could not be fetched (gone" in err

    asyncio.run(run())


def test_progress_is_lines_on_stderr_where_there_is_no_terminal(tmp_path: Path) -> None:
    async def run() -> None:
        async with web(latency=1.0) as served:
            command = crawl_of(served.seeds(1)[0], tmp_path / "crawl", "-s", "fetch.slots=1", "--json")
            process = await start(*command)
            assert process.stderr is not None
            line = (await asyncio.wait_for(process.stderr.readline(), 60)).decode()
            assert re.fullmatch(r"0:0\d  [\d,]+ pages \([\d.]+/s\), .* hosts, [\d,]+ queued, 0 failed\n", line)
            process.terminate()
            out, _ = await process.communicate()
            assert json.loads(out)["state"] == "stopped"

    asyncio.run(run())


def test_progress_on_a_terminal_stays_in_place_and_leaves_stdout_alone(tmp_path: Path) -> None:
    async def run() -> None:
        async with web(latency=0.3) as served:
            command = crawl_of(
                served.seeds(1)[0], tmp_path / "crawl", "--max-pages", "30", "-s", "fetch.slots=4", "--json"
            )
            screen, terminal = pty.openpty()
            process = await asyncio.to_thread(
                subprocess.Popen,
                [sys.executable, "-m", "lycosa", *command],
                stdout=subprocess.PIPE,
                stderr=terminal,
                env=ENVIRONMENT | {"TERM": "xterm", "COLUMNS": "80"},
            )
            os.close(terminal)
            shown = await asyncio.to_thread(_drain, screen)
            out, _ = await asyncio.to_thread(process.communicate)
            assert json.loads(out)["pages"]["fetched"] == 30
            assert "pages" in shown
            assert "\x1b[1A" in shown, "it goes back up to write over what it wrote"
            plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)
            assert all(len(line) <= 80 for line in plain.replace("\r", "\n").splitlines())

    asyncio.run(run())


def _drain(screen: int) -> str:
    shown = b""
    while True:
        try:
            data = os.read(screen, 65_536)
        except OSError:  # the other end was closed
            break
        if not data:
            break
        shown += data
    os.close(screen)
    return shown.decode("utf-8", "replace")
