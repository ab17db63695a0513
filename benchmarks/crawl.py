"""`python -m benchmarks.crawl`: whole crawls of the same web by Lycosa and by others, in turns, in one run.

The web is made up (`--hosts`, `--pages`, `--pages-kb`) or real (`--real DIR ...`) and served by nginx on loopback
addresses. Pages are counted in the server's log, CPU is that of the whole process tree, memory the peak of its summed
resident sets. Ratios of medians are what compares; absolute figures belong to the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

from benchmarks.crawl_table import Run, Table
from benchmarks.curve import Line, draw
from benchmarks.made_web import MadeWeb
from benchmarks.real_web import RealWeb, plain_path
from benchmarks.rivals import RIVALS, NotInstalled, Rival, Task, ready
from benchmarks.serving import NOT_PAGES, PORT, Serving
from benchmarks.tree import Tree

QUIET_S = 30.0  # longer than the pauses in which an endless crawler looks what it has
CACHE = Path(tempfile.gettempdir()) / "lycosa-benchmarks"


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.crawl", description=__doc__)
    parser.add_argument("--pages-kb", default="20", help="mean size of a page; several with commas make a curve")
    parser.add_argument("--hosts", type=int, default=100)
    parser.add_argument("--pages", type=int, default=100, help="of each host")
    parser.add_argument("--real", nargs="+", type=Path, metavar="DIR", help="folders of HTML, each a host, instead")
    parser.add_argument("--tls", action="store_true")
    parser.add_argument("--fresh-connections", action="store_true", help="the server closes after every answer")
    parser.add_argument("--processes", type=int, help="of Lycosa; by default its own choice")
    parser.add_argument("--concurrency", type=int, default=32, help="requests under way, of every rival")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers", default=",".join(name for name in RIVALS if name != "lycosa"))
    parser.add_argument("--limit", type=float, default=900, metavar="S", help="time for one crawl")
    parser.add_argument("--cache", type=Path, default=CACHE, help="peers and webs are kept here")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="CPU a page against the size of pages")
    return parser


class Contest:
    """All rivals on one web."""

    def __init__(self, args: argparse.Namespace, page_kb: int) -> None:
        self.args, self.page_kb = args, page_kb
        origin = f"{'https' if args.tls else 'http'}://{{address}}:{PORT}"
        self.web: MadeWeb | RealWeb
        if args.real:
            self.web = RealWeb(tuple(path.resolve() for path in args.real), origin)
            self.seeds = self.web.seeds()
            roots = dict(zip(self.web.addresses, self.web.roots, strict=True))
        else:
            self.web = MadeWeb(args.hosts, args.pages, page_kb, origin=origin)
            files = self.web.write(args.cache / "webs")
            self.seeds = [self.web.url(host) for host in range(args.hosts)]
            roots = {address: files / address for address in self.web.addresses}
        self.serving = Serving(args.cache / "nginx", roots, args.tls, args.fresh_connections)
        self.reachable = self.web.reachable()

    def run(self, rivals: list[Rival]) -> Table:
        table = Table([rival.name for rival in rivals], {rival.name: rival.stores for rival in rivals})
        with self.serving.running():
            for turn in range(self.args.rounds):
                for rival in rivals if turn % 2 == 0 else reversed(rivals):
                    one = self._crawl(rival)
                    table.add(rival.name, one)
                    print(f"round {turn + 1}  {rival.name:<9}{one.line()}", flush=True)
        return table

    def _crawl(self, rival: Rival) -> Run:
        out = self.args.cache / "out" / rival.name
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)
        seeds = out.with_suffix(".seeds")
        seeds.write_text("".join(f"{seed}\n" for seed in self.seeds))
        authority = self.serving.authority if self.args.tls else None
        task = Task(seeds, self.web.addresses, out, self.args.concurrency, self.args.processes, authority)
        self.serving.clear_log()
        log = out.with_suffix(".log")
        tree = Tree(rival.command(self.args.cache / rival.name, task), log, cwd=out)
        if rival.endless:
            cost = tree.finish_when_quiet(self.serving.log, QUIET_S, self.args.limit)
        else:
            cost = tree.finish(self.args.limit)
        if cost.exit_code not in (0, rival.met_errors):
            end = log.read_text(errors="replace")[-400:]
            print(f"{rival.name} ended with {cost.exit_code}: {end}", file=sys.stderr)
        answers = [one for one in self.serving.requests() if one.path not in NOT_PAGES]
        pages = {(one.address, plain_path(one.path)) for one in answers if one.status in (200, 304)} & self.reachable
        stored_bytes = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
        shutil.rmtree(out)
        return Run(
            pages=len(pages),
            requests=len(answers),
            wall_s=cost.wall_s,
            cpu_s=cost.cpu_s,
            peak_mb=cost.peak_bytes / 1e6,
            coverage=len(pages) / len(self.reachable),
            stored_mb=stored_bytes / 1e6,
            ended=cost.exit_code in (0, rival.met_errors),
        )


def chosen(args: argparse.Namespace) -> tuple[list[Rival], dict[str, str]]:
    """Who takes part, and why others do not."""
    rivals, left_out = [], {}
    for name in ["lycosa", *filter(None, args.peers.split(","))]:
        rival = RIVALS.get(name)
        if rival is None:
            raise SystemExit(f"{name}: no such peer; there are {', '.join(RIVALS)}")
        if args.tls and rival.no_tls:
            left_out[name] = rival.no_tls
            continue
        try:
            ready(rival, args.cache)
        except NotInstalled as reason:
            left_out[name] = str(reason)
        else:
            rivals.append(rival)
    return rivals, left_out


def main(arguments: list[str] | None = None) -> int:
    args = options().parse_args(arguments)
    args.cache = args.cache.resolve()
    rivals, left_out = chosen(args)
    tables: dict[int, Table] = {}
    for size in [0] if args.real else [int(size) for size in args.pages_kb.split(",")]:
        contest = Contest(args, size)
        print(f"\n{len(contest.reachable)} pages on {len(contest.serving.roots)} hosts, load {os.getloadavg()[0]:.1f}")
        tables[size] = contest.run(rivals)
        print(f"\n{tables[size].markdown()}\n")
    for name, reason in left_out.items():
        print(f"left out: {name}, {reason}")
    if args.json:
        told = {"cores": os.cpu_count(), "arguments": vars(args), "left_out": left_out}
        told["sizes"] = {size: table.as_dict() for size, table in tables.items()}
        args.json.write_text(json.dumps(told, indent=2, default=str) + "\n")
    if args.svg:
        args.svg.write_text(plot(tables, [rival.name for rival in rivals]))
    return 0


def plot(tables: dict[int, Table], names: list[str]) -> str:
    def lines(what: str) -> list[Line]:
        return [Line(name, [table.median(name, what) for table in tables.values()]) for name in names]

    panels = {
        "CPU-s per 1000 pages": lines("cpu_per_1000"),
        "pages/s": lines("rate"),
        "peak memory, MB": lines("peak_mb"),
    }
    return draw(list(tables), panels, label=lambda kb: f"{kb} KB")


if __name__ == "__main__":
    sys.exit(main())
