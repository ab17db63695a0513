"""Near copies that are asked for at the same moment find each other, before anything is written."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from lycosa.backends.exchange_memory import Hub, MemoryExchange
from lycosa.backends.memory import MemoryStore
from lycosa.crawl.claims import names_of
from lycosa.crawl.copies import PATIENCE_S, Copies
from lycosa.crawl.messages import FirstWith, Near
from lycosa.errors import DiskFull
from lycosa.ports import Change

PRINT = 0x5DEECE66D1234567
ONE, OTHER, THIRD = b"1" * 16, b"2" * 16, b"3" * 16


class Full(MemoryStore):
    def write(self, changes: Iterable[Change]) -> None:
        raise DiskFull("no room")


def copies_on(store: MemoryStore) -> Copies:
    return Copies(store, MemoryExchange(Hub(), 0), 0, 1)


def ask(copies: Copies, fingerprint: int, key: bytes) -> tuple[int, bytes] | None:
    return copies.near(Near(fingerprint, key, names_of(fingerprint)))


def test_what_is_not_written_yet_is_found_and_then_written() -> None:
    async def run() -> None:
        store = MemoryStore()
        copies = copies_on(store)
        assert ask(copies, PRINT, ONE) is None
        assert ask(copies, PRINT ^ 1, OTHER) == (1, ONE)
        assert list(store.scan("near")) == []
        await asyncio.sleep(0)
        entries = b"".join(bucket for _, bucket in store.scan("near"))
        assert entries.count(ONE) == entries.count(OTHER) == 10
        assert ask(copies, PRINT ^ 3, THIRD) == (1, OTHER)

    asyncio.run(run())


def test_a_store_that_cannot_be_written_is_told_of() -> None:
    async def run() -> list[Exception]:
        copies, told = copies_on(Full()), list[Exception]()
        copies.failed = told.append
        ask(copies, PRINT, ONE)
        await asyncio.sleep(0)
        return told

    assert [type(error) for error in asyncio.run(run())] == [DiskFull]


def test_nobody_waits_for_ever_for_a_body_that_two_are_about_to_store() -> None:
    body = b"h" * 32

    async def run() -> None:
        copies, answers = copies_on(MemoryStore()), list[object]()
        assert await copies._first_with(body, True) is None  # the first, which never stores it
        second = asyncio.create_task(copies._first_with(body, True))
        await asyncio.sleep(0)
        copies.first_with(1, FirstWith(body, True), answers.append)  # another shard waits as well
        waiting = copies.pending(body)
        assert waiting is not None
        copies._expire(body, waiting)  # now the other shard is about to store it, and then the second
        anew = copies.pending(body)
        assert anew is not None
        assert anew is not waiting
        third = asyncio.create_task(anew.wait())
        async with asyncio.timeout(5 * PATIENCE_S):
            assert await second is None
            await third
        assert answers == [None]

    asyncio.run(run())
