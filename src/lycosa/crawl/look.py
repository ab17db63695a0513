"""A crawl directory seen from outside: counts, rows, bodies. Reads only, also while a crawl runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from lycosa.crawl.claims import Claims
from lycosa.crawl.forget import FORGOTTEN
from lycosa.crawl.rows import HostRow, LeaseRow, RobotsRow, UrlRow, read_counts, read_text, unpack
from lycosa.crawl.rules import origin_of
from lycosa.kit.keys import KeyRange, host_key
from lycosa.model import Location
from lycosa.ports import Store
from lycosa.web.robots import target_of
from lycosa.web.url import Normaliser, cut


def host_range(host: str) -> tuple[bytes, bytes | None]:
    """The keys of a host's URLs, as a scan takes them."""
    key = host_key(host)
    return KeyRange(key, key + 1).bounds()


class Look:
    def __init__(self, store: Store, normal: Normaliser) -> None:
        self._store = store
        self._normal = normal

    def stats(self) -> Counter[str]:
        return Counter(read_counts(self._store.get("meta", b"stats")))

    def state(self, is_running: bool) -> tuple[str, float]:
        """What became of the crawl, and how long it took."""
        state, elapsed = (read_text(self._store.get("meta", name)) for name in (b"state", b"elapsed"))
        told = "running" if is_running else state or "stopped"
        return ("stopped" if told == "running" and not is_running else told), float(elapsed or 0)

    def row(self, url: str) -> UrlRow | None:
        key = cut(self._normal(url)).key()
        stored = self._store.get("urls", key)
        return unpack(stored, UrlRow) if stored is not None else None

    def rows(self, prefix: bytes = b"", end: bytes | None = None) -> Iterator[tuple[bytes, UrlRow]]:
        for key, value in self._store.scan("urls", prefix, end):
            yield key, unpack(value, UrlRow)

    def pages(self, host: str = "", prefix: str = "", after: str = "") -> Iterator[dict[str, Any]]:
        """Every URL that was answered, as `lycosa pages` lists it: of a host, below a path, and from a URL on."""
        start, end = host_range(host) if host else (b"", None)
        if after:
            start = max(start, cut(self._normal(after)).key() + b"\0")
        for _, row in self.rows(start, end):
            if row.kind == "page" and row.status and (not prefix or target_of(row.url).startswith(prefix)):
                yield self.told(row)

    def told(self, row: UrlRow) -> dict[str, Any]:
        return {
            "url": row.url,
            "status": row.status,
            "fetched_at": row.fetched_at,
            "content_hash": row.content_hash.hex() or None,
            "content_type": row.content_type or None,
            "bytes": row.size,
            "warc_file": row.warc_file or None,
            "warc_offset": row.warc_offset if row.warc_file else None,
            "alias_of": row.alias_of or None,
            "near_of": self._url_at(row.near_of),
            "canonical": row.canonical or None,
            "redirect_to": row.redirect_to or None,
            "depth": row.depth,
            "outcome": row.outcome,
        }

    def _url_at(self, key: str) -> str | None:
        stored = self._store.get("urls", bytes.fromhex(key)) if key else None
        row = unpack(stored, UrlRow) if stored is not None else None
        return row.url if row is not None and row.outcome != FORGOTTEN else None

    def body_of(self, wanted: str) -> Location | None:
        """Where the body of a URL or a SHA-256 lies."""
        if len(wanted) == 64 and all(letter in "0123456789abcdef" for letter in wanted.lower()):
            digest = bytes.fromhex(wanted)
        else:
            row = self.row(wanted)
            if row is None or not row.content_hash:
                return None
            digest = row.content_hash
        claim = Claims(self._store).first_with(digest)
        return Location(claim.file, claim.offset, claim.length) if claim is not None else None

    def host(self, name: str) -> HostRow | None:
        stored = self._store.get("hosts", host_key(name).to_bytes(8, "big"))
        return unpack(stored, HostRow) if stored is not None else None

    def explain(self, url: str) -> dict[str, Any]:
        """Everything known on why a URL was or was not fetched."""
        normal = self._normal(url)
        row, parts = self.row(url), cut(normal)
        chain: list[dict[str, Any]] = [{"step": "normalised", "url": normal}]
        if row is None:
            chain.append({"step": "never met", "host_known": self.host(parts.host) is not None})
            return {"url": normal, "outcome": "unknown", "decisions": chain}
        if row.outcome == FORGOTTEN:
            chain.append({"step": "forgotten", "reason": "asked for by its owner"})
            return {"url": normal, "outcome": FORGOTTEN, "decisions": chain}
        chain.append({"step": "found", "at": row.found_at, "on": self._url_at(row.found_on.hex()), "depth": row.depth})
        robots = self._store.get("robots", origin_of(row.url).encode())
        if robots is not None:
            rules = unpack(robots, RobotsRow)
            chain.append({"step": "robots.txt", "state": rules.state, "reason": rules.reason or None})
        host = self.host(parts.host)
        if host is not None:
            chain.append({"step": "host", "ready_at": host.ready_at, "queued": host.queued, "requests": host.requests})
        lease = self._store.get("leases", host_key(parts.host).to_bytes(8, "big"))
        if lease is not None and unpack(lease, LeaseRow).url == (row.request or row.url):
            chain.append({"step": "under way"})
        if row.visits:
            chain.append({"step": "visited", "times": row.visits, "status": row.status, "failures": row.failures})
        outcome = row.outcome if row.state != "queued" else "queued"
        outcome = "parked" if row.state == "parked" else outcome
        chain.append({"step": "outcome", "outcome": outcome, "reason": row.reason or None})
        return {**self.told(row), "outcome": outcome, "reason": row.reason or None, "decisions": chain}
