"""Reading the index: queries of ours as queries of Tantivy, and what they find as columns.

Queries are built term by term, never parsed by Tantivy, so that a word that stands twice weighs twice and nothing a
user writes can be an error. A word is looked for in the form it has in each language of the index; the forms share one
document frequency, or the rarer languages would always win.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import msgspec
import numpy as np
import tantivy
import zstandard
from tantivy import FieldType, Occur
from tantivy import Query as Q  # noqa: N817 it stands in every line

from lycosa.backends.tantivy_index import (
    POSITIONS,
    IndexTrouble,
    analyser,
    has_stemmer,
    hash_words,
    is_current,
    open_part,
)
from lycosa.search.cjk import space_pairs
from lycosa.search.index import Candidates, Found, Integers, Stored, Term
from lycosa.search.language import language_of
from lycosa.search.query import Group, Query
from lycosa.search.query import Term as Wanted
from lycosa.search.stopwords import STOP_WORDS
from lycosa.search.weights import Weights

_MOST_LANGUAGES = 12  # whose forms of a word are tried
_FEW_WORDS = 3  # so many are all required, if that finds enough
_ENOUGH = 10
_NEAR = 2  # other words may stand between two that count as near
_MOST_PAIRED = 5_000  # pages that the rarer of two words is on, at most
_MOST_ANCHORS = 30
_FIELDS = ("title", "headings", "url")
_FACTS = ("host", "rest", "fetched_at", "until", "simhash", "title_hash", "label", "facts")


class _Token(NamedTuple):
    """A word of the query: the form it has in each language, and how often it stands there."""

    word: str
    forms: tuple[str, ...]
    is_stop: bool


class TantivyReader:
    """Fulfils `search.index.Reader`. Safe to use from several threads."""

    def __init__(self, directory: Path) -> None:
        if not is_current(directory):
            raise IndexTrouble(f"there is no index in {directory}: lycosa index makes one")
        self._directory = directory
        self._pages = open_part(directory / "pages", None)
        self._anchors = open_part(directory / "anchors", None)
        self._stamp: Any = None
        self._lock = Lock()
        self._view: TantivyView | None = None

    def view(self) -> TantivyView:
        stamp = self._newest()
        with self._lock:
            if self._view is None or stamp != self._stamp:
                self._pages.reload()
                self._anchors.reload()
                self._stamp = stamp
                self._view = TantivyView(self._pages, self._anchors, self._generation())
            return self._view

    def _newest(self) -> tuple[int, int]:
        try:
            stat = (self._directory / "pages" / "meta.json").stat()
        except OSError as error:
            raise IndexTrouble(f"the index in {self._directory} has gone: lycosa index makes one") from error
        return stat.st_mtime_ns, stat.st_ino

    def _generation(self) -> int:
        try:
            told = msgspec.json.decode((self._directory / "pages" / "meta.json").read_bytes())
        except (OSError, msgspec.DecodeError) as error:
            raise IndexTrouble(
                f"the index in {self._directory} cannot be read: lycosa index --rebuild helps"
            ) from error
        return int(told.get("opstamp", 0))


class TantivyView:
    """Fulfils `search.index.View`."""

    def __init__(self, pages: tantivy.Index, anchors: tantivy.Index, generation: int) -> None:
        self._schema, self._anchor_schema = pages.schema, anchors.schema
        self._searcher, self._anchor_searcher = pages.searcher(), anchors.searcher()
        self.generation = generation
        self.pages = max(0, self._searcher.num_docs - 1)  # one holds the positions
        found = self._searcher.terms_with_prefix("language", "")
        self.languages = [name for name, _ in sorted(found, key=lambda each: -each[1]) if name]
        plain = [""] if any(not has_stemmer(name) for name, _ in found) else []
        stemmed = [name for name in self.languages if has_stemmer(name)][:_MOST_LANGUAGES]
        self._forms_in = list(dict.fromkeys(["en", *stemmed, *plain]))  # URLs and anchors are stemmed as English

    # -- words ---------------------------------------------------------------------------------------------------------

    def stem(self, word: str, language: str) -> str:
        return _stem(word, language if has_stemmer(language) else "")

    def title_hash(self, text: str) -> int:
        return hash_words(text)

    def terms(self, query: Query) -> list[Term]:
        tokens = [token for group in query.wanted for term in group.choices for token in self._tokens(term.text, query)]
        known = {token.word: token for token in tokens}
        chosen = [token for token in known.values() if not token.is_stop] or list(known.values())
        return [Term(token.word, frozenset(token.forms), self._pages_with(token.forms)) for token in chosen]

    def words(self, prefix: str, limit: int) -> list[tuple[str, int]]:
        return self._searcher.terms_with_prefix("plain", prefix, limit=limit)

    def titles(self, prefix: str, limit: int) -> list[tuple[str, int]]:
        return self._searcher.terms_with_prefix("title_start", prefix, limit=limit)

    def _tokens(self, text: str, query: Query) -> list[_Token]:
        stops = self._stops(query.words(), query.languages)
        words = analyser("").analyze(space_pairs(text))
        lowered = space_pairs(text).lower()
        is_stop = stops.__contains__
        # Accents tell stop words apart, and are gone from `words`: where there are any, look at the text itself.
        if not lowered.isascii() and len(plain := lowered.split()) == len(words):
            return [_Token(word, self._forms(raw), is_stop(raw)) for word, raw in zip(words, plain, strict=True)]
        return [_Token(word, self._forms(word), is_stop(word)) for word in words]

    def _stops(self, text: str, languages: Sequence[str]) -> frozenset[str]:
        """The words that do not count in this query: those of its language, or else of most pages."""
        chosen = languages[0] if languages else language_of(text) or (self.languages[0] if self.languages else "en")
        return STOP_WORDS.get(chosen, frozenset())

    def _forms(self, word: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys([_stem(word, language) for language in self._forms_in]))

    def _pages_with(self, forms: Iterable[str], field: str = "body") -> int:
        return sum(self._searcher.doc_freq(field, form) for form in forms)

    # -- queries -------------------------------------------------------------------------------------------------------

    def find(self, query: Query, weights: Weights, limit: int) -> Found:
        """The best `limit` pages. Few words must all be there, unless hardly a page has them all."""
        filters = self._filters(query)
        strict = self._text(query, weights, is_strict=True)
        result = self._searcher.search(_with(strict, filters), limit)
        if _count(result) < _ENOUGH and len(query.wanted) > 1:
            result = self._searcher.search(_with(self._text(query, weights, is_strict=False), filters), limit)
        scores = [score or 0.0 for score, _ in result.hits]
        handles = [address for _, address in result.hits]
        total = _count(result)
        anchored = self._anchored(query) if weights.anchor and query.wanted else {}
        keys = self._keys(handles)
        missing = anchored.keys() - set(keys)
        if missing:
            named = Q.const_score_query(Q.term_set_query(self._schema, "key", [key.hex() for key in missing]), 0.0)
            loose = (Occur.Should, self._text(query, weights, is_strict=False))
            more = self._searcher.search(Q.boolean_query([(Occur.Must, named), loose, *filters]), len(missing))
            scores += [score or 0.0 for score, _ in more.hits]
            handles += [address for _, address in more.hits]
            keys += self._keys([address for _, address in more.hits])
            total = max(total, len(handles))
        text = np.array(scores, np.float64)
        if anchored:
            text += weights.anchor * np.array([anchored.get(key, 0.0) for key in keys])
        return Found(total, self._columns(handles, text, keys))

    def _anchored(self, query: Query) -> dict[bytes, float]:
        """Pages that are linked to with words of the query."""
        tokens = self._scored(query)
        parts = [
            (Occur.Should, Q.boost_query(Q.term_query(self._anchor_schema, "text", form, "freq"), float(count)))
            for token, count in tokens.items()
            for form in token.forms
        ]
        few = len(tokens) if len(tokens) <= _FEW_WORDS else (len(tokens) + 1) // 2
        hits = self._anchor_searcher.search(Q.boolean_query(parts, few), _MOST_ANCHORS, count=False).hits
        places = [address for _, address in hits]
        return dict(zip(_join_keys(self._anchor_searcher, places), [score for score, _ in hits], strict=True))

    def _scored(self, query: Query) -> Counter[_Token]:
        """The words that score, with how often they stand there; stop words only if there are no others."""
        tokens = [
            token
            for group in query.wanted
            for term in group.choices
            if term.where == "text"
            for token in self._tokens(term.text, query)
        ]
        return Counter([token for token in tokens if not token.is_stop] or tokens)

    def _text(self, query: Query, weights: Weights, is_strict: bool) -> Q:
        """What gives pages their score, and which words they must have."""
        counts = self._scored(query)
        required: list[Q] = []
        optional: list[Q] = []
        done = set[_Token]()
        for group in query.wanted:
            if len(group.choices) > 1 or group.choices[0].is_phrase:
                required.append(self._group(group, query, weights))
                continue
            for token in self._tokens(group.choices[0].text, query):
                if token in counts and token not in done:
                    done.add(token)
                    optional.append(self._word(token, counts[token], weights))
        if is_strict and len(optional) <= _FEW_WORDS:
            required, optional = required + optional, []
        optional += self._pairs(query, weights)
        if not required and not optional:
            return Q.const_score_query(Q.all_query(), 0.0)
        return Q.boolean_query(
            [*[(Occur.Must, part) for part in required], *[(Occur.Should, part) for part in optional]]
        )

    def _group(self, group: Group, query: Query, weights: Weights) -> Q:
        parts: list[Q] = []
        for term in group.choices:
            if term.is_phrase or term.where != "text":
                parts.append(self._phrase(term, query, weights))
            else:
                parts += [self._word(token, 1, weights) for token in self._tokens(term.text, query)]
        return parts[0] if len(parts) == 1 else Q.boolean_query([(Occur.Should, part) for part in parts])

    def _word(self, token: _Token, count: int, weights: Weights) -> Q:
        """One word: its score in the body, and the best of its scores elsewhere."""
        body = self._forms_query("body", token.forms, weights.body * count)
        chosen = [(name, getattr(weights, name)) for name in _FIELDS]
        fields = [self._forms_query(name, token.forms, weight * count) for name, weight in chosen if weight]
        if not fields:
            return body
        best = Q.disjunction_max_query(fields, weights.tie)
        return Q.boolean_query([(Occur.Should, body), (Occur.Should, best)])

    def _forms_query(self, field: str, forms: Sequence[str], boost: float) -> Q:
        found = [(form, self._searcher.doc_freq(field, form)) for form in forms]
        there = [(form, pages) for form, pages in found if pages]
        if not there:
            return Q.empty_query()
        wanted = self._idf(sum(pages for _, pages in there))
        parts = [
            Q.boost_query(Q.term_query(self._schema, field, form, "position"), boost * wanted / self._idf(pages))
            for form, pages in there
        ]
        return parts[0] if len(parts) == 1 else Q.disjunction_max_query(parts)

    def _idf(self, pages: int) -> float:
        total = self._searcher.num_docs
        return math.log(1 + (total - min(pages, total) + 0.5) / (pages + 0.5))

    def _phrase(self, term: Wanted, query: Query, weights: Weights) -> Q:
        """Words next to each other, stop words included, in any field or in one."""
        fields = ("body", *_FIELDS) if term.where == "text" else (term.where,)
        return Q.disjunction_max_query(
            [Q.boost_query(self._exact(name, term.text, query), getattr(weights, name) or 0.1) for name in fields]
        )

    def _exact(self, field: str, text: str, query: Query) -> Q:
        """One phrase for each language, as all of its words are stemmed alike."""
        raw = space_pairs(text)
        phrases = {tuple(analyser(language).analyze(raw)) for language in self._forms_in}
        parts = []
        for words in phrases:
            if len(words) == 1:
                parts.append(Q.term_query(self._schema, field, words[0], "position"))
            elif words:
                parts.append(Q.phrase_query(self._schema, field, list(words)))
        if not parts:
            return Q.empty_query()
        return parts[0] if len(parts) == 1 else Q.disjunction_max_query(parts)

    def _pairs(self, query: Query, weights: Weights) -> list[Q]:
        """Neighbours of the query, near each other in the text."""
        if not weights.pair:
            return []
        texts = [group.choices[0] for group in query.wanted if len(group.choices) == 1]
        words = [
            token
            for term in texts
            if term.where == "text" and not term.is_phrase
            for token in self._tokens(term.text, query)
            if not token.is_stop
        ]
        pairs = []
        for first, second in pairwise(words):
            one, other = first.forms[0], second.forms[0]
            # Two words that are on every other page are near each other on most: that says little and costs much.
            rarer = min(self._searcher.doc_freq("body", one), self._searcher.doc_freq("body", other))
            if one != other and 0 < rarer <= _MOST_PAIRED:
                near = Q.phrase_query(self._schema, "body", [one, other], slop=_NEAR)
                pairs.append(Q.boost_query(near, weights.pair))
        return pairs

    # -- filters -------------------------------------------------------------------------------------------------------

    def _filters(self, query: Query) -> list[tuple[Occur, Q]]:
        made: list[tuple[Occur, Q]] = [(Occur.MustNot, self._term("key", POSITIONS))]
        if query.sites:
            made.append(_filter(_any([self._site(site) for site in query.sites])))
        if query.languages:
            made.append(_filter(_any([self._term("language", name) for name in query.languages])))
        if query.after is not None or query.before is not None:
            lower = max(0, math.ceil(query.after)) if query.after is not None else None
            upper = max(0, math.ceil(query.before) - 1) if query.before is not None else None
            made.append(_filter(Q.range_query(self._schema, "fetched_at", FieldType.Unsigned, lower, upper)))
        made += [(Occur.MustNot, self._site(site)) for site in query.unwanted_sites]
        for term in query.unwanted:
            fields = ("title", "headings", "body") if term.where == "text" else (term.where,)
            made += [(Occur.MustNot, self._exact(name, term.text, query)) for name in fields]
        return made

    def _term(self, field: str, value: str) -> Q:
        return Q.term_query(self._schema, field, value, "basic")

    def _site(self, site: str) -> Q:
        host, _, path = site.partition("/")
        words = analyser("en").analyze(path)
        if not words:
            return self._term("site", host)
        below = (
            Q.phrase_query(self._schema, "url", list(words))
            if len(words) > 1
            else Q.term_query(self._schema, "url", words[0], "position")
        )
        return Q.boolean_query([(Occur.Must, self._term("site", host)), (Occur.Must, below)])

    # -- what was found ------------------------------------------------------------------------------------------------

    def _keys(self, handles: list[Any]) -> list[bytes]:
        return _join_keys(self._searcher, handles)

    def _columns(self, handles: list[Any], text: Any, keys: list[bytes]) -> Candidates:
        facts = {name: self._numbers(name, handles) for name in _FACTS if name != "rest"}
        small = facts["facts"]
        return Candidates(
            handles=handles,
            text=text,
            keys=keys,
            hosts=facts["host"],
            fetched_at=facts["fetched_at"].astype(np.float64),
            until=facts["until"].astype(np.float64),
            simhash=facts["simhash"],
            title=facts["title_hash"],
            label=facts["label"],
            quality=((small >> np.uint64(16)) & np.uint64(255)).astype(np.float64) / 255,
            spam=((small >> np.uint64(8)) & np.uint64(255)).astype(np.float64) / 255,
            is_home=(small & np.uint64(1)).astype(np.float64),
            languages=[_language(int(number) >> 24) for number in small],
        )

    def _numbers(self, field: str, handles: list[Any]) -> Integers:
        values = self._searcher.fast_field_values(field, handles) if handles else []
        return np.array([value or 0 for value in values], np.uint64)

    def stored(self, handles: Sequence[Any]) -> list[Stored]:
        unpack = zstandard.ZstdDecompressor().decompress
        return [
            msgspec.msgpack.decode(unpack(bytes(self._searcher.doc(handle).get_first("stored") or b"")), type=Stored)
            for handle in handles
        ]

    def explain(self, query: Query, weights: Weights, handle: Any) -> dict[str, float]:
        """What each field adds to the text score of one page, before the best of them is chosen."""
        counts = self._scored(query)
        told = {}
        for name in ("body", *_FIELDS):
            parts = [self._forms_query(name, token.forms, float(count)) for token, count in counts.items()]
            told[name] = self._value(parts, handle)
        told["pair"] = self._value(self._pairs(query, msgspec.structs.replace(weights, pair=1.0)), handle)
        return told

    def _value(self, parts: list[Q], handle: Any) -> float:
        if not parts:
            return 0.0
        query = Q.boolean_query([(Occur.Should, part) for part in parts])
        try:
            return float(msgspec.json.decode(query.explain(self._searcher, handle).to_json())["value"])
        except ValueError:  # it does not match
            return 0.0


@lru_cache(4096)
def _stem(word: str, language: str) -> str:
    found = analyser(language).analyze(word)
    return found[0] if len(found) == 1 else word


@lru_cache(256)
def _language(number: int) -> str:
    return (number & 0xFFFFFF).to_bytes(3, "big").rstrip(b"\0").decode("ascii", "replace")


def _join_keys(searcher: tantivy.Searcher, handles: list[Any]) -> list[bytes]:
    if not handles:
        return []
    halves = zip(searcher.fast_field_values("host", handles), searcher.fast_field_values("rest", handles), strict=True)
    return [(int(host or 0) << 64 | int(rest or 0)).to_bytes(16, "big") for host, rest in halves]


def _count(result: tantivy.SearchResult) -> int:
    return int(result.count)  # type: ignore[attr-defined]


def _with(text: Q, filters: list[tuple[Occur, Q]]) -> Q:
    return Q.boolean_query([(Occur.Must, text), *filters])


def _filter(query: Q) -> tuple[Occur, Q]:
    return Occur.Must, Q.const_score_query(query, 0.0)  # a filter that is no constant would add to the score


def _any(queries: list[Q]) -> Q:
    return queries[0] if len(queries) == 1 else Q.boolean_query([(Occur.Should, each) for each in queries])
