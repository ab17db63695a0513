"""The link graph as arrays: pages are numbers, links are rows of a sparse matrix (CSR) by the page they lead to.

A link has a kind, and a kind has two figures: how much of its page's voice it takes, and how much of that it carries.
What it takes and does not carry is lost on the way, and ranking gives it back to the pages one starts from. A page
that links to another several times does so once, as its strongest link does; a page that links to itself does not.

Nothing here knows what a URL is, reads a file or draws lots: the same links in any order give the same arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Ints = NDArray[np.int64]
Nodes = NDArray[np.int32]
Floats = NDArray[np.float64]
Run = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]  # `map`, or that of a pool of threads

# Kinds of links, the strongest first: of several links between two pages the first kind counts.
OTHER, OWN, NOFOLLOW = 0, 1, 2  # to somebody else's page; to a page of the same owner; nofollow, ugc or sponsored
TAKES = np.array([1.0, 0.25, 1.0])  # a nofollow link takes its part, or hiding links would strengthen the others
CARRIES = np.array([1.0, 0.25, 0.125])
_KIND_BITS, _NODE_BITS = 2, 30  # so that a link is a number of 62 bits
MOST_NODES = 1 << _NODE_BITS
_SHORT = 1 << 31  # more than 32 bits can count


class Graph(NamedTuple):
    """Links by target: those to page i come from `sources[starts[i]:starts[i + 1]]`."""

    starts: Ints
    sources: Nodes
    weights: Floats  # what each link carries
    shares: Floats  # by page: one over what all its links take, 0 for a page without links

    @property
    def size(self) -> int:
        return len(self.starts) - 1


class Flow:
    """What flows into each page: the product of the matrix with a vector, or with several at once, block by block."""

    def __init__(self, graph: Graph, blocks: int = 1, run: Run = map) -> None:
        self.size = graph.size
        self.shares = graph.shares
        self._run = run
        edges = np.searchsorted(graph.starts, np.linspace(0, graph.starts[-1], blocks + 1)[1:-1])
        bounds = [0, *edges.tolist(), self.size]
        self._blocks = [_block(graph, first, end) for first, end in pairwise(bounds) if first < end]

    def __call__(self, voices: Floats) -> Floats:
        parts = list(self._run(lambda block: block @ voices, self._blocks))
        return np.concatenate(parts) if parts else np.zeros_like(voices)


def _block(graph: Graph, first: int, end: int) -> csr_array:
    at, until = int(graph.starts[first]), int(graph.starts[end])
    # With numbers of 32 bits for both, or scipy copies all of them to 64.
    starts = (graph.starts[first : end + 1] - at).astype(np.int32 if until - at < _SHORT else np.int64)
    block = csr_array((end - first, graph.size), dtype=np.float64)
    block.indptr, block.indices, block.data = starts, graph.sources[at:until], graph.weights[at:until]
    return block


def pack(sources: NDArray[Any], targets: NDArray[Any], kinds: NDArray[Any]) -> Ints:
    """Links as single numbers that sort by target, source and strength; links of a page to itself are left out."""
    keep = sources != targets
    high = targets[keep].astype(np.int64) << (_NODE_BITS + _KIND_BITS)
    packed: Ints = high | sources[keep].astype(np.int64) << _KIND_BITS | kinds[keep].astype(np.int64)
    return packed


def first_packed(target: int) -> int:
    """No link to this page or a later one is packed as a smaller number."""
    return target << (_NODE_BITS + _KIND_BITS)


def strongest(packed: Ints) -> Ints:
    """Every two pages' strongest link, in order."""
    ordered = np.sort(packed)  # `np.unique` hashes, and takes ninety times as long
    pairs = ordered >> _KIND_BITS
    first = np.ones(len(pairs), bool)
    np.not_equal(pairs[1:], pairs[:-1], out=first[1:])
    return ordered[first]


class Links(NamedTuple):
    sources: Nodes
    targets: Nodes
    kinds: NDArray[np.uint8]


def unpack(packed: Ints) -> Links:
    sources = (packed >> _KIND_BITS) & (MOST_NODES - 1)
    targets = packed >> (_NODE_BITS + _KIND_BITS)
    kinds = packed & ((1 << _KIND_BITS) - 1)
    return Links(sources.astype(np.int32), targets.astype(np.int32), kinds.astype(np.uint8))


def make_graph(size: int, sources: NDArray[Any], targets: NDArray[Any], kinds: NDArray[Any] | None = None) -> Graph:
    """The graph of links that fit into memory; without kinds they are all of one."""
    kinds = np.zeros(len(sources), np.uint8) if kinds is None else kinds
    links = unpack(strongest(pack(np.asarray(sources), np.asarray(targets), np.asarray(kinds))))
    starts = np.zeros(size + 1, np.int64)
    np.cumsum(np.bincount(links.targets, minlength=size), out=starts[1:])
    taken: Floats = np.bincount(links.sources, TAKES[links.kinds], minlength=size).astype(np.float64)
    return Graph(starts, links.sources, CARRIES[links.kinds], shares_of(taken))


def shares_of(taken: Floats) -> Floats:
    return np.divide(1.0, taken, out=np.zeros(len(taken)), where=taken > 0)


def fold(leads_to: Ints) -> Ints:
    """Where each number ends up when one follows it: `leads_to[i]` is i for those that stay. In a circle the least is
    the end. The steps double, so a chain of a million takes twenty of them.
    """
    least, ends = np.minimum(np.arange(len(leads_to)), leads_to), leads_to.copy()
    for _ in range(max(1, len(leads_to)).bit_length() + 1):
        least, ends = np.minimum(least, least[ends]), ends[ends]
    # From where one ends up, either nothing leads on or a circle: its least member is what all of it saw.
    return least[ends]
