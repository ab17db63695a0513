"""Asking an ASGI application without a server: one request, one answer."""

from __future__ import annotations

import asyncio
import json
from typing import Any, NamedTuple

from starlette.types import ASGIApp, Message


class Reply(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    def json(self) -> Any:
        return json.loads(self.body)


async def ask(app: ASGIApp, target: str, method: str = "GET", **headers: str) -> Reply:
    """`headers` with underscores for hyphens."""
    path, _, query = target.partition("?")
    told = {"host": "localhost", **{name.replace("_", "-"): value for name, value in headers.items()}}
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
        "path": path, "raw_path": path.encode(), "query_string": query.encode(), "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in told.items()],
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8080),
    }  # fmt: skip
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    await app(scope, receive, send)
    start = sent[0]
    body = b"".join([message.get("body", b"") for message in sent[1:]])
    return Reply(start["status"], {name.decode().lower(): value.decode() for name, value in start["headers"]}, body)


def asked(app: ASGIApp, target: str, method: str = "GET", **headers: str) -> Reply:
    return asyncio.run(ask(app, target, method, **headers))
