"""Reading the index: what a query finds, as columns, and what is kept of pages to show them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

import msgspec
import numpy as np
import tantivy
import zstandard
from tantivy import Occur
from tantivy import Query as Q  # noqa: N817 it stands in every line

from lycosa.backends.tantivy_index import IndexTrouble, hash_words, is_current, open_part
from lycosa.backends.tantivy_query import FEW_WORDS, FIELDS, Builder, Clause, Lexicon, any_of, stem
from lycosa.search.index import Candidates, Found, Integers, Stored, Term
from lycosa.search.query import Query
from lycosa.search.weights import Weights

_ENOUGH = 10  # pages; with fewer, not all words are required
_MOST_ANCHORS = 30  # pages that gain by the words of links to them
_MANY = 100  # pages; with as many, none is missed that has not the words itself
_ADDED = 10  # the best of those, even if the page itself has not the words
_LOW = np.uint64(255)


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
        """The newest state; while the index is being built anew, the last one there was."""
        with self._lock:
            try:
                stamp = self._newest()
                if self._view is None or stamp != self._stamp:
                    self._view, self._stamp = self._load(stamp[0] // 1000), stamp
            except (ValueError, OSError) as error:
                if self._view is None:
                    raise IndexTrouble(
                        f"the index in {self._directory} cannot be read: lycosa index --rebuild makes it anew"
                    ) from error
            return self._view

    def _newest(self) -> tuple[int, int]:
        stat = (self._directory / "pages" / "meta.json").stat()
        return stat.st_mtime_ns, stat.st_ino

    def _load(self, written_us: int) -> TantivyView:
        self._pages.reload()
        self._anchors.reload()
        # Tantivy's own numbers begin again when an index is built anew; when it was committed never comes twice.
        return TantivyView(self._pages, self._anchors, written_us)


class TantivyView:
    """Fulfils `search.index.View`."""

    def __init__(self, pages: tantivy.Index, anchors: tantivy.Index, generation: int) -> None:
        self._schema, self._anchor_schema = pages.schema, anchors.schema
        self._searcher, self._anchor_searcher = pages.searcher(), anchors.searcher()
        self.generation = generation
        self.pages = max(0, self._searcher.num_docs - 1)  # one holds the positions
        found = self._searcher.terms_with_prefix("language", "")
        ordered = [name for name, _ in sorted(found, key=lambda each: -each[1])]
        self.languages = [name for name in ordered if name]
        self._lexicon = Lexicon(ordered)
        self._last: tuple[Query, Builder] | None = None

    # -- words ---------------------------------------------------------------------------------------------------------

    def stem(self, word: str, language: str) -> str:
        return stem(word, language)

    def title_hash(self, text: str) -> int:
        return hash_words(text)

    def terms(self, query: Query) -> list[Term]:
        return [
            Term(
                token.word, frozenset(token.forms), sum([self._searcher.doc_freq("body", each) for each in token.forms])
            )
            for token in self._builder(query).words()
        ]

    def words(self, prefix: str, limit: int) -> list[tuple[str, int]]:
        return self._searcher.terms_with_prefix("plain", prefix, limit=limit)

    def titles(self, prefix: str, limit: int) -> list[tuple[str, int]]:
        return self._searcher.terms_with_prefix("title_start", prefix, limit=limit)

    def _builder(self, query: Query) -> Builder:
        """The same for all parts of an answer, which ask one after the other."""
        last = self._last
        if last is None or last[0] != query:
            last = self._last = query, Builder(self._schema, self._searcher, self._lexicon, query)
        return last[1]

    # -- finding -------------------------------------------------------------------------------------------------------

    def find(self, query: Query, weights: Weights, limit: int) -> Found:
        """The best `limit` pages. Few words must all be there, unless hardly a page has them all."""
        build = self._builder(query)
        filters = build.filters()
        result = self._search(build.text(weights, is_strict=True), filters, limit)
        if _count(result) < _ENOUGH and len(query.wanted) > 1:
            result = self._search(build.text(weights, is_strict=False), filters, limit)
        hits = result.hits
        scores, handles = [score or 0.0 for score, _ in hits], [address for _, address in hits]
        total = _count(result)
        anchored = self._anchored(build) if weights.anchor and build.scored else {}
        keys = _keys(self._searcher, handles)
        missing = set(list(anchored)[:_ADDED]) - set(keys) if total < _MANY else ()
        if missing:
            named = Q.const_score_query(Q.term_set_query(self._schema, "key", [key.hex() for key in missing]), 0.0)
            loose: Clause = (Occur.Should, build.text(weights, is_strict=False))
            more = self._searcher.search(Q.boolean_query([(Occur.Must, named), loose, *filters]), len(missing)).hits
            scores += [score or 0.0 for score, _ in more]
            handles += [address for _, address in more]
            keys += _keys(self._searcher, [address for _, address in more])
            total = max(total, len(handles))
        text = np.array(scores, np.float64)
        if anchored:
            text += weights.anchor * np.array([anchored.get(key, 0.0) for key in keys])
        return Found(total, self._columns(handles, text, keys))

    def _search(self, text: Q, filters: list[Clause], limit: int) -> tantivy.SearchResult:
        return self._searcher.search(Q.boolean_query([(Occur.Must, text), *filters]), limit)

    def _anchored(self, build: Builder) -> dict[bytes, float]:
        """Pages that are linked to with words of the query, and how well those match."""
        parts: list[Clause] = []
        for token, count in build.scored.items():
            forms = [Q.term_query(self._anchor_schema, "text", form, "freq") for form in token.forms]
            parts.append((Occur.Should, Q.boost_query(any_of(forms), float(count))))
        least = len(parts) if len(parts) <= FEW_WORDS else (len(parts) + 1) // 2
        hits = self._anchor_searcher.search(Q.boolean_query(parts, least), _MOST_ANCHORS, count=False).hits
        keys = _keys(self._anchor_searcher, [address for _, address in hits])
        return dict(zip(keys, [score for score, _ in hits], strict=True))

    # -- what was found ------------------------------------------------------------------------------------------------

    def _columns(self, handles: list[Any], text: Any, keys: list[bytes]) -> Candidates:
        facts = self._numbers("facts", handles)
        return Candidates(
            handles=handles,
            text=text,
            keys=keys,
            hosts=np.array([int.from_bytes(key[:8], "big") for key in keys], np.uint64),
            fetched_at=self._numbers("fetched_at", handles).astype(np.float64),
            until=self._numbers("until", handles).astype(np.float64),
            simhash=self._numbers("simhash", handles),
            title=self._numbers("title_hash", handles),
            label=self._numbers("label", handles),
            quality=(facts >> np.uint64(16) & _LOW).astype(np.float64) / 255,
            spam=(facts >> np.uint64(8) & _LOW).astype(np.float64) / 255,
            is_home=(facts & np.uint64(1)).astype(np.float64),
            languages=[_language(number >> 24) for number in facts.tolist()],
        )

    def _numbers(self, field: str, handles: list[Any]) -> Integers:
        values = self._searcher.fast_field_values(field, handles) if handles else []
        return np.array(values, np.uint64)

    def stored(self, handles: Sequence[Any]) -> list[Stored]:
        unpack = zstandard.ZstdDecompressor().decompress
        return [
            msgspec.msgpack.decode(unpack(bytes(self._searcher.doc(handle).get_first("stored") or b"")), type=Stored)
            for handle in handles
        ]

    def explain(self, query: Query, weights: Weights, handle: Any) -> dict[str, float]:
        """What each field would add to the text score of one page, before weights and the choice of the best."""
        build = self._builder(query)
        told = {}
        for name in ("body", *FIELDS):
            parts = [build.in_field(name, token, float(count)) for token, count in build.scored.items()]
            told[name] = self._value(parts, handle)
        told["pair"] = self._value(build.pairs(1.0), handle)
        return told

    def _value(self, parts: list[Q], handle: Any) -> float:
        if not parts:
            return 0.0
        query = Q.boolean_query([(Occur.Should, part) for part in parts])
        try:
            return float(msgspec.json.decode(query.explain(self._searcher, handle).to_json())["value"])
        except ValueError:  # it does not match
            return 0.0


@lru_cache(256)
def _language(number: int) -> str:
    return (number & 0xFFFFFF).to_bytes(3, "big").rstrip(b"\0").decode("ascii", "replace")


def _keys(searcher: tantivy.Searcher, handles: list[Any]) -> list[bytes]:
    if not handles:
        return []
    halves = [np.array(searcher.fast_field_values(name, handles), np.uint64) for name in ("host", "rest")]
    joined = np.stack(halves, axis=1).astype(">u8").tobytes()
    return [joined[at : at + 16] for at in range(0, len(joined), 16)]


def _count(result: tantivy.SearchResult) -> int:
    return int(result.count)  # type: ignore[attr-defined]
