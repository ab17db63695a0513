"""The access log of a simulated server, and whether its visitors were polite.

A gap is counted from the end of one answer to the start of the next request, as the server sees both; a
client sees an answer end later than that, so a client that waits long enough can only look better here. A
request starts with its first byte and ends when its last byte has been handed to the network.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import pairwise

import msgspec


class LogLine(msgspec.Struct, frozen=True):
    """One request; times in seconds of the server's monotonic clock."""

    host: str
    address: str
    method: str
    target: str
    status: int
    start_s: float
    end_s: float
    body_bytes: int
    in_flight: int
    """Requests to this host under way when this one started, itself included."""
    agent: str = ""


class Manners(msgspec.Struct, frozen=True):
    """What a log says about the visitors of each host, or of each address."""

    requests: dict[str, int]
    least_gap_s: dict[str, float]
    """Only of those with more than one request; below zero where requests overlapped."""
    most_at_once: dict[str, int]
    robots_first: bool
    """Every host was asked for robots.txt before anything else."""

    @property
    def worst_gap_s(self) -> float:
        return min(self.least_gap_s.values(), default=float("inf"))


def audit(log: Iterable[LogLine], by: str = "host") -> Manners:
    """`by` is "host" or "address"."""
    key: Callable[[LogLine], str] = (lambda line: line.address) if by == "address" else (lambda line: line.host)
    groups: dict[str, list[LogLine]] = defaultdict(list)
    hosts: dict[str, LogLine] = {}
    for line in sorted(log, key=lambda line: line.start_s):
        groups[key(line)].append(line)
        hosts.setdefault(line.host, line)
    return Manners(
        {name: len(lines) for name, lines in groups.items()},
        {name: least_gap_s(lines) for name, lines in groups.items() if len(lines) > 1},
        {name: most_at_once(lines) for name, lines in groups.items()},
        all(line.target == "/robots.txt" for line in hosts.values()),
    )


def least_gap_s(lines: list[LogLine]) -> float:
    """The lines must be sorted by start; infinite for fewer than two."""
    least, busy_until = float("inf"), float("-inf")
    for earlier, later in pairwise(lines):
        busy_until = max(busy_until, earlier.end_s)
        least = min(least, later.start_s - busy_until)
    return least


def most_at_once(lines: Iterable[LogLine]) -> int:
    """An answer that ends at the very moment another starts does not count as under way."""
    steps = sorted(step for line in lines for step in ((line.start_s, 1), (line.end_s, -1)))
    now = most = 0
    for _, step in steps:
        now += step
        most = max(most, now)
    return most
