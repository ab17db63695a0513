"""The whole way from a question to its answer.

    read the query ▸ the index finds the best few hundred ▸ signals and weights order them ▸ copies and hosts are folded
    ▸ what is shown is read and cut to snippets

Answers are kept until the index or the ranks change. Safe to call from several threads: a question works on one view of
the index, whatever is committed meanwhile.
"""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from functools import partial
from threading import Lock
from typing import Any, NamedTuple

import msgspec
import numpy as np

from lycosa.ports import Ranks
from lycosa.search.answer import DEEPEST, MOST_RESULTS, Answer, Facet, Facets, Request, Result
from lycosa.search.fold import Folded, Page, fold
from lycosa.search.index import Candidates, Floats, Reader, Stored, Term, View
from lycosa.search.language import read_code
from lycosa.search.query import LONGEST, Query, read_query, read_site
from lycosa.search.rank import Asked, explained, scores, signals
from lycosa.search.snippet import highlight, make_snippet
from lycosa.search.suggest import Vocabulary, complete, suggest
from lycosa.search.weights import SHIPPED, Weights

_KEPT = 512  # answers
_VOCABULARY_S = 60.0  # how long a vocabulary is good enough
_FEW = 3  # results at which one asks whether something else was meant
_MOST_FACETS = 10
_DAY_S = 86_400.0
_SPANS = (("day", _DAY_S), ("week", 7 * _DAY_S), ("month", 30 * _DAY_S), ("year", 365 * _DAY_S))


def _no_ranks() -> Ranks | None:
    return None


class _Ranked(NamedTuple):
    query: Query
    found: Candidates
    total: int
    score: Floats
    told: dict[str, Floats]
    folded: Folded


