"""The parameters of a search, from a URL: read strictly, so that a mistake is told and not guessed at.

Each has a schema, which the OpenAPI document publishes and which is all that is checked here: what fits is taken, what
does not is a `bad_parameter`. What a query says is never a mistake.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from lycosa.search.answer import DEEPEST, MOST_RESULTS, Request
from lycosa.service.problems import bad_parameter
from lycosa.web.dates import read_w3c_date

LONGEST_QUERY = 2_000  # characters
MOST_COMPLETIONS = 50
_DAY_S = 86_400
# Spans that reach back from now: a link to one of them stays right.
SPANS = {"day": _DAY_S, "week": 7 * _DAY_S, "month": 30 * _DAY_S, "year": 365 * _DAY_S}

_QUERY = {"type": "string", "maxLength": LONGEST_QUERY}
_DATE = {
    "type": "string",
    "anyOf": [{"enum": [*SPANS]}, {"format": "date"}, {"format": "date-time"}],
    "examples": ["week", "2026-01-31", "2026-01-31T12:00:00Z"],
}
_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d))?", re.ASCII | re.IGNORECASE)
_SITE = {
    "type": "string",
    "maxLength": 300,
    "pattern": r"^(\[[0-9a-f:.]*[0-9a-f][0-9a-f:.]*\]|_*[A-Za-z0-9][A-Za-z0-9._-]*)(/[!-~]*)?$",
    "examples": ["example.org", "example.org/docs"],
}
_LANGUAGE = {"type": "string", "pattern": r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})?$", "examples": ["en"]}
_SWITCH = {"type": "string", "enum": ["0", "1", "true", "false"], "default": "0"}


def _whole(least: int, most: int, default: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": least, "maximum": most, "default": default}


Parameters = Mapping[str, tuple[dict[str, Any], str]]  # by name: schema and meaning

SEARCH: Parameters = {
    "q": (_QUERY, 'The query: words, "phrases", -without, OR, site:, intitle:, inurl:, lang:, after:, before:.'),
    "limit": (_whole(1, MOST_RESULTS, 10), "Results to answer with."),
    "offset": (_whole(0, DEEPEST, 0), "Results to leave out from the top."),
    "fold": (_whole(0, DEEPEST, 2), "Results of one host before others are preferred; 0 shows every copy."),
    "site": (_SITE, "Only this host and those below it, perhaps only below a path."),
    "lang": (_LANGUAGE, "Only pages in this language."),
    "after": (_DATE, "Only pages fetched from this moment on; a word is a span up to now."),
    "before": (_DATE, "Only pages fetched before this moment."),
    "explain": (_SWITCH, "Say of each result where its score comes from."),
}
# The page is asked by people, who are not to be lectured: of a longer query it takes the beginning.
PAGE: Parameters = {**SEARCH, "q": ({"type": "string"}, SEARCH["q"][1])}
COMPLETE: Parameters = {
    "q": (_QUERY, "How the query begins."),
    "limit": (_whole(1, MOST_COMPLETIONS, 8), "Completions to answer with."),
}
_REMEDIES = {
    "q": f"give the query as q, of at most {LONGEST_QUERY:,} characters",
    "site": "write a host like example.org, perhaps with a path",
    "lang": "write a code like en",
    "after": "write a date like 2026-01-31, or day, week, month or year",
    "before": "write a date like 2026-01-31, or day, week, month or year",
    "explain": "write 1 or 0",
}


def read_search(given: Mapping[str, str], now: float) -> Request:
    """A search from its parameters; empty ones, as a form sends them, are as good as none."""
    told = _read(given, SEARCH)
    return Request(
        query=told["q"],
        limit=told["limit"],
        offset=told["offset"],
        fold=told["fold"],
        explain=told["explain"] in ("1", "true"),
        site=told["site"],
        language=told["lang"],
        after=_moment("after", told["after"], now),
        before=_moment("before", told["before"], now),
    )


def read_completion(given: Mapping[str, str]) -> tuple[str, int]:
    told = _read(given, COMPLETE)
    return told["q"], told["limit"]


def _read(given: Mapping[str, str], known: Parameters) -> dict[str, Any]:
    if "q" not in given:
        raise bad_parameter("The parameter q is missing: give the query as q.")
    return {name: _value(name, given.get(name, ""), schema) for name, (schema, _) in known.items()}


def _value(name: str, text: str, schema: Mapping[str, Any]) -> Any:
    if not text:
        return schema.get("default", "")
    if schema["type"] == "integer":
        number = int(text) if re.fullmatch(r"-?[0-9]{1,9}", text) else None
        if number is None or not schema["minimum"] <= number <= schema["maximum"]:
            least, most = schema["minimum"], schema["maximum"]
            raise bad_parameter(f"{name} is no number that can be used: write one from {least} to {most}.")
        return number
    fits = len(text) <= schema.get("maxLength", 100) and text in schema.get("enum", [text])
    if not fits or ("pattern" in schema and not re.fullmatch(schema["pattern"], text)):
        raise bad_parameter(f"{name} cannot be used: {_REMEDIES[name]}.")
    return text


def _moment(name: str, text: str, now: float) -> float | None:
    if not text:
        return None
    if text in SPANS:
        # A whole minute, so that the same question within it is the same question.
        return float((now - SPANS[text]) // 60 * 60)
    moment = read_w3c_date(text) if _RFC_3339.fullmatch(text) else None
    if moment is None:
        raise bad_parameter(f"{name} cannot be used: {_REMEDIES[name]}.")
    return moment
