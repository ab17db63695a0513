"""The main loop: lease a URL, visit it, settle the outcome.

At most `slots` visits are under way. A visit ends with its settlement, so a slot is free only when what it found is
written. The loop ends when nothing is left, when the budget is used up, when all that is left would keep it waiting for
more than two minutes, or when it is told to stop; it never abandons a visit.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from typing import Literal, Protocol

import msgspec

from lycosa.crawl.allowance import Allowance, Limits
from lycosa.crawl.feed import Feed, RequestRow
from lycosa.crawl.frontier import Frontier
from lycosa.crawl.ingest import Ingest, Read
from lycosa.crawl.lease import Candidate, Effect, Lease, RobotsAnswer
from lycosa.crawl.manners import Manners
from lycosa.crawl.outcome import Failed, Fetched, Outcome, judge
from lycosa.crawl.rows import HostRow
from lycosa.crawl.rules import Rules
from lycosa.crawl.shares import Shares
from lycosa.crawl.view import PageView
from lycosa.errors import LycosaError
from lycosa.model import Ask, Reply, Response, Timings, Trouble
from lycosa.ports import Clock, Fetcher, Gate
from lycosa.web.headers import Validators, read_retry_after
from lycosa.web.politeness import PUSHED_BACK, Pace, after_answer, after_failure, after_push_back
from lycosa.web.robots import PARSED_BYTES
from lycosa.web.url import host_of

PATIENCE_S = 120.0
_GLANCE_S = 0.5  # how long the loop sleeps at most before it looks around
_TOGETHER_BYTES = 2 << 20  # of pages that wait to be read together, and as much to be settled together
Ended = Literal["finished", "stopped"]


class Others(Protocol):
    """The other shards of this crawl."""

    def owns(self, host: str) -> bool:
        """Is a host ours?"""
        ...

    async def know(self, lease: Lease, read: Read) -> None:
        """Ask what they know of a page's copies. Returns soon, whether they answer or not."""
        ...


class Parts(msgspec.Struct, frozen=True):
    """What the loop works with."""

    frontier: Frontier
    rules: Rules
    ingest: Ingest
    fetcher: Fetcher
    clock: Clock
    gate: Gate
    manners: Manners
    feed: Feed
    together: Callable[[], AbstractContextManager[None]]  # what is settled within it is written in one batch
    stumbled: Callable[[str, Exception], None]  # told of every failure of our own, with its URL
    on_page: Callable[[PageView], Awaitable[None]] | None = None  # given every page before it is settled
    on_reply: Callable[[Reply], None] | None = None  # told of every answer and every trouble
    others: Others | None = None  # the other shards; None in a single process


class _Visited(msgspec.Struct):
    """A page that was visited, on its way to be settled."""

    lease: Lease
    reply: Reply
    outcome: Outcome
    read: Read | None
    gap_s: float | None
    at: float
    settled: asyncio.Future[None]


