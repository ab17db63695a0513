"""`lycosa rank`: PageRank of what was crawled, for pages and hosts, with farms damped.

A killed one goes on where it was; after the tables have changed it starts from the old ranks. Works while a crawl runs.
"""

from __future__ import annotations

import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Any

import click
import numpy as np

from lycosa.backends.array_file import ArraysBroken
from lycosa.backends.graph_files import LinkGraph, link_graph
from lycosa.backends.layout import RANKS, TABLES
from lycosa.backends.rank_progress import alone, drop_progress, keep_progress, kept_progress
from lycosa.backends.ranks import Ranks, write_ranks
from lycosa.cli.opened import in_directory, settings_of
from lycosa.cli.options import as_json
from lycosa.cli.rank_shown import explained, show_explained, show_ranks, top_of
from lycosa.cli.shards import Shards, opened_shards
from lycosa.cli.trusted import named_pages, seed_pages, trusted_hosts
from lycosa.errors import BadInput, LycosaError
from lycosa.search.graph import Floats, Flow, Ints
from lycosa.search.pagerank import TOLERANCE, trusted_starts
from lycosa.search.pagerank import rank as settle
from lycosa.search.ranking import Progress, beginning, proceed
from lycosa.web.url import Normaliser

_KEPT_EVERY = 5  # steps
_MOST_THREADS = 4


@click.command()
@in_directory
@click.option(
    "--trusted", multiple=True, metavar="HOST-or-URL", help="Start from these instead of the seeds; may be repeated."
)
@click.option("--explain", "url", metavar="URL", help="Rank nothing: say of one page what its rank is, and why.")
@click.option("--limit", type=click.IntRange(0), default=10, show_default=True, help="List at most so many of each.")
@as_json
def rank(directory: Path, trusted: tuple[str, ...], url: str | None, limit: int, as_json: bool) -> None:
    """Rank pages and hosts by the links between them.

    The ranks are kept in DIR/ranks, where search finds them. Progress goes to stderr, a line for each step.
    """
    with opened_shards(directory) as shards:
        settings = settings_of(directory)
        normal = Normaliser(settings.urls.tracking, settings.urls.session)
        if url is not None:
            told = explained(Ranks(directory / RANKS), normal(url))
            click.echo(json.dumps(told)) if as_json else show_explained(told)
            return
        try:
            told = _Ranking(directory, shards, normal).run(trusted, limit)
        except OSError as error:
            where = error.filename or directory / RANKS
            raise RankingFailed(
                f"cannot work with {where}: {error.strerror or error}; see to it and start again"
            ) from error
    click.echo(json.dumps(told)) if as_json else show_ranks(told)


class RankingFailed(LycosaError):
    """The disk is full, or something may not be written."""


class _Ranking:
    def __init__(self, directory: Path, shards: Shards, normal: Normaliser) -> None:
        self._place = directory / RANKS
        self._tables = directory / TABLES
        self._directory = directory
        self._shards = shards
        self._normal = normal
        self._steps: list[dict[str, Any]] = []

    def run(self, trusted: tuple[str, ...], limit: int) -> dict[str, Any]:
        began = time.perf_counter()
        with alone(self._place):
            graph = link_graph(self._place, self._tables, self._shards.tables, _say)
            if not len(graph.page_keys):
                raise BadInput(f"{self._directory} has no fetched pages yet: crawl first")
            read_s = time.perf_counter() - began
            groups = named_pages(graph, self._normal, trusted) if trusted else seed_pages(graph, self._shards.seeds())
            if not groups:
                _say("no seed was fetched: starting from every page alike, so farms are not looked for")
            told = {
                "pages": len(graph.page_keys), "hosts": len(graph.host_keys), "links": int(graph.links.starts[-1]),
                "trusted": len(groups), **self._rank(graph, groups),
            }  # fmt: skip
        told |= {"read_s": round(read_s, 3), "elapsed_s": round(time.perf_counter() - began, 3)}
        return told | top_of(self._place, self._shards, limit)

    def _rank(self, graph: LinkGraph, groups: list[Ints]) -> dict[str, Any]:
        starts = trusted_starts(len(graph.page_keys), groups)
        inputs = sha256(graph.inputs.encode() + starts.tobytes()).hexdigest()
        before = kept_progress(self._place, inputs, len(starts))
        resumed = None if before is None else {"stage": before.stage, "step": before.number}
        old = self._old_ranks(graph) if before is None else None
        if resumed is not None:
            _say(f"going on after step {resumed['step']} of {resumed['stage']}")
        elif old is not None:
            _say("starting from the ranks there are")
        last = self._last_step(graph, starts, before or beginning(starts, old, is_trusted=bool(groups)), inputs)
        hosts = settle(Flow(graph.hosts), trusted_starts(len(graph.host_keys), trusted_hosts(graph, groups)))
        about = {"inputs": inputs, "pages": len(starts), "steps": last.number, "change": last.change}
        write_ranks(self._place, graph, last, hosts.ranks, about)
        drop_progress(self._place)
        is_settled = last.change <= TOLERANCE
        return {"resumed": resumed, "warm": old is not None, "settled": is_settled, "steps": self._steps}

    def _last_step(self, graph: LinkGraph, starts: Floats, progress: Progress, inputs: str) -> Progress:
        """Go on to the end; every step is told, and now and then one is kept."""
        threads = min(_MOST_THREADS, os.cpu_count() or 1)
        with ThreadPoolExecutor(threads) as pool:
            for progress in proceed(Flow(graph.links, threads, pool.map), starts, progress):  # noqa: B020, PLR1704
                stage, number, change, moved = progress.stage, progress.number, progress.change, progress.moved
                if number % _KEPT_EVERY == 0:
                    keep_progress(self._place, inputs, progress)
                _say(f"{stage:6} {number:3}  change {change:.1e}  moved {moved:.1e}")
                self._steps.append({"stage": stage, "step": number, "change": change, "moved": moved})
        return progress

    def _old_ranks(self, graph: LinkGraph) -> Floats | None:
        try:
            ranks, _ = Ranks(self._place).of_keys(graph.page_keys)
        except ArraysBroken as error:
            _say(f"{error}; it is replaced")
            return None
        total = float(ranks.sum(dtype=np.float64))
        return ranks.astype(np.float64) / total if total > 0 else None


def _say(text: str) -> None:
    click.echo(text, err=True)
