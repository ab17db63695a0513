"""Budgets in blocks: nobody overdraws, and the last pages are not stuck."""

from __future__ import annotations

import asyncio
from collections import Counter

from lycosa.backends.exchange_memory import Hub, MemoryExchange
from lycosa.backends.memory import MemoryStore
from lycosa.crawl.allowance import Allowance, Limits
from lycosa.crawl.budget import WAIT, PageBudget
from lycosa.crawl.messages import GiveBack, Grant
from lycosa.crawl.shares import Ledger, Shares


class Member:
    """A shard that knows of budgets only."""

    def __init__(self, hub: Hub, own: int, store: MemoryStore | None = None) -> None:
        self.store = store or MemoryStore()
        self.exchange = MemoryExchange(hub, own)
        self.shares = Shares(self.store, self.exchange, own, 2)
        self.exchange.listen(self)

    def met(self, shard: int) -> None: ...
    def lost(self, shard: int) -> None: ...
    def take(self, shard: int, messages: list[tuple[int, object]]) -> None:
        for number, message in messages:
            if isinstance(message, Grant):
                self.exchange.answer(shard, number, self.shares.ledger.grant(message.name, message.total))
            elif isinstance(message, GiveBack):
                self.shares.ledger.take_back(message.name, message.pages)
                self.exchange.answer(shard, number, True)


async def pair() -> tuple[Member, Member]:
    hub = Hub()
    members = Member(hub, 0), Member(hub, 1)
    for member in members:
        await member.exchange.start()
    return members


def test_a_ledger_never_grants_more_than_there_is() -> None:
    store = MemoryStore()
    granted = []
    while block := Ledger(store, 2).grant("domain:a", 1_000):  # a new one each time: what was granted is on disk
        granted.append(block)
    assert sum(granted) == 1_000
    assert granted == sorted(granted, reverse=True)
    assert granted[-1] == 1
    assert Ledger(store, 2).grant("domain:a", 1_010) > 0  # a larger budget goes on


def test_pages_that_are_given_back_can_be_had_by_others() -> None:
    async def run() -> None:
        members = await pair()
        while not all(member.shares.is_spent("crawl") for member in members):
            for member in members:
                await member.shares.want_again("crawl", 10) if not member.shares.is_spent("crawl") else None
        granted = [member.shares.granted("crawl") for member in members]
        assert sum(granted) == 10
        await members[0].shares.give_back("crawl", used=1)
        assert members[0].shares.granted("crawl") == 1
        got = 0
        while await members[1].shares.want_again("crawl", 10):
            got += 1
        assert sum(member.shares.granted("crawl") for member in members) == 10

    asyncio.run(run())


def test_what_is_left_of_several_budgets_is_given_back_at_one_moment() -> None:
    async def run() -> None:
        members = await pair()
        stats = Counter(fetched=0)
        allowances = [
            Allowance(Limits(pages=100, day_pages=100), stats, lambda: 86_400.0 * 3, member.shares)
            for member in members
        ]
        for allowance in allowances:
            assert await allowance.want_again()
        for member, allowance in zip(members, allowances, strict=True):
            giving = asyncio.ensure_future(allowance.give_back())
            await asyncio.sleep(0)
            assert [member.shares.granted(name) for name in ("crawl", "day:3")] == [0, 0]
            await giving
        granted = [member.shares.ledger.grant(name, 100) for member in members for name in ("crawl", "day:3")]
        assert min(granted) > 0

    asyncio.run(run())


def test_a_shard_that_never_asked_is_told_that_a_budget_is_used_up() -> None:
    async def run() -> None:
        members = await pair()
        one, other = (
            Allowance(Limits(pages=2, day_pages=9), Counter[str](), lambda: 86_400.0 * 3, each.shares)
            for each in members
        )
        while await members[0].shares.want_again("crawl", 2):
            pass
        assert (one.spent(), other.spent()) == (["crawl"], [])
        assert not other.is_used_up()
        other.note_spent(one.spent())
        assert other.is_used_up()
        assert not other.is_day_over()

    asyncio.run(run())


def test_what_is_on_its_way_counts_as_asked_for() -> None:
    async def run() -> None:
        members = await pair()
        names = [f"n{number}" for number in range(10)]
        name = next(each for each in names if members[0].shares._owner(each) == 1)
        assert not members[0].shares.is_asking(name)
        members[0].shares.want(name, 10)
        assert members[0].shares.is_asking(name)
        assert await members[0].shares.want_again(name, 10)
        assert not members[0].shares.is_asking(name)

    asyncio.run(run())


def test_a_day_is_over_when_the_owner_has_no_more_of_it_and_not_when_nothing_is_held() -> None:
    async def run() -> None:
        members = await pair()
        one = Allowance(Limits(day_pages=2), Counter[str](), lambda: 86_400.0 * 3, members[0].shares)
        assert not one.is_day_over()  # nothing was asked for
        await one.want_again()
        await one.give_back()
        assert not one.is_day_over()
        while await one.want_again():
            one.count(1)
        assert one.is_day_over()

    asyncio.run(run())


def test_without_the_owner_nothing_is_granted_and_hosts_wait() -> None:
    async def run() -> None:
        hub = Hub()
        alone = [Member(hub, own) for own in (0, 1)]
        budgets = [PageBudget(member.store, 5, None, member.shares) for member in alone]
        said = sorted(str(budget.hold("www.example.org")) for budget in budgets)
        assert said == ["None", WAIT]  # the owner has its own block, the other has to wait
        await asyncio.sleep(0)

    asyncio.run(run())


def test_hosts_of_one_domain_in_two_shards_share_one_budget() -> None:
    async def run() -> None:
        members = await pair()
        budgets = [PageBudget(member.store, 7, None, member.shares) for member in members]
        taken, refused = 0, 0
        while refused < 2:
            refused = 0
            for member, budget in zip(members, budgets, strict=True):
                said = budget.hold("a.example.org")
                if said is None:
                    member.store.write(budget.release("a.example.org", True))
                    taken += 1
                refused += said == "budget.domain"
            await asyncio.sleep(0)
        assert taken == 7

    asyncio.run(run())


def test_what_was_granted_is_known_after_a_crash_and_no_more_than_that() -> None:
    async def run() -> None:
        members = await pair()
        for member in members:
            await member.shares.want_again("crawl", 100)
        granted = [member.shares.granted("crawl") for member in members]
        hub = Hub()
        again = [Member(hub, own, member.store) for own, member in enumerate(members)]
        assert [member.shares.granted("crawl") for member in again] == granted

    asyncio.run(run())
