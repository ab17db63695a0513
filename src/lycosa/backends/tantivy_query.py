"""Queries of ours as queries of Tantivy.

They are built term by term, never parsed by Tantivy, so that a word that stands twice weighs twice and nothing a user
writes can be an error. A word is looked for in the form it has in each language of the index; the forms share one
document frequency, or the rarer languages would always win.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import tantivy
from tantivy import FieldType, Occur
from tantivy import Query as Q  # noqa: N817 it stands in every line

from lycosa.backends.tantivy_index import POSITIONS, analyser, has_stemmer
from lycosa.search.cjk import space_pairs
from lycosa.search.language import language_of
from lycosa.search.query import Group, Query, Term
from lycosa.search.stopwords import STOP_WORDS
from lycosa.search.weights import Weights

FIELDS = ("title", "headings", "url")  # beside the body
FEW_WORDS = 3  # so many are all required, if that finds enough
_MOST_LANGUAGES = 12  # whose forms of a word are tried
_NEAR = 2  # other words may stand between two that count as near
_MOST_PAIRED = 5_000  # pages that the rarer of two words is on, at most
Clause = tuple[Occur, Q]


class Token(NamedTuple):
    """A word of the query, and the form it has in each language."""

    word: str
    forms: tuple[str, ...]
    is_stop: bool


class Lexicon:
    """What words become, in the languages of an index."""

    def __init__(self, languages: Sequence[str]) -> None:
        self._main = next(iter(languages), "en")
        stemmed = [name for name in languages if has_stemmer(name)][:_MOST_LANGUAGES]
        plain = [""] if len(stemmed) < len(languages) or not languages else []
        # URLs and the words of links are stemmed as English, whatever the page is in.
        self.languages = tuple(dict.fromkeys(["en", *stemmed, *plain]))

    def tokens(self, text: str, stops: frozenset[str]) -> list[Token]:
        raw = space_pairs(text)
        words = analyser("").analyze(raw)
        # Accents tell stop words and forms apart, and `words` has lost them: where there are any, look at the text.
        spelt = words if raw.isascii() or len(plain := raw.lower().split()) != len(words) else plain
        return [
            Token(word, self.forms(said), said in stops or word in stops)
            for word, said in zip(words, spelt, strict=True)
        ]

    def forms(self, word: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys([stem(word, language) for language in self.languages]))

    def stops(self, query: Query) -> frozenset[str]:
        """The words that do not count in this query: those of its language, or else of most pages."""
        chosen = query.languages[0] if query.languages else language_of(query.words()) or self._main
        return STOP_WORDS.get(chosen, frozenset())


@lru_cache(8192)
def stem(word: str, language: str) -> str:
    found = analyser(language if has_stemmer(language) else "").analyze(word)
    return found[0] if len(found) == 1 else word


class Builder:
    """The queries that one question needs, of one state of the index."""

    def __init__(self, schema: tantivy.Schema, searcher: tantivy.Searcher, lexicon: Lexicon, query: Query) -> None:
        self._schema = schema
        self._searcher = searcher
        self._lexicon = lexicon
        self._query = query
        stops = lexicon.stops(query)
        self._tokens = {term: lexicon.tokens(term.text, stops) for group in query.wanted for term in group.choices}
        self.scored = self._count()

    def _count(self) -> Counter[Token]:
        """The words that score, with how often they stand there; stop words only if there are no others."""
        terms = [term for group in self._query.wanted for term in group.choices if term.where == "text"]
        tokens = [token for term in terms for token in self._tokens[term]]
        return Counter([token for token in tokens if not token.is_stop] or tokens)

    def words(self) -> list[Token]:
        """Every word that is searched for, wherever, each once."""
        tokens = dict.fromkeys([token for tokens in self._tokens.values() for token in tokens])
        return [token for token in tokens if not token.is_stop] or list(tokens)

    # -- what scores ---------------------------------------------------------------------------------------------------

    def text(self, weights: Weights, is_strict: bool) -> Q:
        """What gives pages their score, and which words they must have: phrases, and a few words if it is strict."""
        required: list[Q] = []
        optional: list[Q] = []
        done = set[Token]()
        for group in self._query.wanted:
            if len(group.choices) > 1 or group.choices[0].is_phrase:
                required.append(self._group(group, weights))
                continue
            for token in self._tokens[group.choices[0]]:
                if token in self.scored and token not in done:
                    done.add(token)
                    optional.append(self._word(token, self.scored[token], weights))
        if is_strict and len(optional) <= FEW_WORDS:
            required, optional = required + optional, []
        optional += self.pairs(weights.pair)
        if not required and not optional:
            return Q.const_score_query(Q.all_query(), 0.0)
        return Q.boolean_query(
            [*[(Occur.Must, each) for each in required], *[(Occur.Should, each) for each in optional]]
        )

    def _group(self, group: Group, weights: Weights) -> Q:
        parts: list[Q] = []
        for term in group.choices:
            if term.is_phrase or term.where != "text":
                parts.append(self._phrase(term, weights))
            else:
                parts += [self._word(token, 1, weights) for token in self._tokens[term]]
        return any_of(parts)

    def _word(self, token: Token, count: int, weights: Weights) -> Q:
        """One word: its score in the body, and the best of its scores elsewhere."""
        body = self.in_field("body", token, weights.body * count)
        chosen = [(name, getattr(weights, name)) for name in FIELDS]
        fields = [self.in_field(name, token, weight * count) for name, weight in chosen if weight]
        if not fields:
            return body
        return Q.boolean_query([(Occur.Should, body), (Occur.Should, Q.disjunction_max_query(fields, weights.tie))])

    def in_field(self, field: str, token: Token, boost: float) -> Q:
        found = [(form, self._searcher.doc_freq(field, form)) for form in token.forms]
        there = [(form, pages) for form, pages in found if pages]
        if not there:
            return Q.empty_query()
        wanted = self._idf(sum([pages for _, pages in there]))
        parts = [
            Q.boost_query(Q.term_query(self._schema, field, form, "position"), boost * wanted / self._idf(pages))
            for form, pages in there
        ]
        return parts[0] if len(parts) == 1 else Q.disjunction_max_query(parts)

    def _idf(self, pages: int) -> float:
        total = self._searcher.num_docs
        return math.log(1 + (total - min(pages, total) + 0.5) / (pages + 0.5))

    def _phrase(self, term: Term, weights: Weights) -> Q:
        """Words next to each other, stop words included, in any field or in one."""
        fields = ("body", *FIELDS) if term.where == "text" else (term.where,)
        parts = [Q.boost_query(self._exact(name, term.text), getattr(weights, name) or 0.1) for name in fields]
        return Q.disjunction_max_query(parts)

    def _exact(self, field: str, text: str) -> Q:
        """One phrase for each language, as all of its words are stemmed alike."""
        raw = space_pairs(text)
        phrases = {tuple(analyser(language).analyze(raw)) for language in self._lexicon.languages}
        return any_of([self._sequence(field, words) for words in sorted(phrases) if words])

    def _sequence(self, field: str, words: Sequence[str]) -> Q:
        if len(words) == 1:
            return Q.term_query(self._schema, field, words[0], "position")
        return Q.phrase_query(self._schema, field, list(words))

    def pairs(self, weight: float) -> list[Q]:
        """Neighbours of the query, near each other in the body."""
        if not weight:
            return []
        terms = [group.choices[0] for group in self._query.wanted if len(group.choices) == 1]
        plain = [term for term in terms if term.where == "text" and not term.is_phrase]
        words = [token.forms[0] for term in plain for token in self._tokens[term] if not token.is_stop]
        made = []
        for one, other in pairwise(words):
            # Two words that are on every other page are near each other on most: that says little and costs much.
            rarer = min(self._searcher.doc_freq("body", one), self._searcher.doc_freq("body", other))
            if one != other and 0 < rarer <= _MOST_PAIRED:
                near = Q.phrase_query(self._schema, "body", [one, other], slop=_NEAR)
                made.append(Q.boost_query(near, weight))
        return made

    # -- what only narrows ---------------------------------------------------------------------------------------------

    def filters(self) -> list[Clause]:
        query = self._query
        made: list[Clause] = [(Occur.MustNot, self._term("key", POSITIONS))]
        if query.sites:
            made.append(_filter(any_of([self._site(site) for site in query.sites])))
        if query.languages:
            made.append(_filter(any_of([self._term("language", name) for name in query.languages])))
        if query.after is not None or query.before is not None:
            lower = max(0, math.ceil(query.after)) if query.after is not None else None
            upper = max(0, math.ceil(query.before) - 1) if query.before is not None else None
            made.append(_filter(Q.range_query(self._schema, "fetched_at", FieldType.Unsigned, lower, upper)))
        made += [(Occur.MustNot, self._site(site)) for site in query.unwanted_sites]
        for term in query.unwanted:
            fields = ("title", "headings", "body") if term.where == "text" else (term.where,)
            made += [(Occur.MustNot, self._exact(name, term.text)) for name in fields]
        return made

    def _term(self, field: str, value: str) -> Q:
        return Q.term_query(self._schema, field, value, "basic")

    def _site(self, site: str) -> Q:
        host, _, path = site.partition("/")
        words = analyser("en").analyze(path)
        if not words:
            return self._term("site", host)
        below = self._sequence("url", words)
        return Q.boolean_query([(Occur.Must, self._term("site", host)), (Occur.Must, below)])


def any_of(queries: Sequence[Q]) -> Q:
    if not queries:
        return Q.empty_query()
    return queries[0] if len(queries) == 1 else Q.boolean_query([(Occur.Should, each) for each in queries])


def _filter(query: Q) -> Clause:
    return Occur.Must, Q.const_score_query(query, 0.0)  # a filter that is no constant would add to the score
