"""From an answer to all that follows from it: the row, the stored body, the links.

A page is parsed once. Its body is claimed by hash, so one body is stored however many URLs have it; its text is
compared with near copies; its links pass the normaliser, the scope and the traps, and what they refuse is counted by
name. The body is appended to the WARC before the batch that points at it is written. Nothing here waits or touches the
network.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable
from hashlib import sha256
from typing import Protocol

import msgspec

from lycosa.crawl.claims import LEAST_WORDS, Claim, Claims
from lycosa.crawl.feed import LinkFound, PageRow
from lycosa.crawl.lease import JOINED, Candidate, Effect, Lease
from lycosa.crawl.outcome import Failed, Fetched, Forbidden, Gone, Moved, Outcome, Refused, Unchanged, name_of
from lycosa.crawl.processors import Gathered, Processors, RecordFiles
from lycosa.crawl.rows import UrlRow
from lycosa.crawl.view import PageView, view_of
from lycosa.errors import BadUrl
from lycosa.kit.backoff import backoff
from lycosa.kit.simhash import simhash
from lycosa.model import Location, Response
from lycosa.web.directives import Directives, read_directives
from lycosa.web.headers import looks_like_html, read_content_type, read_link_header, read_validators
from lycosa.web.html import read_page
from lycosa.web.page import FOLLOWED, Link, Page
from lycosa.web.scope import Scope
from lycosa.web.traps import Patterns, TrapRules
from lycosa.web.url import Normaliser, host_of

MOST_HOPS = 5
TRIES = 3
_RETRY_S = 10.0
_MANY_WORDS = 1_000  # characters: enough of them, and quicker to tell than by counting
_LONGEST_TEXT = 1_000_000  # characters, of what the tables keep of one page
_LONGEST_HEADINGS = 20_000
_RESOURCES = ("link", "script")
_LONGEST_LINKS = 4_000_000  # characters, of all URLs that the tables keep of one page's links
_OUTSIDE = frozenset(("scope.host", "scope.domain", "scope.include", "scope.exclude", "scope.media"))
_MOST_OUTSIDE = 10_000
_LONGEST_OUTSIDE = 300  # characters: so they are 10 MB at the very most


class Stored(msgspec.Struct, frozen=True):
    """Where a body was put, and what later copies of it refer to."""

    location: Location
    claim: Claim


class Bodies(Protocol):
    """Keeps answers. `copy_of` says that the same body is there already."""

    def keep(self, response: Response, content_hash: bytes, copy_of: Claim | None, about: dict[str, str]) -> Stored: ...
    def sync(self) -> None: ...
    def close(self) -> None: ...


class Judges(msgspec.Struct, frozen=True):
    """The rules that decide what becomes of a page's links."""

    agent: str
    normal: Normaliser
    scope: Scope
    traps: TrapRules
    patterns: Patterns
    year: int
    unmet: Callable[[Iterable[str]], set[str]]  # the others were judged and queued already


class Known(msgspec.Struct):
    """What other shards know of a page's copies."""

    first: Claim | None = None
    near: bytes | None = None  # a key
    near_url: str | None = None


class Read(msgspec.Struct):
    """A fetched page, taken apart."""

    content_type: str
    content_hash: bytes
    page: Page | None  # None if it is not HTML
    directives: Directives
    view: PageView | None = None  # for whoever wants to see the page itself
    gathered: Gathered | None = None  # what processors say of it
    text: str | None = None  # the main text, once it was looked for
    simhash: int | None = None
    is_compared: bool = False
    known: Known | None = None  # None in a single process, where all of it can be looked up at once

    def main_text(self) -> str:
        if self.text is None:
            self.text = self.page.main_text if self.page is not None else ""
        return self.text

    def fingerprint(self) -> int | None:
        """That of its main text, if that is long enough to be told from others."""
        if not self.is_compared:
            self.is_compared, text = True, self.main_text()
            is_whole = self.page is not None and "text" not in self.page.cut
            if is_whole and (len(text) > _MANY_WORDS or text.count(" ") + 1 >= LEAST_WORDS):
                self.simhash = simhash(text)
        return self.simhash


