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

from collections import Counter
from collections.abc import Iterable
from itertools import islice

import msgspec

from lycosa.crawl.budget import WAIT, PageBudget
from lycosa.crawl.known import Entry, Known, Offered, name_of
from lycosa.crawl.lease import LANES, Candidate, CrawlDelayOf, DelayOf, Effect, Lease, OpenAt, lane_of
from lycosa.crawl.line import Active, Line, Turns
from lycosa.crawl.outbox import Away, Outbox
from lycosa.crawl.park import LONG_DELAY, Park
from lycosa.crawl.rows import FORMAT, HostRow, LeaseRow, UrlRow, pack, read_counts, unpack
from lycosa.crawl.rules import Rules, origin_of
from lycosa.crawl.seen import Seen
from lycosa.kit.keys import host_key, url_key
from lycosa.ports import Change, Notes, Store
from lycosa.web.politeness import is_parked_by
from lycosa.web.robots import target_of
from lycosa.web.url import cut

_BUFFER = 16
_PUT_OFF_AT_ONCE = 64  # URLs whose origin has no rules
_LONG_WAIT_S = 30.0  # hosts that wait longer give their place to others
_GLANCE_S = 1.0
_WOKEN_AT_ONCE = 1_000
_MANY_QUEUED = 20_000  # URLs of a host beyond which more of them go to the last lane


