"""`python -m benchmarks.scaling`: does a page cost the same in a large crawl? Lycosa alone, ten times the pages.

A small made-up web, and two with ten times its pages: one has as many hosts and ten times the pages on each, the other
ten times the hosts. Each is crawled to its end with everything on. The small one is crawled before and after, and what
counts is the mean of both: machines change their pace. (A host of few pages repeats its links more often, so pages of
the second web hold a quarter more different links. That is their own cost, and is not taken off.)

Exits 1 if in the median of the rounds ten times the pages cost more than 10.5 times the CPU, or if a page was missed.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from statistics import mean, median

from benchmarks.crawl import CACHE, Contest, options
from benchmarks.crawl_table import Run
from benchmarks.rivals import RIVALS
from benchmarks.timing import Row, show

BAR = 10.5  # times the CPU for ten times the pages
LARGER = {"ten times the pages a host": (1, 10), "ten times the hosts": (10, 1)}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__)
    parser.add_argument("--hosts", type=int, default=200, help="of the small web")
    parser.add_argument("--pages", type=int, default=50, help="of each of its hosts")
    parser.add_argument("--pages-kb", type=int, default=20)
    parser.add_argument("--processes", type=int)
    parser.add_argument("--concurrency", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=3600, metavar="S", help="time for one crawl")
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--json", type=Path, metavar="FILE")
    args = parser.parse_args()

    def contest(hosts: int, pages: int) -> Contest:
        settings = options().parse_args(["--hosts", str(args.hosts * hosts), "--pages", str(args.pages * pages)])
        for name in ("processes", "concurrency", "limit", "cache"):
            setattr(settings, name, getattr(args, name))
        settings.rounds = 1
        return Contest(settings, args.pages_kb)

    small, larger = contest(1, 1), {what: contest(*times) for what, times in LARGER.items()}
    runs: dict[str, list[Run]] = {"small": [], **{what: [] for what in larger}}
    ratios: dict[str, list[float]] = {what: [] for what in larger}

    def crawl(what: str, web: Contest) -> float:
        runs[what] += web.run([RIVALS["lycosa"]]).runs["lycosa"]
        return runs[what][-1].cpu_s

    for _ in range(args.rounds):
        before_s = crawl("small", small)
        for what, web in larger.items():
            large_s, after_s = crawl(what, web), crawl("small", small)
            ratios[what].append(large_s / mean((before_s, after_s)))
            before_s = after_s

    for what, done in runs.items():
        cpu_ms = median(1e3 * run.cpu_s / run.pages for run in done)
        print(f"{what}: {cpu_ms:.2f} ms a page, {median(run.peak_mb for run in done):.0f} MB")
    print({what: [round(ratio, 2) for ratio in found] for what, found in ratios.items()})
    covered = min(run.coverage for done in runs.values() for run in done)
    rows = [Row(f"CPU for {what}, against the small web's", median(found), "x", BAR) for what, found in ratios.items()]
    rows.append(Row("share of pages that were missed", 100 * (1 - covered), "%", 0.0))
    if args.json:
        args.json.write_text(json.dumps({"ratios": ratios, "coverage": covered}, indent=2) + "\n")
    return 0 if show(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
