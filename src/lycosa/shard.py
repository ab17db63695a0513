"""A shard's process: `python -m lycosa.shard FD`, started by the supervisor and by nobody else.

It crawls the hosts of its range, does what the supervisor says on the socket it is born with, and stops when that is
closed: a shard never outlives its supervisor for long. Signals are the supervisor's business; it blocks them here.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import uvloop

from lycosa import config
from lycosa.backends.allocation import keep_what_is_loaded
from lycosa.backends.exchange_sockets import SocketExchange
from lycosa.backends.orders import Close, Failed, Finish, Line, Look, Over, Request, Seeds, Sight, Start, Stop, Told
from lycosa.crawl.company import Seat
from lycosa.errors import LycosaError, is_disk_full
from lycosa.wiring import Crawl

_ORPHAN_S = 5.0  # for requests under way, when the supervisor is gone
_NEVER_S = 3600.0
_ASK_S = 2.0  # other shards, before we tell how it goes


class Shard:
    def __init__(self, own: int, line: Line, job: Crawl) -> None:
        self._own = own
        self._line = line
        self._job = job
        self._closing: asyncio.Future[Close | None] = asyncio.get_running_loop().create_future()
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        orders = asyncio.create_task(self._obey())
        try:
            await self._job.run(lambda _: None, _NEVER_S, self._linger)
            last = self._closing.result() if self._closing.done() else None
            if last is not None:
                self._job.set_state(last.state, last.elapsed_s)
        finally:
            orders.cancel()

    async def _linger(self, ended: str) -> None:
        """Others may still have questions: answer them until all have ended."""
        self._line.send(Over(ended, dict(self._job.stats)))
        await self._closing

    async def _obey(self) -> None:
        try:
            while (order := await self._line.receive()) is not None:
                self._do(order)
        except Exception:  # a shard that obeys nobody must not crawl
            logging.getLogger("lycosa").exception("shard %d cannot do what it is told, and ends", self._own)
        # The supervisor is gone. What is under way may end; if it does not, it is repeated another time.
        asyncio.get_running_loop().call_later(_ORPHAN_S, os._exit, 1)
        self._job.loop.stop()
        self._close(None)

    def _do(self, order: Any) -> None:
        match order:
            case Look(number):
                self._begin(self._look(number))
            case Stop():
                self._job.loop.stop()
            case Finish(spent):
                self._job.loop.finish(spent)
            case Request(number, asked):
                self._line.send(self._told(number, asked))
            case Close():
                self._close(order)

    def _close(self, order: Close | None) -> None:
        if not self._closing.done():
            self._closing.set_result(order)

    def _begin(self, answer: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(answer)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _look(self, number: int) -> None:
        job, company = self._job, self._job.company
        assert company is not None
        has_hope = False  # of pages that the owner of a budget has not refused
        if job.loop.is_idle:
            try:
                async with asyncio.timeout(_ASK_S):
                    has_hope = await self._even_out()
            except TimeoutError:  # whoever keeps the budget hangs: that is no reason for us to be silent
                has_hope = True
        allowance = job.loop.allowance
        is_idle = job.loop.is_idle and not has_hope and not allowance.is_asking() and company.outbox.unwritten == 0
        activity = job.stats["requests"] + company.received + company.outbox.posted
        self._line.send(Sight(number, is_idle, activity, dict(job.stats), job.active_hosts, allowance.spent()))

    async def _even_out(self) -> bool:
        """With nothing to do: ask for more of a budget if nothing else is missing, else let others have what is left of
        ours. Is there more?"""
        allowance = self._job.loop.allowance
        if allowance.pages_left(0) > 0 or not self._job.loop.has_work:
            await allowance.give_back()
            return False
        has_more = await allowance.want_again()
        if has_more:
            self._job.loop.stir()
        return has_more

    def _told(self, number: int, asked: dict[str, object]) -> Told:
        try:
            return Told(number, self._job.answer(asked))
        except Exception as error:  # whatever somebody asks for, the crawl goes on
            return Told(number, {}, str(error) or type(error).__name__)


async def serve(end: socket.socket) -> int:
    line = await Line.on(end)
    start = await line.receive()
    if not isinstance(start, Start):
        return 1
    seeds: list[str] = []
    while len(seeds) < start.seeds:
        part = await line.receive()
        if not isinstance(part, Seeds):
            return 1
        seeds += part.some
    directory = Path(start.directory)
    try:
        exchange = SocketExchange(directory, start.own, start.shards, start.token)
        seat = Seat(start.own, start.shards, exchange, start.ahead_s)
        job = Crawl(directory, config.load(directory / "lycosa.toml"), seeds, seat=seat)
        try:
            keep_what_is_loaded()
            await Shard(start.own, line, job).run()
        finally:
            job.close()
    except LycosaError as error:
        line.send(Failed(str(error), is_disk_full(error)))
        await line.drain()
        return 1
    finally:
        line.close()
    return 0


if __name__ == "__main__":
    sys.exit(uvloop.run(serve(socket.socket(fileno=int(sys.argv[1])))))
