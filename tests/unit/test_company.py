"""One shard among others: what it could not write it does not acknowledge."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import msgspec

from lycosa.backends.exchange_memory import Hub, MemoryExchange
from lycosa.backends.memory import MemoryStore
from lycosa.crawl.budget import PageBudget
from lycosa.crawl.company import Company, Seat
from lycosa.crawl.frontier import Frontier
from lycosa.crawl.gate import AddressGate
from lycosa.crawl.lease import Candidate, Effect
from lycosa.crawl.messages import Links, Parcel, Written
from lycosa.crawl.rules import Rules
from lycosa.crawl.seen import Seen
from lycosa.crawl.together import TogetherStore
from lycosa.errors import DiskFull
from lycosa.kit.keys import host_key, owner_of
from lycosa.ports import Change
from lycosa.sim.clock import VirtualClock

HOST = next(name for n in range(100) if owner_of(host_key(name := f"h{n}.example"), 2) == 1)


class Narrow(MemoryStore):
    is_full = False

    def write(self, changes: Iterable[Change]) -> None:
        if self.is_full:
            raise DiskFull("no room")
        super().write(changes)


class Looping:
    """As much of a loop as a company needs."""

    def __init__(self) -> None:
        self.obstacle: Exception | None = None

    @property
    def has_failed(self) -> bool:
        return self.obstacle is not None

    def give_up(self, obstacle: Exception) -> None:
        self.obstacle = obstacle

    def stir(self) -> None: ...

    def judge_rules(self, origin: str, reply: object, now: float) -> Effect:
        return Effect()


class Sender:
    """The other shard, which hears what is acknowledged."""

    def __init__(self, hub: Hub) -> None:
        self.exchange = MemoryExchange(hub, 0)
        self.written: list[int] = []
        self.exchange.listen(self)

    def met(self, shard: int) -> None: ...
    def lost(self, shard: int) -> None: ...
    def take(self, shard: int, messages: Any) -> None:
        self.written += [message.last for _, message in messages if isinstance(message, Written)]

    async def send(self, last: int, *urls: str) -> None:
        parcel = msgspec.msgpack.encode(Parcel([Candidate(url, 1) for url in urls]))
        self.exchange.tell(1, Links(last, [msgspec.Raw(parcel)]))
        for _ in range(5):
            await asyncio.sleep(0)


def test_after_what_could_not_be_written_nothing_is_acknowledged() -> None:
    async def run() -> None:
        hub, clock, behind, loop = Hub(), VirtualClock(), Narrow(), Looping()
        sender, store = Sender(hub), TogetherStore(behind)
        company = Company(Seat(1, 2, MemoryExchange(hub, 1)), store, clock)
        company.share(AddressGate(clock, 0.5))
        frontier = Frontier(
            store, Rules(store, "lycosa"), Seen(store), PageBudget(store, 100), capacity=8, delay_of=lambda _: 2.0,
            outbox=company.outbox,
        )  # fmt: skip
        company.attend(frontier, loop, lambda host: None)  # type: ignore[arg-type]
        await sender.exchange.start()
        await company._exchange.start()
        known, lost = f"http://{HOST}/known", f"http://{HOST}/lost"
        await sender.send(1, known)
        assert sender.written == [1]
        behind.is_full = True
        await sender.send(2, lost)
        assert isinstance(loop.obstacle, DiskFull)
        behind.is_full = False
        for number, url in enumerate((known, lost, f"http://{HOST}/new"), 3):  # nothing to write, and something
            await sender.send(number, url)
        assert sender.written == [1]
        assert len(list(behind.scan("urls"))) == 1

    asyncio.run(run())
