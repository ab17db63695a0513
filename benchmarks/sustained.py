"""`python -m benchmarks.sustained`: how many pages a second at the default politeness, for minutes on end.

Lycosa crawls a made-up web of many hosts as anybody would, two seconds between requests to a host, everything on. Each
minute pages (counted in the server's log) and resident memory are told. At the end it is stopped as Ctrl-C does, and
every gap is audited in the server's log. Exits 1 if it was too slow, a gap was not kept, or memory grew.

The rate is that of whole minutes after the first, in which hosts are asked for their rules.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from pathlib import Path
from typing import NamedTuple

from benchmarks.crawl import CACHE
from benchmarks.gaps import audit
from benchmarks.made_web import MadeWeb
from benchmarks.serving import NOT_PAGES, Serving
from benchmarks.tree import Tree

DELAY_S = 2.0
RATE_BAR = 400.0  # pages a second: a billion a month
GROWTH_BAR = 1.15  # memory at the end against memory at a third of the time


class Minute(NamedTuple):
    pages_per_s: float
    resident_mb: float
    cpu_ms_per_page: float


class Count:
    """Pages in a log that grows: reads only what is new."""

    def __init__(self, log: Path) -> None:
        self._log, self._at, self.pages = log, 0, 0

    def update(self) -> int:
        with self._log.open("rb") as lines:
            lines.seek(self._at)
            new = lines.read()
        whole = new[: new.rfind(b"\n") + 1]
        self._at += len(whole)
        for line in whole.splitlines():
            *_, status, path = line.split(b" ", 4)
            self.pages += status == b"200" and path.decode() not in NOT_PAGES
        return self.pages


def command(args: argparse.Namespace, seeds: Path, out: Path) -> list[str]:
    return [
        *(sys.executable, "-m", "lycosa", "crawl", "--seeds-file", str(seeds), "--dir", str(out), "--json"),
        *("-s", 'polite.own_hosts=["127.0.0.0/8"]', "--delay", f"{DELAY_S:g}s"),
        *(["--processes", str(args.processes)] if args.processes else []),
    ]


def watch(tree: Tree, log: Path, args: argparse.Namespace) -> list[Minute]:
    """A line a minute, until the time is over or the crawl is."""
    minutes: list[Minute] = []
    count, pages, cpu_s, began = Count(log), 0, 0.0, time.monotonic()
    while (
        len(minutes) < args.minutes and tree.wait(max(0.0, began + 60 * (len(minutes) + 1) - time.monotonic())) is None
    ):
        now_pages, now_cpu_s = count.update(), tree.cpu_s()
        done = now_pages - pages
        minutes.append(Minute(done / 60, tree.resident_bytes() / 1e6, 1e3 * (now_cpu_s - cpu_s) / max(1, done)))
        pages, cpu_s = now_pages, now_cpu_s
        one = minutes[-1]
        print(
            f"minute {len(minutes):3}  {one.pages_per_s:7.1f} pages/s  {one.resident_mb:7.0f} MB  "
            f"{one.cpu_ms_per_page:5.2f} ms CPU a page",
            flush=True,
        )
    return minutes


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sustained", description=__doc__)
    parser.add_argument("--hosts", type=int, default=1500)
    parser.add_argument("--pages", type=int, default=300, help="of each host")
    parser.add_argument("--pages-kb", type=int, default=20)
    parser.add_argument("--minutes", type=int, default=10)
    parser.add_argument("--rate", type=float, default=RATE_BAR, help="pages a second that are asked for")
    parser.add_argument("--processes", type=int)
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--json", type=Path, metavar="FILE")
    args = parser.parse_args()
    cache = args.cache.resolve()
    web = MadeWeb(args.hosts, args.pages, args.pages_kb)
    files = web.write(cache / "webs")
    serving = Serving(cache / "nginx", {address: files / address for address in web.addresses})
    out, seeds = cache / "out" / "sustained", cache / "out" / "sustained.seeds"
    shutil.rmtree(out, ignore_errors=True)
    seeds.parent.mkdir(parents=True, exist_ok=True)
    seeds.write_text("".join(f"{web.url(host)}\n" for host in range(args.hosts)))
    with serving.running():
        serving.clear_log()
        tree = Tree(command(args, seeds, out), out.with_suffix(".log"), cwd=cache)
        minutes = watch(tree, serving.log, args)
        tree.stop()
        cost = tree.finish(60)
        checked = audit(serving.requests(), DELAY_S)
    shutil.rmtree(out, ignore_errors=True)
    if len(minutes) < 2:
        raise SystemExit(f"it ended within two minutes: {out.with_suffix('.log').read_text()[-500:]}")
    steady = minutes[1:]
    rate = sum(one.pages_per_s for one in steady) / len(steady)
    growth = minutes[-1].resident_mb / minutes[len(minutes) // 3].resident_mb
    least = "none" if checked.least_gap_s is None else f"{checked.least_gap_s:.3f} s"
    slowest = min(one.pages_per_s for one in steady)
    checks = [
        (f"{rate:.0f} pages/s, the slowest minute {slowest:.0f}", f"at least {args.rate:.0f}", rate >= args.rate),
        (f"{checked.violations} of {checked.gaps} gaps not kept, the least {least}", "none", checked.violations == 0),
        (f"memory grew {growth:.2f} times", f"at most {GROWTH_BAR}", growth <= GROWTH_BAR),
    ]
    for what, bar, holds in checks:
        print(f"{what}  ({bar})  {'ok' if holds else 'FAILS'}")
    if checked.worst:
        print(f"the worst gap: {checked.worst}")
    if args.json:
        told = {"minutes": [one._asdict() for one in minutes], "rate": rate, "growth": growth}
        told |= {"audit": checked._asdict(), "cpu_s": cost.cpu_s, "peak_mb": cost.peak_bytes / 1e6}
        args.json.write_text(json.dumps(told, indent=2) + "\n")
    return 0 if all(holds for _, _, holds in checks) else 1


if __name__ == "__main__":
    sys.exit(main())
