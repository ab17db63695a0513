"""The service: which path is answered by what.

    /search           the page                    /v1/search      the same as JSON
    /healthz          is the index up to date?    /v1/complete    how a query may go on
    /openapi.json     all of this, described      /static/…       style, script and picture of the page

It reads and never writes, knows nothing of crawling, and answers every mistake and every failure in one shape.
`/` leads to the page.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request as Asked
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from lycosa.errors import LycosaError
from lycosa.search.answer import Answer, Answering
from lycosa.service.guard import Guard
from lycosa.service.openapi import describe
from lycosa.service.page import show_problem, show_search
from lycosa.service.parameters import LONGEST_QUERY, read_completion, read_search
from lycosa.service.problems import Problem, not_found, unavailable
from lycosa.service.shown import Shown
from lycosa.service.static import StaticFiles
from lycosa.service.workers import Workers

_LOG = logging.getLogger("lycosa")
_JSON = "application/json"
_HTML = "text/html; charset=utf-8"
_ROBOTS = "User-agent: *\nDisallow: /\n"  # results of a search are nobody's content


class Upkeep(Protocol):
    """Who knows whether the index has caught up with the crawl."""

    def lag_s(self) -> float | None:
        """How long ago the index had all there was: 0 if it has all, None if that is not known yet."""
        ...

    def is_healthy(self) -> bool: ...


class Health(msgspec.Struct, frozen=True):
    """The index is up to date."""

    status: str
    pages: int
    generation: int
    lag_s: float


class Completions(msgspec.Struct, frozen=True):
    query: str
    completions: list[str]


class Served(NamedTuple):
    """What a service needs of the world."""

    search: Answering
    upkeep: Upkeep
    workers: Workers
    names: Sequence[str] | None = None  # that it may be asked under; any if None
    now: Callable[[], float] = time.time


def make_app(served: Served) -> Starlette:
    static = StaticFiles()
    service = _Service(served, static)
    app = Starlette(
        routes=[
            Route("/", service.root),
            Route("/search", service.page),
            Route("/v1/search", service.search),
            Route("/v1/complete", service.complete),
            Route("/healthz", service.health),
            Route("/openapi.json", service.openapi),
            Route("/robots.txt", service.robots),
            Route("/static/{name}", static.answer),
        ],
        exception_handlers={Problem: service.told, HTTPException: service.refused, LycosaError: service.failed},
        middleware=[Middleware(Guard, names=served.names, fail=service.fail)],
    )
    app.router.redirect_slashes = False  # it would lead to an address made of what was sent as our name
    return app


class _Service:
    def __init__(self, served: Served, static: StaticFiles) -> None:
        self._search = served.search
        self._upkeep = served.upkeep
        self._workers = served.workers
        self._now = served.now
        self._static = static
        self._openapi = msgspec.json.encode(describe(Answer, Completions, Health))

    async def root(self, asked: Asked) -> Response:
        return RedirectResponse("/search", 307)

    async def robots(self, asked: Asked) -> Response:
        return Response(_ROBOTS, media_type="text/plain")

    async def openapi(self, asked: Asked) -> Response:
        return Response(self._openapi, media_type=_JSON)

    async def search(self, asked: Asked) -> Response:
        request = read_search(asked.query_params, self._now())
        body = await self._workers.run(lambda: msgspec.json.encode(self._search.search(request)))
        return Response(body, media_type=_JSON)

    async def complete(self, asked: Asked) -> Response:
        start, limit = read_completion(asked.query_params)
        found = await self._workers.run(partial(self._search.complete, start, limit))
        return Response(msgspec.json.encode(Completions(start, found)), media_type=_JSON)

    async def page(self, asked: Asked) -> Response:
        given = dict(asked.query_params)
        given["q"] = given.get("q", "")[:LONGEST_QUERY]
        request = read_search(given, self._now())
        body = await self._workers.run(lambda: self._shown(Shown(request, given)))
        return Response(body, media_type=_HTML)

    def _shown(self, shown: Shown) -> str:
        answer = self._search.search(shown.request) if shown.is_question else None
        return show_search(shown, answer, self._search.pages, self._static).html

    async def health(self, asked: Asked) -> Response:
        lag_s = self._upkeep.lag_s()
        if lag_s is None or not self._upkeep.is_healthy():
            behind = "a while" if lag_s is None else f"{lag_s:.0f} s"
            message = f"The index is behind the crawl by {behind}: it is being brought up to date, try again."
            raise Problem(503, "index_behind", message, 2)
        # Beside the workers: to have much to do is no illness.
        pages, generation = await asyncio.to_thread(lambda: (self._search.pages, self._search.generation))
        return Response(msgspec.json.encode(Health("ok", pages, generation, round(lag_s, 1))), media_type=_JSON)

    # -- what goes wrong -----------------------------------------------------------------------------------------------

    async def told(self, asked: Asked, problem: Exception) -> Response:
        assert isinstance(problem, Problem)
        return self._problem(asked, problem)

    async def refused(self, asked: Asked, refusal: Exception) -> Response:
        """What the router has nothing for."""
        assert isinstance(refusal, HTTPException)
        if refusal.status_code == 405:
            problem = Problem(405, "method_not_allowed", "This path is only read: use GET or HEAD.")
            return self._problem(asked, problem, {"Allow": "GET, HEAD"})
        return self._problem(asked, not_found())

    async def failed(self, asked: Asked, error: Exception) -> Response:
        """The index cannot be read: it is being built again, say."""
        _LOG.warning("%s", error)
        return self._problem(asked, unavailable())

    def fail(self, asked: Asked, problem: Problem) -> Response:
        return self._problem(asked, problem)

    def _problem(self, asked: Asked, problem: Problem, headers: Mapping[str, Any] | None = None) -> Response:
        told = {**problem.headers(), **(headers or {})}
        if _wants_page(asked):
            page = show_problem(problem, asked.query_params.get("q", "")[:LONGEST_QUERY], self._static)
            return Response(page.html, problem.status, told, _HTML)
        return Response(problem.json(), problem.status, told, _JSON)


def _wants_page(asked: Asked) -> bool:
    """People use browsers, which ask for HTML; the page itself is one whatever was asked for."""
    if asked.url.path.startswith("/v1/") or asked.url.path in ("/healthz", "/openapi.json"):
        return False
    return asked.url.path == "/search" or "text/html" in asked.headers.get("accept", "")
