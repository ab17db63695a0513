"""Pages that are read in one turn of the event loop are settled in one batch, and a large one is not kept waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from lycosa.crawl.lease import Lease
from lycosa.crawl.loop import _TOGETHER_BYTES, Loop, _Visited
from lycosa.crawl.outcome import Fetched
from lycosa.errors import DiskFull
from lycosa.model import Response, Timings
from lycosa.web.headers import Headers


class Settling(Loop):
    """The part of the loop that settles; pages are only noted, by batch."""

    def __init__(self) -> None:
        self._visited, self._visited_bytes = [], 0
        self._together = self.batch
        self._failure = None
        self.batches: list[list[str]] = []
        self.is_full = False

    @contextmanager
    def batch(self) -> Iterator[None]:
        self.batches.append([])
        yield
        if self.is_full:
            raise DiskFull("no room")

    def _settle_page(self, visited: _Visited) -> None:
        self.batches[-1].append(visited.lease.url)

    async def visit(self, url: str, body: bytes = b"") -> None:
        response = Response(
            url=url,
            status=200,
            reason="OK",
            version="1.1",
            headers=Headers([]),
            request_head=b"",
            head=b"",
            payload=body,
            body=body,
            truncated="",
            address="192.0.2.1",
            started_at=1.0,
            timings=Timings(),
        )
        settled = asyncio.get_running_loop().create_future()
        lease = Lease("host", url, "page", "http://host", b"k" * 16, 0.0, None)
        self._settle_soon(_Visited(lease, response, Fetched(response), None, None, 1.0, settled))
        await settled


def test_pages_of_one_turn_are_one_batch() -> None:
    async def run() -> list[list[str]]:
        loop = Settling()
        await asyncio.gather(loop.visit("a"), loop.visit("b"), loop.visit("c"))
        await loop.visit("d")
        return loop.batches

    assert asyncio.run(run()) == [["a", "b", "c"], ["d"]]


def test_what_is_in_memory_is_bounded() -> None:
    async def run() -> list[list[str]]:
        loop = Settling()
        large = bytes(_TOGETHER_BYTES // 2)
        await asyncio.gather(*[loop.visit(url, large) for url in "abc"])
        return [batch for batch in loop.batches if batch]

    assert asyncio.run(run()) == [["a", "b"], ["c"]]


def test_a_visit_that_was_cancelled_is_not_settled() -> None:
    async def run() -> list[list[str]]:
        loop = Settling()
        one, other = asyncio.ensure_future(loop.visit("one")), asyncio.ensure_future(loop.visit("other"))
        asyncio.get_running_loop().call_soon(one.cancel)
        async with asyncio.timeout(5):
            await other
        with pytest.raises(asyncio.CancelledError):
            await one
        return loop.batches

    assert asyncio.run(run()) == [["other"]]


def test_a_batch_that_cannot_be_written_fails_all_its_visits() -> None:
    async def run() -> list[BaseException | None]:
        loop = Settling()
        loop.is_full = True
        ended = await asyncio.gather(loop.visit("a"), loop.visit("b"), return_exceptions=True)
        return [loop._failure, *ended]

    assert [type(error) for error in asyncio.run(run())] == [DiskFull] * 3
