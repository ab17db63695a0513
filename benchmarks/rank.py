"""`python -m benchmarks.rank [--small]`: what ranking costs, how exact it is, and what farms gain.

Graphs are drawn with a fixed seed: pages of hosts whose sizes follow a power law, links to other pages of the host and
to pages anywhere, whose popularity follows another. Costs are those of a process of its own that maps the arrays from
disk. Exits 1 if a bar does not hold.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.timing import Row, show
from lycosa.backends.array_file import ArrayWriter, open_arrays
from lycosa.search.graph import CARRIES, NOFOLLOW, OTHER, OWN, Flow, Graph, Links, make_graph, pack, strongest, unpack
from lycosa.search.pagerank import even_starts, rank, trusted_starts
from lycosa.search.ranking import Progress, beginning, proceed

TOP = 1_000
FARMS = ((1, 10_000, 20), (200, 20_000, 20), (1, 50_000, 100), (200, 50_000, 100))  # hosts, pages, links in


class Web(NamedTuple):
    """A made-up web: links between pages, and the host of each page."""

    size: int
    links: Links
    hosts: NDArray[np.int64]
    trusted: list[NDArray[np.int64]]

    def graph(self) -> Graph:
        return make_graph(self.size, *self.links)


def draw(size: int, count: int, seed: int, own_share: float = 0.0) -> Web:
    """Exactly `count` distinct links; `own_share` of them, about, lead to the page's own host."""
    dice = np.random.default_rng(seed)
    hosts = np.sort((size / 50 * dice.random(size) ** 2).astype(np.int64))  # the first are the largest
    firsts = np.searchsorted(hosts, hosts)
    sizes = np.searchsorted(hosts, hosts, side="right") - firsts
    popular = dice.permutation(size)  # or the popular pages would all be of the first hosts
    many = int(count * 1.3) + 1_000  # as some are drawn twice
    sources = dice.integers(0, size, many, dtype=np.int32)
    anywhere = popular[(size * dice.random(many) ** 4).astype(np.int32)]
    at_home = firsts[sources] + (sizes[sources] * dice.random(many) ** 2).astype(np.int32)
    targets = np.where(dice.random(many) < own_share, at_home, anywhere)
    kinds = np.where(dice.random(many) < 0.02, NOFOLLOW, np.where(hosts[sources] == hosts[targets], OWN, OTHER))
    packed = strongest(pack(sources, targets, kinds if own_share else np.zeros(many, np.int64)))
    keep = np.zeros(len(packed), bool)
    keep[:count] = True
    dice.shuffle(keep)
    packed = packed[keep]
    assert len(packed) == count
    trusted = [np.array([page]) for page in popular[dice.integers(0, size // 100, 20)].tolist()]
    return Web(size, unpack(packed), hosts, trusted)


# -- exactness ---------------------------------------------------------------------------------------------------------


def error_against_networkx(size: int, count: int) -> dict[str, float]:
    """The largest relative error of any page: starting from all pages, and with weights from trusted ones."""
    import networkx

    found = {}
    for name, own_share in (("even starts", 0.0), ("weighted links, trusted starts", 0.7)):
        web = draw(size, count, 3, own_share)
        links = Links(*(part[web.links.kinds != NOFOLLOW] for part in web.links))  # networkx has no loss on the way
        graph = make_graph(size, *links)
        starts = trusted_starts(size, web.trusted) if own_share else even_starts(size)
        ours = rank(Flow(graph), starts)
        theirs = networkx.DiGraph()
        theirs.add_nodes_from(range(size))
        edges = zip(*(part.tolist() for part in (links.sources, links.targets, CARRIES[links.kinds])), strict=True)
        theirs.add_weighted_edges_from(edges)
        start = {page: share for page, share in enumerate(starts.tolist()) if share}
        exact = networkx.pagerank(theirs, personalization=start, tol=1e-16, max_iter=2_000)
        expected = np.array([exact[page] for page in range(size)])
        seen = expected > 0
        found[name] = float(np.max(np.abs(ours.ranks - expected)[seen] / expected[seen]))
    return found


# -- cost --------------------------------------------------------------------------------------------------------------


def keep(path: Path, web: Web) -> None:
    starts = np.zeros(web.size + 1, np.int64)
    np.cumsum(np.bincount(web.links.targets, minlength=web.size), out=starts[1:])
    with ArrayWriter(path, "a benchmark", {}, synced=False) as out:
        out.add("starts", starts)
        out.add("sources", web.links.sources)
        out.add("kinds", web.links.kinds)
        out.add("shares", web.graph().shares)
        out.add("trusted", np.concatenate(web.trusted).astype(np.int64))


def rank_kept(path: str, how: str) -> None:
    """In a process of its own: map the arrays, rank, and print what it took."""
    began = time.perf_counter()
    file = open_arrays(Path(path), "a benchmark")
    graph = Graph(file["starts"], file["sources"], CARRIES[file["kinds"]], file["shares"])
    groups = [np.array([page]) for page in file["trusted"].tolist()] if how != "even" else []
    starts = trusted_starts(graph.size, groups)
    threads = min(4, os.cpu_count() or 1)
    with ThreadPoolExecutor(threads) as pool:
        steps = list(_steps(Flow(graph, threads, pool.map), starts, is_trusted=bool(groups)))
    taken, status = time.perf_counter() - began, Path("/proc/self/status").read_text()
    peak = int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) / 1024  # getrusage would tell that of our parent
    print(json.dumps({"s": taken, "mb": peak, "steps": [step[0] for step in steps], "change": steps[-1][1]}))


def _steps(flow: Flow, starts: Any, *, is_trusted: bool) -> Any:
    for progress in proceed(flow, starts, beginning(starts, is_trusted=is_trusted)):
        yield progress.stage, progress.change


def cost(path: Path, how: str) -> dict[str, Any]:
    """The best of three; seconds are those of the whole process, from its start to its end."""
    command = [sys.executable, "-m", "benchmarks.rank", "--kept", str(path), how]
    runs = []
    for _ in range(3):
        began = time.perf_counter()
        told = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        runs.append({**told, "whole_s": time.perf_counter() - began})
    return min(runs, key=lambda run: run["whole_s"])


# -- farms -------------------------------------------------------------------------------------------------------------


def with_farm(web: Web, hosts: int, pages: int, hijacked: int) -> tuple[Web, int]:
    """The web and a farm: `pages` on `hosts` that link to each other and to one page, which links back to some of them;
    `hijacked` pages of others, drawn from the more popular tenth, link to that page and to farm pages.
    """
    dice = np.random.default_rng(99)
    target = web.size
    size = web.size + 1 + pages
    farm = np.arange(target + 1, size)
    host = web.hosts[-1] + 1 + (np.arange(pages) % hosts)
    all_hosts = np.concatenate([web.hosts, [host[0]], host])
    others = np.argsort(-np.bincount(web.links.targets, minlength=web.size))[: web.size // 10]
    sources = np.concatenate(
        [farm, np.repeat(farm, 5), np.full(min(pages, 500), target), dice.choice(others, hijacked)]
    )
    back = dice.choice(farm, min(pages, 500), replace=False)
    entry = np.where(dice.random(hijacked) < 0.5, target, dice.choice(farm, hijacked))
    targets = np.concatenate([np.full(pages, target), dice.choice(farm, 5 * pages), back, entry])
    kinds = np.where(all_hosts[sources] == all_hosts[targets], OWN, OTHER)
    old = pack(web.links.sources, web.links.targets, web.links.kinds)
    links = unpack(strongest(np.concatenate([old, pack(sources, targets, kinds)])))
    return Web(size, links, all_hosts, web.trusted), target


def farm_place(web: Web, hosts: int, pages: int, hijacked: int = 20) -> dict[str, Any]:
    """The place of the farm's target among all pages; and alone, with the same links in but without the farm's own."""
    farmed, target = with_farm(web, hosts, pages, hijacked)
    starts = trusted_starts(farmed.size, farmed.trusted)
    flow = Flow(farmed.graph())
    last: Progress = deque(proceed(flow, starts, beginning(starts, is_trusted=True)), maxlen=1)[0]
    of_others = farmed.links.sources < web.size
    alone = rank(
        Flow(make_graph(farmed.size, *(part[of_others] for part in farmed.links))), starts, tolerance=1e-4
    ).ranks
    even = rank(flow, even_starts(farmed.size), tolerance=1e-4).ranks
    return {
        "place": _place(last.ranks, target),
        "alone": _place(alone, target),
        "even starts": _place(even, target),
        "found": bool(last.verdict.farm[target]),
        "mass": round(float(last.verdict.mass[target]), 3),
        "others flagged": int(last.verdict.farm[: web.size].sum()),
    }


def _place(ranks: NDArray[np.float64], page: int) -> int:
    return int(np.count_nonzero(ranks > ranks[page])) + 1


def main() -> int:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--small", action="store_true", help="a tenth of the size, in seconds")
    given.add_argument("--kept", nargs=2, metavar=("FILE", "HOW"), help=argparse.SUPPRESS)
    chosen = given.parse_args()
    if chosen.kept:
        rank_kept(*chosen.kept)
        return 0
    times = 10 if chosen.small else 1
    errors = error_against_networkx(20_000, 200_000)
    rows = [Row(f"networkx, {name}: error", error * 1e6, "ppm", 1.0) for name, error in errors.items()]
    size, count = 1_000_000 // times, 18_000_000 // times
    with tempfile.TemporaryDirectory() as folder:
        for name, own_share in (("links anywhere", 0.0), ("7 of 10 links at home", 0.7)):
            web = draw(size, count, 1, own_share)
            print(f"{name}: drawn", file=sys.stderr)
            keep(Path(folder) / "graph.bin", web)
            for how in ("even", "trusted"):
                run = cost(Path(folder) / "graph.bin", how)
                what = f"{name}, {how}: {len(run['steps'])} steps ({run['steps'].count('survey')} of the survey)"
                rows.append(Row(f"{what}, {run['s']:.1f} s; with starting Python", run["whole_s"], "s", 3.0))
                rows.append(Row(f"{name}, {how}: peak memory", run["mb"], "MB", 800.0))
    told = []
    for hosts, pages, hijacked in FARMS:
        farm = farm_place(web, hosts, pages // times, hijacked)
        what = f"farm of {hosts} hosts, {pages // times:,} pages, {hijacked} links in"
        told.append(f"{what}: {farm}")
        print(told[-1], file=sys.stderr)
        if hijacked <= 20:  # with more, it is the links in that count: see `alone`
            rows.append(Row(f"{what}: {TOP} / place", TOP / farm["place"], "x", 1.0))
    print(f"{size:,} pages, {count:,} links")
    holds = show(rows)
    print("\nPlaces of the farms' targets, and alone: with the same links in but no farm", *told, sep="\n")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
