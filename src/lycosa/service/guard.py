"""What holds for every answer: headers that keep a browser from doing anything we did not mean, and who may ask.

A service on a loopback address is not public, but a page somewhere on the web could have its own name lead to that
address, and read along in the browser of whoever visits it. Such a browser sends that name: so one that is not ours is
refused. A failure of our own is logged, and told without its insides.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request as Asked
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lycosa.service.problems import Problem
from lycosa.web.domains import is_address

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self';"
        " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Robots-Tag": "noindex, nofollow",
}
_FRESH = "private, no-cache"
_LOG = logging.getLogger("lycosa")


class Guard:
    """An ASGI middleware. `names` are those it may be asked under, beside addresses and localhost; any if None."""

    def __init__(self, app: ASGIApp, names: Sequence[str] | None, fail: Callable[[Asked, Problem], Response]) -> None:
        self._app = app
        self._names = None if names is None else frozenset([name.lower() for name in names])
        self._fail = fail

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = False

        async def sending(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                _add_headers(message)
            await send(message)

        app: Any = self._app if self._is_known(Headers(scope=scope).get("host", "")) else self._misdirected(scope)
        try:
            await app(scope, receive, sending)
        except Exception:
            _LOG.exception("a request failed")
            if begun:
                raise
            problem = Problem(500, "internal", "Lycosa failed to answer; its log says why.")
            await self._fail(Asked(scope), problem)(scope, receive, sending)

    def _is_known(self, host: str) -> bool:
        if self._names is None:
            return True
        name = (host if host.endswith("]") else host.rpartition(":")[0] or host).lower().rstrip(".")
        is_local = name == "localhost" or name.endswith(".localhost") or is_address(name)
        return is_local or name in self._names

    def _misdirected(self, scope: Scope) -> Response:
        message = "This service does not go by that name: list it in serve.names if it should."
        return self._fail(Asked(scope), Problem(421, "misdirected", message))


def _add_headers(message: Message) -> None:
    headers = MutableHeaders(raw=message["headers"])
    for name, value in HEADERS.items():
        headers[name] = value
    headers.setdefault("Cache-Control", _FRESH)
    message["headers"] = headers.raw
