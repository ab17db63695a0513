"""What passes between the frontier, the loop and ingest: URLs offered, leases given, effects settled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import msgspec

from lycosa.crawl.feed import LinkFound, PageRow
from lycosa.crawl.rows import Kind, UrlRow
from lycosa.ports import Change

DelayOf = Callable[[str], float]  # the least gap of a host, in seconds
OpenAt = Callable[[str, float], float]  # from now on, when a host may be asked
LANES = 4


class Candidate(msgspec.Struct, frozen=True, gc=False):
    """A URL that scope and traps have let pass."""

    url: str
    depth: int
    request: str = ""
    found_on: bytes = b""
    hops: int = 0
    kind: Kind = "page"
    purpose: str = ""


class Lease(msgspec.Struct, frozen=True):
    """The right to send one request now."""

    host: str
    url: str  # what to request
    kind: Kind
    origin: str  # for robots: whose rules these will be
    key: bytes
    at: float
    row: UrlRow | None  # None for the rules of the host's own origin


class Effect(msgspec.Struct):
    """What settling a lease does beside the host's clock; made by `ingest`."""

    row: UrlRow | None = None  # the URL as it is now
    retry_at: float | None = None  # it stays, and is due again then
    is_revisit: bool = False  # then it costs its domain nothing
    found: Sequence[Candidate] = ()
    changes: list[Change] = msgspec.field(default_factory=list)  # anything else for the same batch
    counts: Counter[str] = msgspec.field(default_factory=Counter)
    page: PageRow | None = None  # what the tables will have of it
    links: list[LinkFound] = msgspec.field(default_factory=list)


def lane_of(depth: int, url: str, hops: int) -> int:
    """Breadth first in flavour: near a seed before far, short paths before long."""
    if depth == 0 or hops:
        return 0
    far = 1 if depth <= 2 else 2 if depth <= 6 else 3
    return min(LANES - 1, far + (url.count("/") > 10))
