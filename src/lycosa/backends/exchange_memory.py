"""The exchange of shards in one process: for tests, simulations, and as the reference of the port.

Messages are copied through their encoding, so that what cannot travel fails here too, and are handed over in the next
turn of the event loop. `part` and `join` play the death of a connection.
"""

from __future__ import annotations

import asyncio
import secrets
from asyncio import Future
from typing import Any

import msgspec

from lycosa.crawl.messages import Message
from lycosa.ports import Listener, PeerAway

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Message).decode


class Hub:
    """Where the shards of one process meet."""

    def __init__(self) -> None:
        self.members: dict[int, MemoryExchange] = {}

    def join(self, member: MemoryExchange) -> None:
        others = list(self.members.values())
        self.members[member.own] = member
        for other in others:
            other.met(member.own)
            member.met(other.own)

    def part(self, own: int) -> None:
        member = self.members.pop(own, None)
        for other in self.members.values():
            other.lost(own)
            if member is not None:
                member.lost(other.own)


class MemoryExchange:
    """Fulfils `ports.Exchange`."""

    def __init__(self, hub: Hub, own: int) -> None:
        self._hub = hub
        self.own = own
        self._listener: Listener | None = None
        self._asked: dict[tuple[int, int], Future[Any]] = {}
        self._number = secrets.randbits(48)  # an answer to what somebody asked before us fits none of ours

    def listen(self, listener: Listener) -> None:
        self._listener = listener

    async def start(self) -> None:
        self._hub.join(self)

    async def aclose(self) -> None:
        self._hub.part(self.own)

    def is_near(self, shard: int) -> bool:
        return shard in self._hub.members and self.own in self._hub.members

    def tell(self, shard: int, message: Any) -> None:
        self._send(shard, 0, message)

    def ask(self, shard: int, message: Any, within_s: float | None = None) -> Future[Any]:
        asked: Future[Any] = asyncio.get_running_loop().create_future()
        if not self.is_near(shard):
            _fail(asked, f"shard {shard} cannot be reached")
            return asked
        self._number += 1
        self._asked[shard, self._number] = asked
        if within_s is not None:
            asyncio.get_running_loop().call_later(within_s, _fail, asked, f"shard {shard} did not answer in time")
        self._send(shard, self._number, message)
        return asked

    def answer(self, shard: int, number: int, value: Any) -> None:
        other = self._hub.members.get(shard)
        if other is not None:
            told = msgspec.msgpack.decode(_encode(value))
            asyncio.get_running_loop().call_soon(other.answered, self.own, number, told)

    def _send(self, shard: int, number: int, message: Any) -> None:
        other = self._hub.members.get(shard)
        if other is not None and self.is_near(shard):
            asyncio.get_running_loop().call_soon(other.take, self.own, number, _encode(message))

    # -- what the hub and the others call ------------------------------------------------------------------------------

    def take(self, sender: int, number: int, data: bytes) -> None:
        if self.is_near(sender) and self._listener is not None:
            self._listener.take(sender, [(number, _decode(data))])

    def answered(self, sender: int, number: int, value: Any) -> None:
        asked = self._asked.pop((sender, number), None)
        if asked is not None and not asked.done():
            asked.set_result(value)

    def met(self, shard: int) -> None:
        if self._listener is not None:
            self._listener.met(shard)

    def lost(self, shard: int) -> None:
        for key in [key for key in self._asked if key[0] == shard]:
            _fail(self._asked.pop(key), f"shard {shard} went away")
        if self._listener is not None:
            self._listener.lost(shard)


def _fail(asked: Future[Any], why: str) -> None:
    if not asked.done():
        asked.set_exception(PeerAway(why))
        asked.exception()  # nobody need look at it
