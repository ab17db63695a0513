"""The frontier: which URL may be fetched next, and never before its host's time.

A URL is *queued* in the back queue of its host, in one of four lanes. Hosts with queued URLs are *waiting*; some of
them, about three for each fetch slot, are *active*: in memory, with a short buffer of their queue and a place in the
heap of ready times. `lease` gives out at most one URL of a host at a time and not before the host's time; `settle`
writes the outcome, the host's clock, the queue and what was found in one atomic batch. A URL leaves its queue only with
its outcome, so a crash can repeat a fetch but lose none.

Invariants: one lease a host; from the end of an answer to the next lease of the host its whole gap; no lease of a page
without rules for its origin that allow it. Memory is bounded by the active hosts, the filter and caches of fixed size.
Time is an argument: Unix time, which the caller keeps from jumping.
"""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Iterable
from itertools import islice

import msgspec

from lycosa.crawl.budget import WAIT, PageBudget
from lycosa.crawl.lease import LANES, Candidate, DelayOf, Effect, Lease, OpenAt, lane_of
from lycosa.crawl.rows import FORMAT, HostRow, LeaseRow, UrlRow, pack, read_counts, unpack
from lycosa.crawl.rules import Rules, origin_of
from lycosa.crawl.seen import Seen
from lycosa.kit.keys import host_key, url_key
from lycosa.model import TROUBLES
from lycosa.ports import Change, Store
from lycosa.web.robots import target_of
from lycosa.web.url import cut

_BUFFER = 16
_QUANTUM = 20  # leases of a host before another waiting one gets its place
_PUT_OFF_AT_ONCE = 64  # URLs whose origin has no rules
_LONG_WAIT_S = 30.0  # hosts that wait longer give their place to others
_GLANCE_S = 1.0
_WOKEN_AT_ONCE = 1_000
_UNNOTED_TURNS = 1_000_000
_MANY_QUEUED = 20_000  # URLs of a host beyond which more of them go to the last lane


_encode = msgspec.msgpack.Encoder().encode


class _Active:
    """A host in memory."""

    __slots__ = ("buffer", "is_leased", "key", "left", "row", "rows")

    def __init__(self, key: bytes, row: HostRow) -> None:
        self.key = key
        self.row = row
        self.buffer: deque[tuple[bytes, bytes]] = deque()  # queue key, URL key
        self.rows: dict[bytes, bytes] = {}  # of the URLs in the buffer
        self.is_leased = False
        self.left = _QUANTUM


