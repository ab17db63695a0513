"""Threads that answer, so that the loop never waits for a search: a few at once, a few in line, the rest refused.

Whoever waits too long has gone away before the answer comes; a short line and an honest refusal serve more people.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from lycosa.service.problems import overloaded

T = TypeVar("T")


class Workers:
    def __init__(self, threads: int | None = None, waiting: int = 64) -> None:
        count = threads or max(2, min(8, os.cpu_count() or 1))
        self._most = count + waiting
        self.under_way = 0
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="search")

    async def run(self, work: Callable[[], T]) -> T:
        """What `work` returns; `overloaded` if too many wait already."""
        if self.under_way >= self._most:
            raise overloaded()
        self.under_way += 1
        future = asyncio.get_running_loop().run_in_executor(self._threads, work)
        future.add_done_callback(self._end)  # also when nobody waits any more: a thread cannot be taken back
        return await asyncio.shield(future)

    def _end(self, _: object) -> None:
        self.under_way -= 1

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
