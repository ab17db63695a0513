"""A question to the index and its answer, as values: what the command line, the service and Python see of search.

Texts are plain: whoever shows them escapes them. Highlights are ranges of characters, end not included, and ascend.
`Answering` is all that a service needs; it may be called from several threads.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

MOST_RESULTS = 100  # of one answer
DEEPEST = 300  # results beyond this place are not ranked, so not shown


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked. Filters narrow the query as `site:`, `lang:`, `after:` and `before:` inside it do."""

    query: str
    limit: int = 10  # 1 to MOST_RESULTS
    offset: int = 0
    fold: int = 2  # results of one host before others are preferred; 0 shows every copy and every page of a host
    explain: bool = False
    site: str = ""
    language: str = ""
    after: float | None = None  # Unix time of the fetch
    before: float | None = None


class Signal(msgspec.Struct, frozen=True):
    """One reason for a score: contribution = what the score would lack without it."""

    name: str
    value: float
    weight: float
    contribution: float


class Result(msgspec.Struct, frozen=True, kw_only=True):
    url: str
    title: str
    snippet: str
    score: float
    host: str
    fetched_at: float  # Unix time
    language: str  # a code like `en`; empty if it is not known
    highlights: list[tuple[int, int]] = []  # of the snippet
    title_highlights: list[tuple[int, int]] = []
    also: int = 0  # more of the same: near copies and pages of the same host that were folded into this one
    explain: list[Signal] | None = None


class Facet(msgspec.Struct, frozen=True):
    """How many of the ranked results have a value; `value` is what the filter of the request takes."""

    value: str
    count: int


class Facets(msgspec.Struct, frozen=True):
    """Counted over the results that were ranked, at most DEEPEST, most frequent first."""

    hosts: list[Facet] = []
    languages: list[Facet] = []
    dates: list[Facet] = []  # `day`, `week`, `month`, `year`: fetched within; each holds those before it


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    query: str
    total: int  # pages that match, before folding
    took_ms: float
    results: list[Result]
    facets: Facets = Facets()
    suggestion: str | None = None  # the query as it was perhaps meant
    partial: bool = False  # part of the index did not answer
    more: bool = False  # is there a next page?
    generation: int = 0  # of the index: a later one may answer differently


class Answering(Protocol):
    """Whoever answers. Never raises for what a query says."""

    @property
    def generation(self) -> int: ...
    @property
    def pages(self) -> int:
        """How many pages the index has."""
        ...

    def search(self, request: Request) -> Answer: ...
    def complete(self, prefix: str, limit: int = 8) -> list[str]:
        """What a query that begins so may go on to be, likeliest first."""
        ...
