"""The service without a socket: who is answered what."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from typing import Any

import msgspec
import pytest
from starlette.applications import Starlette

from lycosa.errors import LycosaError
from lycosa.search.answer import DEEPEST, MOST_RESULTS, Answer, Facet, Facets, Request, Result
from lycosa.service.app import Served, make_app
from lycosa.service.guard import HEADERS
from lycosa.service.workers import Workers
from tests.asking import Reply, ask, asked

NOW = 1_800_000_000.0


class Library:
    """Fulfils `Answering`: has 25 pages for every question, and remembers the questions."""

    generation = 7
    pages = 25

    def __init__(self, **about: Any) -> None:
        self.asked: list[Request] = []
        self.about = about

    def search(self, request: Request) -> Answer:
        self.asked.append(request)
        results = [self.result(number) for number in range(request.offset, min(25, request.offset + request.limit))]
        facets = Facets([Facet("a.example", 20), Facet("b.example", 5)], [Facet("de", 3)], [Facet("week", 25)])
        more = request.offset + request.limit < 25
        return Answer(query=request.query, total=25, took_ms=1.0, results=results, facets=facets, more=more)

    def result(self, number: int) -> Result:
        told = {"url": f"http://a.example/{number}", "title": f"Page {number}", "snippet": "Some text.", **self.about}
        return Result(score=1.0, host="a.example", fetched_at=NOW, language="en", **told)

    def complete(self, prefix: str, limit: int = 8) -> list[str]:
        return [f"{prefix}{number}" for number in range(limit)]


class Fresh:
    """Fulfils `Upkeep`."""

    def __init__(self, lag_s: float | None = 0.0, healthy: bool = True) -> None:
        self._lag_s, self._healthy = lag_s, healthy

    def lag_s(self) -> float | None:
        return self._lag_s

    def is_healthy(self) -> bool:
        return self._healthy


def app_of(library: Any = None, upkeep: Fresh | None = None, **more: Any) -> Starlette:
    workers = more.pop("workers", None) or Workers(1)
    return make_app(Served(library or Library(), upkeep or Fresh(), workers, now=lambda: NOW, **more))


def error_of(reply: Reply) -> str:
    assert reply.headers["content-type"] == "application/json"
    told = reply.json()
    assert set(told) == {"error"}
    assert set(told["error"]) == {"code", "message"}
    assert told["error"]["message"].endswith(".")
    return str(told["error"]["code"])


def test_search_answers_what_the_engine_answers() -> None:
    library = Library()
    reply = asked(app_of(library), "/v1/search?q=wolf+spider&limit=3&offset=6&fold=0&site=a.example&lang=en&explain=1")
    assert reply.status == 200
    [request] = library.asked
    assert request == Request(
        query="wolf spider", limit=3, offset=6, fold=0, explain=True, site="a.example", language="en"
    )
    assert reply.json() == json.loads(msgspec.json.encode(library.search(request)))


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("1970-01-02", 86_400.0),
        ("1970-01-02T01:00:00Z", 90_000.0),
        ("1970-01-02t01:00:00.5%2B01:00", 86_400.0),
        ("day", NOW - 86_400),
        ("week", NOW - 7 * 86_400),
        ("", None),
    ],
)
def test_dates(text: str, moment: float | None) -> None:
    library = Library()
    assert asked(app_of(library), f"/v1/search?q=a&after={text}&before={text}").status == 200
    assert library.asked[0].after == moment
    assert library.asked[0].before == moment


@pytest.mark.parametrize(
    "parameters",
    [
        "", "limit=3", "q=a&limit=0", f"q=a&limit={MOST_RESULTS + 1}", "q=a&limit=1.5", "q=a&limit=%D9%A3",
        "q=a&limit=1e1", "q=a&limit=99999999999999999999", "q=a&offset=-1", f"q=a&offset={DEEPEST + 1}", "q=a&fold=x",
        "q=a&explain=yes", "q=a&site=!", "q=a&site=a%20b", "q=a&site=a.example%0A", "q=a&site=" + "a" * 301,
        "q=a&lang=english", "q=a&after=yesterday", "q=a&after=2026", "q=a&before=2026-02-30",
        "q=a&before=2026-01-01T25:00:00Z", "q=" + "a" * 2_001,
    ],
)  # fmt: skip
def test_a_parameter_that_cannot_be_used_is_told(parameters: str) -> None:
    library = Library()
    reply = asked(app_of(library), f"/v1/search?{parameters}")
    assert reply.status == 400
    assert error_of(reply) == "bad_parameter"
    assert not library.asked


@pytest.mark.parametrize("query", ["%00", "%FF%FE", "%22((", "-", "OR", "%F0%9F%95%B7", "%0A", "a%26b%3Dc", ""])
def test_whatever_a_query_says_is_answered(query: str) -> None:
    for path in ("/v1/search", "/search", "/v1/complete"):
        assert asked(app_of(), f"{path}?q={query}").status == 200


def test_completion() -> None:
    told = asked(app_of(), "/v1/complete?q=ab&limit=2").json()
    assert told == {"query": "ab", "completions": ["ab0", "ab1"]}
    assert error_of(asked(app_of(), "/v1/complete?q=ab&limit=51")) == "bad_parameter"


def test_health_is_told_only_when_the_index_has_caught_up() -> None:
    reply = asked(app_of(), "/healthz")
    assert (reply.status, reply.json()) == (200, {"status": "ok", "pages": 25, "generation": 7, "lag_s": 0.0})
    for upkeep in (Fresh(None, healthy=False), Fresh(42.0, healthy=False)):
        reply = asked(app_of(upkeep=upkeep), "/healthz")
        assert (reply.status, error_of(reply)) == (503, "index_behind")
        assert reply.headers["retry-after"] == "2"


def test_nothing_is_told_to_programs_as_json_and_to_people_as_a_page() -> None:
    reply = asked(app_of(), "/nowhere", accept="*/*")
    assert asked(app_of(), "/search/").status == 404
    assert (reply.status, error_of(reply)) == (404, "not_found")
    assert asked(app_of(), "/v1/nowhere", accept="text/html").headers["content-type"] == "application/json"
    page = asked(app_of(), "/nowhere", accept="text/html,*/*;q=0.8")
    assert page.status == 404
    assert page.headers["content-type"].startswith("text/html")
    assert "<h1>Not found</h1>" in page.text


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_paths_are_only_read(method: str) -> None:
    reply = asked(app_of(), "/v1/search?q=a", method)
    assert (reply.status, error_of(reply)) == (405, "method_not_allowed")
    assert reply.headers["allow"] == "GET, HEAD"


def test_too_many_at_once_are_refused_and_those_before_them_answered() -> None:
    going_on = threading.Event()

    class Slow(Library):
        def search(self, request: Request) -> Answer:
            assert going_on.wait(20)
            return super().search(request)

    async def run() -> list[Reply]:
        workers = Workers(1, waiting=2)
        app = app_of(Slow(), workers=workers)
        waiting = [asyncio.ensure_future(ask(app, "/v1/search?q=a")) for _ in range(3)]
        while workers.under_way < 3:  # noqa: ASYNC110 there is nothing to wait for but the loop
            await asyncio.sleep(0)
        refused = [await ask(app, "/v1/search?q=b"), await ask(app, "/search?q=b")]
        assert (await ask(app, "/healthz")).status == 200
        going_on.set()
        return [*refused, *await asyncio.gather(*waiting), await ask(app, "/v1/search?q=c")]

    refused, page, *answered = asyncio.run(run())
    assert (refused.status, error_of(refused), refused.headers["retry-after"]) == (503, "overloaded", "1")
    assert (page.status, page.headers["retry-after"]) == (503, "1")
    assert [reply.status for reply in answered] == [200] * 4


def test_an_index_that_cannot_be_read_is_not_our_death() -> None:
    class Gone(Library):
        def search(self, request: Request) -> Answer:
            raise LycosaError("the index in /secret/place has gone")

    reply = asked(app_of(Gone()), "/v1/search?q=a")
    assert (reply.status, error_of(reply)) == (503, "index_unavailable")
    assert "secret" not in reply.text


def test_a_failure_of_ours_is_told_without_its_insides(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Library):
        def search(self, request: Request) -> Answer:
            raise RuntimeError("secret")

    with caplog.at_level(logging.ERROR):
        reply = asked(app_of(Broken()), "/v1/search?q=a")
        page = asked(app_of(Broken()), "/search?q=a")
    assert (reply.status, error_of(reply)) == (500, "internal")
    assert page.status == 500
    assert "secret" not in reply.text + page.text
    assert "secret" in caplog.text


@pytest.mark.parametrize("path", ["/", "/search", "/search?q=a", "/v1/search?q=a", "/v1/search", "/healthz", "/nope",
                                  "/static/style.css", "/openapi.json", "/robots.txt"])  # fmt: skip
def test_every_answer_has_the_headers_that_guard_browsers(path: str) -> None:
    reply = asked(app_of(), path)
    for name, value in HEADERS.items():
        assert reply.headers[name.lower()] == value
    assert reply.headers["cache-control"]
    policy = reply.headers["content-security-policy"]
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8080", 200), ("127.0.0.1", 200), ("[::1]:8080", 200), ("[::1]", 200), ("localhost:9", 200),
        ("me.localhost", 200), ("SEARCH.example:8080", 200), ("search.example.", 200), ("evil.example", 421),
        ("127.0.0.1.evil.example", 421), ("localhost.evil.example:80", 421), ("", 421),
    ],
)  # fmt: skip
def test_on_loopback_only_names_of_this_machine_are_answered(host: str, status: int) -> None:
    assert asked(app_of(names=["search.example"]), "/healthz", host=host).status == status
    assert asked(app_of(), "/healthz", host=host).status == 200


def test_static_files_are_kept_by_browsers_for_as_long_as_they_are_the_same() -> None:
    app = app_of()
    page = asked(app, "/search").text
    address = next(part for part in page.split('"') if part.startswith("/static/style.css?v="))
    reply = asked(app, address)
    assert reply.headers["content-type"] == "text/css; charset=utf-8"
    assert "immutable" in reply.headers["cache-control"]
    assert asked(app, address, if_none_match=reply.headers["etag"]).status == 304
    assert "immutable" not in asked(app, "/static/style.css?v=old").headers["cache-control"]
    for path in ("/static/", "/static/../app.py", "/static/%2e%2e", "/static/nothing.css"):
        assert asked(app, path).status == 404


def test_the_root_leads_to_the_page() -> None:
    reply = asked(app_of(), "/")
    assert (reply.status, reply.headers["location"]) == (307, "/search")


def test_openapi_describes_every_path_and_every_answer() -> None:
    app = app_of()
    told = asked(app, "/openapi.json").json()
    served = {route.path for route in app.routes if "{" not in route.path}  # type: ignore[attr-defined]
    assert set(told["paths"]) == served
    assert set(told["components"]["schemas"]) >= {"Answer", "Result", "Facets", "Completions", "Health", "Failure"}
    names = [each["name"] for each in told["paths"]["/v1/search"]["get"]["parameters"]]
    assert names == ["q", "limit", "offset", "fold", "site", "lang", "after", "before", "explain"]
    text = json.dumps(told)
    for name in {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}:
        assert name in told["components"]["schemas"]
