"""Asking the web about one thing with the crawler itself: a small crawl in a directory that goes away.

Every request is a lease of the frontier, so robots.txt comes first, the delay of the host is kept, and addresses are
checked, exactly as in a crawl. Nothing is kept.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
import uvloop

from lycosa.cli.opened import opened
from lycosa.config import Settings
from lycosa.crawl.lease import Candidate
from lycosa.crawl.outcome import judge, name_of
from lycosa.crawl.rows import RobotsRow
from lycosa.crawl.rules import MOST_HOPS, origin_of
from lycosa.errors import BadInput, BadUrl
from lycosa.model import Reply, Response, Trouble
from lycosa.web.robots import Matcher
from lycosa.web.url import host_of, is_web, parse
from lycosa.wiring import Crawl

_REDIRECTS = (301, 302, 303, 307, 308)


class Answer(msgspec.Struct, frozen=True):
    """What came of asking for a page."""

    url: str
    outcome: str
    reason: str
    replies: list[Reply]  # in the order they came, robots.txt included

    @property
    def last(self) -> Response | None:
        """The answer for the page itself, or for where it led."""
        reply = self.replies[-1] if self.replies else None
        return reply if isinstance(reply, Response) and not is_rules(reply) else None


class Verdict(msgspec.Struct, frozen=True):
    """The rules of one origin."""

    origin: str
    row: RobotsRow | None  # None if it could not be asked
    matcher: Matcher | None  # None if nothing may be fetched


def is_rules(reply: Reply) -> bool:
    return reply.url.endswith("/robots.txt")


@contextlib.contextmanager
def _crawl(settings: Settings, seeds: Sequence[str], heard: Callable[[Crawl, Reply], None]) -> Iterator[Crawl]:
    """A crawl that goes no further than its seeds, and tells of every reply."""
    with tempfile.TemporaryDirectory(prefix="lycosa-") as scratch:
        alone = msgspec.structs.replace(settings.crawl, max_pages=None, max_depth=0, processes=None)
        alone_settings = msgspec.structs.replace(settings, crawl=alone)
        job = Crawl(Path(scratch) / "crawl", alone_settings, seeds, on_reply=lambda reply: heard(job, reply))
        try:
            yield job
        finally:
            job.close()


def fetch_page(url: str, settings: Settings) -> Answer:
    """Ask for one page, and for where it redirects to; try nothing twice."""
    replies: list[Reply] = []

    def heard(job: Crawl, reply: Reply) -> None:
        replies.append(reply)
        goes_on = isinstance(reply, Response) and (
            reply.status in _REDIRECTS or (is_rules(reply) and reply.status < 500 and reply.status != 429)
        )
        if not goes_on:
            job.loop.stop()

    with _crawl(settings, [url], heard) as job:
        [(request, normal)] = job.seeds.items()
        uvloop.run(job.run(lambda _: None, 60.0))
        with opened(job.directory) as kept:
            row = kept.look.row(normal)
            for _ in range(len(replies)):
                target = kept.look.row(row.redirect_to) if row is not None and row.redirect_to else None
                row = row if target is None else target
    if row is not None and row.outcome:
        return Answer(request, row.outcome, row.reason, replies)
    last = replies[-1] if replies else None
    if last is not None and not is_rules(last):
        return Answer(request, name_of(judge(last, False)), _reason_of(last), replies)
    reason = "" if last is None else f"robots.txt: {_reason_of(last)}"
    return Answer(request, "failed", reason or "nothing could be asked", replies)


def _reason_of(reply: Reply) -> str:
    return reply.kind if isinstance(reply, Trouble) else f"status.{reply.status}"


def fetch_body(url: str, settings: Settings) -> Response:
    """The page at a URL; what cannot be had is an error of one sentence."""
    answer = fetch_page(url, settings)
    if answer.outcome != "fetched" or answer.last is None:
        raise BadInput(f"{url} could not be fetched ({answer.outcome} {answer.reason}): lycosa try fetch tells more")
    return answer.last


def ask_rules(seeds: Sequence[str], settings: Settings) -> list[Verdict]:
    """The robots.txt of every origin of the seeds, and nothing else, asked as a crawl would."""
    asked: dict[str, tuple[str, int]] = {}  # by URL: whose rules they are, and after how many redirects

    def ask(job: Crawl, url: str, origin: str, hops: int) -> None:
        asked[url] = (origin, hops)
        rules = Candidate(url, 0, url, kind="robots", purpose=origin, hops=hops)
        job.frontier.offer([rules], job.clock.now())

    def heard(job: Crawl, reply: Reply) -> None:
        """The loop itself asks other hosts a redirect leads to; on the same host it waits for a page to want it."""
        origin, hops = asked.get(reply.url, ("", 0))
        target = _target(reply)
        if origin and target and hops < MOST_HOPS:
            if host_of(target) == host_of(f"{origin}/"):
                ask(job, target, origin, hops + 1)
            else:
                asked[target] = (origin, hops + 1)

    with _crawl(settings, seeds, heard) as job:
        origins = list(dict.fromkeys(map(origin_of, job.seeds)))
        job.seeds = {}
        for origin in origins:
            ask(job, f"{origin}/robots.txt", origin, 0)
        uvloop.run(job.run(lambda _: None, 60.0))
        return [Verdict(origin, job.rules.row(origin), job.rules.matcher(origin)) for origin in origins]


def _target(reply: Reply) -> str:
    if not isinstance(reply, Response) or reply.status not in _REDIRECTS:
        return ""
    try:
        target = parse(reply.headers.get("location") or "", reply.url).partition("#")[0]
    except BadUrl:
        return ""
    return target if is_web(target) else ""
