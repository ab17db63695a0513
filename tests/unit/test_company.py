"""One shard among others: what it could not write it does not acknowledge, and it sends no more than can be taken."""

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

OTHER_HOST, HOST = (
    next(name for n in range(100) if owner_of(host_key(name := f"h{n}.example"), 2) == own) for own in (0, 1)
)


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
        self.received_bytes = 0
        self.exchange.listen(self)

    def met(self, shard: int) -> None: ...
    def lost(self, shard: int) -> None: ...
    def take(self, shard: int, messages: Any) -> None:
        self.written += [message.last for _, message in messages if isinstance(message, Written)]
        for _, message in messages:
            if isinstance(message, Links):
                self.received_bytes += sum(map(len, message.parcels))

    async def send(self, last: int, *urls: str) -> None:
        parcel = msgspec.msgpack.encode(Parcel([Candidate(url, 1) for url in urls]))
        self.exchange.tell(1, Links(last, [msgspec.Raw(parcel)]))
        for _ in range(5):
            await asyncio.sleep(0)


class Table:
    """Two shards: one that is only a sender, and a company with all it needs."""

    def __init__(self) -> None:
        hub, clock = Hub(), VirtualClock()
        self.sender, self.loop, self.behind = Sender(hub), Looping(), Narrow()
        store = TogetherStore(self.behind)
        self.store = store
        self.company = Company(Seat(1, 2, MemoryExchange(hub, 1)), store, clock)
        self.company.share(AddressGate(clock, 0.5))
        self.frontier = Frontier(
            store, Rules(store, "lycosa"), Seen(store), PageBudget(store, 100), capacity=8, delay_of=lambda _: 2.0,
            outbox=self.company.outbox,
        )  # fmt: skip

    async def sit(self) -> None:
        self.company.attend(self.frontier, self.loop, lambda host: None)  # type: ignore[arg-type]
        await self.sender.exchange.start()
        await self.company._exchange.start()


def test_after_what_could_not_be_written_nothing_is_acknowledged() -> None:
    async def run() -> None:
        table = Table()
        await table.sit()
        sender, behind = table.sender, table.behind
        known, lost = f"http://{HOST}/known", f"http://{HOST}/lost"
        await sender.send(1, known)
        assert sender.written == [1]
        behind.is_full = True
        await sender.send(2, lost)
        assert isinstance(table.loop.obstacle, DiskFull)
        behind.is_full = False
        for number, url in enumerate((known, lost, f"http://{HOST}/new"), 3):  # nothing to write, and something
            await sender.send(number, url)
        assert sender.written == [1]
        assert len(list(behind.scan("urls"))) == 1

    asyncio.run(run())


def test_only_so_much_is_sent_before_it_is_seen_whether_it_is_taken() -> None:
    async def run() -> None:
        table = Table()
        await table.sit()
        for number in range(30):
            table.frontier.offer([Candidate(f"http://{OTHER_HOST}/{number}/{'x' * 1_000_000}", 1)], 1.0)
        sizes = []
        while sum(sizes) < 30_000_000:
            before = table.sender.received_bytes
            await table.company.pump()
            for _ in range(5):
                await asyncio.sleep(0)
            sizes.append(table.sender.received_bytes - before)
            assert 0 < sizes[-1] < 6_000_000
        assert len(sizes) >= 5

    asyncio.run(run())
