"""robots.txt of every origin: fetched before its first page, kept a day, and never guessed (RFC 9309 2.3, 2.4).

An origin without rules is closed until its robots.txt has been answered: rules for 200, none for 4xx except 429. When a
refresh fails, the last rules hold for seven days. Parsed files are kept in a bounded cache; the rows are in the store,
so a restart asks nobody again.
"""

from __future__ import annotations

import zlib
from collections import OrderedDict
from collections.abc import Iterable
from typing import Literal

import msgspec

from lycosa.crawl.rows import FORMAT, RobotsRow, pack, unpack
from lycosa.errors import BadUrl
from lycosa.kit.backoff import backoff
from lycosa.model import Reply, Response
from lycosa.ports import Change, Store
from lycosa.web.headers import Validators, read_validators
from lycosa.web.robots import PARSED_BYTES, Matcher, Robots
from lycosa.web.url import host_of, is_web, parse

FRESH_S = 86_400.0
STALE_S = 7 * 86_400.0
MOST_HOPS = 5
_TRIES = 3
_RETRY_S = 600.0
_CACHED = 2_000


def origin_of(url: str) -> str:
    """Scheme, host and port: what one robots.txt speaks for."""
    return url[: url.index("/", url.index("://") + 3)]


class Rules:
    def __init__(self, store: Store, agent: str, blocked: Iterable[str] = ()) -> None:
        self._store = store
        self._agent = agent
        self._blocked = frozenset(blocked)  # hosts that are asked for nothing
        self._rows: OrderedDict[str, RobotsRow] = OrderedDict()
        self._matchers: OrderedDict[str, Matcher] = OrderedDict()
        self._open = Robots.parse(b"").matcher(agent)  # what hosts without rules allow

    def row(self, origin: str) -> RobotsRow | None:
        row = self._rows.get(origin)
        if row is None:
            stored = self._store.get("robots", origin.encode())
            if stored is None:
                return None
            row = unpack(stored, RobotsRow)
            self._keep(row)
        return row

    def matcher(self, origin: str) -> Matcher | None:
        """The rules in force, or None while there are none and nothing may be fetched."""
        row = self.row(origin)
        if row is None or row.state == "closed":
            return None
        if not row.body:
            return self._open
        matcher = self._matchers.get(origin)
        if matcher is None:
            matcher = self._matchers[origin] = Robots.parse(zlib.decompress(row.body)).matcher(self._agent)
            if len(self._matchers) > _CACHED:
                self._matchers.popitem(last=False)
        return matcher

    def wants(self, origin: str, now: float) -> str | None:
        """The URL to ask for rules now; None if those at hand will do, or it is not time yet."""
        row = self.row(origin)
        if row is None:
            return f"{origin}/robots.txt"
        if now < row.expires_at or now < row.retry_at:
            return None
        return row.ask_url or f"{origin}/robots.txt"

    def validators(self, origin: str) -> list[tuple[str, str]]:
        """What a request for these rules says of those at hand, so that unchanged ones cost a status line."""
        row = self.row(origin)
        if row is None or row.state != "rules" or row.ask_url:
            return []
        return Validators(row.etag or None, row.last_modified or None).request_headers()

    def closed_until(self, origin: str) -> float:
        row = self.row(origin)
        return row.retry_at if row else 0.0

    def are_elsewhere(self, origin: str) -> bool:
        """Is another host asked for these rules at present?"""
        row = self.row(origin)
        return row is not None and row.state == "closed" and row.reason == "redirects"

    def after(self, origin: str, reply: Reply, now: float) -> tuple[RobotsRow, str | None]:
        """The row after an answer, and a target on another host that has to be asked instead, if it redirects there."""
        old = self.row(origin) or RobotsRow(FORMAT, origin, "closed")
        if isinstance(reply, Response):
            if reply.status in (301, 302, 303, 307, 308):
                return self._redirected(old, reply, now)
            if reply.status == 304 and old.state == "rules":
                fresh = msgspec.structs.replace(old, fetched_at=now, expires_at=now + FRESH_S, retry_at=0.0)
                return msgspec.structs.replace(fresh, failures=0, ask_url="", hops=0, reason=""), None
            if 200 <= reply.status < 300:
                if reply.truncated in ("time", "disconnect"):  # what is missing may be the rule that matters
                    return self._unreachable(old, f"truncated.{reply.truncated}", now), None
                body = zlib.compress(reply.body[:PARSED_BYTES])
                kept = read_validators(reply.headers)
                row = RobotsRow(FORMAT, origin, "rules", body, now, now + FRESH_S)
                row.etag, row.last_modified = kept.etag or "", kept.last_modified or ""
                return row, None
            if 400 <= reply.status < 500 and reply.status != 429:
                return RobotsRow(FORMAT, origin, "open", b"", now, now + FRESH_S, reason=f"status.{reply.status}"), None
            return self._unreachable(old, f"status.{reply.status}", now), None
        return self._unreachable(old, reply.kind, now), None

    def _redirected(self, old: RobotsRow, reply: Response, now: float) -> tuple[RobotsRow, str | None]:
        try:
            target = parse(reply.headers.get("location") or "", reply.url).partition("#")[0]
        except BadUrl:
            target = ""
        is_first = not old.ask_url and reply.url == f"{old.origin}/robots.txt"
        hops = 1 if is_first else old.hops + 1
        if not is_web(target) or hops > MOST_HOPS:
            # More than five redirects, or one to nowhere, count as no file at all (2.3.1.2).
            return RobotsRow(FORMAT, old.origin, "open", b"", now, now + FRESH_S, reason="redirects"), None
        if host_of(target) in self._blocked:
            return self._unreachable(old, "forgotten", now), None
        if host_of(target) == host_of(old.origin + "/"):
            return msgspec.structs.replace(old, ask_url=target, hops=hops, expires_at=0.0, retry_at=0.0), None
        waiting = msgspec.structs.replace(
            old,
            state=_state_without_answer(old, now),
            retry_at=now + _RETRY_S,
            ask_url="",
            hops=hops,
            reason="redirects",
        )
        return waiting, target

    @staticmethod
    def _unreachable(old: RobotsRow, reason: str, now: float) -> RobotsRow:
        failures = old.failures + 1
        wait_s = backoff(failures, 10.0) if failures < _TRIES else backoff(failures - _TRIES + 1, _RETRY_S)
        return msgspec.structs.replace(
            old,
            state=_state_without_answer(old, now),
            retry_at=now + wait_s,
            failures=failures,
            ask_url="",
            hops=0,
            reason=reason,
        )

    def put(self, row: RobotsRow) -> Change:
        """Take a row into use; the change makes it last."""
        self._keep(row)
        self._matchers.pop(row.origin, None)
        return ("robots", row.origin.encode(), pack(row))

    def _keep(self, row: RobotsRow) -> None:
        self._rows[row.origin] = row
        if len(self._rows) > _CACHED:
            self._rows.popitem(last=False)


def _state_without_answer(old: RobotsRow, now: float) -> Literal["rules", "open", "closed"]:
    """Rules that cannot be asked for again hold for seven days."""
    return old.state if now < old.fetched_at + STALE_S else "closed"
