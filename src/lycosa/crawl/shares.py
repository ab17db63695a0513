"""Budgets of a crawl in several shards: the owner of a budget's name grants pages in blocks, and nobody overdraws.

The owner writes what it has granted before it answers, and whoever asked writes what it was granted before using it. So
a crash can lose what is left of a block, and never makes pages out of nothing. Blocks get smaller as a budget runs out:
the last pages are granted one by one, and not stuck with a shard that has no use for them. No block, no lease: while
the owner is away, those who have used up their blocks wait.
"""

from __future__ import annotations

import asyncio
import contextlib
from asyncio import Future
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from lycosa.crawl.messages import GiveBack, Grant
from lycosa.kit.keys import host_key, owner_of
from lycosa.ports import Exchange, PeerAway, Store

GRANTED, LEDGER = b"granted:", b"ledger:"  # in `meta`: what this shard was granted, and what the owner has granted
_LARGEST_BLOCK = 1_000
_REMEMBERED = 100_000


class Ledger:
    """What was granted of the budgets that this shard owns."""

    def __init__(self, store: Store, shards: int) -> None:
        self._store = store
        self._shards = shards

    def grant(self, name: str, total: int) -> int:
        """A block of what is left; 0 if nothing is."""
        granted = self._granted(name)
        left = total - granted
        if left <= 0:
            return 0
        block = min(_LARGEST_BLOCK, max(1, left // (4 * self._shards)))
        self._write(name, granted + block)
        return block

    def take_back(self, name: str, pages: int) -> None:
        self._write(name, max(0, self._granted(name) - pages))

    def _granted(self, name: str) -> int:
        return int(self._store.get("meta", LEDGER + name.encode()) or 0)

    def _write(self, name: str, pages: int) -> None:
        self._store.write([("meta", LEDGER + name.encode(), str(pages).encode())])


class Shares:
    """What this shard may take of every budget."""

    def __init__(self, store: Store, exchange: Exchange, own: int, shards: int) -> None:
        self._store = store
        self._exchange = exchange
        self._own = own
        self._shards = shards
        self.ledger = Ledger(store, shards)
        self._granted: dict[str, int] = {}
        self._spent: set[str] = set()  # the owner has nothing left
        self._asked: dict[str, Future[Any]] = {}
        self._waiting: dict[str, set[str]] = {}  # hosts that are to be looked at again, by budget
        self.on_grant: Callable[[set[str]], None] = lambda _: None

    def granted(self, name: str) -> int:
        pages = self._granted.get(name)
        if pages is None:
            if len(self._granted) >= _REMEMBERED:
                self._granted.clear()
            pages = self._granted[name] = int(self._store.get("meta", GRANTED + name.encode()) or 0)
        return pages

    def is_spent(self, name: str) -> bool:
        return name in self._spent

    def note_spent(self, names: Iterable[str]) -> None:
        self._spent.update(names)

    def is_asking(self, name: str) -> bool:
        return name in self._asked

    def want(self, name: str, total: int, host: str = "") -> bool:
        """Ask for more. Is it there already? Else `host` is looked at again when it is."""
        if name in self._spent:
            return False
        owner = self._owner(name)
        if owner == self._own:
            return self._take(name, self.ledger.grant(name, total))
        if host:
            self._waiting.setdefault(name, set()).add(host)
        if name not in self._asked:
            asked = self._asked[name] = self._exchange.ask(owner, Grant(name, total))
            asked.add_done_callback(lambda done: self._answered(name, done))
        return False

    async def want_again(self, name: str, total: int) -> bool:
        """Ask once more although nothing was left: somebody may have given some back. Is there any?"""
        self._spent.discard(name)
        if self.want(name, total):
            return True
        asked = self._asked.get(name)
        if asked is not None:
            await _settled(asked)
        return name not in self._spent

    def give_back(self, name: str, used: int) -> Awaitable[None]:
        """Let others have what is left here. It is gone here at once; what is returned ends when it is there."""
        left = self.granted(name) - used
        owner = self._owner(name)
        if left <= 0 or name in self._asked:
            return asyncio.sleep(0)
        self._set(name, used)
        if owner == self._own:
            self.ledger.take_back(name, left)
            return asyncio.sleep(0)
        return _settled(self._exchange.ask(owner, GiveBack(name, left)))

    def _owner(self, name: str) -> int:
        return owner_of(host_key(name), self._shards)

    def _answered(self, name: str, done: Future[Any]) -> None:
        self._asked.pop(name, None)
        hosts = self._waiting.pop(name, set())
        if not done.cancelled() and done.exception() is None:  # else they look again by themselves, in a while
            self._take(name, int(done.result()))
            self.on_grant(hosts)

    def _take(self, name: str, pages: int) -> bool:
        if pages <= 0:
            self._spent.add(name)
            return False
        self._set(name, self.granted(name) + pages)
        return True

    def _set(self, name: str, pages: int) -> None:
        self._store.write([("meta", GRANTED + name.encode(), str(pages).encode())])
        self._granted[name] = pages


async def _settled(asked: Future[Any]) -> None:
    """Wait for an answer, or for its failure, which its owner deals with. Whoever waits no longer leaves it be."""
    with contextlib.suppress(PeerAway):
        await asyncio.shield(asked)
