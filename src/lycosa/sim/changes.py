"""When a page changes: a Poisson process that can be asked about any moment without replaying the past.

The number of events on the whole line is drawn once. An interval with n events gives its left half
Binomial(n, 1/2) of them, which is exactly how a Poisson process splits; intervals with few events draw their
times directly. Every draw belongs to its interval, so all questions agree with each other, and each costs a
walk down one branch: some tens of microseconds, no memory.

The line is 34 years long; beyond it nothing changes any more. Small binomials are the bits set in n random
bits, large ones and large totals use the normal approximation. Rates are meant to be at most one event a
second.
"""

from math import exp, sqrt
from typing import NamedTuple

from lycosa.sim.dice import Dice

LINE_S = float(2**30)
_FEW = 12
_CLOSE_S = 1e-6
_MANY = 500.0
_MANY_BITS = 4096


class History(NamedTuple):
    """The past of a page at some moment."""

    events: int
    last_s: float | None
    """When the last event was."""


class ChangeTimes:
    """The events of one page; times are seconds since the world's epoch."""

    def __init__(self, dice: Dice, rate_per_s: float, *what: str | int) -> None:
        self.rate_per_s = rate_per_s
        self._dice, self._what = dice, what
        self._total = self._draw_total(rate_per_s * LINE_S)

    def until(self, at_s: float) -> History:
        """How many events there were up to and including that moment, and when the last one was."""
        if at_s < 0 or not self._total:
            return History(0, None)
        start_s, length_s, count = 0.0, LINE_S, self._total
        before, latest_left = 0, None
        while count > _FEW:
            left = self._left(start_s, length_s, count)
            length_s /= 2
            if at_s < start_s + length_s:
                count = left
            else:
                before += left
                if left:
                    latest_left = (start_s, length_s, left)
                start_s, count = start_s + length_s, count - left
        times = [time for time in self._times(start_s, length_s, count) if time <= at_s]
        if times:
            return History(before + len(times), times[-1])
        return History(before, self._last(*latest_left) if latest_left else None)

    def next_after(self, at_s: float) -> float | None:
        """When the next event is, by looking further and further ahead."""
        done, step_s = self.until(at_s).events, 60.0
        if done >= self._total:
            return None
        while self.until(at_s + step_s).events == done:
            step_s *= 2
        low, high = at_s, at_s + step_s
        while self.until(high).events > done + 1 and high - low > _CLOSE_S:
            middle = (low + high) / 2
            low, high = (middle, high) if self.until(middle).events == done else (low, middle)
        return self.until(high).last_s

    def _last(self, start_s: float, length_s: float, count: int) -> float:
        while count > _FEW:
            left = self._left(start_s, length_s, count)
            length_s /= 2
            if left < count:
                start_s, count = start_s + length_s, count - left
            else:
                count = left
        return self._times(start_s, length_s, count)[-1]

    def _left(self, start_s: float, length_s: float, count: int) -> int:
        if count > _MANY_BITS:
            drawn = self._dice.normal("split", *self._what, int(start_s), int(length_s))
            return min(count, max(0, round((count + sqrt(count) * drawn) / 2)))
        raw = self._dice.stretch((count + 7) // 8, "split", *self._what, int(start_s), int(length_s))
        return (int.from_bytes(raw, "big") & ((1 << count) - 1)).bit_count()

    def _times(self, start_s: float, length_s: float, count: int) -> list[float]:
        raw = self._dice.stretch(8 * count, "times", *self._what, int(start_s), int(length_s))
        draws = (int.from_bytes(raw[8 * i : 8 * i + 8], "big") for i in range(count))
        return sorted(start_s + length_s * (draw >> 11) * 2.0**-53 for draw in draws)

    def _draw_total(self, mean: float) -> int:
        if mean <= 0:
            return 0
        if mean > _MANY:
            return max(0, round(mean + sqrt(mean) * self._dice.normal("events", *self._what)))
        drawn, count, part = self._dice.share("events", *self._what), 0, exp(-mean)
        while drawn >= part > 0:  # inversion: subtract the probabilities of 0, 1, 2 ... in turn
            drawn -= part
            count += 1
            part *= mean / count
        return count