class Frontier:
    def __init__(  # noqa: PLR0913 what it works with
        self,
        store: Store,
        rules: Rules,
        seen: Seen,
        budget: PageBudget,
        *,
        capacity: int,
        delay_of: DelayOf,
        open_at: OpenAt = lambda _, now: now,
    ) -> None:
        self._store = store
        self._rules = rules
        self._seen = seen
        self._budget = budget
        self._capacity = capacity
        self._delay_of = delay_of
        self._open_at = open_at
        self._active: dict[bytes, _Active] = {}
        self._heap: list[tuple[float, int, bytes]] = []  # every active host that is not leased, once
        self._turn = 0  # breaks ties in the heap, and orders queues and waiting hosts
        self._waiting = 0  # hosts that wait, active or not
        self._asleep = 0  # hosts that gave up their place in memory until their time comes
        self._looked_for_room_at = 0.0
        self._lane_turn = 0
        self._next_waiting = [bytes([lane]) for lane in range(LANES)]  # all hosts before it in the lane are active
        self.stats: Counter[str] = Counter()
        self._load()

    # -- opening and closing -------------------------------------------------------------------------------------------

    def _load(self) -> None:
        for _, stored in islice(self._store.scan("urls"), 1):
            unpack(stored, UrlRow)  # what this version cannot read is said before anything is changed
        for _, stored in islice(self._store.scan("hosts"), 1):
            unpack(stored, HostRow)
        self.stats.update(read_counts(self._store.get("meta", b"stats")))
        turn = self._store.get("meta", b"turn")
        # Past all that a crash left unrecorded.
        self._turn = self._turn_noted = int.from_bytes(turn, "big") + _UNNOTED_TURNS if turn else 0
        self._waiting = sum(1 for _ in self._store.scan("waiting"))
        self._asleep = sum(1 for _ in self._store.scan("asleep"))

    def interrupted(self) -> list[LeaseRow]:
        """The requests that were under way when the process died; empty after a clean stop."""
        return [unpack(value, LeaseRow) for _, value in self._store.scan("leases")]

    def recover(self, now: float, noted: Iterable[Change] = ()) -> None:
        """After an unclean stop: no host is asked before its whole gap has passed again.

        What is `noted` of the interrupted requests is written in the same batch that forgets them.
        """
        changes: list[Change] = [*noted]
        for key, value in self._store.scan("leases"):
            lease = unpack(value, LeaseRow)
            host = self._host(host_key(lease.host).to_bytes(8, "big"), lease.host)
            gap_s = host.pace.gap_s(self._delay_of(host.name), host.crawl_delay_s)
            host.ready_at, host.last_at = max(host.ready_at, now + gap_s), now
            changes += [("hosts", host_key(lease.host).to_bytes(8, "big"), pack(host)), ("leases", key, None)]
        self._store.write(changes)

    # -- offering ------------------------------------------------------------------------------------------------------

    def offer(self, candidates: Iterable[Candidate], now: float) -> int:
        """Queue the URLs that are new; how many were."""
        changes: list[Change] = []
        count = self._take_in(candidates, now, changes)
        if count:
            self._store.write([*changes, *self._bookkeeping()])
        return count

    def _take_in(self, candidates: Iterable[Candidate], now: float, changes: list[Change]) -> int:
        fresh: dict[bytes, tuple[Candidate, str]] = {}
        for candidate in candidates:
            name = candidate.url if not candidate.purpose else f"{candidate.url}\n{candidate.purpose}"
            if candidate.kind == "robots" or not self._seen.was_met_lately(name):
                self._seen.remember(name)
                host, rest = cut(candidate.url)
                key = url_key(host, rest + name[len(candidate.url) :] if candidate.purpose else rest)
                while key in fresh and fresh[key][0].url != candidate.url:
                    key = _next_key(key)
                fresh[key] = (candidate, host)
        new = self._leave_known(fresh)
        hosts = self._hosts({key[:8]: host for key, (_, host) in new.items()})
        for key, (candidate, host) in new.items():
            self._queue(key, candidate, host, now, hosts, changes)
        changes += [("hosts", key, pack(row)) for key, row in hosts.items()]
        changes += self._seen.add(list(new))
        self.stats["known"] += sum(candidate.kind == "page" for candidate, _ in new.values())
        return len(new)

    def _leave_known(self, fresh: dict[bytes, tuple[Candidate, str]]) -> dict[bytes, tuple[Candidate, str]]:
        """Those without a row. A key that another URL holds is passed over for the next free one."""
        keys = list(fresh)
        perhaps = [key for key, may in zip(keys, self._seen.may_know(keys), strict=True) if may]
        for key, found in zip(perhaps, self._store.get_many("urls", perhaps), strict=True):
            if found is None:
                continue
            entry, at = fresh.pop(key), key
            stored: bytes | None = found
            while stored is not None:
                row = unpack(stored, UrlRow)
                if row.url == entry[0].url and row.purpose == entry[0].purpose:
                    if row.kind == "robots" and row.state != "queued":
                        fresh[at] = entry  # rules that lie elsewhere are asked for every day
                    break
                at = _next_key(at)
                stored = self._store.get("urls", at)
            else:
                fresh[at] = entry
        return fresh

    def _queue(
        self,
        key: bytes,
        candidate: Candidate,
        host: str,
        now: float,
        hosts: dict[bytes, HostRow],
        changes: list[Change],
    ) -> None:
        lane = lane_of(candidate.depth, candidate.url, candidate.hops)
        row = UrlRow(
            FORMAT,
            candidate.url,
            "" if candidate.request == candidate.url else candidate.request,
            "queued",
            candidate.depth,
            lane,
            now,
            candidate.found_on,
            candidate.hops,
            candidate.kind,
            candidate.purpose,
        )
        self._enqueue(key, row, host, hosts, changes)

    def _enqueue(self, key: bytes, row: UrlRow, host: str, hosts: dict[bytes, HostRow], changes: list[Change]) -> None:
        """Put a row at the end of its lane in its host's queue, and its host among those that wait."""
        host_at = key[:8]
        known = hosts.get(host_at)
        if known is None:
            known = hosts[host_at] = self._host(host_at, host)
        self._turn += 1
        if known.queued >= _MANY_QUEUED and row.lane:
            row.lane = LANES - 1  # the slow lane: behind all that is shorter, and not lost
        row.state = "queued"
        row.queue_key = host_at + row.lane.to_bytes(1, "big") + self._turn.to_bytes(8, "big")
        changes += [("urls", key, pack(row)), ("queue", row.queue_key, key)]
        known.queue_from = min(known.queue_from, row.queue_key)
        known.queued += 1
        self.stats["queued"] += 1
        if not known.waiting_key:
            self._await_turn(host_at, known, row.lane, changes)

    def queue_again(self, key: bytes, row: UrlRow, changes: list[Change]) -> None:
        """Forget what became of a URL, with `changes` in the same batch, and fetch it once more."""
        hosts: dict[bytes, HostRow] = {}
        fresh = UrlRow(
            FORMAT, row.url, row.request, "queued", row.depth, row.lane, row.found_at, row.found_on, row.hops
        )
        self._enqueue(key, fresh, cut(row.url).host, hosts, changes)
        changes += [("hosts", host_at, pack(host)) for host_at, host in hosts.items()]
        self._store.write([*changes, *self._bookkeeping()])

    def _host(self, key: bytes, name: str) -> HostRow:
        active = self._active.get(key)
        if active is not None:
            return active.row
        stored = self._store.get("hosts", key)
        if stored is not None:
            return unpack(stored, HostRow)
        self.stats["hosts"] += 1
        return HostRow(FORMAT, name)

    def _hosts(self, names: dict[bytes, str]) -> dict[bytes, HostRow]:
        """The rows of several hosts: those in memory, then one batch of reads."""
        rows = {key: self._active[key].row for key in names if key in self._active}
        others = [key for key in names if key not in rows]
        for key, stored in zip(others, self._store.get_many("hosts", others), strict=True):
            if stored is not None:
                rows[key] = unpack(stored, HostRow)
            else:
                self.stats["hosts"] += 1
                rows[key] = HostRow(FORMAT, names[key])
        return rows

    def _await_turn(self, key: bytes, host: HostRow, lane: int, changes: list[Change]) -> None:
        self._turn += 1
        host.waiting_key = lane.to_bytes(1, "big") + self._turn.to_bytes(8, "big") + key
        changes.append(("waiting", host.waiting_key, b""))
        self._waiting += 1

    # -- leasing -------------------------------------------------------------------------------------------------------

    def lease(self, now: float) -> Lease | None:
        """The next request that may be sent, if there is one."""
        return next(iter(self.leases(now, 1)), None)

    def leases(self, now: float, most: int) -> list[Lease]:
        """The next requests that may be sent, of as many hosts. They are on disk before anybody has them."""
        found: list[Lease] = []
        changes: list[Change] = []
        self._wake(now)
        self._wake_hosts(now)
        self._make_room(now)
        while len(found) < most:
            has_new = self._activate(now)
            lease = self._next(now, changes)
            if lease is not None:
                found.append(lease)
            # Hosts that turned out to have nothing left have made room for others.
            elif not has_new and not (self._has_room() and self._activate(now)):
                break
        if len(changes) == len(found):  # leases and nothing else: no count has changed
            self._store.write(changes)
        else:
            self._write(changes)
        return found

    def _next(self, now: float, changes: list[Change]) -> Lease | None:
        while self._heap and self._heap[0][0] <= now:
            _, _, key = heapq.heappop(self._heap)
            active = self._active.get(key)
            if active is None or active.is_leased:
                continue
            ready_at = max(active.row.ready_at, self._open_at(active.row.name, now))
            if ready_at > now:
                self._push(active, ready_at)
                continue
            lease = self._lease_of(active, now, changes)
            if lease is not None:
                return lease
        return None

    def _has_room(self) -> bool:
        return len(self._active) < self._capacity and self._waiting > len(self._active)

    def next_ready(self) -> float | None:
        """When `lease` may have something again; None if nothing waits."""
        while self._heap and (self._heap[0][2] not in self._active or self._active[self._heap[0][2]].is_leased):
            heapq.heappop(self._heap)
        times = [self._heap[0][0]] if self._heap else []
        asleep = next(self._store.scan("asleep"), None) if self._asleep > 0 else None
        if asleep is not None:
            times.append(int.from_bytes(asleep[0][:8], "big") / 1000)
        due = next(self._store.scan("due"), None) if self.stats["delayed"] > 0 else None
        if due is not None:
            times.append(int.from_bytes(due[0][:8], "big") / 1000)
        return min(times) if times else None

    def _lease_of(self, active: _Active, now: float, changes: list[Change]) -> Lease | None:
        """A lease on this host, or None after arranging for what has to happen first."""
        lease: Lease | None = None
        put_off = self.stats["delayed"]
        while lease is None:
            if self.stats["delayed"] - put_off >= _PUT_OFF_AT_ONCE:  # a whole host that cannot be asked, most likely
                active.row.ready_at = max(active.row.ready_at, now + _LONG_WAIT_S)
                self._push(active)
                return None
            if not active.buffer:
                self._write(changes)  # what was closed must be gone from the queue before it is read again
                if not self._refill(active):
                    self._retire(active, changes)
                    self._write(changes)  # and a host that left from those that wait
                    return None
            queue_key, key = active.buffer[0]
            stored = active.rows.pop(key, None) or self._store.get("urls", key)
            if stored is None:
                active.buffer.popleft()
                changes.append(("queue", queue_key, None))
                continue
            lease = self._permit(active, key, unpack(stored, UrlRow), now, changes)
            if lease is None and active.buffer and active.buffer[0][1] == key:
                return None  # it has to wait, and with it its host
        active.is_leased = True
        active.left -= 1
        changes.append(("leases", active.key, pack(LeaseRow(FORMAT, active.row.name, lease.url, now, lease.kind))))
        return lease

    def _permit(self, active: _Active, key: bytes, row: UrlRow, now: float, changes: list[Change]) -> Lease | None:
        """The lease for a URL; or a lease for its origin's rules; or None if it must wait or may not be fetched."""
        url, host = row.request or row.url, active.row.name
        if row.kind == "robots":
            return Lease(host, url, "robots", row.purpose, key, now, row)
        origin = origin_of(row.url)
        ask = self._rules.wants(origin, now)
        if ask is not None:
            return Lease(host, ask, "robots", origin, b"", now, None)
        matcher = self._rules.matcher(origin)
        if matcher is None:
            until = max(now, self._rules.closed_until(origin))
            if self._rules.are_elsewhere(origin):  # and on their way: whoever has them sets the host's time
                active.row.ready_at = max(active.row.ready_at, until)
                self._push(active)
            else:
                self._delay(active, key, row, until, changes)
            return None
        if not matcher.allows(target_of(url)):
            self._close(active, key, row, "forbidden", "robots", changes)
        elif (used_up := self._budget.hold(host)) == WAIT:
            self._push(active, now + _GLANCE_S)  # pages under way hold the last places, and may not need them
        elif used_up is not None:
            self._close(active, key, row, "refused", used_up, changes)
        else:
            return Lease(host, url, "page", origin, key, now, row)
        return None

    def _close(
        self, active: _Active, key: bytes, row: UrlRow, outcome: str, reason: str, changes: list[Change]
    ) -> None:
        """Settle a URL that is not to be requested."""
        row.state, row.outcome, row.reason = "dropped", outcome, reason
        changes += [("urls", key, pack(row)), ("queue", row.queue_key, None)]
        active.buffer.popleft()
        active.row.queued -= 1
        self.stats["queued"] -= 1
        self.stats[outcome] += 1
        self.stats[f"{outcome}:{reason}"] += 1

    def _delay(self, active: _Active, key: bytes, row: UrlRow, until: float, changes: list[Change]) -> None:
        """Put a URL off whose origin has no rules yet; other ports and schemes of its host need not wait for it."""
        changes += [("queue", row.queue_key, None), self._due(key, until)]
        row.queue_key, row.next_at = b"", until
        changes.append(("urls", key, pack(row)))
        active.buffer.popleft()
        active.row.queued -= 1
        self.stats["queued"] -= 1
        self.stats["delayed"] += 1

    @staticmethod
    def _due(key: bytes, at: float) -> Change:
        return ("due", int(at * 1000).to_bytes(8, "big") + key, b"")

    def _refill(self, active: _Active) -> bool:
        end = (int.from_bytes(active.key, "big") + 1).to_bytes(9, "big")[-8:]
        stop = end if end > active.key else None
        for queue_key, key in self._store.scan("queue", max(active.key, active.row.queue_from), stop):
            active.buffer.append((queue_key, key))
            if len(active.buffer) >= _BUFFER:
                break
        active.row.queue_from = active.buffer[0][0] if active.buffer else b"\xff" * 17
        keys = [key for _, key in active.buffer]
        active.rows = {key: row for key, row in zip(keys, self._store.get_many("urls", keys), strict=True) if row}
        return bool(active.buffer)

    def _retire(self, active: _Active, changes: list[Change]) -> None:
        """A host with nothing queued leaves memory and the waiting hosts."""
        if active.row.waiting_key:
            changes.append(("waiting", active.row.waiting_key, None))
            active.row.waiting_key = b""
            self._waiting -= 1
        changes.append(("hosts", active.key, pack(active.row)))
        del self._active[active.key]

    def _push(self, active: _Active, at: float | None = None) -> None:
        self._turn += 1
        heapq.heappush(self._heap, (active.row.ready_at if at is None else at, self._turn, active.key))

    def _activate(self, now: float) -> bool:
        """Bring waiting hosts into memory, the high lanes more often than the low ones, none never. Was there one?"""
        found = False
        for _ in range(LANES):
            if not self._has_room():
                break
            self._lane_turn += 1
            first = 0 if self._lane_turn % 2 else 1 if self._lane_turn % 4 else 2 if self._lane_turn % 8 else 3
            for lane in [*range(first, LANES), *range(first)]:
                if self._has_room() and self._activate_lane(lane, now):
                    found = True
        return found

    def _activate_lane(self, lane: int, now: float) -> bool:
        room = self._capacity - len(self._active)
        waiting: list[bytes] = []
        for waiting_key, _ in self._store.scan("waiting", self._next_waiting[lane], bytes([lane + 1])):
            waiting.append(waiting_key)
            if len(waiting) >= room:
                break
        if not waiting:
            return False
        self._next_waiting[lane] = waiting[-1] + b"\0"
        keys = [waiting_key[-8:] for waiting_key in waiting]
        for key, stored in zip(keys, self._store.get_many("hosts", keys), strict=True):
            if stored is not None and key not in self._active:
                active = self._active[key] = _Active(key, unpack(stored, HostRow))
                _follow_clock(active.row, now)
                self._push(active)
        return True

    def _wake(self, now: float) -> None:
        """Queue again what was to be tried later, and now is due."""
        if self.stats["delayed"] <= 0:
            return
        limit = int(now * 1000).to_bytes(8, "big")
        due = list(islice(self._store.scan("due", b"", limit + b"\xff" * 16), _WOKEN_AT_ONCE))
        if not due:
            return
        changes: list[Change] = []
        hosts: dict[bytes, HostRow] = {}
        for due_key, _ in due:
            key = due_key[8:]
            stored = self._store.get("urls", key)
            changes.append(("due", due_key, None))
            self.stats["delayed"] -= 1
            if stored is not None:
                row = unpack(stored, UrlRow)
                self._enqueue(key, row, cut(row.url).host, hosts, changes)
        changes += [("hosts", key, pack(row)) for key, row in hosts.items()]
        self._store.write([*changes, *self._bookkeeping()])

    def _wake_hosts(self, now: float) -> None:
        """Hosts whose time has come stand in line again."""
        if self._asleep <= 0:
            return
        limit = int(now * 1000).to_bytes(8, "big") + b"\xff" * 8
        for place, _ in list(islice(self._store.scan("asleep", b"", limit), _WOKEN_AT_ONCE)):
            key, changes = place[8:], list[Change]([("asleep", place, None)])
            self._asleep -= 1
            stored = self._store.get("hosts", key)
            host = unpack(stored, HostRow) if stored is not None and key not in self._active else None
            if host is not None and host.queued > 0 and not host.waiting_key:
                self._await_turn(key, host, LANES - 2, changes)
                changes.append(("hosts", key, pack(host)))
            self._store.write(changes)

    def _make_room(self, now: float) -> None:
        """When others wait for a place in memory, hosts that cannot be asked for long give theirs up."""
        if len(self._active) < self._capacity or self._waiting <= len(self._active):
            return
        if now - self._looked_for_room_at < _GLANCE_S:
            return
        self._looked_for_room_at = now
        for key, active in list(self._active.items()):
            if active.is_leased or active.row.ready_at <= now + _LONG_WAIT_S:
                continue
            until = int(active.row.ready_at * 1000).to_bytes(8, "big")
            changes: list[Change] = [("asleep", until + key, b"")]
            if active.row.waiting_key:
                changes.append(("waiting", active.row.waiting_key, None))
                active.row.waiting_key = b""
                self._waiting -= 1
            changes.append(("hosts", key, pack(active.row)))
            del self._active[key]
            self._asleep += 1
            self._store.write(changes)

    # -- settling ------------------------------------------------------------------------------------------------------

    def settle(self, lease: Lease, effect: Effect, now: float) -> None:
        """End a lease: the outcome, the host's clock, the queue and what was found, in one batch."""
        key = host_key(lease.host).to_bytes(8, "big")
        active = self._active[key]
        active.is_leased = False
        changes: list[Change] = [("leases", key, None), *effect.changes]
        if lease.kind == "page":
            changes += self._budget.release(lease.host, effect.counts["fetched"] > 0 and not effect.is_revisit)
        if effect.row is not None:
            self._settle_row(active, lease, effect, changes)
        self._take_in(effect.found, now, changes)
        self.stats.update(effect.counts)
        if active.left <= 0 and self._waiting > len(self._active):
            self._rotate(active, changes)
        else:
            active.left = active.left or _QUANTUM
            self._push(active)
        changes.append(("hosts", key, pack(active.row)))
        self._store.write([*changes, *self._bookkeeping()])

    def give_back(self, lease: Lease) -> None:
        """End a lease whose request was never sent: everything is as it was."""
        key = host_key(lease.host).to_bytes(8, "big")
        active = self._active[key]
        active.is_leased = False
        if lease.kind == "page":
            self._budget.release(lease.host, False)
        self._push(active)
        self._store.write([("leases", key, None)])

    def _settle_row(self, active: _Active, lease: Lease, effect: Effect, changes: list[Change]) -> None:
        row = effect.row
        assert row is not None
        if active.buffer and active.buffer[0][1] == lease.key:
            active.buffer.popleft()
        changes.append(("queue", row.queue_key, None))
        active.row.queued -= 1
        self.stats["queued"] -= 1
        row.queue_key = b""
        if effect.retry_at is not None:
            row.next_at = effect.retry_at
            changes.append(self._due(lease.key, effect.retry_at))
            self.stats["delayed"] += 1
        changes.append(("urls", lease.key, pack(row)))

    def _rotate(self, active: _Active, changes: list[Change]) -> None:
        """Give the place in memory to a host that waits; come back at the end of the line."""
        if active.row.waiting_key:
            changes.append(("waiting", active.row.waiting_key, None))
            self._waiting -= 1
            active.row.waiting_key = b""
        if active.row.queued > 0:
            self._await_turn(active.key, active.row, LANES - 2, changes)
        del self._active[active.key]

    def park(self, reason: str) -> int:
        """Take all that still waits out of the queues, for a crawl that ends without it. Killed at any point, it can
        be done again: a host is let go in the batch that takes its last URL."""
        parked = 0
        while (first := next(self._store.scan("queue"), None)) is not None:
            parked += self._park_host(first[0][:8], reason)
        while batch := list(islice(self._store.scan("due"), _WOKEN_AT_ONCE)):
            parked += self._park_urls([(place, place[8:]) for place, _ in batch], "due", reason, [])
        for family in ("waiting", "asleep"):
            self._store.write([(family, key, None) for key, _ in self._store.scan(family)])
        self._active.clear()
        self._heap.clear()
        self._next_waiting = [bytes([lane]) for lane in range(LANES)]
        self._waiting = self._asleep = 0
        self.stats["queued"] = self.stats["delayed"] = 0
        self._store.write(self._bookkeeping())
        return parked

    def _park_host(self, key: bytes, reason: str) -> int:
        """Park the next URLs of a host, and with the last ones let it go."""
        end = (int.from_bytes(key, "big") + 1).to_bytes(9, "big")[-8:]
        batch = list(islice(self._store.scan("queue", key, end if end > key else None), _WOKEN_AT_ONCE + 1))
        changes: list[Change] = []
        stored = self._store.get("hosts", key)
        if len(batch) <= _WOKEN_AT_ONCE and stored is not None:
            host = self._active[key].row if key in self._active else unpack(stored, HostRow)
            if host.waiting_key:
                changes.append(("waiting", host.waiting_key, None))
            host.waiting_key, host.queued = b"", 0
            changes.append(("hosts", key, pack(host)))
        return self._park_urls(batch[:_WOKEN_AT_ONCE], "queue", reason, changes)

    def _park_urls(self, places: list[tuple[bytes, bytes]], family: str, reason: str, changes: list[Change]) -> int:
        parked = 0
        for (place, key), stored in zip(places, self._store.get_many("urls", [key for _, key in places]), strict=True):
            changes.append((family, place, None))
            if stored is not None:
                row = unpack(stored, UrlRow)
                parked += self._give_up(row, reason)
                changes.append(("urls", key, pack(row)))
        self.stats["parked"] += parked
        self.stats["queued" if family == "queue" else "delayed"] -= len(places)
        self._store.write([*changes, *self._bookkeeping()])
        return parked

    def _give_up(self, row: UrlRow, reason: str) -> bool:
        """Say what became of a URL that still waits at the end. Is it one that may be tried again?"""
        row.queue_key = b""
        rules = self._rules.row(origin_of(row.url)) if row.kind == "page" else None
        trouble = rules.reason if rules is not None and rules.state == "closed" else ""
        if not TROUBLES.get(trouble, False):
            row.state, row.reason = "parked", trouble or row.reason or reason
            self.stats[f"parked:{row.reason}"] += 1
            return True
        # Its host cannot be asked for anything, and that will not change soon.
        row.state, row.outcome, row.reason = "done", "failed", trouble
        if trouble == "address.refused":
            row.state, row.outcome = "dropped", "refused"
        self.stats[row.outcome] += 1
        self.stats[f"{row.outcome}:{trouble}"] += 1
        return False

    def host(self, name: str) -> HostRow:
        """The row of a host, live if it is active: its clock is set by changing it before `settle`."""
        return self._host(host_key(name).to_bytes(8, "big"), name)

    def retimed(self, host: HostRow) -> list[Change]:
        """The clock of a host that is not leased has been set: see that it is looked at in time."""
        key = host_key(host.name).to_bytes(8, "big")
        active = self._active.get(key)
        if active is not None and not active.is_leased:
            self._push(active)
        return [("hosts", key, pack(host))]

    def peek(self, name: str) -> HostRow | None:
        """The row of a host, if it is known at all."""
        key = host_key(name).to_bytes(8, "big")
        is_known = key in self._active or self._store.get("hosts", key) is not None
        return self._host(key, name) if is_known else None

    def _write(self, changes: list[Change]) -> None:
        if changes:
            self._store.write([*changes, *self._bookkeeping()])
            changes.clear()

    def _bookkeeping(self) -> list[Change]:
        noted: list[Change] = [("meta", b"stats", _encode(self.stats))]
        if self._turn >= self._turn_noted:
            self._turn_noted = self._turn + _UNNOTED_TURNS // 2
            noted.append(("meta", b"turn", self._turn_noted.to_bytes(8, "big")))
        return noted

    @property
    def active_hosts(self) -> int:
        return len(self._active)


def _follow_clock(host: HostRow, now: float) -> None:
    """When the machine's clock was set back between two runs, what is left of a wait stays what it was."""
    ahead_s = host.last_at - now
    if ahead_s > 0:
        host.last_at, host.ready_at = now, host.ready_at - ahead_s
        host.pace = msgspec.structs.replace(host.pace, wait_until=max(0.0, host.pace.wait_until - ahead_s))


def _next_key(key: bytes) -> bytes:
    return key[:8] + ((int.from_bytes(key[8:], "big") + 1) & (1 << 64) - 1).to_bytes(8, "big")
