"""The service described as OpenAPI 3.1: every path, every parameter, every answer.

Parameters and bodies are described by what the code itself reads and writes, so the two cannot part.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

import lycosa
from lycosa.service.parameters import COMPLETE, PAGE, SEARCH, Parameters
from lycosa.service.problems import Failure

_NAMED = "#/components/schemas/{name}"
_TROUBLE = {
    400: "A parameter cannot be used; the message says which.",
    421: "The service does not go by the name it was asked under.",
    503: "Not at present: ask again after the time that is told.",
}
_RETRY = {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer", "minimum": 1}}}
_HTML, _JSON, _TEXT = "text/html", "application/json", "text/plain"


class _Path(NamedTuple):
    path: str
    name: str
    summary: str
    body: type | None = None  # of an answer in JSON
    media_type: str = _JSON
    parameters: Parameters = MappingProxyType({})
    may_wait: bool = False  # may it answer 503?
    needs_query: bool = True


def describe(answer: type, completions: type, health: type) -> dict[str, Any]:
    """The document; given are the types of the answers."""
    search = _Path("/v1/search", "search", "Search the crawled pages.", answer, _JSON, SEARCH, True)
    paths = [
        search,
        _Path("/v1/complete", "complete", "How a query may go on.", completions, _JSON, COMPLETE, True),
        _Path("/healthz", "health", "Has the index caught up with the crawl?", health, may_wait=True),
        _Path("/search", "page", "The page for people.", None, _HTML, PAGE, True, needs_query=False),
        _Path("/openapi.json", "describe", "This document."),
        _Path("/robots.txt", "robots", "What robots may do here.", None, _TEXT),
    ]
    _, schemas = msgspec.json.schema_components([answer, completions, health, Failure], ref_template=_NAMED)
    info = {
        "title": "Lycosa",
        "version": lycosa.__version__,
        "description": "Search in crawled pages. Texts in answers are plain: whoever shows them escapes them.",
        "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
    }
    described = {path.path: {"get": _operation(path)} for path in paths}
    return {
        "openapi": "3.1.0",
        "info": info,
        "paths": {"/": {"get": _redirect()}, **described},
        "components": {"schemas": schemas},
    }


def _operation(path: _Path) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"} if path.media_type == _JSON else {"type": "string"}
    if path.body is not None:
        schema = {"$ref": _NAMED.format(name=path.body.__name__)}
    answer = {"description": "The answer.", "content": {path.media_type: {"schema": schema}}}
    codes = [*([400] if path.parameters else []), 421, *([503] if path.may_wait else [])]
    return {
        "operationId": path.name,
        "summary": path.summary,
        "parameters": [_parameter(name, path) for name in path.parameters],
        "responses": {"200": answer, **_troubles(codes, is_page=path.media_type == _HTML)},
    }


def _parameter(name: str, path: _Path) -> dict[str, Any]:
    schema, meaning = path.parameters[name]
    told = {"name": name, "in": "query", "required": name == "q" and path.needs_query, "description": meaning}
    return {**told, "allowEmptyValue": True, "schema": schema}


def _troubles(codes: Iterable[int], *, is_page: bool = False) -> dict[str, Any]:
    failure = {_JSON: {"schema": {"$ref": _NAMED.format(name=Failure.__name__)}}}
    content = {_HTML: {"schema": {"type": "string"}}} if is_page else failure
    told: dict[str, Any] = {str(code): {"description": _TROUBLE[code], "content": content} for code in codes}
    if "503" in told:
        told["503"] = {**told["503"], "headers": _RETRY}
    return told


def _redirect() -> dict[str, Any]:
    location = {"Location": {"description": "The page.", "schema": {"type": "string"}}}
    moved = {"307": {"description": "Leads to the page.", "headers": location}}
    return {"operationId": "root", "summary": "Leads to the page.", "responses": {**moved, **_troubles([421])}}
