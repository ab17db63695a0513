"""Was every host left in peace? Gaps from the end of an answer to the start of the next request, in a server's log.

The server's clock has milliseconds, and its request begins when the first byte arrives, so what a crawler measured as
two seconds may look two milliseconds shorter here: that much is allowed for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from benchmarks.serving import Request

TOLERANCE_S = 0.003


class Audit(NamedTuple):
    requests: int
    gaps: int
    violations: int
    least_gap_s: float | None
    worst: str  # who was asked too soon, if anybody was


def audit(requests: Iterable[Request], delay_s: float) -> Audit:
    """A request that begins while another is under way is a gap below zero."""
    hosts: dict[str, list[tuple[float, float, str]]] = defaultdict(list)
    for one in requests:
        hosts[one.address].append((one.started_at, one.ended_at, one.path))
    gaps = violations = 0
    least: tuple[float, str] | None = None
    for address, visits in hosts.items():
        visits.sort()
        free_at = visits[0][1]
        for started_at, ended_at, path in visits[1:]:
            gap = started_at - free_at
            gaps += 1
            violations += gap < delay_s - TOLERANCE_S
            if least is None or gap < least[0]:
                least = (gap, f"{address}{path}")
            free_at = max(free_at, ended_at)
    worst = least[1] if least and violations else ""
    return Audit(sum(map(len, hosts.values())), gaps, violations, least[0] if least else None, worst)
