"""The version of a page at a moment, and how fast it changes: the truth that revisit policies are measured
against.

Some pages never change; the rates of the others are log-normal, so a few change by the minute and most by the
month. A copy changes exactly when the page it was made from does. Time is unix time, given as an argument.
"""

from functools import lru_cache
from math import exp
from typing import NamedTuple

from lycosa.sim.atlas import Atlas, PageId
from lycosa.sim.changes import ChangeTimes

_FASTEST_PER_S = 1 / 60
_DAY_S = 86_400.0


class Version(NamedTuple):
    number: int
    since: float
    """Unix time of the last change; the world's epoch if there was none."""


class Versions:
    def __init__(self, atlas: Atlas) -> None:
        self._atlas = atlas
        self._times = lru_cache(4096)(self._times_of)

    def rate_per_s(self, page: PageId) -> float:
        """Mean changes a second, 0 for pages that never change."""
        source, plan, dice = self._atlas.source(page), self._atlas.plan, self._atlas.dice
        if dice.share("static", *source) < plan.static_share:
            return 0.0
        spread = exp(plan.changes_sigma * dice.normal("rate", *source))
        return min(_FASTEST_PER_S, plan.changes_per_day * spread / _DAY_S)

    def at(self, page: PageId, now: float) -> Version:
        epoch = self._atlas.plan.epoch
        events, last_s = self._times(self._atlas.source(page)).until(now - epoch)
        return Version(events, epoch + (last_s or 0.0))

    def next_change(self, page: PageId, now: float) -> float | None:
        """Unix time of the next change, if there will be one."""
        epoch = self._atlas.plan.epoch
        next_s = self._times(self._atlas.source(page)).next_after(now - epoch)
        return None if next_s is None else epoch + next_s

    def _times_of(self, source: PageId) -> ChangeTimes:
        return ChangeTimes(self._atlas.dice, self.rate_per_s(source), *source)
