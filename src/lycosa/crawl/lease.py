"""What passes between the frontier, the loop and ingest: URLs offered, leases given, effects settled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import msgspec

from lycosa.crawl.feed import LinkFound, PageRow
from lycosa.crawl.rows import Kind, UrlRow
from lycosa.model import Reply, Response, Timings, Trouble
from lycosa.ports import Change
from lycosa.web.headers import Headers

DelayOf = Callable[[str], float]  # the least gap of a host, in seconds
CrawlDelayOf = Callable[[str, float | None], float | None]  # of a host, given the one it wishes for
OpenAt = Callable[[str, float], float]  # from now on, when a host may be asked
LANES = 4
JOINED = b"joined:"  # in `meta`: hosts that seeds have led to


class Candidate(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A URL that scope and traps have let pass. It may travel to another shard: fields are added at the end."""

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


_TOLD = ("location", "etag", "last-modified")


class RobotsAnswer(msgspec.Struct, array_like=True, frozen=True):
    """What a host said when it was asked for the rules of another one, which has to judge it."""

    origin: str
    url: str
    at: float
    trouble: str = ""  # its kind, if there was no answer
    status: int = 0
    headers: list[tuple[str, str]] = []
    body: bytes = b""
    truncated: str = ""

    @staticmethod
    def of(origin: str, reply: Reply, longest: int) -> RobotsAnswer:
        if not isinstance(reply, Response):
            return RobotsAnswer(origin, reply.url, reply.started_at, reply.kind)
        headers = [(name, reply.headers.get(name) or "") for name in _TOLD if reply.headers.get(name)]
        body = reply.body[:longest]
        return RobotsAnswer(origin, reply.url, reply.started_at, "", reply.status, headers, body, reply.truncated)

    def reply(self) -> Reply:
        if self.trouble:
            return Trouble(self.url, self.trouble, "", None, self.at, Timings())
        return Response(
            url=self.url,
            status=self.status,
            reason="",
            version="1.1",
            headers=Headers(self.headers),
            request_head=b"",
            head=b"",
            payload=b"",
            body=self.body,
            truncated=self.truncated,
            address="",
            started_at=self.at,
            timings=Timings(),
        )


class Effect(msgspec.Struct):
    """What settling a lease does beside the host's clock; made by `ingest`."""

    row: UrlRow | None = None  # the URL as it is now
    retry_at: float | None = None  # it stays, and is due again then
    is_revisit: bool = False  # then it costs its domain nothing
    found: Sequence[Candidate] = ()
    answers: Sequence[RobotsAnswer] = ()
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
