"""How many pages one registered domain, and one host, may cost: the last line of defence against spaces without end.

Distinct URLs that were answered count, never revisits. A page under way holds a place, so that many requests at once do
not overdraw; a place that came to nothing is given back.
"""

from __future__ import annotations

from collections import Counter

from lycosa.crawl.shares import Shares
from lycosa.ports import Change, Store
from lycosa.web.domains import registered_domain

WAIT = "wait"  # pages under way hold the last places
_OF_DOMAIN = "budget.domain"


class PageBudget:
    def __init__(
        self, store: Store, domain_pages: int, host_pages: int | None = None, shares: Shares | None = None
    ) -> None:
        self._store = store
        self._domain_pages = domain_pages
        self._host_pages = host_pages
        self._shares = shares  # of the pages of a domain, whose hosts may belong to several shards
        self._used: dict[str, int] = {}
        self._held: Counter[str] = Counter()

    def hold(self, host: str) -> str | None:
        """Take a place for a page of this host; or say which budget is used up, or that it may be (`WAIT`)."""
        accounts = self._accounts(host)
        for name, limit, reason in accounts:
            used, most = self._count(name), limit
            if self._shares is not None and reason == _OF_DOMAIN:
                share = self._share(name, most, used + self._held[name], host)
                if share is None:
                    return WAIT
                most = min(share, limit)  # which may have been larger when it was granted
            if used + self._held[name] >= most:
                return reason if used >= most else WAIT
        for name, _, _ in accounts:
            self._held[name] += 1
        return None

    def _share(self, name: str, total: int, taken: int, host: str) -> int | None:
        """How many of a domain's pages are ours; None while more are asked for."""
        assert self._shares is not None
        most = self._shares.granted(name)
        if taken < most or self._shares.is_spent(name):
            return most
        was_granted = self._shares.want(name, total, host)
        return self._shares.granted(name) if was_granted or self._shares.is_spent(name) else None

    def release(self, host: str, was_answered: bool) -> list[Change]:
        """Give the place back, or spend it."""
        changes: list[Change] = []
        for name, _, _ in self._accounts(host):
            self._held[name] -= 1
            if self._held[name] <= 0:
                del self._held[name]
            if was_answered:
                self._used[name] = self._count(name) + 1
                changes.append(("meta", name.encode(), str(self._used[name]).encode()))
        return changes

    def _accounts(self, host: str) -> list[tuple[str, int, str]]:
        accounts = [(f"domain:{registered_domain(host)}", self._domain_pages, _OF_DOMAIN)]
        if self._host_pages is not None:
            accounts.append((f"host:{host}", self._host_pages, "budget.host"))
        return accounts

    def _count(self, name: str) -> int:
        used = self._used.get(name)
        if used is None:
            stored = self._store.get("meta", name.encode())
            if len(self._used) > 100_000:
                self._used.clear()
            used = self._used[name] = int(stored) if stored else 0
        return used
