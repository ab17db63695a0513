"""Unix time that never jumps: the wall clock once, at the start, and from then on the time since boot."""

from __future__ import annotations

import asyncio

from lycosa.backends.system import SystemClock


class SteadyClock:
    """Fulfils `ports.Clock`."""

    def __init__(self) -> None:
        self._machine = SystemClock()
        self._ahead_s = self._machine.wall() - self._machine.now()

    def now(self) -> float:
        return self._machine.now() + self._ahead_s

    def wall(self) -> float:
        """The same: what is written to disk must not jump either."""
        return self.now()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
