"""The machine's own time.

`now` never goes back and also counts while the machine sleeps, so a delay that passed during a suspend has passed.
It means nothing after a reboot: what is written to disk uses `wall`.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import time
from pathlib import Path

_KEPT_BYTES = {-1: 256 << 20, -2: 16 << 20, -3: 32 << 20}  # M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD


def keep_freed_memory() -> None:
    """Let the C library keep what is freed for the next page instead of giving it back and asking for it again.

    A page's tree is a megabyte that comes and goes: on glibc this saves a tenth of a crawl's CPU for a few megabytes.
    """
    with contextlib.suppress(OSError, AttributeError):  # another C library
        mallopt = ctypes.CDLL(None).mallopt
        for option, size_bytes in _KEPT_BYTES.items():
            mallopt(option, size_bytes)


def keep_what_is_loaded() -> None:
    """Spare the collector what is there for good, and let it run less often: pages come and go without cycles.

    What is garbage by now stays: a few hundred kilobytes, which to find would cost ten milliseconds.
    """
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


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
