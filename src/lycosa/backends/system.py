"""The machine's own time.

`now` never goes back and also counts while the machine sleeps, so a delay that passed during a suspend has passed.
It means nothing after a reboot: what is written to disk uses `wall`.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path


def cpu_of(pid: int) -> int | None:
    """What a process has taken of the CPU, in clock ticks; None where the system does not tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])
    except (OSError, IndexError, ValueError):
        return None


class SystemClock:
    def now(self) -> float:
        """Seconds since boot."""
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    def wall(self) -> float:
        """Unix time."""
        return time.time()

    async def sleep(self, duration_s: float) -> None:
        await asyncio.sleep(duration_s)
