"""One address, many hosts: requests to an address keep a gap of their own, whatever hosts they are for.

The gap runs from the end of one answer to the start of the next request. Requests pass in the order they came. A gap of
zero, which only own hosts can have, leaves the gate open. What a process before this one asked is not known, so the gap
also runs from the making of the gate.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from lycosa.ports import Clock
from lycosa.web.addresses import group_of
from lycosa.web.politeness import AddressTrouble, address_gap_s

_REMEMBERED = 50_000
_GLANCE_S = 0.2  # how long a request that waits may not notice that it is not wanted any more


class _Place:
    __slots__ = ("free_at", "lock", "trouble")

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.free_at = 0.0
        self.trouble = AddressTrouble()


class AddressGate:
    def __init__(self, clock: Clock, address_delay_s: float) -> None:
        self._clock = clock
        self._made_at = clock.now()
        self._delay_s = address_delay_s
        self._places: OrderedDict[str, _Place] = OrderedDict()

    def is_open(self, host_delay_s: float) -> bool:
        """Is there no gap to be kept?"""
        return min(self._delay_s, host_delay_s) <= 0

    @asynccontextmanager
    async def passage(
        self,
        address: str,
        host_delay_s: float,
        is_withdrawn: Callable[[], bool] = lambda: False,
        is_inside: bool = False,
    ) -> AsyncIterator[bool]:
        """Wait for the address to be free, and hold it until the answer is in. Who `is_inside` is asking it already."""
        if self.is_open(host_delay_s):
            yield True
            return
        place = self._place(group_of(address))
        async with place.lock:
            free_at = max(place.free_at, self._made_at + min(self._delay_s, host_delay_s))
            while (wait_s := free_at - self._clock.now()) > 0 and not is_withdrawn() and not is_inside:
                await self._clock.sleep(min(wait_s, _GLANCE_S))  # timers may go off early
            if is_withdrawn() and not is_inside:
                yield False
                return
            try:
                yield True
            finally:
                now = self._clock.now()
                place.free_at = now + address_gap_s(self._delay_s, host_delay_s, place.trouble, now)

    def pushed_back(self, address: str | None, host: str) -> None:
        """A host of this address answered 429 or 503."""
        if address is not None:
            place = self._place(group_of(address))
            place.trouble = place.trouble.after_push_back(host, self._clock.now())

    def _place(self, group: str) -> _Place:
        place = self._places.pop(group, None) or _Place()
        self._places[group] = place
        while len(self._places) > _REMEMBERED:
            oldest = next(iter(self._places))
            if self._places[oldest].lock.locked():
                break
            del self._places[oldest]
        return place
