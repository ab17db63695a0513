"""What the whole crawl may take: pages in all, pages a day, bytes a second."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable

import msgspec

from lycosa.crawl.shares import Shares

_DAY_S = 86_400
_UNLIMITED = 1 << 60
_WHOLE = "crawl"  # the name of the budget of the whole crawl


class Limits(msgspec.Struct, frozen=True):
    """None is no limit."""

    pages: int | None = None
    day_pages: int | None = None  # from midnight to midnight, UTC
    bytes_per_s: int | None = None


class Allowance:
    """Counts in the frontier's stats, so that a restart goes on where it was."""

    def __init__(
        self, limits: Limits, stats: Counter[str], now: Callable[[], float], shares: Shares | None = None
    ) -> None:
        self._limits = limits
        self._shares = shares  # of what several shards may take together
        self._stats = stats
        self._now = now
        self._looked_at, self._seen_bytes = now(), stats["downloaded"]
        self._credit_bytes = float(limits.bytes_per_s or 0)

    def pages_left(self, under_way: int) -> int:
        """How many visits may be begun beside those under way."""
        left = _UNLIMITED
        for name, total, used in self._accounts():
            left = min(left, (total if self._shares is None else self._shares.granted(name)) - used)
        return left - under_way

    def _accounts(self) -> list[tuple[str, int, int]]:
        """Every limit of pages: its name, its size, and what is used of it here."""
        accounts = []
        if self._limits.pages is not None:
            accounts.append((_WHOLE, self._limits.pages, self._stats["fetched"]))
        if self._limits.day_pages is not None:
            today = self._today()
            accounts.append((f"day:{self._stats['today']}", self._limits.day_pages, today))
        return accounts

    def stock_up(self, under_way: int) -> None:
        """With work to do: see that there is something left of what this shard was granted."""
        for name, total, used in self._accounts():
            if self._shares is not None and used + under_way >= self._shares.granted(name):
                self._shares.want(name, total)

    def is_used_up(self) -> bool:
        """Is nothing left, here or with others?"""
        if self._shares is None:
            return self.pages_left(0) <= 0
        return any(self._shares.is_spent(name) for name, _, _ in self._accounts())

    def spent(self) -> list[str]:
        """The limits of which, as far as is known here, nothing is left for anybody."""
        return [name for name, _, _ in self._accounts() if self._shares is not None and self._shares.is_spent(name)]

    def note_spent(self, names: Iterable[str]) -> None:
        if self._shares is not None:
            self._shares.note_spent(names)

    def is_asking(self) -> bool:
        """Is more on its way?"""
        return self._shares is not None and any(self._shares.is_asking(name) for name, _, _ in self._accounts())

    async def give_back(self) -> None:
        """With nothing to do here: let other shards have what is left."""
        if self._shares is None:
            return
        # All of it at once: while one is waited for, new visits may use up the other.
        await asyncio.gather(*[self._shares.give_back(name, used) for name, _, used in self._accounts()])

    async def want_again(self) -> bool:
        """With nothing granted and work left: has another shard given anything back?"""
        if self._shares is None:
            return False
        short = [(name, total) for name, total, used in self._accounts() if used >= self._shares.granted(name)]
        return all([await self._shares.want_again(name, total) for name, total in short])

    def is_day_over(self) -> bool:
        """Is it only for today that nothing is left?"""
        limits = self._limits
        if self._shares is not None:
            self._today()
            is_spent = self._shares.is_spent
            return limits.day_pages is not None and is_spent(f"day:{self._stats['today']}") and not is_spent(_WHOLE)
        is_whole_left = limits.pages is None or self._stats["fetched"] < limits.pages
        return is_whole_left and limits.day_pages is not None and self._today() >= limits.day_pages

    def is_too_fast(self) -> bool:
        """Has more been received than the machine may? A second's worth may come at once, and nothing is saved up."""
        rate = self._limits.bytes_per_s
        if rate is None:
            return False
        now, received = self._now(), self._stats["downloaded"]
        earned = self._credit_bytes + rate * (now - self._looked_at)
        self._credit_bytes = min(float(rate), earned) - (received - self._seen_bytes)
        self._looked_at, self._seen_bytes = now, received
        return self._credit_bytes < 0

    def count(self, pages: int) -> None:
        """Some pages were fetched today."""
        if self._limits.day_pages is not None and pages:
            self._stats["today_pages"] = self._today() + pages

    def _today(self) -> int:
        day = int(self._now() // _DAY_S)
        if self._stats["today"] != day:
            self._stats["today"], self._stats["today_pages"] = day, 0
        return self._stats["today_pages"]
