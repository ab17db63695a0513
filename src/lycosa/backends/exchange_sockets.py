"""The exchange of shards on one machine: Unix sockets in the crawl's directory.

    DIR/exchange-NN.sock        where shard NN listens; of two shards the one with the higher number connects

The first frame each way is a hello: version, the token of this run, who speaks. Whoever says another one is not spoken
with, so shards that a killed crawl left behind cannot mix in. Then frames of messages and answers go both ways. What is
said within a few milliseconds goes in one frame: a frame costs more than a message. A connection that is lost is made
again as long as the exchange is open.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import socket
from asyncio import Future
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec

from lycosa.backends.frames import TooLong, Unframer, framed
from lycosa.crawl.messages import VERSION, Message
from lycosa.ports import Listener, PeerAway

_LINGER_S = 0.005  # how long a message waits for others to go with it
_RETRY_S = 0.1
_LOOK_S = 0.05
_CLOGGED_BYTES = 4 << 20
_FRAME_BYTES = 8 << 20  # longer ones are divided, where there is more than one message


class _Hello(msgspec.Struct, array_like=True, frozen=True):
    version: int
    token: str
    shard: int


class _Frame(msgspec.Struct, array_like=True):
    messages: list[tuple[int, Message]]  # number and message; 0 if nobody waits for an answer
    answers: list[tuple[int, Any]]


_encode = msgspec.msgpack.Encoder().encode
_decode_hello = msgspec.msgpack.Decoder(_Hello).decode
_decode = msgspec.msgpack.Decoder(_Frame).decode


class SocketExchange:
    """Fulfils `ports.Exchange` for shard `own` of so many `shards`."""

    def __init__(self, directory: Path, own: int, shards: int, token: str) -> None:
        self._directory = directory
        self._hello = _Hello(VERSION, token, own)
        self._own = own
        self._shards = shards
        self._wires: dict[int, _Wire] = {}
        self._open: set[_Wire] = set()
        self._listener: Listener | None = None
        self._server: asyncio.Server | None = None
        self._callers: list[asyncio.Task[None]] = []
        self._is_closed = False

    def listen(self, listener: Listener) -> None:
        self._listener = listener

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        with _short_path(self._directory, self._own) as path:
            (self._directory / _name(self._own)).unlink(missing_ok=True)
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            mask = os.umask(0o177)
            try:
                listener.bind(path)
            finally:
                os.umask(mask)
        self._server = await loop.create_unix_server(lambda: _Wire(self), sock=listener)
        self._callers = [loop.create_task(self._call(shard)) for shard in range(self._own)]

    async def aclose(self) -> None:
        self._is_closed = True
        for caller in self._callers:
            caller.cancel()
        await asyncio.gather(*self._callers, return_exceptions=True)
        if self._server is not None:
            self._server.close()
            (self._directory / _name(self._own)).unlink(missing_ok=True)
        for wire in list(self._open):
            wire.close()

    def is_near(self, shard: int) -> bool:
        wire = self._wires.get(shard)
        return wire is not None and not wire.is_clogged

    def tell(self, shard: int, message: Any) -> None:
        wire = self._wires.get(shard)
        if wire is not None:
            wire.send(0, message)

    def ask(self, shard: int, message: Any, within_s: float | None = None) -> Future[Any]:
        wire = self._wires.get(shard)
        if wire is not None:
            return wire.ask(message, within_s)
        away: Future[Any] = asyncio.get_running_loop().create_future()
        _fail(away, f"shard {shard} cannot be reached")
        return away

    def answer(self, shard: int, number: int, value: Any) -> None:
        wire = self._wires.get(shard)
        if wire is not None:
            wire.answer(number, value)

    # -- connections ---------------------------------------------------------------------------------------------------

    async def _call(self, shard: int) -> None:
        """Be connected to a shard, again and again."""
        loop = asyncio.get_running_loop()
        while True:
            with contextlib.suppress(OSError), _short_path(self._directory, shard) as path:
                _, wire = await loop.create_unix_connection(lambda: _Wire(self), path)
                await wire.ended
            await asyncio.sleep(_RETRY_S)

    def greet(self, wire: _Wire) -> bytes:
        self._open.add(wire)
        return _encode(self._hello)

    def met(self, wire: _Wire, hello: bytes) -> int | None:
        """Who is at the other end? None if it is nobody of ours."""
        try:
            said = _decode_hello(hello)
        except msgspec.MsgspecError:
            return None
        known = (said.version, said.token) == (self._hello.version, self._hello.token)
        if not known or not 0 <= said.shard < self._shards or said.shard == self._own or self._is_closed:
            return None
        before = self._wires.get(said.shard)
        if before is not None:  # it has died, and we have not noticed yet
            self.lost(before)
            before.close()
        self._wires[said.shard] = wire
        wire.shard = said.shard
        assert self._listener is not None
        self._listener.met(said.shard)
        return said.shard

    def took(self, wire: _Wire, messages: Sequence[tuple[int, Any]]) -> None:
        assert self._listener is not None
        assert wire.shard is not None
        if messages and self._wires.get(wire.shard) is wire:
            self._listener.take(wire.shard, messages)

    def lost(self, wire: _Wire) -> None:
        self._open.discard(wire)
        if wire.shard is not None and self._wires.get(wire.shard) is wire:
            del self._wires[wire.shard]
            wire.fail()
            assert self._listener is not None
            self._listener.lost(wire.shard)


class _Wire(asyncio.Protocol):
    """One connection. Both ends ask and answer on it, each with its own numbers."""

    def __init__(self, exchange: SocketExchange) -> None:
        self._exchange = exchange
        self._unframer = Unframer()
        self._transport: asyncio.Transport | None = None
        self._messages: list[tuple[int, Any]] = []
        self._answers: list[tuple[int, Any]] = []
        self._asked: dict[int, Future[Any]] = {}
        self._hurried: deque[tuple[float, Future[Any]]] = deque()  # by when they are to be answered, soonest first
        self._number = secrets.randbits(48)  # an answer to what was asked on another connection fits none here
        self._loop = asyncio.get_running_loop()
        self._is_flush_due = False
        self.is_clogged = False
        self.shard: int | None = None
        self.ended: Future[None] = self._loop.create_future()

    # -- what asyncio calls --------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(_CLOGGED_BYTES)
        self._transport.write(framed(self._exchange.greet(self)))

    def data_received(self, data: bytes) -> None:
        try:
            for frame in self._unframer.feed(data):
                self._take(frame)
        except (TooLong, msgspec.MsgspecError):
            self.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._exchange.lost(self)
        self.fail()
        if not self.ended.done():
            self.ended.set_result(None)

    def pause_writing(self) -> None:
        self.is_clogged = True

    def resume_writing(self) -> None:
        self.is_clogged = False

    # ------------------------------------------------------------------------------------------------------------------

    def _take(self, frame: bytes) -> None:
        if self.shard is None:
            if self._exchange.met(self, frame) is None:
                self.close()
            return
        taken = _decode(frame)
        for number, value in taken.answers:
            asked = self._asked.pop(number, None)
            if asked is not None and not asked.done():
                asked.set_result(value)
        self._exchange.took(self, taken.messages)

    def send(self, number: int, message: Any) -> None:
        self._messages.append((number, message))
        self._flush_soon()

    def ask(self, message: Any, within_s: float | None) -> Future[Any]:
        self._number += 1
        asked: Future[Any] = self._loop.create_future()
        self._asked[self._number] = asked
        if within_s is not None:
            self._hurried.append((self._loop.time() + within_s, asked))
            if len(self._hurried) == 1:
                self._loop.call_later(within_s, self._look_at_time)
        self.send(self._number, message)
        return asked

    def _look_at_time(self) -> None:
        """Fail what was to be answered by now: one timer for all, and none for each."""
        now, hurried = self._loop.time(), self._hurried
        while hurried and (hurried[0][0] <= now or hurried[0][1].done()):
            _fail(hurried.popleft()[1], f"shard {self.shard} did not answer in time")
        if hurried:
            self._loop.call_later(max(_LOOK_S, hurried[0][0] - now), self._look_at_time)

    def answer(self, number: int, value: Any) -> None:
        self._answers.append((number, value))
        self._flush_soon()

    def _flush_soon(self) -> None:
        if not self._is_flush_due:
            self._is_flush_due = True
            self._loop.call_later(_LINGER_S, self._flush)

    def _flush(self) -> None:
        self._is_flush_due = False
        if self._transport is None or self._transport.is_closing():
            return
        messages, self._messages = self._messages, []
        answers, self._answers = self._answers, []
        self._write(messages, answers)

    def _write(self, messages: list[tuple[int, Any]], answers: list[tuple[int, Any]]) -> None:
        assert self._transport is not None
        data = _encode((messages, answers))
        if len(data) > _FRAME_BYTES and len(messages) > 1:
            half = len(messages) // 2
            self._write(messages[:half], answers)
            self._write(messages[half:], [])
        else:
            self._transport.write(framed(data))

    def fail(self) -> None:
        """Nobody will answer any more."""
        asked, self._asked = self._asked, {}
        for each in asked.values():
            _fail(each, f"shard {self.shard} went away")

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


def _fail(asked: Future[Any], why: str) -> None:
    if not asked.done():
        asked.set_exception(PeerAway(why))
        asked.exception()  # nobody need look at it


def _name(shard: int) -> str:
    return f"exchange-{shard:02d}.sock"


@contextlib.contextmanager
def _short_path(directory: Path, shard: int) -> Iterator[str]:
    """A path to a socket that fits into its hundred bytes however deep the directory lies."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{fd}/{_name(shard)}"
    finally:
        os.close(fd)
