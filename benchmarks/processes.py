"""`python -m benchmarks.processes [HOSTS] [PAGES]`: what a page costs in two processes and in one.

A synthetic web on loopback addresses, served by a process of its own; the processor's time of the crawl and all it
starts counts, whatever else the machine does. Crawls take turns, and each number of processes shows its best. Exits 1
if the bar does not hold.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import resource
import subprocess
import sys
import tempfile
from multiprocessing.connection import Connection
from pathlib import Path

import uvloop

from benchmarks.timing import Row, show
from lycosa.sim.plan import WorldPlan
from lycosa.sim.server import Serving, serve
from lycosa.sim.world import World

BAR = 1.15
ROUNDS = 2


def main(hosts: int = 100, pages: int = 8_000) -> int:
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=_serve, args=(theirs, hosts, pages), daemon=True)
    server.start()
    seeds = ours.recv()
    costs: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(ROUNDS):
        for processes, found in costs.items():
            found.append(_cost(seeds, processes))
            print(f"{processes}: {found[-1] * 1e3:.3f} ms a page", file=sys.stderr)
    ours.send(None)
    server.join()
    one, two = min(costs[1]), min(costs[2])
    return 0 if show([Row(f"a page in two processes / in one ({one * 1e3:.2f} ms)", two / one, "x", BAR)]) else 1


def _cost(seeds: list[str], processes: int) -> float:
    """Seconds of processor that one page took."""
    with tempfile.TemporaryDirectory() as scratch:
        listed = Path(scratch) / "seeds"
        listed.write_text("\n".join(seeds))
        settings = ["-s", 'polite.own_hosts=["127.0.0.0/8"]', "--scope", "web", "--delay", "0s"]
        command = ["crawl", "--seeds-file", str(listed), "--dir", str(Path(scratch) / "crawl"), *settings, "--json"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        ended = subprocess.run(
            [sys.executable, "-m", "lycosa", *command, "--processes", str(processes)], capture_output=True, check=True
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent_s / json.loads(ended.stdout)["pages"]["fetched"]


def _serve(pipe: Connection, hosts: int, pages: int) -> None:
    async def run() -> None:
        plan = WorldPlan(seed=1, hosts=hosts, pages=pages, page_bytes=20_000, crawl_delay_share=0.0)
        async with serve(World(plan), 0, how=Serving()) as served:
            pipe.send(served.seeds(hosts))
            await asyncio.to_thread(pipe.recv)  # until it is not needed any more

    uvloop.run(run())


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
