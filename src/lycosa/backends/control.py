"""The control socket of a running crawl: one JSON object in, one out, for whoever may write in its directory.

    DIR/control.sock        {"do": "override", "host": …}  →  {"ok": true, …}  or  {"error": "one sentence"}

Requests and answers are single lines. The socket is only for the owner of the process, and is gone when the crawl ends;
one that a killed crawl left behind is replaced.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

from lycosa.errors import BadInput, LycosaError

NAME = "control.sock"
_LONGEST_LINE = 1 << 20
_PATIENCE_S = 10.0
Answer = Callable[[dict[str, Any]], dict[str, Any] | Awaitable[dict[str, Any]]]


class NobodyThere(LycosaError):
    """No crawl runs in this directory."""


class ControlServer:
    """Answers while the crawl runs, in its own event loop."""

    def __init__(self, directory: Path, answer: Answer) -> None:
        self._directory = directory
        self._answer = answer
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        with _short_path(self._directory) as path:
            (self._directory / NAME).unlink(missing_ok=True)
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            mask = os.umask(0o177)
            try:
                listener.bind(path)
            finally:
                os.umask(mask)
        self._server = await asyncio.start_unix_server(self._serve, sock=listener, limit=_LONGEST_LINE)

    async def aclose(self) -> None:
        if self._server is not None:
            self._server.close()
            (self._directory / NAME).unlink(missing_ok=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, ValueError, TimeoutError):
            line = await asyncio.wait_for(reader.readline(), _PATIENCE_S)
            writer.write(json.dumps(await self._told(line)).encode() + b"\n")
            await asyncio.wait_for(writer.drain(), _PATIENCE_S)
        writer.close()

    async def _told(self, line: bytes) -> dict[str, Any]:
        try:
            asked = json.loads(line)
            if not isinstance(asked, dict):
                raise BadInput("a request is a JSON object")
            told = self._answer(asked)
            return told if isinstance(told, dict) else await told
        except (LycosaError, ValueError) as error:
            return {"error": str(error)}


def ask(directory: Path, request: dict[str, Any]) -> dict[str, Any]:
    """Ask the crawl that runs in a directory; NobodyThere if none does, BadInput for what it refuses."""
    with _short_path(directory) as path, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller:
        caller.settimeout(_PATIENCE_S)
        try:
            caller.connect(path)
            caller.sendall(json.dumps(request).encode() + b"\n")
            with caller.makefile("rb") as answer:
                told: dict[str, Any] = json.loads(answer.readline(_LONGEST_LINE))
        except TimeoutError:
            raise LycosaError(f"the crawl in {directory} does not answer: try again, or look at its log") from None
        except (OSError, ValueError):
            raise NobodyThere(f"no crawl runs in {directory}: start it, or name its directory with --dir") from None
    if "error" in told:
        raise BadInput(told["error"])
    return told


@contextlib.contextmanager
def _short_path(directory: Path) -> Iterator[str]:
    """A path to the socket that fits into its hundred bytes however deep the directory lies."""
    try:
        fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        raise NobodyThere(f"{directory} holds no crawl: name its directory with --dir") from None
    try:
        yield f"/proc/self/fd/{fd}/{NAME}"
    finally:
        os.close(fd)
