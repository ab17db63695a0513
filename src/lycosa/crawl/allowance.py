"""What the whole crawl may take: pages in all, pages a day, bytes a second."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import msgspec

_DAY_S = 86_400
_UNLIMITED = 1 << 60


class Limits(msgspec.Struct, frozen=True):
    """None is no limit."""

    pages: int | None = None
    day_pages: int | None = None  # from midnight to midnight, UTC
    bytes_per_s: int | None = None


class Allowance:
    """Counts in the frontier's stats, so that a restart goes on where it was."""

    def __init__(self, limits: Limits, stats: Counter[str], now: Callable[[], float]) -> None:
        self._limits = limits
        self._stats = stats
        self._now = now
        self._looked_at, self._seen_bytes = now(), stats["downloaded"]
        self._credit_bytes = float(limits.bytes_per_s or 0)

    def pages_left(self, under_way: int) -> int:
        """How many visits may be begun beside those under way."""
        left = self._limits.pages - self._stats["fetched"] if self._limits.pages is not None else _UNLIMITED
        if self._limits.day_pages is not None:
            left = min(left, self._limits.day_pages - self._today())
        return left - under_way

    def is_day_over(self) -> bool:
        """Is it only for today that nothing is left?"""
        limits = self._limits
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
