"""From an answer to all that follows from it: the row, the stored body, the links.

A page is parsed once. Its body is claimed by hash, so one body is stored however many URLs have it; its text is
compared with near copies; its links pass the normaliser, the scope and the traps, and what they refuse is counted by
name. The body is appended to the WARC before the batch that points at it is written. Nothing here waits or touches the
network.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from typing import Protocol

import msgspec

from lycosa.crawl.claims import LEAST_WORDS, Claim, Claims
from lycosa.crawl.lease import Candidate, Effect, Lease
from lycosa.crawl.outcome import Failed, Fetched, Forbidden, Gone, Moved, Outcome, Refused, Unchanged, name_of
from lycosa.crawl.rows import UrlRow
from lycosa.errors import BadUrl
from lycosa.kit.backoff import backoff
from lycosa.kit.simhash import simhash
from lycosa.model import Location, Response
from lycosa.web.directives import Directives, read_directives
from lycosa.web.headers import looks_like_html, read_content_type, read_link_header, read_validators
from lycosa.web.html import read_page
from lycosa.web.page import Page
from lycosa.web.scope import Scope
from lycosa.web.text import main_text
from lycosa.web.traps import Patterns, TrapRules
from lycosa.web.url import Normaliser, host_of

MOST_HOPS = 5
TRIES = 3
_RETRY_S = 10.0


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
    was_met_lately: Callable[[str], bool]  # then it was judged and queued already


class Ingest:
    def __init__(self, judges: Judges, claims: Claims, bodies: Bodies) -> None:
        self._judges = judges
        self._claims = claims
        self._bodies = bodies

    def effect(self, lease: Lease, outcome: Outcome, now: float) -> Effect:
        """What settling this lease of a page has to write."""
        row = lease.row
        assert row is not None
        row.visits += 1
        row.outcome, row.reason = name_of(outcome), ""
        effect = Effect(row=row, counts=Counter({row.outcome: 1}), is_revisit=bool(row.content_hash))
        match outcome:
            case Fetched(response):
                self._fetched(row, lease, response, effect, now)
            case Unchanged(response) | Gone(response):
                self._answered(row, response, effect, now)
            case Moved(response, target):
                self._moved(row, lease, response, target, effect, now)
            case Failed():
                self._failed(row, outcome, effect, now)
            case Forbidden(reason) | Refused(reason):
                row.state, row.reason = "dropped", reason
                effect.counts[f"refused:{reason}"] += 1
        return effect

    def _answered(self, row: UrlRow, response: Response, effect: Effect, now: float) -> None:
        row.state, row.status, row.fetched_at, row.failures = "done", response.status, response.started_at, 0
        effect.counts["downloaded"] += len(response.payload)

    # -- pages ---------------------------------------------------------------------------------------------------------

    def _fetched(self, row: UrlRow, lease: Lease, response: Response, effect: Effect, now: float) -> None:
        self._answered(row, response, effect, now)
        content_type = response.headers.get("content-type")
        media = read_content_type(content_type)
        row.content_type, row.size = media.media_type, len(response.body)
        row.content_hash = sha256(response.body).digest()
        validators = read_validators(response.headers)
        row.etag, row.last_modified = validators.etag or "", validators.last_modified or ""
        first = self._claims.first_with(row.content_hash)
        row.alias_of = first.url if first is not None and first.url != row.url else ""
        page = None
        if media.is_html or (not media.media_type and looks_like_html(response.body)):
            page = read_page(response.body, response.url, content_type)
        said = page.meta if page else {}
        directives = read_directives(self._judges.agent, said, response.headers.get_all("x-robots-tag"))
        if page is not None:
            self._read(row, lease, response, page, directives, effect)
        self._keep(row, response, first, directives, effect)
        if row.alias_of:
            effect.counts["exact"] += 1

    def _read(
        self, row: UrlRow, lease: Lease, response: Response, page: Page, directives: Directives, effect: Effect
    ) -> None:
        canonical = page.canonical or next(iter(read_link_header(response.headers, "canonical")), "")
        if canonical:
            normal = self._judges.normal.links(page.base, [canonical])
            row.canonical = normal.get(canonical, "")
        if not row.alias_of and "text" not in page.cut:
            text = main_text(page.blocks)
            if text.count(" ") + 1 >= LEAST_WORDS:
                near, changes = self._claims.near(simhash(text), lease.key)
                effect.changes += changes
                if near is not None:
                    row.near_of = near.hex()
                    effect.counts["near"] += 1
        if not directives.nofollow:
            effect.found = self._follow(row, lease, page, effect.counts)

    def _follow(self, row: UrlRow, lease: Lease, page: Page, counts: Counter[str]) -> list[Candidate]:
        hrefs = [link.href for link in page.links if link.is_followed]
        found: dict[str, Candidate] = {}
        for url in self._judges.normal.links(page.base, hrefs).values():
            if url not in found and not self._judges.was_met_lately(url):
                host = host_of(url)
                refusal = self.refusal(url, host, row.depth + 1)
                if refusal is None:
                    found[url] = Candidate(url, row.depth + 1, "", lease.key)
                else:
                    counts[f"refused:{refusal}"] += 1
        return list(found.values())

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
            claim = msgspec.structs.replace(stored.claim, url=row.url)
            effect.changes.append(self._claims.claim(row.content_hash, claim))

    # -- everything else -----------------------------------------------------------------------------------------------

    def _moved(self, row: UrlRow, lease: Lease, response: Response, target: str, effect: Effect, now: float) -> None:
        self._answered(row, response, effect, now)
        try:
            url = self._judges.normal.of_href(target)
        except BadUrl:
            row.outcome, row.reason = "failed", "redirect.bad_location"
            return
        row.redirect_to = url
        host = host_of(url)
        # A seed's redirect joins the scope (http to https, apex to www); others have to be in it.
        refusal = None if row.depth == 0 else self.refusal(url, host, row.depth)
        if row.hops >= MOST_HOPS:
            refusal = "redirect.too_many"
        if refusal is not None:
            row.reason = refusal
            effect.counts[f"refused:{refusal}"] += 1
        elif url == row.url:
            row.reason = "redirect.loop"
        else:
            effect.found = [Candidate(url, row.depth, target, lease.key, row.hops + 1)]

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
