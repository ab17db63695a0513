"""Virtual time: a clock that moves only when told to, so days pass in milliseconds.

Guarantee: timers run in order of their due time, and in order of setting when due together; a timer set by a
running timer takes its place in the same order. The same program with the same seed therefore sees the same
sequence, always. `advance` moves the clock by hand; `run_virtual` (in `virtual_loop`) moves it whenever every
task waits.

Never waits for real, and never goes backwards.
"""

import asyncio
import heapq
from collections.abc import Callable
from itertools import count

from lycosa.errors import LycosaError


class Timer:
    """A callback that is due; cancelling it twice or after it ran does nothing."""

    __slots__ = ("action", "at_s")

    def __init__(self, at_s: float, action: Callable[[], object]) -> None:
        self.at_s = at_s
        self.action: Callable[[], object] | None = action

    def cancel(self) -> None:
        self.action = None


class VirtualClock:
    def __init__(self, start_s: float = 0.0, wall_at_start_s: float = 1_700_000_000.0) -> None:
        self._now_s = start_s
        self._wall_offset_s = wall_at_start_s - start_s
        self._order = count()
        self._timers: list[tuple[float, int, Timer]] = []

    def now(self) -> float:
        """Seconds that never go back."""
        return self._now_s

    def wall(self) -> float:
        """Unix time."""
        return self._now_s + self._wall_offset_s

    def call_at(self, at_s: float, action: Callable[[], object]) -> Timer:
        """Run `action` at that time of `now()`; a time already past is due at once, at the next advance."""
        timer = Timer(max(at_s, self._now_s), action)
        heapq.heappush(self._timers, (timer.at_s, next(self._order), timer))
        return timer

    async def sleep(self, duration_s: float) -> None:
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def wake() -> None:
            if not woken.done():
                woken.set_result(None)

        timer = self.call_at(self._now_s + duration_s, wake)
        try:
            await woken
        finally:
            timer.cancel()

    def next_due(self) -> float | None:
        """When the earliest timer is due."""
        while self._timers and self._timers[0][2].action is None:
            heapq.heappop(self._timers)
        return self._timers[0][0] if self._timers else None

    def advance(self, *, by: float | None = None, to: float | None = None) -> None:
        """Run all that is due until then; tasks that were woken go on when their event loop next turns."""
        if (by is None) == (to is None):
            raise LycosaError("Give advance either `by` seconds or the time `to` go to.")
        target_s = self._now_s + by if by is not None else to
        if target_s is None or target_s < self._now_s:
            raise LycosaError(f"A clock at {self._now_s} s cannot go back to {target_s} s: give a later time.")
        while (due_s := self.next_due()) is not None and due_s <= target_s:
            timer = heapq.heappop(self._timers)[2]
            self._now_s, action = due_s, timer.action
            timer.cancel()
            if action is not None:
                action()
        self._now_s = target_s
