"""Hosts and their places: in memory, in line for one, or asleep until their time comes.

A host with queued URLs stands in *line*, in the lane of its first URL. Some are *active*: in memory, with a short
buffer of their queue and one place in the heap of ready times. Higher lanes are served more often and none never; after
a number of leases a host goes to the end of the line if others stand in it. A host that cannot be asked for long, with
others waiting, falls *asleep*: it stands in no line, and wakes when its time comes. Memory is bounded by the number of
active hosts, whatever the number of hosts.
"""

from __future__ import annotations

import heapq
from collections import deque
from itertools import islice

import msgspec

from lycosa.crawl.lease import LANES, OpenAt
from lycosa.crawl.rows import HostRow, pack, unpack
from lycosa.ports import Change, Store

_QUANTUM = 20  # leases of a host before another gets its place
_LONG_WAIT_S = 30.0  # hosts that wait longer give their place to others
_GLANCE_S = 1.0
_WOKEN_AT_ONCE = 1_000
_UNNOTED_TURNS = 1_000_000


class Active:
    """A host in memory."""

    __slots__ = ("buffer", "is_leased", "key", "left", "row", "rows")

    def __init__(self, key: bytes, row: HostRow) -> None:
        self.key = key
        self.row = row
        self.buffer: deque[tuple[bytes, bytes]] = deque()  # queue key, URL key
        self.rows: dict[bytes, bytes] = {}  # of the URLs in the buffer
        self.is_leased = False
        self.left = _QUANTUM


class Turns:
    """A number that only grows, also over a crash: it orders queues and lines, and breaks ties in the heap."""

    def __init__(self, store: Store) -> None:
        stored = store.get("meta", b"turn")
        # Past all that a crash left unrecorded.
        self._turn = self._noted = int.from_bytes(stored, "big") + _UNNOTED_TURNS if stored else 0

    def next(self) -> int:
        self._turn += 1
        return self._turn

    def note(self) -> list[Change]:
        """What has to be written now and then; empty most of the time."""
        if self._turn < self._noted:
            return []
        self._noted = self._turn + _UNNOTED_TURNS // 2
        return [("meta", b"turn", self._noted.to_bytes(8, "big"))]