class Search:
    """Fulfils `Answering`. `ranks` is asked with every question, so that new ones count at once."""

    def __init__(
        self,
        reader: Reader,
        ranks: Callable[[], Ranks | None] = _no_ranks,
        weights: Weights = SHIPPED,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._reader = reader
        self._ranks = ranks
        self._weights = weights
        self._now = now
        self._lock = Lock()
        self._kept: OrderedDict[tuple[Any, ...], Answer] = OrderedDict()
        self._vocabulary: tuple[float, Vocabulary] | None = None
        self._hosts: dict[int, str] = {}

    @property
    def generation(self) -> int:
        return self._reader.view().generation

    @property
    def pages(self) -> int:
        return self._reader.view().pages

    def complete(self, prefix: str, limit: int = 8) -> list[str]:
        return complete(self._reader.view(), prefix, min(max(0, limit), 50))

    def search(self, request: Request) -> Answer:
        began = time.perf_counter()
        view, ranks = self._reader.view(), self._ranks()
        asked = _bounded(request)
        # The minute, because answers depend on the time a little: what is fresh, and what is no longer available.
        mark = (view.generation, ranks, int(self._now() // 60), asked)
        with self._lock:
            kept = self._kept.get(mark)
        answer = kept if kept is not None else self._answer(view, ranks, asked)
        with self._lock:
            self._kept[mark] = answer
            self._kept.move_to_end(mark)
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        took_ms = round((time.perf_counter() - began) * 1000, 3)
        return msgspec.structs.replace(answer, took_ms=took_ms, query=request.query)

    def _answer(self, view: View, ranks: Ranks | None, request: Request) -> Answer:
        query = _narrowed(read_query(request.query), request)
        if query.is_empty:
            return Answer(query=request.query, total=0, took_ms=0.0, results=[], generation=view.generation)
        terms = view.terms(query)
        ranked = self._rank(view, ranks, query, terms, request)
        shown = ranked.folded.places
        kept = view.stored([ranked.found.handles[place] for place in shown])
        results = [
            self._result(view, ranked, place, stored, terms, request) for place, stored in zip(shown, kept, strict=True)
        ]
        return Answer(
            query=request.query,
            total=ranked.total,
            took_ms=0.0,
            results=results,
            facets=self._facets(view, ranked.found),
            suggestion=self._suggestion(view, request.query, query, terms, ranked.total),
            more=ranked.folded.more,
            generation=view.generation,
        )

    def _rank(self, view: View, ranks: Ranks | None, query: Query, terms: list[Term], request: Request) -> _Ranked:
        total, found = view.find(query, self._weights, DEEPEST)
        now = self._now()
        asked = Asked([term.word for term in terms], view.title_hash(query.words()))
        told = signals(found, asked, ranks, now)
        score = scores(found.text, told, self._weights)
        if not query.wanted:  # nothing to match: what is important and new comes first
            score = scores(np.ones(len(score)), told, self._weights)
        order = [int(place) for place in np.lexsort((found.hosts, -score)) if found.until[place] > now][:DEEPEST]
        folded = fold(order, found.hosts, found.simhash, request.fold, Page(request.offset, request.limit))
        return _Ranked(query, found, total, score, told, folded)

    def _result(
        self, view: View, ranked: _Ranked, place: int, stored: Stored, terms: list[Term], request: Request
    ) -> Result:
        stem = partial(view.stem, language=stored.language)
        snippet = make_snippet(stored.text, terms, stem, stored.snippet_limit)
        title = " ".join(stored.title.split())
        why = None
        if request.explain:
            fields = view.explain(ranked.query, self._weights, ranked.found.handles[place])
            why = explained(place, fields, float(ranked.found.text[place]), ranked.told, self._weights)
        return Result(
            url=stored.url,
            title=title,
            snippet=snippet.text,
            score=round(float(ranked.score[place]), 6),
            host=stored.host,
            fetched_at=stored.fetched_at,
            language=stored.language,
            highlights=snippet.highlights,
            title_highlights=highlight(title, terms, stem),
            also=ranked.folded.also.get(place, 0),
            explain=why,
        )

    # -- beside the results --------------------------------------------------------------------------------------------

    def _facets(self, view: View, found: Candidates) -> Facets:
        age = self._now() - found.fetched_at
        hosts = Counter([int(host) for host in found.hosts]).most_common(_MOST_FACETS)
        names = self._names(view, found, [host for host, _ in hosts])
        languages = Counter([language for language in found.languages if language]).most_common(_MOST_FACETS)
        return Facets(
            hosts=[Facet(names[host], count) for host, count in hosts],
            languages=[Facet(language, count) for language, count in languages],
            dates=[Facet(name, int((age <= span).sum())) for name, span in _SPANS if len(age)],
        )

    def _names(self, view: View, found: Candidates, hosts: list[int]) -> dict[int, str]:
        """Hosts stand in columns as hashes; one page of each says its name."""
        unknown = [host for host in hosts if host not in self._hosts]
        if unknown:
            first = {int(host): at for at, host in reversed(list(enumerate(found.hosts)))}
            pages = view.stored([found.handles[first[host]] for host in unknown])
            if len(self._hosts) > 100_000:
                self._hosts = {}
            self._hosts.update({host: page.host for host, page in zip(unknown, pages, strict=True)})
        return {host: self._hosts.get(host, "") for host in hosts}

    def _suggestion(self, view: View, text: str, query: Query, terms: list[Term], total: int) -> str | None:
        rare = [term.word for term in terms if not term.pages]
        if not rare or (total > _FEW and len(rare) < len(terms) and len(terms) > 3):
            return None
        now = self._now()
        if self._vocabulary is None or abs(now - self._vocabulary[0]) > _VOCABULARY_S:
            self._vocabulary = (now, Vocabulary.of(view))
        return suggest(text, query, rare, self._vocabulary[1])


def _bounded(request: Request) -> Request:
    """The same for requests that ask for the same."""
    return msgspec.structs.replace(
        request,
        query=" ".join(request.query[:LONGEST].split()),
        limit=min(max(1, request.limit), MOST_RESULTS),
        offset=min(max(0, request.offset), DEEPEST),
        fold=max(0, request.fold),
    )


def _narrowed(query: Query, request: Request) -> Query:
    """The query with the filters of the request."""
    site, language = read_site(request.site), read_code(request.language)
    after = [moment for moment in (query.after, request.after) if moment is not None]
    before = [moment for moment in (query.before, request.before) if moment is not None]
    return msgspec.structs.replace(
        query,
        sites=(site,) if site else query.sites,
        languages=(language,) if language else query.languages,
        after=max(after) if after else None,
        before=min(before) if before else None,
    )
