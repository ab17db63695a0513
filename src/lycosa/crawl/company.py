"""One shard among others: what it has for them, what they have for it, and what they ask.

All hosts of its range are its own, and nobody else's. Links to other hosts leave through the outbox and arrive through
the inbox; copies, addresses and budgets that belong to others are asked for. Without an answer copies are stored twice,
and addresses and budgets wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from lycosa.crawl.copies import Copies
from lycosa.crawl.frontier import Frontier
from lycosa.crawl.gate import AddressGate
from lycosa.crawl.inbox import Inbox
from lycosa.crawl.ingest import Read
from lycosa.crawl.lease import Lease
from lycosa.crawl.loop import Loop
from lycosa.crawl.messages import (
    Enter,
    FirstWith,
    GiveBack,
    Grant,
    Holding,
    Leave,
    Links,
    Near,
    PushedBack,
    UrlAt,
    Written,
)
from lycosa.crawl.outbox import Outbox, read_parcel
from lycosa.crawl.shared_gate import SharedGate
from lycosa.crawl.shares import Shares
from lycosa.ports import Clock, Exchange, Store

_MOST_UNWRITTEN = 2_000  # parcels that a shard was sent and has not acknowledged
_PUMPED_BYTES = 4 << 20  # what a shard is sent at once; then it is seen whether it takes it


class Seat(NamedTuple):
    """Which of how many shards, and how it reaches the others."""

    own: int
    shards: int
    exchange: Exchange
    ahead_s: float = 0.0  # of the clock that all shards have


class Company:
    """Fulfils `ports.Listener` and `crawl.loop.Others`."""

    def __init__(self, seat: Seat, store: Store, clock: Clock) -> None:
        self._seat = seat
        self._store = store
        self._clock = clock
        self._exchange = seat.exchange
        self._others = [shard for shard in range(seat.shards) if shard != seat.own]
        self.outbox = Outbox(store, seat.own, seat.shards)
        self.shares = Shares(store, seat.exchange, seat.own, seat.shards)
        self.copies = Copies(store, seat.exchange, seat.own, seat.shards)
        self.outbox.on_claim = self._claimed
        self._gate: SharedGate | None = None
        self._inbox: Inbox | None = None
        self._loop: Loop | None = None

    def share(self, gate: AddressGate) -> SharedGate:
        seat = self._seat
        self._gate = SharedGate(gate, seat.exchange, self._clock, seat.own, seat.shards)
        return self._gate

    def attend(self, frontier: Frontier, loop: Loop, join: Callable[[str], None]) -> None:
        """From now on answer the others. What is here for ourselves, after a new division of hosts, is taken in."""
        self._inbox = Inbox(self._store, frontier.offer, loop.judge_rules, join)
        self._loop = loop
        self.copies.failed = loop.give_up
        self.shares.on_grant = partial(self._look_again, frontier)
        self._inbox.take_own(self._seat.own, self._clock.now())
        self._exchange.listen(self)

    def owns(self, host: str) -> bool:
        return self.outbox.owns(host)

    async def know(self, lease: Lease, read: Read) -> None:
        await self.copies.know(lease, read)

    @property
    def received(self) -> int:
        return self._inbox.received if self._inbox is not None else 0

    # -- sending -------------------------------------------------------------------------------------------------------

    async def pump(self) -> None:
        """Send what waits in the outbox, as much as others can take."""
        for shard in self._others:
            left = _PUMPED_BYTES
            while left > 0 and self._exchange.is_near(shard) and self.outbox.waits_for(shard) < _MOST_UNWRITTEN:
                links = self.outbox.take(shard)
                if links is None:
                    break
                self._exchange.tell(shard, links)
                left -= sum(map(len, links.parcels))

    # -- listening -----------------------------------------------------------------------------------------------------

    def met(self, shard: int) -> None:
        assert self._gate is not None
        self._exchange.tell(shard, self._gate.holding(shard))
        self.outbox.send_again(shard)

    def lost(self, shard: int) -> None:
        assert self._gate is not None
        self._gate.lost(shard)
        self.copies.lost(shard)
        self.outbox.send_again(shard)

    def take(self, shard: int, messages: Sequence[tuple[int, Any]]) -> None:
        assert self._loop is not None
        try:
            for number, message in messages:
                self._answer(shard, number, message)
        except Exception as error:  # the store cannot be written, most likely: nothing to go on with
            self._loop.give_up(error)

    def _answer(self, shard: int, number: int, message: Any) -> None:
        answer = partial(self._exchange.answer, shard, number)
        match message:
            case Near():
                answer(self.copies.near(message))
            case FirstWith():
                self.copies.first_with(shard, message, answer)
            case Links():
                self._take_links(shard, message)
            case Written(last):
                self.outbox.acknowledge(shard, last, self._clock.now())
            case UrlAt(key):
                answer(self.copies.url_at(key))
            case Grant(name, total):
                answer(self.shares.ledger.grant(name, total))
            case GiveBack(name, pages):
                self.shares.ledger.take_back(name, pages)
                answer(True)
            case _:
                self._answer_gate(shard, message, answer)

    def _answer_gate(self, shard: int, message: Any, answer: Callable[[Any], None]) -> None:
        assert self._gate is not None
        match message:
            case Enter():
                self._gate.admit(shard, message, partial(answer, True))
            case Leave(place):
                self._gate.leave(shard, place)
            case Holding():
                self._gate.hear(shard, message)
            case PushedBack(address, host):
                self._gate.pushed_back(address, host)

    def _take_links(self, shard: int, links: Links) -> None:
        assert self._inbox is not None
        assert self._loop is not None
        if self._loop.has_failed:
            return  # what we hold for known may not be written: to acknowledge it could lose it
        claimed = self._inbox.take([read_parcel(each) for each in links.parcels], self._clock.now())
        self._exchange.tell(shard, Written(links.last))
        for content_hash in claimed:
            self.copies.settle(content_hash)
        self._loop.stir()

    def _claimed(self, content_hash: bytes) -> None:
        asyncio.get_running_loop().call_soon(self.copies.settle, content_hash)  # when it is written

    def _look_again(self, frontier: Frontier, hosts: set[str]) -> None:
        for host in hosts:
            frontier.look_again(host)
        if self._loop is not None:
            self._loop.stir()

    async def aclose(self) -> None:
        self.outbox.tidy()
        if self._gate is not None:
            await self._gate.aclose()
        await self._exchange.aclose()
        self.copies.write_bands()
