"""How long to wait before trying again: twice as long each time, up to a cap."""

from __future__ import annotations


def backoff(failures: int, first_s: float = 10.0, cap_s: float = 86400.0) -> float:
    """The wait after the given number of failures in a row: `first_s`, then double, never above `cap_s`."""
    if failures <= 0:
        return 0.0
    return min(cap_s, first_s * 2.0 ** min(failures - 1, 64))
