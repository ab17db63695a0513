"""`python -m benchmarks.scaling`: does a page cost the same in a large crawl? Lycosa alone, ten times the pages.

Two made-up webs of as many hosts, one with ten times the pages of the other, each crawled to its end with everything
on. Exits 1 if ten times the pages cost more than 10.5 times the CPU, or if a page was missed.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from benchmarks.crawl import CACHE, Contest, options
from benchmarks.crawl_table import Run
from benchmarks.rivals import RIVALS
from benchmarks.timing import Row, show

BAR = 10.5  # times the CPU for ten times the pages


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__)
    parser.add_argument(
        "--pages", type=int, default=10_000, help="of the small web; the large one has ten times as many"
    )
    parser.add_argument("--hosts", type=int, default=200)
    parser.add_argument("--pages-kb", type=int, default=20)
    parser.add_argument("--processes", type=int)
    parser.add_argument("--concurrency", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--limit", type=float, default=3600, metavar="S", help="time for one crawl")
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--json", type=Path, metavar="FILE")
    args = parser.parse_args()

    def crawls(pages: int) -> list[Run]:
        settings = options().parse_args(["--hosts", str(args.hosts), "--pages", str(pages // args.hosts)])
        for name in ("processes", "concurrency", "rounds", "limit", "cache"):
            setattr(settings, name, getattr(args, name))
        return Contest(settings, args.pages_kb).run([RIVALS["lycosa"]]).runs["lycosa"]

    small, large = crawls(args.pages), crawls(10 * args.pages)
    least = {"small": min(run.cpu_s for run in small), "large": min(run.cpu_s for run in large)}
    ratio = least["large"] / least["small"]
    covered = min(run.coverage for run in (*small, *large))
    print(
        f"\nCPU a page: {1e3 * least['small'] / small[0].pages:.2f} ms, {1e3 * least['large'] / large[0].pages:.2f} ms"
    )
    print(f"peak memory: {small[0].peak_mb:.0f} MB, {large[0].peak_mb:.0f} MB")
    rows = [
        Row(f"CPU of {10 * args.pages} pages / CPU of {args.pages}", ratio, "x", BAR),
        Row("share of pages that were missed", 100 * (1 - covered), "%", 0.0),
    ]
    if args.json:
        args.json.write_text(json.dumps({"least_cpu_s": least, "ratio": ratio, "coverage": covered}, indent=2) + "\n")
    return 0 if show(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
