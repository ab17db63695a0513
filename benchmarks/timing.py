"""Measuring: rivals take turns, so that a noisy machine disturbs all of them alike, and each shows its best tenth.

What counts is the processor's time: on a busy machine a call of some milliseconds is bound to be interrupted.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import NamedTuple


class Row(NamedTuple):
    """One line of the report; `bar` is the most that `figure` may be, or the least if it `is_rate`."""

    what: str
    figure: float
    unit: str
    bar: float
    is_rate: bool = False

    @property
    def holds(self) -> bool:
        return self.figure >= self.bar if self.is_rate else self.figure <= self.bar


def take_turns(rivals: dict[str, Callable[[], object]], seconds: float = 2.0) -> dict[str, float]:
    """Seconds of processor a call of each rival takes: the tenth percentile of many rounds in which all have a turn."""
    times: dict[str, list[float]] = {name: [] for name in rivals}
    gc.collect()
    until = time.perf_counter() + seconds
    while time.perf_counter() < until or min(map(len, times.values())) < 20:
        for name, call in rivals.items():
            start = time.thread_time()
            call()
            times[name].append(time.thread_time() - start)
    return {name: sorted(taken)[len(taken) // 10] for name, taken in times.items()}


def show(rows: list[Row]) -> bool:
    """Print the rows; do all bars hold?"""
    width = max(len(row.what) for row in rows)
    for row in rows:
        verdict = "ok" if row.holds else "UNDER" if row.is_rate else "OVER"
        print(f"{row.what:<{width}}  {row.figure:9.2f} {row.unit:<3}  bar {row.bar:7.2f}  {verdict}")
    return all(row.holds for row in rows)
