"""The link graph of a crawl in a file: made from the tables, and mapped into memory for ranking.

    DIR/ranks/graph.bin     arrays (`backends.array_file`); what it was made from is in `about.inputs`

It is made anew whenever the tables have changed since, and holds hashes, not URLs.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lycosa.backends.array_file import ArraysBroken, ArrayWriter, open_arrays
from lycosa.backends.graph_links import LinkSorter, Totals, sum_up
from lycosa.backends.graph_pages import KnownUrls, UrlReader
from lycosa.backends.graph_rows import Keys, Shard, files_of, link_batches, page_batches
from lycosa.backends.parquet import count_rows
from lycosa.errors import BadInput
from lycosa.search.graph import CARRIES, MOST_NODES, Graph, Nodes, shares_of

GRAPH = "graph.bin"
_KIND, _RULES = "a link graph", 1  # the second goes up when the same tables would give another graph
BUILDING = ".building"
_ARRAYS = (
    "keys", "pages", "page_keys", "page_hosts", "host_keys", "is_copied", "led_by", "starts", "sources", "kinds",
    "taken", "host_starts", "host_sources", "host_weights", "host_shares",
)  # fmt: skip
Say = Callable[[str], None]


class LinkGraph(NamedTuple):
    """The graph of pages and that of hosts, and which URLs they are about."""

    inputs: str
    rows: int  # of the table `pages`
    keys: Keys  # of all URLs that stand for a page, and others that were answered
    pages: Nodes  # by URL
    page_keys: Keys
    page_hosts: Nodes
    host_keys: NDArray[np.uint64]
    is_copied: NDArray[np.bool_]  # by host
    led_by: NDArray[np.uint8]
    links: Graph
    hosts: Graph


def inputs_of(tables: Path, shards: Sequence[Shard]) -> str:
    """A name for what there is to read: another one as soon as any of it has changed."""
    seen = sha256(f"rules {_RULES}\n".encode())
    for table in ("pages", "links"):
        for file in files_of(tables, table, shards):
            about = file.path.stat()
            seen.update(f"{file.path.relative_to(tables)} {about.st_size} {about.st_mtime_ns}\n".encode())
    for shard in shards:
        numbers = (shard.entries[0][0], shard.entries[-1][0]) if shard.entries else (0, 0)
        seen.update(f"{shard.name} {numbers}\n".encode())
    return seen.hexdigest()


def link_graph(place: Path, tables: Path, shards: Sequence[Shard], say: Say) -> LinkGraph:
    """The graph of these tables, made if the one at `place` is of others."""
    inputs = inputs_of(tables, shards)
    path = place / GRAPH
    if not _is_of(path, inputs):
        _make(path, inputs, tables, shards, say)
    return read_graph(path)


def _is_of(path: Path, inputs: str) -> bool:
    try:
        return open_arrays(path, _KIND, _ARRAYS).about.get("inputs") == inputs
    except (FileNotFoundError, ArraysBroken):  # it costs nothing but time to make it again
        return False


def _make(path: Path, inputs: str, tables: Path, shards: Sequence[Shard], say: Say) -> None:
    building = path.parent / BUILDING
    shutil.rmtree(building, ignore_errors=True)  # what a killed one left
    building.mkdir(parents=True)
    try:
        reader = UrlReader()
        for pages in page_batches(tables, shards):
            reader.add(pages)
        known, rows = reader.finish(), reader.rows
        del reader
        if len(known.page_keys) >= MOST_NODES:
            raise BadInput(f"{len(known.page_keys):,} pages are more than lycosa rank can number: rank a part of them")
        expected = sum(count_rows(file.path) for file in files_of(tables, "links", shards))
        say(f"{len(known.page_keys):,} pages of {len(known.host_keys):,} hosts; reading {expected:,} links")
        sorter = LinkSorter(known, building, expected)
        for links in link_batches(tables, shards):
            sorter.add(links)
        sorter.finish()
        _write(path, {"inputs": inputs, "rows": rows}, known, sorter, sum_up(known, sorter))
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _write(path: Path, about: dict[str, object], known: KnownUrls, sorter: LinkSorter, totals: Totals) -> None:
    with ArrayWriter(path, _KIND, about, synced=False) as out:
        for name in ("keys", "pages", "page_keys", "page_hosts", "host_keys", "is_copied"):
            out.add(name, getattr(known, name))
        for name in ("led_by", "starts", "taken"):
            out.add(name, getattr(totals, name))
        out.add_parts("sources", np.int32, (links.sources for links in sorter.buckets()))
        out.add_parts("kinds", np.uint8, (links.kinds for links in sorter.buckets()))
        for name in ("starts", "sources", "weights", "shares"):
            out.add(f"host_{name}", getattr(totals.hosts, name))


def read_graph(path: Path) -> LinkGraph:
    file = open_arrays(path, _KIND, _ARRAYS)
    links = Graph(file["starts"], file["sources"], CARRIES[file["kinds"]], shares_of(file["taken"]))
    hosts = Graph(*(file[f"host_{name}"] for name in Graph._fields))
    plain = {name: file[name] for name in _ARRAYS if name in LinkGraph._fields}
    return LinkGraph(inputs=str(file.about["inputs"]), rows=int(file.about["rows"]), links=links, hosts=hosts, **plain)
