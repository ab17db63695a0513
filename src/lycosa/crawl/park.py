"""The end of a crawl that does not wait for everything: what is left is taken out of the queues, with its reason.

Parked URLs may be had another time; those of hosts that cannot be asked at all have failed, or are refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import islice

from lycosa.crawl.lease import CrawlDelayOf
from lycosa.crawl.line import Line
from lycosa.crawl.rows import HostRow, UrlRow, pack, unpack
from lycosa.crawl.rules import Rules, origin_of
from lycosa.model import REFUSED, TROUBLES
from lycosa.ports import Change, Store
from lycosa.web.politeness import is_parked_by

LONG_DELAY = "robots.delay"  # the reason of what a host's long Crawl-delay keeps from being fetched
_AT_ONCE = 1_000  # URLs


class Park:
    def __init__(
        self,
        store: Store,
        rules: Rules,
        line: Line,
        stats: Counter[str],
        bookkeeping: Callable[[], list[Change]],
        crawl_delay_of: CrawlDelayOf,
    ) -> None:
        self._store = store
        self._rules = rules
        self._line = line
        self._stats = stats
        self._bookkeeping = bookkeeping
        self._crawl_delay_of = crawl_delay_of

    def all(self, reason: str) -> int:
        """Take all that still waits out of the queues, for a crawl that ends without it. Killed at any point, it can
        be done again: a host is let go in the batch that takes its last URL."""
        parked = 0
        while (first := next(self._store.scan("queue"), None)) is not None:
            parked += self._park_host(first[0][:8], reason)
        while batch := list(islice(self._store.scan("due"), _AT_ONCE)):
            parked += self._park_urls([(place, place[8:]) for place, _ in batch], "due", reason, [])
        self._line.clear()
        self._stats["queued"] = self._stats["delayed"] = 0
        self._store.write(self._bookkeeping())
        return parked

    def _park_host(self, key: bytes, reason: str) -> int:
        """Park the next URLs of a host, and with the last ones let it go."""
        end = (int.from_bytes(key, "big") + 1).to_bytes(9, "big")[-8:]
        batch = list(islice(self._store.scan("queue", key, end if end > key else None), _AT_ONCE + 1))
        changes: list[Change] = []
        stored = self._store.get("hosts", key)
        host = self._line.active[key].row if key in self._line.active else unpack(stored, HostRow) if stored else None
        if host is not None and is_parked_by(self._crawl_delay_of(host.name, host.crawl_delay_s)):
            reason = LONG_DELAY
        if len(batch) <= _AT_ONCE and host is not None:
            if host.waiting_key:
                changes.append(("waiting", host.waiting_key, None))
            host.waiting_key, host.queued = b"", 0
            changes.append(("hosts", key, pack(host)))
        return self._park_urls(batch[:_AT_ONCE], "queue", reason, changes)

    def _park_urls(self, places: list[tuple[bytes, bytes]], family: str, reason: str, changes: list[Change]) -> int:
        parked = 0
        for (place, key), stored in zip(places, self._store.get_many("urls", [key for _, key in places]), strict=True):
            changes.append((family, place, None))
            if stored is not None:
                row = unpack(stored, UrlRow)
                parked += self._give_up(row, reason)
                changes.append(("urls", key, pack(row)))
        self._stats["parked"] += parked
        self._stats["queued" if family == "queue" else "delayed"] -= len(places)
        self._store.write([*changes, *self._bookkeeping()])
        return parked

    def _give_up(self, row: UrlRow, reason: str) -> bool:
        """Say what became of a URL that still waits at the end. Is it one that may be tried again?"""
        row.queue_key = b""
        rules = self._rules.row(origin_of(row.url)) if row.kind == "page" else None
        trouble = rules.reason if rules is not None and rules.state == "closed" else ""
        if not TROUBLES.get(trouble, False):
            row.state, row.reason = "parked", trouble or row.reason or reason
            self._stats[f"parked:{row.reason}"] += 1
            return True
        # Its host cannot be asked for anything, and that will not change soon.
        row.state, row.outcome, row.reason = "done", "failed", trouble
        if trouble in REFUSED:
            row.state, row.outcome = "dropped", "refused"
        self._stats[row.outcome] += 1
        self._stats[f"{row.outcome}:{trouble}"] += 1
        return False
