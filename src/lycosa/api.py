"""Crawling from Python: `async for page in lycosa.crawl("https://example.org/", contact="…"): …`

The crawl is the same as `lycosa crawl`: polite, durable, in a directory. Each page is handed over before it is settled,
and counts as done when the consumer asks for the next one. So a slow consumer slows the crawl, pages wait at most one
for each of `fetch.slots`, and a page that nobody took, or at which the consumer broke off, is fetched again when the
crawl of that directory goes on: at least once, never lost.

Breaking off, an exception in the consumer or a cancellation stops the crawl as Ctrl-C does: requests under way are
waited for, then all is closed. What fails in the crawl is raised in the consumer.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
import time
from collections import Counter, deque
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from lycosa import config
from lycosa.crawl.view import PageView
from lycosa.errors import BadInput
from lycosa.wiring import Crawl

_PROGRESS_S = 3600.0


def crawl(
    *seeds: str,
    contact: str | None = None,
    max_pages: int | None = None,
    scope: Literal["host", "domain", "web"] | None = None,
    settings: Mapping[str, Any] | None = None,
    dir: str | Path | None = None,  # noqa: A002 - as the command line calls it
) -> Crawling:
    """The pages of a crawl, as they are fetched.

    `settings` are those of `docs/settings.md`, by name: {"polite.delay": "5s"}. Without `dir` the crawl lives in a
    temporary directory and is deleted at the end; with it, it can be gone on with, and looked at with the command line.
    """
    directory = Path(dir) if dir is not None else None
    given = dict(settings or {})
    named = {"agent.contact": contact, "crawl.max_pages": max_pages, "crawl.scope": scope}
    given |= {name: value for name, value in named.items() if value is not None}
    stored = directory / "lycosa.toml" if directory is not None else None
    file = stored if stored is not None and stored.exists() else None
    return Crawling(seeds, config.load(file, os.environ, given.items()), directory)


class Crawling:
    """A crawl to iterate over. `async with` it to know that it is closed when the block is left."""

    def __init__(self, seeds: Sequence[str], settings: config.Settings, directory: Path | None) -> None:
        self._seeds, self._settings, self._directory = seeds, settings, directory
        self._is_held = False
        self._held: AsyncGenerator[PageView, None] | None = None
        self.counts: Counter[str] = Counter()  # what was counted so far: fetched, failed, queued, …

    def __aiter__(self) -> AsyncIterator[PageView]:
        # A generator that nothing else holds: when a `break` leaves it behind, the event loop closes it at once.
        pages = self._run()
        self._held = pages if self._is_held else None
        return pages

    async def __aenter__(self) -> Crawling:
        self._is_held = True
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._held is not None:
            await self._held.aclose()

    async def _run(self) -> AsyncGenerator[PageView, None]:
        with _place(self._directory) as place:
            hand = _Hand()
            job = Crawl(place, self._settings, self._seeds, hand.hold_out)
            self.counts = job.frontier.stats
            try:
                if not job.all_seeds:
                    raise BadInput("nothing to crawl: name at least one seed, for example https://example.org/")
                async with _running(job, hand) as ended:
                    while (held := await hand.take(ended)) is not None:
                        yield held.page
                        held.let_go()
            finally:
                job.close()


@contextlib.contextmanager
def _place(directory: Path | None) -> Iterator[Path]:
    if directory is not None:
        yield directory
    else:
        with tempfile.TemporaryDirectory(prefix="lycosa-") as scratch:
            yield Path(scratch) / "crawl"


@contextlib.asynccontextmanager
async def _running(job: Crawl, hand: _Hand) -> AsyncIterator[asyncio.Task[None]]:
    """The crawl as a task. Whatever happens, it is stopped and waited for, however often we are cancelled."""

    async def run() -> None:
        started = time.monotonic()
        ended = await job.run(lambda _: None, _PROGRESS_S)
        job.set_state(ended, time.monotonic() - started)

    task = asyncio.create_task(run())
    task.add_done_callback(hand.stir)
    try:
        yield task
    finally:
        hand.withdraw()
        job.loop.stop()
        await _outlast(task)
    task.result()


async def _outlast(task: asyncio.Task[None]) -> None:
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled


class _Held(NamedTuple):
    """A page that is held out, and how its visit learns that it was taken."""

    page: PageView
    taken: asyncio.Future[None]

    def let_go(self) -> None:
        if not self.taken.done():
            self.taken.set_result(None)


class _Hand:
    """Between the visits, which hold pages out and wait, and the consumer, who takes them one by one."""

    def __init__(self) -> None:
        self._out: deque[_Held] = deque()
        self._stirred = asyncio.Event()
        self._unsettled: set[asyncio.Future[None]] = set()
        self._is_withdrawn = False

    async def hold_out(self, page: PageView) -> None:
        """The hook of the loop: returns when the consumer is done with the page, and the visit may be settled."""
        if self._is_withdrawn:
            raise asyncio.CancelledError  # this ends the visit without settling it: its URL stays in the queue
        held = _Held(page, asyncio.get_running_loop().create_future())
        self._out.append(held)
        self._unsettled.add(held.taken)
        self._stirred.set()
        try:
            await held.taken
        finally:
            self._unsettled.discard(held.taken)

    async def take(self, ended: asyncio.Task[None]) -> _Held | None:
        """The next page, or None when the crawl has ended."""
        while True:
            while self._out:
                held = self._out.popleft()
                if not held.taken.done():
                    return held
            if ended.done():
                return None
            self._stirred.clear()
            await self._stirred.wait()

    def stir(self, _: object) -> None:
        self._stirred.set()

    def withdraw(self) -> None:
        """Nobody takes anything any more."""
        self._is_withdrawn = True
        for taken in list(self._unsettled):
            taken.cancel()