class Ingest:
    def __init__(
        self,
        judges: Judges,
        claims: Claims,
        bodies: Bodies,
        processors: Processors | None = None,
        records: RecordFiles | None = None,
        *,
        with_views: bool = False,
    ) -> None:
        self._judges = judges
        self._claims = claims
        self._bodies = bodies
        self._processors = processors or Processors()
        self._records = records
        self._with_views = with_views or bool(self._processors)
        self._outside: dict[str, str] = {}  # links that the scope refuses, and why: menus have the same on every page
        self._homes = 0  # how many the scope had then: it grows when a host joins

    def effect(self, lease: Lease, outcome: Outcome, read: Read | None, now: float) -> Effect:
        """What settling this lease of a page has to write; `read` is what `read` made of a fetched one."""
        row = lease.row
        assert row is not None
        row.visits += 1
        row.outcome, row.reason = name_of(outcome), ""
        effect = Effect(row=row, counts=Counter({row.outcome: 1}), is_revisit=bool(row.content_hash))
        match outcome:
            case Fetched(response):
                assert read is not None
                self._fetched(row, lease, response, read, effect)
                self._tell(row, lease, effect)
            case Unchanged(response) | Gone(response):
                self._answered(row, response, effect)
                self._tell(row, lease, effect)
            case Moved(response, target):
                self._moved(row, lease, response, target, effect)
                self._tell(row, lease, effect)
            case Failed():
                self._failed(row, outcome, effect, now)
            case Forbidden(reason) | Refused(reason):
                row.state, row.reason = "dropped", reason
                effect.counts[f"refused:{reason}"] += 1
        return effect

    def _answered(self, row: UrlRow, response: Response, effect: Effect) -> None:
        row.state, row.status, row.fetched_at, row.failures = "done", response.status, response.started_at, 0
        effect.counts["downloaded"] += len(response.payload)

    def _tell(self, row: UrlRow, lease: Lease, effect: Effect) -> None:
        """Complete the row of the table from the row of the URL."""
        page = effect.page = effect.page or _new_page_row()
        page.url, page.host, page.fetched_at, page.depth = row.url, lease.host, row.fetched_at, row.depth
        page.status, page.outcome, page.content_type, page.bytes = row.status, row.outcome, row.content_type, row.size
        page.content_hash, page.outlinks = row.content_hash.hex() or None, len(effect.links)
        page.alias_of, page.canonical = row.alias_of or None, row.canonical or None
        page.redirect_to = row.redirect_to or None
        if row.warc_file:
            page.warc_file, page.warc_offset, page.warc_length = row.warc_file, row.warc_offset, row.warc_length

    # -- pages ---------------------------------------------------------------------------------------------------------

    def read(self, row: UrlRow, response: Response) -> Read:
        """Take a fetched page apart and show it to the processors. Nothing is decided, and nothing written."""
        content_type = response.headers.get("content-type")
        media = read_content_type(content_type)
        page = None
        if media.is_html or (not media.media_type and looks_like_html(response.body)):
            page = read_page(response.body, response.url, content_type)
        said, headers = page.meta if page else {}, response.headers
        directives = read_directives(
            self._judges.agent, said, headers.get_all("x-robots-tag"), headers.get("tdm-reservation") or ""
        )
        read = Read(media.media_type, sha256(response.body).digest(), page, directives)
        if self._with_views:
            read.view = view_of(row, response, read.content_type, read.content_hash, page)
            read.gathered = self._processors.run(read.view) if self._processors else None
        return read

    def _fetched(self, row: UrlRow, lease: Lease, response: Response, read: Read, effect: Effect) -> None:
        self._answered(row, response, effect)
        row.content_type, row.size, row.content_hash = read.content_type, len(response.body), read.content_hash
        validators = read_validators(response.headers)
        row.etag, row.last_modified = validators.etag or "", validators.last_modified or ""
        first = self._claims.first_with(row.content_hash) if read.known is None else read.known.first
        page_of_first = (first.page or first.url) if first is not None else ""
        row.alias_of = page_of_first if page_of_first != row.url else ""
        base, links = (read.page.base, read.page.links) if read.page is not None else (response.url, [])
        if read.gathered is not None:
            links = [*links, *[Link(href, "processor") for href in read.gathered.links]]
        if read.page is not None:
            effect.page = self._read(row, lease, response, read, read.page, effect)
            if read.page.too_long:
                effect.counts["refused:trap.length"] += read.page.too_long
        nofollow = read.directives.nofollow
        effect.found, effect.links = self._follow(row, lease, base, links, nofollow, effect.counts)
        self._keep(row, response, first, read.directives, effect)
        if row.alias_of:
            effect.counts["exact"] += 1
        if read.gathered is not None:  # last: a page we stumble over leaves no records
            self._gather(read.gathered, effect)

    def _gather(self, gathered: Gathered, effect: Effect) -> None:
        """Keep what processors found: fields with the page, records in files of their own."""
        effect.counts.update(gathered.counts)
        if gathered.fields:
            effect.page = effect.page or _new_page_row()
            effect.page.fields = gathered.fields_json()
        if self._records is not None:
            for name, lines in gathered.records.items():
                self._records.append(name, lines)

    def _read(self, row: UrlRow, lease: Lease, response: Response, read: Read, page: Page, effect: Effect) -> PageRow:
        directives = read.directives
        canonical = page.canonical or next(iter(read_link_header(response.headers, "canonical")), "")
        if canonical:
            normal = self._judges.normal.links(page.base, [canonical])
            row.canonical = normal.get(canonical, "")
        told = _new_page_row()
        told.title = page.title or None
        told.language, told.charset = page.language or None, page.charset.label
        told.directives = directives.told() or None
        if not row.alias_of:  # else its text is that of the page it is a copy of
            text = read.main_text()
            if not directives.noarchive:
                told.text = text[:_LONGEST_TEXT]
                told.headings = "\n".join([heading.text for heading in page.headings])[:_LONGEST_HEADINGS] or None
            told.simhash = read.fingerprint()
            if told.simhash is not None:
                self._compare(row, lease, read.known, told, effect)
        return told

    def _compare(self, row: UrlRow, lease: Lease, known: Known | None, told: PageRow, effect: Effect) -> None:
        """Look for an earlier page with nearly the same text."""
        assert told.simhash is not None
        if known is None:
            near, changes = self._claims.near(told.simhash, lease.key)
            effect.changes += changes
        else:
            near = known.near
        if near is not None:
            row.near_of = near.hex()
            told.near_of = self._claims.url_at(near) if known is None else known.near_url
            effect.counts["near"] += 1

    def _follow(
        self, row: UrlRow, lease: Lease, base: str, said: list[Link], nofollow: bool, counts: Counter[str]
    ) -> tuple[list[Candidate], list[LinkFound]]:
        """The links to go after, and all links with what became of them."""
        if not said:
            return [], []
        forms = self._judges.normal.links(base, [link.href for link in said])
        new, depth, form_of = self._judges.unmet(forms.values()), row.depth + 1, forms.get
        verdicts: dict[str, str | None] = {}  # of those that are new
        found: list[Candidate] = []
        links: list[LinkFound] = []
        for link in said:
            url = form_of(link.href)
            if url is None:
                continue
            kind, rel = link.kind, link.rel
            if kind not in FOLLOWED:
                why: str | None = "resource" if kind in _RESOURCES else "media"
            elif nofollow or (rel and not link.is_followed):
                why = "nofollow"
            elif url not in new:
                why = None
            elif url in verdicts:
                why = verdicts[url]
            else:
                why = verdicts[url] = self._judge(url, depth)
                if why is None:
                    found.append(Candidate(url, depth, "", lease.key))
                else:
                    counts[f"refused:{why}"] += 1
            links.append((url, kind, rel, link.text, why))
        longest = max(map(len, forms.values()), default=0)
        return found, links if longest * len(links) <= _LONGEST_LINKS else _bounded(links)

    def _judge(self, url: str, depth: int) -> str | None:
        """Why a link that was not met lately is not taken, or None. Links out of the scope never are met."""
        scope = self._judges.scope
        if len(scope.homes) != self._homes:
            self._outside, self._homes = {}, len(scope.homes)
        is_too_deep = scope.max_depth is not None and depth > scope.max_depth
        why = self._outside.get(url) if not is_too_deep else None
        if why is None:
            why = self.refusal(url, host_of(url), depth)
            if why in _OUTSIDE and len(url) < _LONGEST_OUTSIDE:
                if len(self._outside) >= _MOST_OUTSIDE:
                    self._outside.clear()
                self._outside[url] = why
        return why

    def normal_of(self, href: str) -> str:
        return self._judges.normal.of_href(href)

    def refusal(self, url: str, host: str, depth: int) -> str | None:
        """Why a link is not taken, or None."""
        judges = self._judges
        return (
            judges.scope.refusal(url, host, depth)
            or judges.traps.refusal(url, judges.year)
            or judges.patterns.refusal(host, url)
        )

    def _keep(
        self, row: UrlRow, response: Response, first: Claim | None, directives: Directives, effect: Effect
    ) -> None:
        if directives.noarchive:
            row.reason = "noarchive"
            return
        about = {"depth": str(row.depth), "outcome": row.outcome}
        stored = self._bodies.keep(response, row.content_hash, first, about)
        row.warc_file, row.warc_offset = stored.location.file, stored.location.offset
        row.warc_length = stored.location.length
        effect.counts["stored"] += stored.location.length
        if first is None:
            claim = stored.claim
            if row.url != claim.url:
                claim = msgspec.structs.replace(claim, page=row.url)
            effect.changes.append(self._claims.claim(row.content_hash, claim))

    # -- everything else -----------------------------------------------------------------------------------------------

    def _moved(self, row: UrlRow, lease: Lease, response: Response, target: str, effect: Effect) -> None:
        self._answered(row, response, effect)
        try:
            url = self._judges.normal.of_href(target)
        except BadUrl:
            row.outcome, row.reason = "failed", "redirect.bad_location"
            return
        row.redirect_to = url
        host = host_of(url)
        # Where a seed leads joins the scope (http to https, apex to www), unless a rule excludes it.
        refusal = self.refusal(url, host, row.depth)
        if url == row.url or self._came_from(url, row):
            refusal = "redirect.loop"
        elif row.hops >= MOST_HOPS:
            refusal = "redirect.too_many"
        if refusal is not None:
            row.reason = refusal
            effect.counts[f"refused:{refusal}"] += 1
            return
        if row.depth == 0 and not self._judges.scope.is_home(host):
            self._judges.scope.join(host)
            effect.changes.append(("meta", JOINED + host.encode(), b""))
        effect.found = [Candidate(url, row.depth, target, lease.key, row.hops + 1)]

    def _came_from(self, url: str, row: UrlRow) -> bool:
        """Did this redirect, or one that led to it, start there?"""
        before: UrlRow | None = row
        for _ in range(row.hops):
            before = self._claims.row_at(before.found_on) if before is not None else None
            if before is not None and before.url == url:
                return True
        return False

    def _failed(self, row: UrlRow, outcome: Failed, effect: Effect, now: float) -> None:
        row.reason = outcome.reason
        row.failures += 1
        effect.counts.clear()
        if outcome.response is not None:
            row.status = outcome.response.status
            row.fetched_at = outcome.response.started_at
            effect.counts["downloaded"] += len(outcome.response.payload)
        if outcome.is_lasting:
            row.state = "done"
            effect.counts.update({"failed": 1, f"failed:{outcome.reason}": 1})
        elif row.failures >= TRIES:
            row.state = "parked"
            effect.counts.update({"failed": 1, "parked": 1, f"failed:{outcome.reason}": 1})
        else:
            effect.counts[f"retried:{outcome.reason}"] += 1
            effect.retry_at = now + backoff(row.failures, _RETRY_S)


def _bounded(links: list[LinkFound]) -> list[LinkFound]:
    sizes = itertools.accumulate(len(url) for url, *_ in links)
    return [link for link, size in zip(links, sizes, strict=True) if size <= _LONGEST_LINKS]


def _new_page_row() -> PageRow:
    """To be completed by `Ingest._tell`."""
    return PageRow(url="", host="", fetched_at=0.0, status=0, outcome="")
