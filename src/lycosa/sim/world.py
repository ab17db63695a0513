"""A seeded synthetic web that answers requests in memory.

`World(WorldPlan(seed=7, hosts=1_000_000)).answer(request, now)` is a pure function of plan, request and time:
the same bytes in any process, on any day it is told. Nothing is built ahead; a bounded cache of rendered
bodies is all that is kept. Validators follow the version of a page, and conditional requests are answered 304
(RFC 9110 13).

Never touches a socket or a clock: `server` puts a world on loopback addresses, `truth` says what it holds.
"""

import gzip
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from email.utils import formatdate, parsedate_to_datetime
from functools import lru_cache
from http import HTTPStatus
from math import exp
from typing import NamedTuple

from lycosa.sim.atlas import Atlas, Kind, PageId
from lycosa.sim.links import redirect_of
from lycosa.sim.media import make_media
from lycosa.sim.page import charset_of, render_page
from lycosa.sim.plan import WorldPlan
from lycosa.sim.robots import RobotsState, robots_of, write_robots
from lycosa.sim.sitemaps import write_sitemap
from lycosa.sim.truth import Truth
from lycosa.sim.versions import Versions

_JITTER_SIGMA = 0.3
_LAST_MODIFIED_ONLY = 0.2  # of the hosts with validators


class Request(NamedTuple):
    method: str
    host: str
    """A name or an address of the world; a port is ignored."""
    target: str
    headers: Mapping[str, str] = {}
    """Names in lower case."""


class Answer(NamedTuple):
    status: int
    reason: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    latency_s: float


Headers = list[tuple[str, str]]