_encode = msgspec.msgpack.Encoder().encode


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
        crawl_delay_of: CrawlDelayOf = lambda _, wish_s: wish_s,
        outbox: Outbox | None = None,
        notes: Notes | None = None,
    ) -> None:
        self._store = store
        self._rules = rules
        self._seen = seen
        self._known = Known(store, seen, notes)
        self._budget = budget
        self._delay_of = delay_of
        self._open_at = open_at
        self._crawl_delay_of = crawl_delay_of
        self._outbox = outbox  # for hosts of other shards; None if all hosts are ours
        self._check_rows()
        self._turns = Turns(store)
        self._line = Line(store, self._turns, capacity)
        self.stats = Counter(read_counts(store.get("meta", b"stats")))

    # -- opening and closing -------------------------------------------------------------------------------------------

    def _check_rows(self) -> None:
        """What this version cannot read is said before anything is changed."""
        for _, stored in islice(self._store.scan("urls"), 1):
            unpack(stored, UrlRow)
        for _, stored in islice(self._store.scan("hosts"), 1):
            unpack(stored, HostRow)

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

    def offer(self, candidates: Iterable[Candidate], now: float, noted: Iterable[Change] = ()) -> int:
        """Queue the URLs that are new, with what else is `noted` here in the same batch; how many were."""
        changes, away = list(noted), list[Away]()
        count = self._take_in(candidates, now, changes, away)
        if self._outbox is not None:
            changes += self._outbox.route(away, ())  # what is noted stays: it may have come from others
        if changes:
            self._store.write([*changes, *self._bookkeeping()])
        self._known.written()
        return count

    def _take_in(self, candidates: Iterable[Candidate], now: float, changes: list[Change], away: list[Away]) -> int:
        """Queue what is new and ours; how much that is. What belongs to other shards is put `away`."""
        fresh, crowded = Offered(), list[tuple[bytes, Entry]]()
        outbox = self._outbox
        candidates = list(candidates)
        names = [name_of(candidate) for candidate in candidates]
        for candidate, name, is_met in zip(candidates, names, self._seen.recent.meet(names), strict=True):
            if is_met and candidate.kind != "robots":
                continue
            host, rest = cut(candidate.url)
            key = url_key(host, rest + name[len(candidate.url) :] if candidate.purpose else rest)
            if outbox is not None and not outbox.is_own(key):
                away.append((key, candidate))
            elif key in fresh and fresh[key][0].url != candidate.url:
                crowded.append((key, (candidate, host)))
            else:
                fresh[key] = (candidate, host)
        new = self._known.without_row(fresh, crowded)
        hosts = self._hosts({key[:8]: host for key, (_, host) in new.items()})
        for key, (candidate, host) in new.items():
            self._queue(key, candidate, host, now, hosts, changes)
        changes += [("hosts", key, pack(row)) for key, row in hosts.items()]
        changes += self._seen.add(list(new))
        self.stats["known"] += sum(candidate.kind == "page" for candidate, _ in new.values())
        return len(new)

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
        if candidate.kind == "page":
            self._known.note(candidate.url)
        self._enqueue(key, row, host, hosts, changes)

    def _enqueue(self, key: bytes, row: UrlRow, host: str, hosts: dict[bytes, HostRow], changes: list[Change]) -> None:
        """Put a row at the end of its lane in its host's queue, and its host among those that wait."""
        host_at = key[:8]
        known = hosts.get(host_at)
        if known is None:
            known = hosts[host_at] = self._host(host_at, host)
        if known.queued >= _MANY_QUEUED and row.lane:
            row.lane = LANES - 1  # the slow lane: behind all that is shorter, and not lost
        row.state = "queued"
        row.queue_key = host_at + row.lane.to_bytes(1, "big") + self._turns.next().to_bytes(8, "big")
        changes += [("urls", key, pack(row)), ("queue", row.queue_key, key)]
        known.queue_from = min(known.queue_from, row.queue_key)
        known.queued += 1
        self.stats["queued"] += 1
        if not known.waiting_key:
            self._line.stand(host_at, known, row.lane, changes)

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
        active = self._line.active.get(key)
        if active is not None:
            return active.row
        stored = self._store.get("hosts", key)
        if stored is not None:
            return unpack(stored, HostRow)
        self.stats["hosts"] += 1
        return HostRow(FORMAT, name)

    def _hosts(self, names: dict[bytes, str]) -> dict[bytes, HostRow]:
        """The rows of several hosts: those in memory, then one batch of reads."""
        rows = {key: self._line.active[key].row for key in names if key in self._line.active}
        others = [key for key in names if key not in rows]
        for key, stored in zip(others, self._store.get_many("hosts", others), strict=True):
            if stored is not None:
                rows[key] = unpack(stored, HostRow)
            else:
                self.stats["hosts"] += 1
                rows[key] = HostRow(FORMAT, names[key])
        return rows

    # -- leasing -------------------------------------------------------------------------------------------------------

    def lease(self, now: float) -> Lease | None:
        """The next request that may be sent, if there is one."""
        return next(iter(self.leases(now, 1)), None)

    def leases(self, now: float, most: int) -> list[Lease]:
        """The next requests that may be sent, of as many hosts. They are on disk before anybody has them."""
        found: list[Lease] = []
        changes: list[Change] = []
        self._wake(now)
        self._line.wake(now)
        self._line.make_room(now)
        while len(found) < most:
            has_new = self._line.activate(now)
            lease = self._next(now, changes)
            if lease is not None:
                found.append(lease)
            # Hosts that turned out to have nothing left have made room for others.
            elif not has_new and not (self._line.has_room and self._line.activate(now)):
                break
        if len(changes) == len(found):  # leases and nothing else: no count has changed
            self._store.write(changes)
        else:
            self._write(changes)
        return found

    def _next(self, now: float, changes: list[Change]) -> Lease | None:
        while (active := self._line.pop(now, self._open_at)) is not None:
            lease = self._lease_of(active, now, changes)
            if lease is not None:
                return lease
        return None

    def next_ready(self) -> float | None:
        """When `lease` may have something again; None if nothing waits."""
        of_hosts = self._line.next_time()
        times = [of_hosts] if of_hosts is not None else []
        due = next(self._store.scan("due"), None) if self.stats["delayed"] > 0 else None
        if due is not None:
            times.append(int.from_bytes(due[0][:8], "big") / 1000)
        return min(times, default=None)

    def has_ready(self, until: float) -> bool:
        """May `lease` have something by then? Of hosts that are not at hand nobody knows."""
        if self._line.has_room:
            return True
        ready_at = self.next_ready()
        return ready_at is not None and ready_at <= until

    def _lease_of(self, active: Active, now: float, changes: list[Change]) -> Lease | None:
        """A lease on this host, or None after arranging for what has to happen first."""
        lease: Lease | None = None
        put_off = self.stats["delayed"]
        while lease is None:
            if self.stats["delayed"] - put_off >= _PUT_OFF_AT_ONCE:  # a whole host that cannot be asked, most likely
                active.row.ready_at = max(active.row.ready_at, now + _LONG_WAIT_S)
                self._line.push(active)
                return None
            if not active.buffer:
                self._write(changes)  # what was closed must be gone from the queue before it is read again
                if not self._refill(active):
                    self._line.retire(active, changes)
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

    def _permit(self, active: Active, key: bytes, row: UrlRow, now: float, changes: list[Change]) -> Lease | None:
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
                self._line.push(active)
            else:
                self._delay(active, key, row, until, changes)
            return None
        if not matcher.allows(target_of(url)):
            self._close(active, key, row, "forbidden", "robots", changes)
        elif is_parked_by(self._crawl_delay_of(host, matcher.crawl_delay_s)):
            self._close(active, key, row, "parked", LONG_DELAY, changes)
        elif (used_up := self._budget.hold(host)) == WAIT:
            self._line.push(active, now + _GLANCE_S)  # pages under way hold the last places, and may not need them
        elif used_up is not None:
            self._close(active, key, row, "refused", used_up, changes)
        else:
            return Lease(host, url, "page", origin, key, now, row)
        return None

    def _close(self, active: Active, key: bytes, row: UrlRow, outcome: str, reason: str, changes: list[Change]) -> None:
        """Settle a URL that is not to be requested."""
        row.reason = reason
        if outcome == "parked":
            row.state = "parked"
        else:
            row.state, row.outcome = "dropped", outcome
        place, row.queue_key = row.queue_key, b""
        changes += [("urls", key, pack(row)), ("queue", place, None)]
        active.buffer.popleft()
        active.row.queued -= 1
        self.stats["queued"] -= 1
        self.stats[outcome] += 1
        self.stats[f"{outcome}:{reason}"] += 1

    def _delay(self, active: Active, key: bytes, row: UrlRow, until: float, changes: list[Change]) -> None:
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

    def _refill(self, active: Active) -> bool:
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

    # -- settling ------------------------------------------------------------------------------------------------------

    def settle(self, lease: Lease, effect: Effect, now: float) -> None:
        """End a lease: the outcome, the host's clock, the queue and what was found, in one batch."""
        key = host_key(lease.host).to_bytes(8, "big")
        active = self._line.active[key]
        active.is_leased = False
        changes: list[Change] = [("leases", key, None), *effect.changes]
        if lease.kind == "page":
            changes += self._budget.release(lease.host, effect.counts["fetched"] > 0 and not effect.is_revisit)
        if effect.row is not None:
            self._settle_row(active, lease, effect, changes)
        away: list[Away] = []
        self._take_in(effect.found, now, changes, away)
        if self._outbox is not None:
            changes = self._outbox.route(away, changes, effect.answers)
        self.stats.update(effect.counts)
        self._line.after_lease(active, changes)
        changes.append(("hosts", key, pack(active.row)))
        self._store.write([*changes, *self._bookkeeping()])
        self._known.written()

    def give_back(self, lease: Lease) -> None:
        """End a lease whose request was never sent: everything is as it was."""
        key = host_key(lease.host).to_bytes(8, "big")
        active = self._line.active[key]
        active.is_leased = False
        if lease.kind == "page":
            self._budget.release(lease.host, False)
        self._line.push(active)
        self._store.write([("leases", key, None)])

    def _settle_row(self, active: Active, lease: Lease, effect: Effect, changes: list[Change]) -> None:
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

    def park(self, reason: str) -> int:
        """Take all that still waits out of the queues, for a crawl that ends without it; how much may be had later."""
        return Park(self._store, self._rules, self._line, self.stats, self._bookkeeping, self._crawl_delay_of).all(
            reason
        )

    def host(self, name: str) -> HostRow:
        """The row of a host, live if it is active: its clock is set by changing it before `settle`."""
        return self._host(host_key(name).to_bytes(8, "big"), name)

    def retimed(self, host: HostRow) -> list[Change]:
        """The clock of a host that is not leased has been set: see that it is looked at in time."""
        key = host_key(host.name).to_bytes(8, "big")
        active = self._line.active.get(key)
        if active is not None and not active.is_leased:
            self._line.push(active)
        return [("hosts", key, pack(host))]

    def look_again(self, name: str) -> None:
        """Something that a host waited for is there."""
        active = self._line.active.get(host_key(name).to_bytes(8, "big"))
        if active is not None and not active.is_leased:
            self._line.push(active)

    def peek(self, name: str) -> HostRow | None:
        """The row of a host, if it is known at all."""
        key = host_key(name).to_bytes(8, "big")
        is_known = key in self._line.active or self._store.get("hosts", key) is not None
        return self._host(key, name) if is_known else None

    def _write(self, changes: list[Change]) -> None:
        if changes:
            self._store.write([*changes, *self._bookkeeping()])
            changes.clear()

    def _bookkeeping(self) -> list[Change]:
        return [("meta", b"stats", _encode(self.stats)), *self._turns.note()]

    @property
    def active_hosts(self) -> int:
        return len(self._line.active)
