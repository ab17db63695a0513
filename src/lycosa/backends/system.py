"""The machine's own time.

`now` never goes back and also counts while the machine sleeps, so a delay that passed during a suspend has passed.
It means nothing after a reboot: what is written to disk uses `wall`.
"""

from __future__ import annotations

import asyncio
import time


class SystemClock:
    def now(self) -> float:
        """Seconds since boot."""
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    def wall(self) -> float:
        """Unix time."""
        return time.time()

    async def sleep(self, duration_s: float) -> None:
        await asyncio.sleep(duration_s)
