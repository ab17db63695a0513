"""The address gate of several shards: the shard that owns the hash of an address lets everybody's requests pass.

A place is held until the answer is in. Without its owner an address is not asked: whoever wants to waits. When a shard
dies that holds a place, the gap runs from then on. When the owner itself dies, the next one lets nobody pass before
every shard has said which addresses it is asking at that moment.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from lycosa.crawl.gate import AddressGate
from lycosa.crawl.messages import Enter, Holding, Leave, PushedBack
from lycosa.kit.keys import host_key, owner_of
from lycosa.ports import Clock, Exchange, PeerAway
from lycosa.web.addresses import group_of

_GLANCE_S = 0.2


class _Guest:
    """A request of another shard, waiting or under way."""

    def __init__(self) -> None:
        self.has_left = asyncio.Event()


class SharedGate:
    """Fulfils `ports.Gate` for shard `own` of so many `shards`. `gate` is for the addresses that are ours."""

    def __init__(self, gate: AddressGate, exchange: Exchange, clock: Clock, own: int, shards: int) -> None:
        self._gate = gate
        self._exchange = exchange
        self._clock = clock
        self._own = own
        self._shards = shards
        self._number = 0
        self._held: dict[int, dict[int, tuple[str, float]]] = {shard: {} for shard in range(shards)}
        self._guests: dict[tuple[int, int], _Guest] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._unheard = {shard for shard in range(shards) if shard != own}  # of them nothing is known yet
        self._all_heard = asyncio.Event()

    @asynccontextmanager
    async def passage(
        self, address: str, host_delay_s: float, is_withdrawn: Callable[[], bool] = lambda: False
    ) -> AsyncIterator[bool]:
        if self._gate.is_open(host_delay_s):
            yield True
            return
        owner = self._owner(address)
        if owner == self._own:
            if not await self._hear_all(is_withdrawn):
                yield False
                return
            async with self._gate.passage(address, host_delay_s, is_withdrawn) as may_go:
                yield may_go
            return
        self._number += 1
        place = self._number
        if not await self._enter(owner, Enter(place, address, host_delay_s), is_withdrawn):
            yield False
            return
        try:
            yield True
        finally:
            del self._held[owner][place]
            self._exchange.tell(owner, Leave(place))

    def pushed_back(self, address: str | None, host: str) -> None:
        if address is None:
            return
        if self._owner(address) == self._own:
            self._gate.pushed_back(address, host)
        else:
            self._exchange.tell(self._owner(address), PushedBack(address, host))

    def _owner(self, address: str) -> int:
        return owner_of(host_key(group_of(address)), self._shards)

    async def _hear_all(self, is_withdrawn: Callable[[], bool]) -> bool:
        while not self._all_heard.is_set():
            if is_withdrawn():
                return False
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._all_heard.wait(), _GLANCE_S)
        return True

    async def _enter(self, owner: int, enter: Enter, is_withdrawn: Callable[[], bool]) -> bool:
        """Wait until the owner of an address lets us pass. False if that is not wanted any more."""
        while not is_withdrawn():
            if not self._exchange.is_near(owner):
                await self._clock.sleep(_GLANCE_S)
                continue
            asked = self._exchange.ask(owner, enter)
            try:
                while not asked.done():
                    await asyncio.wait([asked], timeout=_GLANCE_S)
                    if is_withdrawn():
                        asked.cancel()
                        self._exchange.tell(owner, Leave(enter.place))
                        return False
                asked.result()
            except PeerAway:
                continue
            except asyncio.CancelledError:
                self._exchange.tell(owner, Leave(enter.place))
                raise
            self._held[owner][enter.place] = (enter.address, enter.gap_s)
            return True
        return False

    # -- for others ----------------------------------------------------------------------------------------------------

    def holding(self, shard: int) -> Holding:
        """Which addresses of a shard's are being asked from here."""
        return Holding([(place, address, gap_s) for place, (address, gap_s) in self._held[shard].items()])

    def hear(self, shard: int, said: Holding) -> None:
        for place, address, gap_s in said.places:
            self.admit(shard, Enter(place, address, gap_s), lambda: None, is_inside=True)
        self._unheard.discard(shard)
        if not self._unheard:
            self._all_heard.set()

    def admit(self, shard: int, enter: Enter, let_pass: Callable[[], None], *, is_inside: bool = False) -> None:
        """Call `let_pass` when the address is free; it is held until `leave`."""
        guest = self._guests[shard, enter.place] = _Guest()
        task = asyncio.get_running_loop().create_task(self._host(guest, enter, let_pass, is_inside))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _host(self, guest: _Guest, enter: Enter, let_pass: Callable[[], None], is_inside: bool) -> None:
        if not is_inside and not await self._hear_all(guest.has_left.is_set):
            return
        async with self._gate.passage(enter.address, enter.gap_s, guest.has_left.is_set, is_inside) as may_go:
            if may_go:
                let_pass()
                await guest.has_left.wait()

    def leave(self, shard: int, place: int) -> None:
        guest = self._guests.pop((shard, place), None)
        if guest is not None:
            guest.has_left.set()

    def lost(self, shard: int) -> None:
        """A shard has died: its requests have ended now, and the gaps run."""
        for key in [key for key in self._guests if key[0] == shard]:
            self.leave(*key)

    async def aclose(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
