"""The links of the graph, on their way from the tables into rows by target: more than memory holds, so through files.

Links are spilled into buckets, one for each range of targets, and each bucket is put in order by itself. Memory is that
of one bucket, some fifty megabytes, if targets are spread; a bucket that is mostly one page's is small as well,
since a link between two pages counts once.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lycosa.backends.graph_pages import NONE, KnownUrls, find
from lycosa.backends.graph_rows import Coded, LinkBatch, keys_of
from lycosa.search.graph import (
    CARRIES,
    NOFOLLOW,
    OTHER,
    OWN,
    TAKES,
    Floats,
    Graph,
    Ints,
    Links,
    first_packed,
    pack,
    shares_of,
    strongest,
    unpack,
)

_BUCKET_LINKS = 2_000_000
_SPILL_LINKS = 1_000_000


class LinkSorter:
    """Takes links, in any order and repeated; then gives them by target, each once."""

    def __init__(self, known: KnownUrls, place: Path, expected: int, bucket_links: int = _BUCKET_LINKS) -> None:
        self._known = known
        self._size = len(known.page_keys)
        self._waiting: list[Ints] = []
        self._count = 0
        count = max(1, min(self._size, expected // bucket_links + 1))
        self._firsts = [self._size * number // count for number in range(count)]
        self._files = [place / f"links-{number:04d}" for number in range(count)]

    def add(self, batch: LinkBatch) -> None:
        known = self._known
        sources, targets = self._places(batch.sources), self._places(batch.targets)
        keep = batch.is_reference & (sources != NONE) & (targets != NONE)
        sources, targets, nofollow = sources[keep], targets[keep], batch.is_nofollow[keep]
        counts = known.is_itself[sources] & (known.links_at[sources] == batch.at[keep])
        one, other = known.pages[sources[counts]], known.pages[targets[counts]]
        is_good = other != NONE
        one, other = one[is_good], other[is_good]
        owners = known.owners
        is_own = owners[known.page_hosts[one]] == owners[known.page_hosts[other]]
        kinds = np.where(nofollow[counts][is_good], NOFOLLOW, np.where(is_own, OWN, OTHER))
        self._waiting.append(pack(one, other, kinds))
        self._count += len(self._waiting[-1])
        if self._count >= _SPILL_LINKS:
            self._spill()

    def _places(self, column: Coded) -> Ints:
        """Where each row's URL is among the known ones."""
        places, is_known = find(self._known.keys, keys_of(column.values))
        found: Ints = np.where(is_known, places, NONE)[column.codes]
        return found

    def _spill(self) -> None:
        links = strongest(np.concatenate(self._waiting)) if self._waiting else np.zeros(0, np.int64)
        edges = np.searchsorted(links, [first_packed(first) for first in self._firsts])
        for file, part in zip(self._files, np.split(links, edges[1:]), strict=True):
            if len(part):
                with file.open("ab") as out:
                    part.tofile(out)
        self._waiting, self._count = [], 0

    def finish(self) -> None:
        """Put every bucket in order. After this, `buckets` can be gone through as often as needed."""
        self._spill()
        for file in self._files:
            if file.exists():
                strongest(np.fromfile(file, np.int64)).tofile(file)

    def buckets(self) -> Iterator[Links]:
        for file in self._files:
            if file.exists():
                yield unpack(np.fromfile(file, np.int64))


class Totals(NamedTuple):
    """What is known of the links when all of them were seen."""

    starts: Ints
    taken: Floats  # by page, what its links take
    led_by: NDArray[np.uint8]  # by page, a bit for each kind of link that leads to it
    hosts: Graph  # of hosts

    @property
    def links(self) -> int:
        return int(self.starts[-1])


def sum_up(known: KnownUrls, sorter: LinkSorter) -> Totals:
    size = len(known.page_keys)
    counts, taken, led_by = np.zeros(size, np.int64), np.zeros(size), np.zeros(size, np.uint8)
    pairs: list[tuple[Ints, Ints]] = []
    for links in sorter.buckets():
        counts += np.bincount(links.targets, minlength=size)
        taken += np.bincount(links.sources, TAKES[links.kinds], minlength=size)
        for kind in (OTHER, OWN, NOFOLLOW):
            led_by[links.targets[links.kinds == kind]] |= 1 << kind
        pairs.append(_host_pairs(known, links))
    starts = np.zeros(size + 1, np.int64)
    np.cumsum(counts, out=starts[1:])
    return Totals(starts, taken, led_by, _host_graph(known, pairs))


def _host_pairs(known: KnownUrls, links: Links) -> tuple[Ints, Ints]:
    """Which hosts link to which, and how often; as target and source in one number."""
    one, other = known.page_hosts[links.sources], known.page_hosts[links.targets]
    counts = (one != other) & (links.kinds != NOFOLLOW)
    pairs, times = np.unique(other[counts].astype(np.int64) << 32 | one[counts], return_counts=True)
    return pairs, times


def _host_graph(known: KnownUrls, parts: list[tuple[Ints, Ints]]) -> Graph:
    """A host speaks of another the louder the more of its pages do, but only as the logarithm of their number."""
    size = len(known.host_keys)
    all_pairs = np.concatenate([np.zeros(0, np.int64), *(pairs for pairs, _ in parts)])
    pairs, places = np.unique(all_pairs, return_inverse=True)
    times = np.bincount(places, np.concatenate([np.zeros(0), *(times for _, times in parts)]), minlength=len(pairs))
    targets, sources = pairs >> 32, pairs & 0xFFFFFFFF
    is_own = known.owners[targets] == known.owners[sources]
    weights = (1.0 + np.log2(np.maximum(1, times))) * np.where(is_own, CARRIES[OWN], CARRIES[OTHER])
    starts = np.zeros(size + 1, np.int64)
    np.cumsum(np.bincount(targets, minlength=size), out=starts[1:])
    taken = np.bincount(sources, weights, minlength=size).astype(np.float64)
    return Graph(starts, sources.astype(np.int32), weights, shares_of(taken))
