"""One address, many shards: its gap is kept by all of them together, on virtual time."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

from lycosa.backends.exchange_memory import Hub, MemoryExchange
from lycosa.crawl.gate import AddressGate
from lycosa.crawl.messages import Enter, Holding, Leave, PushedBack
from lycosa.crawl.shared_gate import SharedGate
from lycosa.kit.keys import host_key, owner_of
from lycosa.sim.clock import VirtualClock
from lycosa.sim.virtual_loop import run_virtual

GAP_S = 0.5


def address_of(shard: int) -> str:
    return next(
        address for n in range(1, 250) if owner_of(host_key(address := f"192.0.2.{n}"), 2) == shard
    )  # fmt: skip


class Member:
    """A shard that knows of gates only."""

    def __init__(self, hub: Hub, own: int, clock: VirtualClock) -> None:
        self.exchange = MemoryExchange(hub, own)
        self.gate = SharedGate(AddressGate(clock, GAP_S), self.exchange, clock, own, 2)
        self.exchange.listen(self)

    def met(self, shard: int) -> None:
        self.exchange.tell(shard, self.gate.holding(shard))

    def lost(self, shard: int) -> None:
        self.gate.lost(shard)

    def take(self, shard: int, messages: list[tuple[int, Any]]) -> None:
        for number, message in messages:
            match message:
                case Enter():
                    self.gate.admit(shard, message, lambda n=number: self.exchange.answer(shard, n, True))
                case Leave(place):
                    self.gate.leave(shard, place)
                case Holding():
                    self.gate.hear(shard, message)
                case PushedBack(address, host):
                    self.gate.pushed_back(address, host)


async def visit(
    member: Member, clock: VirtualClock, address: str, log: list[tuple[float, float]], takes_s: float = 0.3
) -> None:
    async with member.gate.passage(address, 2.0) as may_go:
        assert may_go
        start = clock.now()
        await clock.sleep(takes_s)
        log.append((start, clock.now()))


def least_gap_s(log: list[tuple[float, float]]) -> float:
    return min(later[0] - earlier[1] for earlier, later in pairwise(sorted(log)))


def test_requests_of_two_shards_to_one_address_keep_its_gap() -> None:
    clock, log = VirtualClock(), list[tuple[float, float]]()

    async def run() -> None:
        hub = Hub()
        members = [Member(hub, own, clock) for own in (0, 1)]
        for member in members:
            await member.exchange.start()
        for owner in (0, 1):
            log.clear()
            await asyncio.gather(
                *(visit(member, clock, address_of(owner), log) for member in members for _ in range(4))
            )
            assert len(log) == 8
            assert least_gap_s(log) >= GAP_S

    run_virtual(clock, run())


def test_without_its_owner_an_address_is_not_asked_and_a_withdrawn_request_ends() -> None:
    clock = VirtualClock()

    async def run() -> None:
        member = Member(Hub(), 0, clock)
        await member.exchange.start()
        until = clock.now() + 30
        for owner in (0, 1):  # not even its own: the other may be asking it
            async with member.gate.passage(address_of(owner), 2.0, lambda: clock.now() > until) as may_go:
                assert not may_go
        assert clock.now() > until

    run_virtual(clock, run())


def test_when_a_holder_dies_its_address_is_free_after_the_whole_gap() -> None:
    clock, log = VirtualClock(), list[tuple[float, float]]()

    async def run() -> None:
        hub = Hub()
        members = [Member(hub, own, clock) for own in (0, 1)]
        for member in members:
            await member.exchange.start()
        holding = asyncio.create_task(visit(members[1], clock, address_of(0), [], takes_s=1_000.0))
        await clock.sleep(1)
        waiting = asyncio.create_task(visit(members[0], clock, address_of(0), log))
        await clock.sleep(100)
        assert not log
        died_at = clock.now()
        hub.part(1)
        await waiting
        assert log[0][0] >= died_at + GAP_S
        holding.cancel()
        await asyncio.gather(holding, return_exceptions=True)

    run_virtual(clock, run())


def test_the_next_owner_hears_who_is_asking_an_address_before_it_lets_anybody_pass() -> None:
    clock, log = VirtualClock(), list[tuple[float, float]]()

    async def run() -> None:
        hub = Hub()
        members = [Member(hub, own, clock) for own in (0, 1)]
        for member in members:
            await member.exchange.start()
        asking = asyncio.create_task(visit(members[1], clock, address_of(0), log, takes_s=60.0))
        await clock.sleep(5)
        hub.part(0)
        again = Member(hub, 0, clock)
        await again.exchange.start()
        await visit(again, clock, address_of(0), log)
        await asking
        assert least_gap_s(log) >= GAP_S

    run_virtual(clock, run())