class Loop:
    def __init__(self, parts: Parts, *, slots: int, limits: Limits, shares: Shares | None = None) -> None:
        self.frontier = parts.frontier
        self._rules = parts.rules
        self._ingest = parts.ingest
        self._fetcher = parts.fetcher
        self._clock = parts.clock
        self._gate = parts.gate
        self._manners = parts.manners
        self._feed = parts.feed
        self._together = parts.together
        self._on_page = parts.on_page
        self._on_reply = parts.on_reply
        self._others = parts.others
        self.stumbled = parts.stumbled
        self._slots = slots
        self.allowance = Allowance(limits, self.frontier.stats, self._clock.now, shares)
        self._visits: set[asyncio.Task[None]] = set()
        self._visited: list[_Visited] = []  # and not settled yet
        self._unread_bytes = self._visited_bytes = 0  # of pages that wait for others to be read or settled with
        self._stir = asyncio.Event()
        self._obstacle: Exception | None = None
        self._stopping = False
        self._is_last = parts.others is None  # without others, nothing to do is the end
        self._failure: BaseException | None = None

    def stop(self) -> None:
        """Start nothing more; `run` returns when the visits under way are settled."""
        self._stopping = True
        self._stir.set()

    def finish(self, spent: Sequence[str] = ()) -> None:
        """No other shard has anything for us any more: when nothing is left to do here, it is the end. `spent` are
        budgets that are used up, which a shard without work for them cannot know."""
        self.allowance.note_spent(spent)
        self._is_last = True
        self._stir.set()

    def stir(self) -> None:
        """Something has changed: look around."""
        self._stir.set()

    @property
    def is_idle(self) -> bool:
        """Is there nothing to do here, for now?"""
        return not self._visits and self._idle_s() is None

    @property
    def has_work(self) -> bool:
        """Is there anything that could be fetched soon, were there no limit of pages?"""
        return self.frontier.has_ready(self._clock.now() + PATIENCE_S)

    def give_up(self, obstacle: Exception) -> None:
        """As `stop`, but `run` then raises: there is a reason why it cannot go on."""
        self._obstacle = self._obstacle or obstacle
        self.stop()

    @property
    def has_failed(self) -> bool:
        """Will `run` raise? Then what was to be written may not be, and is not to be relied on."""
        return self._obstacle is not None or self._failure is not None

    async def run(self) -> Ended:
        try:
            return await self._run()
        finally:
            # Only after a failure or a cancellation is any left: their pages stay queued.
            visits = list(self._visits)
            for visit in visits:
                visit.cancel()
            await asyncio.gather(*visits, return_exceptions=True)

    async def _run(self) -> Ended:
        while True:
            self._stir.clear()
            self._start_visits()
            if self._failure is not None:
                raise self._failure
            if not self._visits:
                wait_s = self._idle_s()
                if wait_s is None:
                    if self._is_last or self._stopping:
                        return self._end()
                    wait_s = _GLANCE_S
            else:
                wait_s = self._until_ready_s()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self._stir.wait()

    def _start_visits(self) -> None:
        if self._stopping or self._failure is not None or self.allowance.is_too_fast():
            return
        under_way = len(self._visits)
        if self._others is not None and self.allowance.pages_left(under_way) <= 0 and self.has_work:
            self.allowance.stock_up(under_way)
        most = min(self._slots - under_way, self.allowance.pages_left(under_way))
        for lease in self.frontier.leases(self._clock.now(), most) if most > 0 else ():
            visit = asyncio.create_task(self._visit(lease))
            self._visits.add(visit)
            visit.add_done_callback(self._ended)

    def _ended(self, visit: asyncio.Task[None]) -> None:
        self._visits.discard(visit)
        if not visit.cancelled() and visit.exception() is not None:
            self._failure = self._failure or visit.exception()
        self._stir.set()

    def _until_ready_s(self) -> float:
        under_way = len(self._visits)
        if self._stopping or under_way >= self._slots or self.allowance.pages_left(under_way) <= 0:
            return _GLANCE_S
        if self.allowance.is_too_fast():
            return _GLANCE_S
        ready_at = self.frontier.next_ready()
        return _GLANCE_S if ready_at is None else min(_GLANCE_S, max(0.001, ready_at - self._clock.now()))

    def _idle_s(self) -> float | None:
        """With nothing under way: how long to sleep, or None if this is the end."""
        if self._stopping or self.allowance.pages_left(0) <= 0:
            return None
        if self.allowance.is_too_fast():
            return _GLANCE_S
        ready_at = self.frontier.next_ready()
        if ready_at is None or ready_at - self._clock.now() > PATIENCE_S:
            return None
        return min(_GLANCE_S, max(0.001, ready_at - self._clock.now()))

    def _end(self) -> Ended:
        if self._obstacle is not None:
            raise self._obstacle
        if self._stopping or self.allowance.is_day_over():
            return "stopped"
        if not self.allowance.is_used_up():
            self.frontier.park("waiting")  # all that is left would keep us waiting too long
        return "finished"

    # -- one visit -----------------------------------------------------------------------------------------------------

    async def _visit(self, lease: Lease) -> None:
        if lease.kind == "robots":
            await self._visit_robots(lease)
            return
        row = lease.row
        assert row is not None
        asked = Validators(row.etag or None, row.last_modified or None).request_headers() if row.visits else []
        reply = await self._ask(lease, self._request(lease, asked))
        if _is_withdrawn(reply):
            self.frontier.give_back(lease)
            return
        outcome = judge(reply, bool(asked))
        now = self._clock.now()
        gap_s = self._set_clock(lease, reply, now)
        await self._arrival_of_others(reply)
        read = self._read(lease, outcome)
        if self._others is not None and read is not None:
            await self._know(lease, read)
        if read is not None and read.view is not None and self._on_page is not None:
            await self._on_page(read.view)  # before it is settled: a crash repeats it, and loses none
        settled = asyncio.get_running_loop().create_future()
        self._settle_soon(_Visited(lease, reply, outcome, read, gap_s, now, settled))
        await settled

    async def _arrival_of_others(self, reply: Reply) -> None:
        """What came together is read together, then settled together, unless it is large. Doing one thing many times is
        a tenth cheaper than doing all things to one page after the other, when nothing of it is in the processor's
        caches (ADR 14)."""
        size = _size_of(reply)
        if self._unread_bytes + size > _TOGETHER_BYTES:
            return
        self._unread_bytes += size
        try:
            await asyncio.sleep(0)
        finally:
            self._unread_bytes -= size

    def _settle_soon(self, visited: _Visited) -> None:
        """Pages that are read in one turn of the event loop are settled in the next, in one batch, unless large."""
        if not self._visited:
            asyncio.get_running_loop().call_soon(self._settle_visited)
        self._visited.append(visited)
        self._visited_bytes += _size_of(visited.reply)
        if self._visited_bytes >= _TOGETHER_BYTES:
            self._settle_visited()

    def _settle_visited(self) -> None:
        # A visit that was cancelled meanwhile is not to be settled: its page stays queued.
        visited = [each for each in self._visited if not each.settled.done()]
        self._visited, self._visited_bytes = [], 0
        try:
            with self._together():
                for each in visited:
                    self._settle_page(each)
        except Exception as error:
            self._failure = self._failure or error  # at once: nothing is to be settled after it
            for each in visited:
                each.settled.set_exception(error)
        else:
            for each in visited:
                each.settled.set_result(None)

    def _settle_page(self, visited: _Visited) -> None:
        lease, outcome, now = visited.lease, visited.outcome, visited.at
        effect = self._effect(lease, outcome, visited.read, now)
        if isinstance(outcome, Failed) and outcome.retry_after_s and effect.retry_at is not None:
            effect.retry_at = max(effect.retry_at, now + outcome.retry_after_s)
        self._settle(lease, effect, visited.reply, visited.gap_s, now)

    def _request(self, lease: Lease, headers: Sequence[tuple[str, str]], max_body: int | None = None) -> Ask:
        """What is sent, unless meanwhile the crawl is to end or the host is not to be asked."""

        def is_withdrawn() -> bool:
            now = self._clock.now()
            return self._stopping or self._manners.open_at(lease.host, now) > now

        return Ask(lease.url, tuple(headers), max_body, self._manners.delay_of(lease.host), is_withdrawn)

    def _settle(self, lease: Lease, effect: Effect, reply: Reply, gap_s: float | None, now: float) -> None:
        outcome = effect.row.outcome if effect.row is not None else "robots"
        status, size = None, 0
        if isinstance(reply, Response):
            status, size = reply.status, len(reply.payload)
        else:
            outcome = reply.kind
        request = RequestRow(
            host=lease.host,
            url=lease.url,
            address=reply.address or None,
            started_at=reply.started_at,
            ended_at=now,
            status=status,
            kind=lease.kind,
            outcome=outcome,
            bytes=size,
            gap_s=gap_s,
        )
        effect.changes.append(self._feed.put(request, effect.page, effect.links))
        effect.counts["requests"] += 1
        self.allowance.count(effect.counts["fetched"])
        self.frontier.settle(lease, effect, now)

    def _read(self, lease: Lease, outcome: Outcome) -> Read | None:
        """The page that was fetched, taken apart; None if there is none, or our own code stumbles over it."""
        if not isinstance(outcome, Fetched) or lease.row is None:
            return None
        try:
            return self._ingest.read(lease.row, outcome.response)
        except LycosaError:
            raise
        except Exception as error:
            self.stumbled(lease.url, error)
            return None

    async def _know(self, lease: Lease, read: Read) -> None:
        assert self._others is not None
        try:
            await self._others.know(lease, read)
        except LycosaError:
            raise
        except Exception as error:
            self.stumbled(lease.url, error)

    def _effect(self, lease: Lease, outcome: Outcome, read: Read | None, now: float) -> Effect:
        """What follows from the outcome. A page that our own code stumbles over is recorded, and the crawl goes on."""
        if isinstance(outcome, Fetched) and read is None:
            return self._ingest.effect(lease, Failed("internal.read", outcome.response, is_lasting=True), None, now)
        before = msgspec.structs.replace(lease.row) if lease.row is not None else None
        try:
            return self._ingest.effect(lease, outcome, read, now)
        except LycosaError:
            raise  # the store cannot be written, say: nothing to go on with
        except Exception as error:
            self.stumbled(lease.url, error)
            reason = f"internal.{type(error).__name__}"
            again = msgspec.structs.replace(lease, row=before)
            return self._ingest.effect(again, Failed(reason, is_lasting=True), None, now)

    async def _ask(self, lease: Lease, ask: Ask) -> Reply:
        """Send the request; the fetcher waits until the address is free."""
        try:
            reply = await self._fetcher.fetch(ask)
        except LycosaError:
            raise
        except Exception as error:  # what a server does must never end the crawl
            self.stumbled(lease.url, error)
            reply = Trouble(lease.url, "internal", type(error).__name__, None, self._clock.now(), Timings())
        if self._on_reply is not None:
            self._on_reply(reply)
        if isinstance(reply, Response) and reply.status in PUSHED_BACK:
            self._gate.pushed_back(reply.address, lease.host)
        return reply

    async def _visit_robots(self, lease: Lease) -> None:
        reply = await self._ask(lease, self._request(lease, self._rules.validators(lease.origin), PARSED_BYTES))
        if _is_withdrawn(reply):
            self.frontier.give_back(lease)
            return
        now = self._clock.now()
        gap_s = self._set_clock(lease, reply, now)
        if lease.row is not None:
            lease.row.state, lease.row.outcome = "done", "robots"
        if self._others is not None and not self._others.owns(host_of(f"{lease.origin}/")):
            answer = RobotsAnswer.of(lease.origin, reply, PARSED_BYTES)  # whose rules these are has to judge them
            self._settle(lease, Effect(row=lease.row, answers=[answer]), reply, gap_s, now)
            return
        effect = self.judge_rules(lease.origin, reply, now, lease.host)
        effect.row = lease.row
        self._settle(lease, effect, reply, gap_s, now)

    def judge_rules(self, origin: str, reply: Reply, now: float, asked: str = "") -> Effect:
        """What follows from an answer to the question for an origin's rules, whichever host gave it."""
        row, elsewhere = self._rules.after(origin, reply, now)
        effect = Effect(changes=[self._rules.put(row)])
        if elsewhere is not None:
            normal = self._ingest.normal_of(elsewhere)
            effect.found = [Candidate(normal, 0, elsewhere, kind="robots", purpose=origin, hops=1)]
        matcher = self._rules.matcher(origin)
        if matcher is not None:
            owner = host_of(f"{origin}/")
            host = self.frontier.host(owner)
            host.crawl_delay_s = matcher.crawl_delay_s
            host.ready_at = max(self._ready_at(host, host.last_at), now if owner != asked else 0.0)
            effect.changes += self.frontier.retimed(host) if owner != asked else []
        return effect

    def _set_clock(self, lease: Lease, reply: Reply, now: float) -> float | None:
        """When the host may be asked again, counted from the end of this answer. Returns the gap before it."""
        host = self.frontier.host(lease.host)
        host.pace = self._pace_after(host, reply, self._manners.delay_of(lease.host), now)
        host.ready_at = self._ready_at(host, now)
        host.requests += 1
        host.first_at = host.first_at or now
        gap_s = reply.started_at - host.last_at if host.last_at else None
        host.last_at = now
        host.address = reply.address or host.address
        return gap_s

    def _ready_at(self, host: HostRow, now: float) -> float:
        crawl_delay_s = self._manners.crawl_delay_of(host.name, host.crawl_delay_s)
        return host.pace.ready_at(now, self._manners.delay_of(host.name), crawl_delay_s)

    @staticmethod
    def _pace_after(host: HostRow, reply: Reply, delay_s: float, now: float) -> Pace:
        if not isinstance(reply, Response):
            return after_failure(host.pace)
        host.answered += 1
        if reply.status in PUSHED_BACK:
            wait_s = read_retry_after(reply.headers.get("retry-after"), now)
            return after_push_back(host.pace, now, delay_s, host.crawl_delay_s, wait_s)
        return after_answer(host.pace, reply.status, reply.timings.first_byte_s)


def _size_of(reply: Reply) -> int:
    return len(reply.body) if isinstance(reply, Response) else 0


def _is_withdrawn(reply: Reply) -> bool:
    return isinstance(reply, Trouble) and reply.kind == "withdrawn"
