"""Unix time that never jumps: the wall clock once, at the start, and from then on the time since boot."""

from __future__ import annotations

import asyncio

from lycosa.backends.system import SystemClock


class SteadyClock:
    """Fulfils `ports.Clock`."""

    def __init__(self, ahead_s: float | None = None) -> None:
        """`ahead_s` is that of another such clock: processes of one crawl have the same time."""
        self._machine = SystemClock()
        self.ahead_s = self._machine.wall() - self._machine.now() if ahead_s is None else ahead_s

    def now(self) -> float:
        return self._machine.now() + self.ahead_s

    def wall(self) -> float:
        """The same: what is written to disk must not jump either."""
        return self.now()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
