"""What the log of requests proves: gaps and concurrency of every host and address, and where attention went.

Rows come as they were settled, which is by the end of a request; gaps need them by their start, so they pass through a
heap that holds back what could still be overtaken. Memory is bounded by hosts and addresses and by that heap, never by
the number of requests. Nothing here reads a clock or a file: rows in, figures out.

A gap runs from the end of an answer to the start of the next request. A request that was under way when the process
died has no known end; it counts as ended when it began, since the log cannot say more. The Crawl-delay that is known
today binds from the last robots.txt of the host on; before that, another one may have been in force.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from lycosa.web.addresses import group_of

TOLERANCE_S = 0.001  # what is left of a gap after rounding times to microseconds and adding them up
LONGEST_REQUEST_S = 600.0
HELD_ROWS = 200_000
EXAMPLES = 3
POLITENESS_COLUMNS = ("host", "address", "started_at", "ended_at", "kind", "outcome")
ATTENTION_COLUMNS = ("host", "started_at", "ended_at", "status", "outcome", "bytes")


class Required(NamedTuple):
    """What a host may expect between two requests."""

    delay_s: float
    crawl_delay_s: float


class Manners(msgspec.Struct):
    """How one host, or one address, was treated."""

    name: str
    requests: int = 0
    interrupted: int = 0  # of those: under way when the process died
    least_gap_s: float | None = None
    most_at_once: int = 0
    required_gap_s: float = 0.0
    violations: int = 0


class PolitenessReport(msgspec.Struct):
    """The proof, or what stands against it."""

    hosts: list[Manners]
    addresses: list[Manners]
    requests: int
    interrupted: int
    out_of_order: int  # rows that came too late to be put in order: 0 unless a request took ten minutes
    robots_first: bool  # every host was asked for its rules before anything else

    @property
    def violations(self) -> int:
        return sum(each.violations for each in (*self.hosts, *self.addresses))

    @property
    def is_polite(self) -> bool:
        return self.violations == 0 and self.robots_first


class _Track:
    """The requests to one host or address so far, in the order of their starts."""

    __slots__ = ("busy_until", "crawl_delay_misses", "manners", "under_way")

    def __init__(self, name: str) -> None:
        self.manners = Manners(name)
        self.busy_until: float | None = None
        self.under_way: list[float] = []  # when they end
        self.crawl_delay_misses = 0  # since the last robots.txt

    def take(self, started_at: float, ended_at: float) -> float | None:
        """Count a request; the gap before it."""
        manners = self.manners
        manners.requests += 1
        while self.under_way and self.under_way[0] <= started_at:
            heapq.heappop(self.under_way)
        heapq.heappush(self.under_way, ended_at)
        manners.most_at_once = max(manners.most_at_once, len(self.under_way))
        gap_s = None if self.busy_until is None else started_at - self.busy_until
        self.busy_until = ended_at if self.busy_until is None else max(self.busy_until, ended_at)
        if gap_s is not None and (manners.least_gap_s is None or gap_s < manners.least_gap_s):
            manners.least_gap_s = gap_s
        return gap_s


def judge_politeness(
    rows: Iterable[Mapping[str, Any]], required: Callable[[str], Required], address_delay_s: float
) -> PolitenessReport:
    """`rows` are of the table `requests`, times as Unix seconds; `required` tells what a host may expect."""
    hosts: dict[str, _Track] = {}
    addresses: dict[str, _Track] = {}
    due: dict[str, Required] = {}
    first_is_robots: dict[str, bool] = {}
    groups: dict[str, str] = {}
    order = _Order()
    for started_at, ended_at, row in order.sort(rows):
        host = row["host"]
        track = hosts.get(host)
        if track is None:
            track = hosts[host] = _Track(host)
            due[host] = required(host)
            first_is_robots[host] = row["kind"] == "robots"
        _judge_host(track, due[host], row, started_at, ended_at)
        address = row["address"]
        if address:
            group = groups.get(address) or groups.setdefault(address, group_of(address))
            place = addresses.get(group) or addresses.setdefault(group, _Track(group))
            _judge_address(place, min(address_delay_s, due[host].delay_s), started_at, ended_at)
    for host, track in hosts.items():
        track.manners.violations += track.crawl_delay_misses
        track.manners.required_gap_s = max(due[host])
    told = [track.manners for track in hosts.values()]
    return PolitenessReport(
        told,
        [track.manners for track in addresses.values()],
        sum(each.requests for each in told),
        sum(each.interrupted for each in told),
        order.late,
        all(first_is_robots.values()),
    )


def _judge_host(track: _Track, due: Required, row: Mapping[str, Any], started_at: float, ended_at: float) -> None:
    gap_s = track.take(started_at, ended_at)
    manners = track.manners
    manners.interrupted += row["outcome"] == "interrupted"
    if gap_s is not None:
        # One request at a time, whatever the delay: an overlap is a gap below zero.
        if gap_s < due.delay_s - TOLERANCE_S or gap_s < -TOLERANCE_S:
            manners.violations += 1
        elif gap_s < due.crawl_delay_s - TOLERANCE_S:
            track.crawl_delay_misses += 1
    if row["kind"] == "robots":
        track.crawl_delay_misses = 0


def _judge_address(place: _Track, gap_due_s: float, started_at: float, ended_at: float) -> None:
    gap_s = place.take(started_at, ended_at)
    place.manners.required_gap_s = max(place.manners.required_gap_s, gap_due_s)
    # Without a delay, which only own hosts can have, the gate is open and hosts of one address may overlap.
    if gap_s is not None and gap_due_s > 0 and gap_s < gap_due_s - TOLERANCE_S:
        place.manners.violations += 1


class _Order:
    """Rows by their start. Holds back those that one still under way might precede."""

    def __init__(self) -> None:
        self.late = 0

    def sort(self, rows: Iterable[Mapping[str, Any]]) -> Iterator[tuple[float, float, Mapping[str, Any]]]:
        held: list[tuple[float, int, float, Mapping[str, Any]]] = []
        newest = released = float("-inf")
        for number, row in enumerate(rows):
            started_at = row["started_at"]
            ended_at = started_at if row["ended_at"] is None else row["ended_at"]
            newest = max(newest, ended_at)
            self.late += started_at < released
            heapq.heappush(held, (started_at, number, ended_at, row))
            while held and (newest - held[0][0] > LONGEST_REQUEST_S or len(held) > HELD_ROWS):
                released, _, end, first = heapq.heappop(held)
                yield released, end, first
        while held:
            start, _, end, first = heapq.heappop(held)
            yield start, end, first


class Attention(msgspec.Struct):
    """What one host was asked for, and what it gave."""

    host: str
    requests: int = 0
    pages: int = 0
    bytes: int = 0
    mean_s: float | None = None  # of the answers
    worst_s: float | None = None
    errors: int = 0
    delay_s: float | None = None  # the gap at present
    queued: int = 0


class _Times:
    __slots__ = ("attention", "count", "total_s")

    def __init__(self, host: str) -> None:
        self.attention = Attention(host)
        self.count = 0
        self.total_s = 0.0


_FINE = frozenset(("fetched", "unchanged", "redirected", "robots", "gone"))


def attention(rows: Iterable[Mapping[str, Any]], since: float | None = None) -> list[Attention]:
    """Every host that was asked since then, the most asked first."""
    found: dict[str, _Times] = {}
    for row in rows:
        if since is not None and row["started_at"] < since:
            continue
        host = row["host"]
        times = found.get(host) or found.setdefault(host, _Times(host))
        told = times.attention
        told.requests += 1
        told.pages += row["outcome"] == "fetched"
        told.errors += row["outcome"] not in _FINE
        told.bytes += row["bytes"] or 0
        if row["ended_at"] is not None and row["status"]:
            took_s = row["ended_at"] - row["started_at"]
            times.count += 1
            times.total_s += took_s
            told.worst_s = max(told.worst_s or 0.0, took_s)
    for times in found.values():
        if times.count:
            times.attention.mean_s = times.total_s / times.count
    return sorted((times.attention for times in found.values()), key=lambda told: (-told.requests, told.host))


class Refusals(msgspec.Struct):
    """What one rule has refused."""

    rule: str
    count: int = 0
    examples: list[str] = []
    hosts: dict[str, int] = {}  # on whose pages the links stood, the worst first


def refusals(
    rows: Iterable[Mapping[str, Any]], counters: Mapping[str, int], host_of: Callable[[str], str], most_hosts: int
) -> list[Refusals]:
    """Refusals by rule, the commonest first: of links, and of URLs that were known (`refused:*` of the counters)."""
    found: dict[str, Refusals] = {}
    hosts: dict[str, Counter[str]] = {}
    for row in rows:
        rule = row["refused"]
        if rule is None:
            continue
        told = found.get(rule) or found.setdefault(rule, Refusals(rule, examples=[]))
        told.count += 1
        hosts.setdefault(rule, Counter())[host_of(row["source"])] += 1
        if len(told.examples) < EXAMPLES and row["target"] not in told.examples:
            told.examples.append(row["target"])
    for name, count in counters.items():
        kind, _, rule = name.partition(":")
        if kind == "refused" and rule:
            told = found.get(rule) or found.setdefault(rule, Refusals(rule, examples=[]))
            told.count = max(told.count, count)
    for rule, counted in hosts.items():
        found[rule].hosts = dict(counted.most_common(most_hosts))
    return sorted(found.values(), key=lambda told: (-told.count, told.rule))
