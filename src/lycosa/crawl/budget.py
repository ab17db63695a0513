"""How many pages one registered domain may cost: the last line of defence against spaces without end.

Distinct URLs that were answered count, never revisits. A page under way holds a place, so that many requests at once do
not overdraw; a place that came to nothing is given back.
"""

from __future__ import annotations

from collections import Counter

from lycosa.ports import Change, Store
from lycosa.web.domains import registered_domain


class DomainBudget:
    def __init__(self, store: Store, most_pages: int) -> None:
        self._store = store
        self._most_pages = most_pages
        self._used: dict[str, int] = {}
        self._held: Counter[str] = Counter()

    def hold(self, host: str) -> bool:
        """Take a place for a page of this host; False if its domain has used up what it may."""
        domain = registered_domain(host)
        if self._count(domain) + self._held[domain] >= self._most_pages:
            return False
        self._held[domain] += 1
        return True

    def release(self, host: str, was_answered: bool) -> list[Change]:
        """Give the place back, or spend it."""
        domain = registered_domain(host)
        self._held[domain] -= 1
        if self._held[domain] <= 0:
            del self._held[domain]
        if not was_answered:
            return []
        self._used[domain] = self._count(domain) + 1
        return [("meta", b"domain:" + domain.encode(), str(self._used[domain]).encode())]

    def _count(self, domain: str) -> int:
        used = self._used.get(domain)
        if used is None:
            stored = self._store.get("meta", b"domain:" + domain.encode())
            if len(self._used) > 100_000:
                self._used.clear()
            used = self._used[domain] = int(stored) if stored else 0
        return used
