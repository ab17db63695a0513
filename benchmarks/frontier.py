"""`python -m benchmarks.frontier [--urls N] [--hosts H] [--keep DIR]`: what a frontier costs as it grows.

A frontier on disk is filled as a crawl fills it: pages of 50 links, most to their own host, hosts by a power law,
half of the links known already, old pages rather than young ones (preferential attachment: the n-th page of a host is
linked to in proportion to 1/√n). On the way, at every milestone, URLs are leased and settled on a virtual clock, with
links found. Then it is closed and opened again. The same numbers make the same URLs everywhere. Making them is not
counted. A frontier that was kept is gone on with: what 100 M URLs cost on a quiet machine need not wait for them.

Two costs are told, both in CPU time: of the thread that calls (what a crawl waits for), and of all threads (with
compaction, what the machine pays). Rates by the clock on the wall are told beside them; they need a quiet machine, so
the bars are on CPU time. Exits 1 if a bar does not hold.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from benchmarks.curve import Line, draw
from benchmarks.timing import Row, show
from lycosa.backends.allocation import follow_growth, prepare_memory
from lycosa.backends.layout import NOTES
from lycosa.backends.notes import NoteFiles
from lycosa.backends.rocks import RocksStore
from lycosa.crawl.budget import PageBudget
from lycosa.crawl.frontier import Frontier
from lycosa.crawl.lease import Candidate, Effect, Lease
from lycosa.crawl.rows import FORMAT, RobotsRow
from lycosa.crawl.rules import Rules
from lycosa.crawl.seen import Audit, Seen
from lycosa.kit.keys import host_key
from lycosa.web.domains import registered_domain

MILESTONES = (
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
)
PAGE_LINKS = 50
AT_HOME = 0.7  # of a page's links lead to its own host
NEW = 0.5  # of the links offered were never met
FOUND = 4  # links that reach the frontier from a page once those met lately were left out
UNDER_WAY = 100  # leases
TOGETHER = 8  # visits end and begin in one turn of the loop: seen in crawls of hundreds of pages a second
ACTIVE = 1_500  # hosts in memory: three for each of 500 slots
DELAY_S = 2.0
PACE_S = DELAY_S / ACTIVE * 1.25  # between two answers: 600 pages a second
_CHUNK = 400  # pages of links made at a time


class Web:
    """Links without end: the same for the same seed."""

    def __init__(self, hosts: int, seed: int = 1) -> None:
        self._dice = np.random.default_rng(seed)
        weights = 1.0 / np.arange(1, hosts + 1) ** 0.9
        self._shares = np.cumsum(weights / weights.sum())
        self._met = [0] * hosts  # pages of each host that were linked to so far
        self.names = [f"www.site{number:x}.example{number % 97}.com" for number in range(hosts)]

    def resume(self, keys: Iterator[bytes]) -> None:
        """Go on with a web whose URLs have these keys."""
        places = {host_key(name).to_bytes(8, "big"): place for place, name in enumerate(self.names)}
        for key, count in Counter(key[:8] for key in keys).items():
            self._met[places[key]] = count
        self._dice = np.random.default_rng(sum(self._met))

    def _hosts(self, count: int) -> np.ndarray:
        return np.searchsorted(self._shares, self._dice.random(count)).clip(0, len(self.names) - 1)

    def pages(self, links: int = PAGE_LINKS) -> Iterator[list[Candidate]]:
        while True:
            yield from self._chunk(links)

    def _chunk(self, links: int) -> list[list[Candidate]]:
        dice = self._dice
        at_home = dice.random((_CHUNK, links)) < AT_HOME
        hosts = np.where(at_home, self._hosts(_CHUNK)[:, None], self._hosts(_CHUNK * links).reshape(_CHUNK, links))
        is_new = (dice.random((_CHUNK, links)) < NEW).tolist()
        back = dice.random((_CHUNK, links)).tolist()
        return [
            [self._link(*each) for each in zip(*row, strict=True)]
            for row in zip(hosts.tolist(), is_new, back, strict=True)
        ]

    def _link(self, host: int, is_new: bool, back: float) -> Candidate:
        met = self._met[host]
        if is_new or not met:
            number, self._met[host] = met, met + 1
        else:
            number = int(met * back * back)
        depth = 1 + number.bit_length() // 3
        url = f"https://{self.names[host]}/section-{number % 31}/article-{number:07d}.html"
        return Candidate(url, depth, found_on=b"0123456789abcdef")


class Meter:
    """CPU and wall time of what is measured, without what was spent on making the input."""

    def __init__(self) -> None:
        self.wall_s = self.own_s = self.all_s = 0.0

    def __enter__(self) -> Meter:
        self._wall, self._own = time.perf_counter(), time.thread_time()
        return self

    def __exit__(self, *trouble: object) -> None:
        self.wall_s += time.perf_counter() - self._wall
        self.own_s += time.thread_time() - self._own


class Point(NamedTuple):
    """What operations cost from the milestone before up to this one."""

    urls: int
    offered_per_s: float
    offer_own_us: float
    offer_all_us: float
    cycles_per_s: float
    cycle_own_us: float
    cycle_all_us: float
    linked_own_us: float  # the same with links that are found
    linked_all_us: float
    peak_mb: float
    disk_mb: float


class Bench:
    def __init__(self, directory: Path, hosts: int, cycles: int) -> None:
        self.directory = directory
        self.web = Web(hosts)
        self.cycles = cycles
        self.now = 1_700_000_000.0
        registered_domain(self.web.names[0])  # reads its list once
        self.open()
        if self.frontier.stats["known"]:
            self.now = time.time()  # later than anything there
            self.web.resume(key for key, _ in self.store.scan("urls"))
        else:
            self._allow_all()
        self._pages = self.web.pages()
        self._finds = self.web.pages(FOUND)

    def open(self) -> None:
        self.store = RocksStore(self.directory)
        self.rules = Rules(self.store, "lycosa")
        self.seen = Seen(self.store)
        self.notes = NoteFiles(self.directory / NOTES)
        budget = PageBudget(self.store, 1_000_000_000)
        self.frontier = Frontier(
            self.store,
            self.rules,
            self.seen,
            budget,
            capacity=ACTIVE,
            delay_of=lambda host: DELAY_S,
            notes=self.notes,
        )

    def close(self) -> None:
        self.notes.close()
        self.store.close()

    def _allow_all(self) -> None:
        for at in range(0, len(self.web.names), 1000):
            origins = [f"https://{name}" for name in self.web.names[at : at + 1000]]
            self.store.write([self.rules.put(RobotsRow(FORMAT, origin, "open", b"", 0.0, 1e12)) for origin in origins])

    def fill(self, until: int) -> tuple[int, Meter]:
        """Offer pages of links until so many URLs are known."""
        meter, offered = Meter(), 0
        everything, alone = time.process_time(), time.thread_time()
        while self.frontier.stats["known"] < until:
            pages = [next(self._pages) for _ in range(20)]
            with meter:
                for page in pages:
                    self.now += 0.001
                    self.frontier.offer(page, self.now)
            offered += len(pages) * PAGE_LINKS
            follow_growth()  # as a crawl does
        meter.all_s = _others_s(everything, alone) + meter.own_s
        return offered, meter

    def crawl(self, with_links: bool) -> tuple[int, Meter]:
        """Lease and settle as a loop with many slots does, pages that lead nowhere or pages with links."""
        meter, settled = Meter(), 0
        under_way: deque[Lease] = deque()
        everything, alone = time.process_time(), time.thread_time()
        for _ in range(self.cycles // 50):
            finds = [next(self._finds) if with_links else [] for _ in range(50)]
            with meter:
                for found in finds:
                    self.now += PACE_S
                    if len(under_way) <= UNDER_WAY - TOGETHER:
                        under_way += self.frontier.leases(self.now, UNDER_WAY - len(under_way))
                    if under_way:
                        self._settle(under_way.popleft(), found)
                        settled += 1
                    else:
                        self.now = max(self.now, self.frontier.next_ready() or 0.0)
        with meter:
            while under_way:
                self._settle(under_way.popleft(), [])
                settled += 1
        meter.all_s = _others_s(everything, alone) + meter.own_s
        return settled, meter

    def _settle(self, lease: Lease, found: list[Candidate]) -> None:
        host = self.frontier.host(lease.host)
        host.ready_at = self.now + DELAY_S
        host.requests += 1
        row = lease.row
        assert row is not None
        row.state, row.outcome, row.status, row.fetched_at, row.visits = "done", "fetched", 200, self.now, 1
        row.content_hash, row.content_type, row.size = lease.key * 2, "text/html", 20_000
        row.warc_file, row.warc_offset, row.warc_length = "lycosa-20240101000000-00001.warc.gz", 123_456_789, 5_000
        self.frontier.settle(lease, Effect(row=row, found=found, counts=Counter(fetched=1)), self.now)

    def measure(self, until: int) -> Point:
        offered, fill = self.fill(until)
        settled, crawl = self.crawl(with_links=False)
        linked, with_links = self.crawl(with_links=True)
        disk = sum(file.stat().st_size for file in self.directory.rglob("*") if file.is_file())
        peak_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return Point(
            until,
            offered / fill.wall_s,
            fill.own_s / offered * 1e6,
            fill.all_s / offered * 1e6,
            settled / crawl.wall_s,
            crawl.own_s / settled * 1e6,
            crawl.all_s / settled * 1e6,
            with_links.own_s / linked * 1e6,
            with_links.all_s / linked * 1e6,
            peak_kb / 1024,
            disk / 1e6,
        )

    def reopen(self) -> tuple[float, float]:
        """Seconds to open again, up to the first lease: by the clock on the wall, and of CPU."""
        self.close()
        start, everything = time.perf_counter(), time.process_time()
        self.open()
        assert self.frontier.lease(self.now + 1e6) is not None
        return time.perf_counter() - start, time.process_time() - everything


def _others_s(everything: float, alone: float) -> float:
    """CPU time of all other threads since then."""
    return (time.process_time() - everything) - (time.thread_time() - alone)


def judge(points: list[Point], opened_cpu_s: float, audit: Audit) -> list[Row]:
    last, first = points[-1], next((point for point in points if point.urls >= 1_000_000), points[0])
    rows = [
        Row("one URL offered, caller's thread (50,000/s)", max(p.offer_own_us for p in points), "us", 20.0),
        Row("one lease and settle, caller's thread (5,000/s)", max(p.cycle_own_us for p in points), "us", 200.0),
        Row("peak memory", last.peak_mb, "MB", 1000.0 if last.urls <= 10_000_000 else 2000.0),
        Row("opening again, up to the first lease", opened_cpu_s, "s", 5.0),
        Row(f"rows that the filter denies, of {audit.checked:,}", audit.missed, "", 0.0),
    ]
    if first is not last:
        most = 1.3 if last.urls <= 10_000_000 else 1 / 0.7  # 70 % of the throughput
        size = f"{last.urls / 1e6:g} M against {first.urls / 1e6:g} M"
        rows += [
            Row(f"offer, caller's thread: {size}", last.offer_own_us / first.offer_own_us, "x", most),
            Row(f"offer, all threads: {size}", last.offer_all_us / first.offer_all_us, "x", 2.0),
            Row(f"lease and settle, caller's thread: {size}", last.cycle_own_us / first.cycle_own_us, "x", most),
            Row(f"lease and settle, all threads: {size}", last.cycle_all_us / first.cycle_all_us, "x", 2.0),
            Row(f"the same with links, caller's thread: {size}", last.linked_own_us / first.linked_own_us, "x", most),
            Row(f"the same with links, all threads: {size}", last.linked_all_us / first.linked_all_us, "x", 2.0),
        ]
    return rows


def tell(point: Point) -> None:
    print(
        f"{point.urls / 1e6:6.1f} M URLs: {point.offered_per_s:8,.0f} offered/s, {point.offer_own_us:5.1f} us each "
        f"({point.offer_all_us:5.1f} all threads); {point.cycles_per_s:6,.0f} leased and settled/s, "
        f"{point.cycle_own_us:5.0f} us ({point.cycle_all_us:5.0f}), with links {point.linked_own_us:5.0f} "
        f"({point.linked_all_us:5.0f}); peak {point.peak_mb:,.0f} MB, "
        f"disk {point.disk_mb:,.0f} MB",
        flush=True,
    )


def save_curve(points: list[Point], file: Path) -> None:
    sizes = [point.urls for point in points]
    offers = [
        Line("caller's thread", [p.offer_own_us for p in points]),
        Line("all threads", [p.offer_all_us for p in points]),
    ]
    cycles = [
        Line("caller's thread", [p.linked_own_us for p in points]),
        Line("all threads", [p.linked_all_us for p in points]),
    ]
    file.write_text(
        draw(sizes, {"one URL offered (µs CPU)": offers, "one lease and settle with links (µs CPU)": cycles})
    )


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.frontier")
    parser.add_argument("--urls", type=int, default=10_000_000)
    parser.add_argument("--hosts", type=int, default=100_000)
    parser.add_argument("--cycles", type=int, default=20_000, help="leases at every milestone")
    parser.add_argument("--dir", type=Path, help="where the temporary directory is made")
    parser.add_argument("--keep", type=Path, help="leave the frontier in this directory, or go on with the one there")
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("--svg", type=Path, help="draw the curve here")
    given = parser.parse_args(arguments)
    prepare_memory()  # as a crawl does
    directory = given.keep or Path(tempfile.mkdtemp(prefix="lycosa-frontier-", dir=given.dir))
    try:
        bench = Bench(directory / "store", given.hosts, given.cycles)
        points, known = [], bench.frontier.stats["known"]
        for until in sorted({*(size for size in MILESTONES if known < size < given.urls), given.urls}):
            points.append(bench.measure(until))
            tell(points[-1])
        opened_s, opened_cpu_s = bench.reopen()
        audit = bench.seen.audit(100_000)
        print(f"opened again in {opened_s:.2f} s; of {audit.checked:,} rows the filter denies {audit.missed}")
        bench.close()
    finally:
        if not given.keep:
            shutil.rmtree(directory, ignore_errors=True)
    if given.svg:
        save_curve(points, given.svg)
    if given.json:
        told = {"points": [point._asdict() for point in points], "opened_s": opened_s, "denied": audit.missed}
        given.json.write_bytes(msgspec.json.format(json.dumps(told).encode()))
    return 0 if show(judge(points, opened_cpu_s, audit)) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