class Line:
    def __init__(self, store: Store, turns: Turns, capacity: int) -> None:
        self._store = store
        self._turns = turns
        self._capacity = capacity
        self.active: dict[bytes, Active] = {}
        self._heap: list[tuple[float, int, bytes]] = []  # every active host that is not leased, once
        self._waiting = sum(1 for _ in store.scan("waiting"))  # hosts in line, active or not
        self._asleep = sum(1 for _ in store.scan("asleep"))
        self._looked_for_room_at = 0.0
        self._lane_turn = 0
        self._next_waiting = [bytes([lane]) for lane in range(LANES)]  # all hosts before it in the lane are active

    # -- in line -------------------------------------------------------------------------------------------------------

    def stand(self, key: bytes, host: HostRow, lane: int, changes: list[Change]) -> None:
        """Put a host at the end of a lane."""
        host.waiting_key = lane.to_bytes(1, "big") + self._turns.next().to_bytes(8, "big") + key
        changes.append(("waiting", host.waiting_key, b""))
        self._waiting += 1

    def _leave(self, host: HostRow, changes: list[Change]) -> None:
        if host.waiting_key:
            changes.append(("waiting", host.waiting_key, None))
            host.waiting_key = b""
            self._waiting -= 1

    @property
    def has_room(self) -> bool:
        """Is there a place in memory, and somebody in line for it?"""
        return len(self.active) < self._capacity and self._waiting > len(self.active)

    def activate(self, now: float) -> bool:
        """Bring hosts into memory, those of high lanes more often than of low ones, none never. Was there one?"""
        found = False
        for _ in range(LANES):
            if not self.has_room:
                break
            self._lane_turn += 1
            first = 0 if self._lane_turn % 2 else 1 if self._lane_turn % 4 else 2 if self._lane_turn % 8 else 3
            for lane in [*range(first, LANES), *range(first)]:
                if self.has_room and self._activate_lane(lane, now):
                    found = True
        return found

    def _activate_lane(self, lane: int, now: float) -> bool:
        room = self._capacity - len(self.active)
        waiting = [
            key for key, _ in islice(self._store.scan("waiting", self._next_waiting[lane], bytes([lane + 1])), room)
        ]
        if not waiting:
            return False
        self._next_waiting[lane] = waiting[-1] + b"\0"
        keys = [waiting_key[-8:] for waiting_key in waiting]
        for key, stored in zip(keys, self._store.get_many("hosts", keys), strict=True):
            if stored is not None and key not in self.active:
                active = self.active[key] = Active(key, unpack(stored, HostRow))
                _follow_clock(active.row, now)
                self.push(active)
        return True

    # -- in memory -----------------------------------------------------------------------------------------------------

    def push(self, active: Active, at: float | None = None) -> None:
        """Give a host its place in the heap: the time it may be asked, or another at which it is looked at."""
        heapq.heappush(self._heap, (active.row.ready_at if at is None else at, self._turns.next(), active.key))

    def pop(self, now: float, open_at: OpenAt) -> Active | None:
        """The host that may be asked now, if there is one. It has no place in the heap then."""
        while self._heap and self._heap[0][0] <= now:
            _, _, key = heapq.heappop(self._heap)
            active = self.active.get(key)
            if active is None or active.is_leased:
                continue
            ready_at = max(active.row.ready_at, open_at(active.row.name, now))
            if ready_at <= now:
                return active
            self.push(active, ready_at)
        return None

    def next_time(self) -> float | None:
        """When a host may be asked or wakes, or there may be room for one in line; None if there is none."""
        while self._heap and (self._heap[0][2] not in self.active or self.active[self._heap[0][2]].is_leased):
            heapq.heappop(self._heap)
        times = [self._heap[0][0]] if self._heap else []
        asleep = next(self._store.scan("asleep"), None) if self._asleep > 0 else None
        if asleep is not None:
            times.append(int.from_bytes(asleep[0][:8], "big") / 1000)
        if self._waiting > len(self.active) >= self._capacity:
            times.append(self._looked_for_room_at + _GLANCE_S)
        return min(times, default=None)

    def retire(self, active: Active, changes: list[Change]) -> None:
        """A host with nothing queued leaves memory and the line."""
        self._leave(active.row, changes)
        changes.append(("hosts", active.key, pack(active.row)))
        del self.active[active.key]

    def after_lease(self, active: Active, changes: list[Change]) -> None:
        """Keep the place in memory, or after many leases give it to a host in line and go to its end."""
        if active.left > 0 or self._waiting <= len(self.active):
            active.left = active.left or _QUANTUM
            self.push(active)
            return
        self._leave(active.row, changes)
        if active.row.queued > 0:
            self.stand(active.key, active.row, LANES - 2, changes)
        del self.active[active.key]

    # -- asleep --------------------------------------------------------------------------------------------------------

    def wake(self, now: float) -> None:
        """Hosts whose time has come stand in line again."""
        if self._asleep <= 0:
            return
        limit = int(now * 1000).to_bytes(8, "big") + b"\xff" * 8
        for place, _ in list(islice(self._store.scan("asleep", b"", limit), _WOKEN_AT_ONCE)):
            key, changes = place[8:], list[Change]([("asleep", place, None)])
            self._asleep -= 1
            stored = self._store.get("hosts", key)
            host = unpack(stored, HostRow) if stored is not None and key not in self.active else None
            if host is not None and host.queued > 0 and not host.waiting_key:
                self.stand(key, host, LANES - 2, changes)
                changes.append(("hosts", key, pack(host)))
            self._store.write(changes)

    def make_room(self, now: float) -> None:
        """When others stand in line for a place in memory, hosts that cannot be asked for long give theirs up."""
        if len(self.active) < self._capacity or self._waiting <= len(self.active):
            return
        if now - self._looked_for_room_at < _GLANCE_S:
            return
        self._looked_for_room_at = now
        for key, active in list(self.active.items()):
            if active.is_leased or active.row.ready_at <= now + _LONG_WAIT_S:
                continue
            changes: list[Change] = [("asleep", int(active.row.ready_at * 1000).to_bytes(8, "big") + key, b"")]
            self._leave(active.row, changes)
            changes.append(("hosts", key, pack(active.row)))
            del self.active[key]
            self._asleep += 1
            self._store.write(changes)

    def clear(self) -> None:
        """Nobody waits any more."""
        for family in ("waiting", "asleep"):
            self._store.write([(family, key, None) for key, _ in self._store.scan(family)])
        self.active.clear()
        self._heap.clear()
        self._next_waiting = [bytes([lane]) for lane in range(LANES)]
        self._waiting = self._asleep = 0


def _follow_clock(host: HostRow, now: float) -> None:
    """When the machine's clock was set back between two runs, what is left of a wait stays what it was."""
    ahead_s = host.last_at - now
    if ahead_s > 0:
        host.last_at, host.ready_at = now, host.ready_at - ahead_s
        host.pace = msgspec.structs.replace(host.pace, wait_until=max(0.0, host.pace.wait_until - ahead_s))