class World:
    def __init__(self, plan: WorldPlan, cache_bytes: int = 32_000_000) -> None:
        self.plan, self._cache_bytes = plan, cache_bytes
        self.atlas = Atlas(plan)
        self.versions = Versions(self.atlas)
        self.truth = Truth(self.atlas, self.versions)
        self._bodies: OrderedDict[tuple[PageId, int, bool], bytes] = OrderedDict()
        self._bodies_bytes = 0

    def found_at(self, *, by: str, port: int) -> "World":
        """The same world with links written for that port, by name or by address."""
        return World(replace(self.plan, by=by, port=port), self._cache_bytes)

    def seeds(self, hosts: int = 1) -> list[str]:
        """Front pages to start from; host 0 leads to all others."""
        return [self.atlas.origin(host) + "/" for host in range(min(hosts, self.plan.hosts))]

    def answer(self, request: Request, now: float) -> Answer:
        host = self.atlas.host_of(request.host)
        if host is None:
            return self._plain(421, [], "This server knows no such host.\n", request, now)
        if request.method not in ("GET", "HEAD"):
            return self._plain(405, [("Allow", "GET, HEAD")], "Only GET and HEAD.\n", request, now)
        page = self.atlas.find(host, request.target)
        if page is not None:
            return self._answer_page(page, request, now)
        return self._answer_file(host, request, now)

    def latency_s(self, host: int, target: str) -> float:
        """How long the host takes to answer: log-normal between hosts, and a little between targets."""
        dice, plan = self.atlas.dice, self.plan
        slow = plan.latency_sigma * dice.normal("latency", host)
        return plan.latency_median_s * exp(slow + _JITTER_SIGMA * dice.normal("jitter", host, target))

    def _answer_page(self, page: PageId, request: Request, now: float) -> Answer:
        kind = self.atlas.kind(page)
        if kind is Kind.GONE:
            return self._missing(410 if self.atlas.dice.pick(4, "gone", *page) == 0 else 404, request, now)
        if kind is Kind.REDIRECT:
            status, location, _ = redirect_of(self.atlas, page)
            return self._plain(status, [("Location", location)], "See elsewhere.\n", request, now)
        return self._show(page, request, now)

    def _show(self, page: PageId, request: Request, now: float) -> Answer:
        version = self.versions.at(page, now)
        squeezed = self.atlas.dice.share("gzip", page.host) < self.plan.gzip_share
        headers: Headers = []
        drawn = self.atlas.dice.share("validators", page.host)
        tag = f'"{page.number}-{version.number}"'
        if squeezed:
            headers.append(("Vary", "Accept-Encoding"))
            tag = f"W/{tag}"  # the same page in two codings
        if drawn < self.plan.validators_share:
            headers.append(("Last-Modified", write_date(int(version.since))))
            if drawn >= self.plan.validators_share * _LAST_MODIFIED_ONLY:
                headers.append(("ETag", tag))
            if _is_current(request.headers, dict(headers), version.since):
                return self._finish(304, headers, b"", request, now)
        squeezed = squeezed and "gzip" in request.headers.get("accept-encoding", "")
        if squeezed:
            headers.append(("Content-Encoding", "gzip"))
        charset = charset_of(self.atlas, self.atlas.source(page).host)
        headers.append(("Content-Type", f"text/html; charset={charset}"))
        return self._finish(200, headers, self._body(page, version.number, squeezed), request, now)

    def _answer_file(self, host: int, request: Request, now: float) -> Answer:
        target = request.target
        if target == "/robots.txt":
            return self._answer_robots(host, request, now)
        if target.startswith("/sitemap"):
            body = write_sitemap(self.atlas, self.versions, host, target, now)
            if body is not None:
                kind = "application/gzip" if target.endswith(".gz") else "application/xml"
                return self._finish(200, [("Content-Type", kind)], body, request, now)
        media = make_media(self.atlas.dice, host, target)
        if media is not None:
            return self._finish(200, [("Content-Type", media[0])], media[1], request, now)
        return self._missing(404, request, now)

    def _answer_robots(self, host: int, request: Request, now: float) -> Answer:
        rules = robots_of(self.atlas, host)
        if rules.state is RobotsState.ABSENT:
            return self._missing(404, request, now)
        if rules.state is RobotsState.BROKEN:
            return self._plain(503, [], "Out of order.\n", request, now)
        return self._plain(200, [], write_robots(rules), request, now)

    def _missing(self, status: int, request: Request, now: float) -> Answer:
        body = b"<!DOCTYPE html>\n<title>Not here</title>\n<p>There is no such page on this host.</p>\n"
        return self._finish(status, [("Content-Type", "text/html; charset=utf-8")], body, request, now)

    def _plain(self, status: int, headers: Headers, text: str, request: Request, now: float) -> Answer:
        headers = [*headers, ("Content-Type", "text/plain; charset=utf-8")]
        return self._finish(status, headers, text.encode(), request, now)

    def _finish(self, status: int, headers: Headers, body: bytes, request: Request, now: float) -> Answer:
        headers = [("Date", write_date(int(now))), ("Server", "sim"), *headers]
        if status != HTTPStatus.NOT_MODIFIED:
            headers.append(("Content-Length", str(len(body))))
        shown = b"" if request.method == "HEAD" else body
        host = self.atlas.host_of(request.host)
        latency_s = 0.0 if host is None else self.latency_s(host, request.target)
        return Answer(status, HTTPStatus(status).phrase, tuple(headers), shown, latency_s)

    def _body(self, page: PageId, version: int, squeezed: bool) -> bytes:
        """Rendered, or from the cache; exact copies share their source's place in it."""
        shown = page if self.atlas.kind(page) is Kind.NEAR else self.atlas.source(page)
        key = (shown, version, squeezed)
        body = self._bodies.get(key)
        if body is not None:
            self._bodies.move_to_end(key)
            return body
        body = render_page(self.atlas, shown, version)
        if squeezed:
            body = gzip.compress(body, 1, mtime=0)
        self._bodies[key] = body
        self._bodies_bytes += len(body)
        while self._bodies_bytes > self._cache_bytes:
            self._bodies_bytes -= len(self._bodies.popitem(last=False)[1])
        return body


@lru_cache(1024)
def write_date(at: int) -> str:
    return formatdate(at, usegmt=True)


def _is_current(asked: Mapping[str, str], have: dict[str, str], since: float) -> bool:
    tags = asked.get("if-none-match")
    if tags is not None:  # takes precedence over dates, and is compared weakly
        known = have.get("ETag", "").removeprefix("W/")
        return tags.strip() == "*" or known in {tag.strip().removeprefix("W/") for tag in tags.split(",")}
    date = asked.get("if-modified-since")
    if date is None:
        return False
    try:
        return int(since) <= parsedate_to_datetime(date).timestamp()
    except ValueError:
        return False
