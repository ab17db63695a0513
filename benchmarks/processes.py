"""`python -m benchmarks.processes`: what a page costs in two processes and in one.

A made-up web served by nginx, which a crawl does not wait for; the processor's time of the crawl and all it starts
counts, whatever else the machine does. Crawls take turns, and medians are compared. Exits 1 if the bar does not hold
or a page was missed.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

from benchmarks.crawl import CACHE, Contest, options
from benchmarks.crawl_table import Run
from benchmarks.rivals import RIVALS
from benchmarks.timing import Row, show

BAR = 1.15


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.processes", description=__doc__)
    parser.add_argument("--hosts", type=int, default=200)
    parser.add_argument("--pages", type=int, default=100, help="of each host")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cache", type=Path, default=CACHE)
    args = parser.parse_args()
    settings = options().parse_args(["--hosts", str(args.hosts), "--pages", str(args.pages), "--rounds", "1"])
    settings.concurrency, settings.cache = 256, args.cache.resolve()
    contest = Contest(settings, 20)
    runs: dict[int, list[Run]] = {1: [], 2: []}
    for turn in range(args.rounds):
        for settings.processes in (1, 2) if turn % 2 == 0 else (2, 1):
            runs[settings.processes] += contest.run([RIVALS["lycosa"]]).runs["lycosa"]
    one, two = (statistics.median(run.cpu_per_1000 for run in runs[processes]) for processes in (1, 2))
    rates = [statistics.median(run.rate for run in runs[processes]) for processes in (1, 2)]
    print(f"\none process: {one:.2f} ms a page, {rates[0]:.0f} pages/s; two: {two:.2f} ms, {rates[1]:.0f} pages/s")
    covered = min(run.coverage for each in runs.values() for run in each)
    rows = [
        Row("CPU of a page in two processes / in one", two / one, "x", BAR),
        Row("share of pages that were missed", 100 * (1 - covered), "%", 0.0),
    ]
    return 0 if show(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
