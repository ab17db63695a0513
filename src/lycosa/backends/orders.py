"""What a supervisor and its shards say to each other, on a socket that each shard is born with.

The socket is also how each learns of the other's death: a shard whose supervisor is gone stops.
"""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import msgspec

from lycosa.backends.frames import LONGEST, framed


class Start(msgspec.Struct, array_like=True, tag="start"):
    """Who the shard is. Settings are in the directory, and seeds follow."""

    directory: str
    own: int
    shards: int
    token: str
    ahead_s: float
    seeds: int  # how many


class Seeds(msgspec.Struct, array_like=True, tag="seeds"):
    """Some of them: all in one could be longer than any message may be."""

    some: list[str]


class Look(msgspec.Struct, array_like=True, tag="look"):
    """How does it go? Answered by `Sight`."""

    round: int


class Stop(msgspec.Struct, array_like=True, tag="stop"):
    """Begin nothing more."""


class Finish(msgspec.Struct, array_like=True, tag="finish"):
    """Nobody has anything left to do; these budgets are used up."""

    spent: list[str] = []


class Close(msgspec.Struct, array_like=True, tag="close"):
    """All shards have ended: note it, and go."""

    state: str
    elapsed_s: float


class Request(msgspec.Struct, array_like=True, tag="request"):
    """Something for the control socket, of a host of this shard. Answered by `Told`."""

    number: int
    asked: dict[str, Any]


class Sight(msgspec.Struct, array_like=True, tag="sight"):
    round: int
    is_idle: bool  # nothing to do, and nothing on its way to others
    activity: int  # changes with everything that is begun, sent or received
    stats: dict[str, int]
    active: int
    spent: list[str] = []  # budgets of which their owner had nothing left


class Told(msgspec.Struct, array_like=True, tag="told"):
    number: int
    answer: dict[str, Any]
    error: str = ""


class Over(msgspec.Struct, array_like=True, tag="over"):
    """The shard has ended its work, and answers others until it is told to close."""

    ended: str
    stats: dict[str, int]


class Failed(msgspec.Struct, array_like=True, tag="failed"):
    """It cannot go on, for a reason that another try would not change."""

    sentence: str
    is_disk_full: bool


Order = Start | Seeds | Look | Stop | Finish | Close | Request
Report = Sight | Told | Over | Failed
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Order | Report).decode


class Line:
    """One end of the socket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @staticmethod
    async def on(end: socket.socket) -> Line:
        return Line(*await asyncio.open_unix_connection(sock=end))

    def send(self, message: Order | Report) -> None:
        """Lost if the other end is gone, which `receive` tells."""
        if not self._writer.is_closing():
            self._writer.write(framed(_encode(message)))

    async def receive(self) -> Any:
        """The next message; None when the other end is gone."""
        try:
            length = int.from_bytes(await self._reader.readexactly(4), "big")
            if length > LONGEST:
                return None
            return _decode(await self._reader.readexactly(length))
        except (asyncio.IncompleteReadError, OSError, msgspec.MsgspecError):
            return None

    async def drain(self) -> None:
        try:
            await self._writer.drain()
        except OSError:
            return

    def close(self) -> None:
        self._writer.close()
