"""What every exchange between shards does."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lycosa.backends.exchange_memory import Hub, MemoryExchange
from lycosa.backends.exchange_sockets import SocketExchange
from lycosa.backends.frames import LONGEST, TooLong, Unframer, framed
from lycosa.crawl.messages import Enter, Links, UrlAt, Written
from lycosa.ports import Exchange, PeerAway

Make = Callable[[int], Exchange]


@pytest.fixture(params=["memory", "sockets"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    hub = Hub()
    if request.param == "memory":
        return lambda own: MemoryExchange(hub, own)
    return lambda own: SocketExchange(tmp_path, own, 3, "token")


class Ear:
    """Hears everything, answers questions for URLs with the key, and others never."""

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange
        self.heard: list[tuple[int, Any]] = []
        self.events: list[tuple[str, int]] = []
        self.stirred = asyncio.Event()
        exchange.listen(self)

    def met(self, shard: int) -> None:
        self.events.append(("met", shard))
        self.stirred.set()

    def lost(self, shard: int) -> None:
        self.events.append(("lost", shard))
        self.stirred.set()

    def take(self, shard: int, messages: Any) -> None:
        for number, message in messages:
            self.heard.append((shard, message))
            if isinstance(message, UrlAt):
                self.exchange.answer(shard, number, message.key)
        self.stirred.set()

    async def until(self, holds: Callable[[], object]) -> None:
        async with asyncio.timeout(10):
            while not holds():
                self.stirred.clear()
                await self.stirred.wait()


def within(main: Callable[[], Awaitable[None]]) -> None:
    async def run() -> None:
        async with asyncio.timeout(20):
            await main()

    asyncio.run(run())


async def company(make: Make, count: int = 2) -> list[Ear]:
    ears = [Ear(make(own)) for own in range(count)]
    for ear in ears:
        await ear.exchange.start()
    for own, ear in enumerate(ears):
        await ear.until(
            lambda own=own, ear=ear: all(ear.exchange.is_near(other) for other in range(count) if other != own)
        )
    return ears


async def part(ears: list[Ear]) -> None:
    for ear in ears:
        await ear.exchange.aclose()


def test_what_is_told_arrives_in_order_and_whole(make: Make) -> None:
    async def run() -> None:
        ears = await company(make, 3)
        parcels = [msgspec.Raw(msgspec.msgpack.encode(["x" * 1_000] * 100)) for _ in range(20)]
        ears[2].exchange.tell(0, Links(7, parcels))
        for number in range(100):
            ears[2].exchange.tell(0, Written(number))
        await ears[0].until(lambda: len(ears[0].heard) == 101)
        shard, links = ears[0].heard[0]
        assert (shard, links.last, [bytes(each) for each in links.parcels]) == (2, 7, [bytes(each) for each in parcels])
        assert [message.last for _, message in ears[0].heard[1:]] == list(range(100))
        assert ears[1].heard == []
        await part(ears)

    within(run)


def test_more_than_fits_into_one_frame_arrives_as_well(make: Make) -> None:
    async def run() -> None:
        ears = await company(make)
        large = msgspec.Raw(msgspec.msgpack.encode("x" * (LONGEST // 5)))
        for number in range(7):
            ears[0].exchange.tell(1, Links(number, [large]))
        assert await ears[0].exchange.ask(1, UrlAt(b"k")) == b"k"
        assert [message.last for _, message in ears[1].heard[:7]] == list(range(7))
        assert [event for ear in ears for event in ear.events if event[0] == "lost"] == []
        await part(ears)

    within(run)


def test_an_answer_to_a_question_of_an_earlier_connection_is_nobodys(make: Make) -> None:
    async def run() -> None:
        ears = await company(make)
        numbers: list[int] = []

        def hear(shard: int, messages: Any) -> None:
            numbers.extend(number for number, _ in messages)
            ears[0].stirred.set()

        ears[0].take = hear  # type: ignore[method-assign]
        before = ears[1].exchange.ask(0, Enter(1, "192.0.2.1", 1.0))
        await ears[0].until(lambda: numbers)
        await ears[1].exchange.aclose()
        again = Ear(make(1))
        await again.exchange.start()
        await again.until(lambda: again.exchange.is_near(0))
        await ears[0].until(lambda: ears[0].exchange.is_near(1))
        asked = again.exchange.ask(0, Enter(1, "192.0.2.2", 1.0))
        await ears[0].until(lambda: len(numbers) == 2)
        ears[0].exchange.answer(1, numbers[0], "to what was asked before")
        ears[0].exchange.answer(1, numbers[1], "to this")
        assert await asked == "to this"
        assert isinstance(before.exception(), PeerAway)
        await part([ears[0], again])

    within(run)


def test_both_ends_ask_and_each_answer_finds_its_question(make: Make) -> None:
    async def run() -> None:
        ears = await company(make)
        keys = [bytes([number]) for number in range(50)]
        asked = [ears[number % 2].exchange.ask(1 - number % 2, UrlAt(key)) for number, key in enumerate(keys)]
        assert await asyncio.gather(*asked) == keys
        await part(ears)

    within(run)


def test_a_question_nobody_answers_fails_in_time_and_one_to_nobody_at_once(make: Make) -> None:
    async def run() -> None:
        ears = await company(make)
        slow = ears[0].exchange.ask(1, Enter(1, "192.0.2.1", 1.0), 0.05)
        nobody = ears[0].exchange.ask(2, UrlAt(b"k"))
        assert nobody.done()
        for asked in (slow, nobody):
            with pytest.raises(PeerAway):
                await asked
        ears[0].exchange.tell(2, Written(1))  # is lost, and that is all
        assert not ears[0].exchange.is_near(2)
        await part(ears)

    within(run)


def test_when_a_shard_goes_questions_to_it_fail_and_its_successor_is_met(make: Make) -> None:
    async def run() -> None:
        for gone in (0, 1):
            ears = await company(make)
            stays = ears[1 - gone]
            asked = stays.exchange.ask(gone, Enter(1, "192.0.2.1", 1.0))
            await ears[gone].until(lambda gone=gone, ears=ears: ears[gone].heard)
            await ears[gone].exchange.aclose()
            with pytest.raises(PeerAway):
                await asked
            await stays.until(lambda gone=gone, stays=stays: ("lost", gone) in stays.events)
            again = Ear(make(gone))
            await again.exchange.start()
            await stays.until(lambda gone=gone, stays=stays: stays.exchange.is_near(gone))
            assert await stays.exchange.ask(gone, UrlAt(b"k")) == b"k"
            await part([stays, again])

    within(run)


def test_a_stranger_is_not_spoken_with(tmp_path: Path) -> None:
    async def run() -> None:
        ours, stranger = (Ear(SocketExchange(tmp_path, own, 3, token)) for own, token in ((0, "token"), (1, "other")))
        await ours.exchange.start()
        await stranger.exchange.start()
        friend = Ear(SocketExchange(tmp_path, 2, 3, "token"))
        await friend.exchange.start()
        await ours.until(lambda: ours.exchange.is_near(2))
        assert not ours.exchange.is_near(1)
        assert ("met", 1) not in ours.events
        await part([ours, stranger, friend])

    within(run)


def test_frames_come_whole_however_they_are_cut() -> None:
    frames = [b"", b"a", b"x" * 70_000]
    stream = b"".join(map(framed, frames))
    for size in (1, 3, 1_000, len(stream)):
        unframer = Unframer()
        found = [frame for at in range(0, len(stream), size) for frame in unframer.feed(stream[at : at + size])]
        assert found == frames
    with pytest.raises(TooLong):
        list(Unframer().feed((LONGEST + 1).to_bytes(4, "big")))
