"""`python -m benchmarks.search [--pages N] [--dir DIR]`: what the index and an answer cost, on real pages.

The pages are the documentation on this machine; where one documentation is there in several versions they are much
alike, which is said. Exits 1 if a bar does not hold.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import multiprocessing
import random
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from benchmarks.pages import TOOLCHAINS, html_files, make_tables
from benchmarks.timing import Row, show
from lycosa.backends.parquet import list_files
from lycosa.errors import LycosaError
from lycosa.indexing import INDEX, catch_up, open_search
from lycosa.search.answer import Request
from lycosa.search.engine import Search
from lycosa.sim.plan import WorldPlan
from lycosa.sim.server import Serving, serve
from lycosa.sim.world import World

_QUERIES = 2_000


def size_of(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())


def texts(directory: Path) -> tuple[list[str], list[str], int]:
    """Titles and texts of some pages, to take queries from, and the bytes of all text."""
    titles, some, total = [], [], 0
    for file in list_files(directory / "tables", "pages"):
        rows = pq.read_table(file.path, columns=["title", "text", "headings"]).to_pylist()
        total += sum(len((row[name] or "").encode()) for row in rows for name in ("title", "text", "headings"))
        titles += [row["title"] for row in rows if row["title"]]
        some += [row["text"] for row in rows[::17] if row["text"]]
    return titles, some, total


def make_queries(titles: Sequence[str], some: Sequence[str], count: int) -> list[str]:
    """What people ask: a few words of a title, words of a text, a phrase, a site, something misspelt."""
    dice = random.Random(5)
    queries: list[str] = []
    while len(queries) < count:
        kind = dice.random()
        if kind < 0.4:
            queries.append(" ".join(dice.choice(titles).split()[: dice.randint(1, 4)]))
        elif kind < 0.8:
            words = dice.choice(some).split()
            at = dice.randrange(len(words))
            queries.append(" ".join([*words[at : at + 2], *dice.sample(words, min(len(words), dice.randint(0, 3)))]))
        elif kind < 0.9:
            words = dice.choice(some).split()
            at = dice.randrange(len(words))
            queries.append('"' + " ".join(words[at : at + 3]) + '"')
        elif kind < 0.95:
            queries.append("how to " + " ".join(dice.choice(titles).lower().split()[:2]) + " in the file")
        else:
            word = max(dice.choice(titles).split(), key=len)
            queries.append(word[:2] + word[3:])
    return queries


def ask_all(search: Search, queries: Sequence[str], taken: list[float]) -> None:
    for query in queries:
        began = time.perf_counter()
        search.search(Request(query=query))
        taken.append((time.perf_counter() - began) * 1000)


def measure(directory: Path) -> list[Row]:
    began, cpu = time.perf_counter(), time.process_time()
    pages = catch_up(directory, rebuild=True)
    elapsed_s, cpu_s = time.perf_counter() - began, time.process_time() - cpu
    titles, some, text_bytes = texts(directory)
    rows = [
        Row(
            f"indexing {pages:,} pages ({cpu_s / pages * 1e6:.0f} us of CPU each)", pages / elapsed_s, "/s", 2_500, True
        ),
        Row(f"index / text of {text_bytes / 1e6:.0f} MB", size_of(directory / INDEX) / text_bytes, "x", 0.8),
    ]
    search = open_search(directory)
    queries = make_queries(titles, some, _QUERIES)
    ask_all(search, queries[:100], [])
    search, taken = open_search(directory), list[float]()
    ask_all(search, queries[100:], taken)
    p50, p99, worst = np.percentile(taken, [50, 99, 100])
    rows.append(Row(f"an answer with snippets, p99 (p50 {p50:.1f}, most {worst:.0f})", float(p99), "ms", 30))
    search, halves = open_search(directory), (queries[100::2], queries[101::2])
    threads = [threading.Thread(target=ask_all, args=(search, half, [])) for half in halves]
    began, cpu = time.perf_counter(), time.process_time()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    asked, cpu_s = _QUERIES - 100, time.process_time() - cpu
    name = f"answers a second, two threads ({cpu_s / asked * 1000:.1f} ms of CPU each)"
    rows.append(Row(name, asked / (time.perf_counter() - began), "/s", 200, True))
    rows.append(Row("answers a second, two processes", asked / ask_in_processes(directory, halves), "/s", 300, True))
    return rows


def ask_in_processes(directory: Path, parts: Sequence[Sequence[str]]) -> float:
    """Seconds that processes take, a part of the queries each, as `serve.processes` has them."""
    context = multiprocessing.get_context("spawn")
    ready = context.Barrier(len(parts) + 1)
    workers = [context.Process(target=_ask, args=(directory, part, ready)) for part in parts]
    for worker in workers:
        worker.start()
    ready.wait()
    began = time.perf_counter()
    for worker in workers:
        worker.join()
    return time.perf_counter() - began


def _ask(directory: Path, queries: Sequence[str], ready: Any) -> None:
    search = open_search(directory)
    for query in ("first", "one two", '"a phrase"'):
        search.search(Request(query=query))
    ready.wait()
    for query in queries:
        search.search(Request(query=query))


async def fetched_to_found(directory: Path) -> Row:
    """A crawl of a synthetic web, and how long after its fetch each page can be found, at most."""
    plan = WorldPlan(seed=5, hosts=4, pages=250, crawl_delay_share=0.0, broken_robots_share=0.0)
    async with serve(World(plan), 0, how=Serving(latency=0.2)) as served:
        seeds = served.seeds(4)
        command = [
            sys.executable,
            "-m",
            "lycosa",
            "crawl",
            *seeds,
            "--dir",
            str(directory),
            "-s",
            "search.index=true",
            "--delay",
            "0s",
        ]
        own = ["-s", 'polite.own_hosts=["127.0.0.0/8"]']
        quiet = asyncio.subprocess.DEVNULL
        process = await asyncio.create_subprocess_exec(*command, *own, stdout=quiet, stderr=quiet)
        hosts = [seed.split("/")[2].partition(":")[0] for seed in seeds]
        late: dict[str, float] = {}
        while process.returncode is None:
            await asyncio.sleep(0.2)
            with contextlib.suppress(LycosaError):
                search = open_search(directory)
                for host in hosts:
                    for result in search.search(Request(query=f"site:{host}", limit=100, fold=0)).results:
                        late.setdefault(result.url, time.time() - result.fetched_at)
    times = sorted(late.values())
    name = f"from fetch to found, of {len(times)} pages (median {times[len(times) // 2]:.1f}), at most"
    return Row(name, times[-1], "s", 10)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=52_000)
    parser.add_argument("--dir", type=Path, help="keep the tables and the index here, to measure again")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        directory = chosen.dir or Path(scratch)
        if not (directory / "tables").is_dir():
            alike = sum(file.startswith(str(TOOLCHAINS)) for file in html_files(chosen.pages))
            print(f"reading pages, {alike:,} of them from versions of one documentation")
            print(f"{make_tables(directory, chosen.pages):,} pages")
        rows = [*measure(directory), asyncio.run(fetched_to_found(Path(scratch) / "crawl"))]
        return 0 if show(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
