"""The index on disk, in Tantivy: its form, and the one who writes it.

    DIR/VERSION         the form of all below; another one is rebuilt
    DIR/writer.lock     held by whoever writes
    DIR/pages/          a document a page, and one with the positions in the feeds
    DIR/anchors/        a document a page that is linked to: the words of those links, which change more often

A commit is atomic, and the positions are part of it, so a crash neither loses nor repeats a page. Anchors are committed
just before; taking them twice changes nothing. Tantivy is imported here and in `tantivy_view` alone.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import tantivy
import zstandard
from tantivy import Document, Filter, Query, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from lycosa.errors import LycosaError
from lycosa.search.anchors import MOST_TEXTS
from lycosa.search.cjk import space_pairs
from lycosa.search.index import Entry, Positions, Stored, hash_text
from lycosa.search.intake import sites_of

VERSION = "lycosa index 1\n"
POSITIONS = "positions"  # the key of the document that holds them
_STEMMERS = {
    "ar": "arabic", "da": "danish", "de": "german", "el": "greek", "en": "english", "es": "spanish", "fi": "finnish",
    "fr": "french", "hu": "hungarian", "it": "italian", "nl": "dutch", "no": "norwegian", "pt": "portuguese",
    "ro": "romanian", "ru": "russian", "sv": "swedish", "ta": "tamil", "tr": "turkish",
}  # fmt: skip
_LONGEST_TOKEN = 64
_SHOWN_BYTES = 32_000  # of the text, kept for snippets
_TITLE_START = 80  # characters, for completion
_NEVER = (1 << 63) - 1
_HEAP_BYTES = 60_000_000  # of a thread that keeps up with a crawl
_LARGE_HEAP_BYTES = 150_000_000  # of one that builds the whole: fewer segments to merge
_SMALL_HEAP_BYTES = 20_000_000
_UNSIGNED = ("host", "rest", "fetched_at", "until", "simhash", "title_hash", "label", "facts")


class IndexTrouble(LycosaError):
    """An index that cannot be read or written; building it again helps."""


class IndexBusy(LycosaError):
    """Another process writes the index."""


# -- what words become ------------------------------------------------------------------------------------------------


@cache
def analyser(language: str) -> TextAnalyzer:
    """Words of a language as the index has them: lower case, stemmed where there are rules for it, without accents."""
    made = TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.remove_long(_LONGEST_TOKEN)).filter(Filter.lowercase())
    if language in _STEMMERS and language != "en":
        made = made.filter(Filter.stemmer(_STEMMERS[language]))
    made = made.filter(Filter.ascii_fold())
    if language == "en":  # loan words lose their accents first
        made = made.filter(Filter.stemmer("english"))
    return made.build()


def has_stemmer(language: str) -> bool:
    return language in _STEMMERS


def _lowered() -> TextAnalyzer:
    return TextAnalyzerBuilder(Tokenizer.raw()).filter(Filter.lowercase()).build()


def hash_words(text: str) -> int:
    """The same for titles that differ in case, accents and punctuation only; 0 if there are no words."""
    return hash_text(" ".join(analyser("").analyze(text)))


# -- the form of the index --------------------------------------------------------------------------------------------


def page_schema() -> tantivy.Schema:
    made = tantivy.SchemaBuilder()
    for name in ("key", "canonical", "site", "language"):
        made.add_text_field(name, tokenizer_name="raw", index_option="basic")
    for name in ("title", "headings", "url", "body"):
        made.add_text_field(name, tokenizer_name="words", index_option="position")
    made.add_text_field("plain", tokenizer_name="plain", index_option="basic")
    made.add_text_field("title_start", tokenizer_name="lowered", index_option="basic")
    for name in _UNSIGNED:
        made.add_unsigned_field(name, fast=True)
    made.add_bytes_field("stored", stored=True)
    return made.build()


def anchor_schema() -> tantivy.Schema:
    made = tantivy.SchemaBuilder()
    made.add_text_field("key", tokenizer_name="raw", index_option="basic")
    made.add_text_field("text", tokenizer_name="words", index_option="freq")
    made.add_bytes_field("stored", stored=True)
    for name in ("host", "rest"):
        made.add_unsigned_field(name, fast=True)
    return made.build()


def open_part(directory: Path, schema: tantivy.Schema | None) -> tantivy.Index:
    """A part of the index; with a schema it is made if it is not there."""
    try:
        if schema is not None:
            directory.mkdir(parents=True, exist_ok=True)
            index = tantivy.Index(schema, path=str(directory))
        else:
            index = tantivy.Index.open(str(directory))
    except (ValueError, OSError) as error:
        raise IndexTrouble(
            f"the index in {directory.parent} cannot be read: lycosa index --rebuild makes it anew"
        ) from (error)
    # Tantivy keeps the names of analysers, not what they do.
    for name, made in (("words", analyser("en")), ("plain", analyser("")), ("lowered", _lowered())):
        index.register_tokenizer(name, made)
    return index


def is_current(directory: Path) -> bool:
    """Is there an index, of the form that this version reads?"""
    try:
        return (directory / "VERSION").read_text() == VERSION
    except (OSError, UnicodeDecodeError):
        return False


# -- writing ----------------------------------------------------------------------------------------------------------


@contextmanager
def writing(directory: Path) -> Iterator[None]:
    """Hold the right to write; `IndexBusy` if somebody else does."""
    directory.mkdir(parents=True, exist_ok=True)
    lock = os.open(directory / "writer.lock", os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise IndexBusy(f"another process writes the index in {directory}: wait for its end") from None
        yield
    finally:
        os.close(lock)


def clear(directory: Path) -> None:
    """Remove the index; whoever does holds the right to write."""
    for part in ("VERSION", "pages", "anchors"):
        path = directory / part
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


class IndexWriter:
    """Fulfils `search.index.Writer`. The caller holds `writing(directory)`."""

    def __init__(self, directory: Path, threads: int = 1) -> None:
        if not is_current(directory):
            clear(directory)
        self._pages = open_part(directory / "pages", page_schema())
        self._anchors = open_part(directory / "anchors", anchor_schema())
        (directory / "VERSION").write_text(VERSION)
        self._compress = zstandard.ZstdCompressor(level=3, write_content_size=True).compress
        try:
            heap = _HEAP_BYTES if threads == 1 else _LARGE_HEAP_BYTES * threads
            self._writer = self._pages.writer(heap, threads)
            self._anchor_writer = self._anchors.writer(_SMALL_HEAP_BYTES, 1)
        except ValueError as error:
            raise IndexTrouble(f"the index in {directory} cannot be written: {error}") from error
        self._reload()
        self.positions = _positions(self._pages)
        self._recent: set[bytes] = set()  # put since the last commit
        self._has_new_anchors = False

    def put(self, entry: Entry) -> None:
        self._delete(entry.key)
        self._writer.delete_documents_by_term("canonical", entry.key.hex())
        self._writer.add_document(self._document(entry))
        self._recent.add(entry.key)

    def remove(self, key: bytes) -> None:
        self._delete(key)
        self._recent.discard(key)

    def has(self, key: bytes) -> bool:
        if key in self._recent:
            return True
        query = Query.term_query(self._pages.schema, "key", key.hex(), "basic")
        return bool(self._searcher.search(query, 1).hits)

    def add_anchors(self, anchors: Mapping[bytes, Sequence[str]]) -> None:
        for key, texts in anchors.items():
            name = key.hex()
            known = self._known_anchors(name)
            fresh = [text for text in texts if text not in known][: max(0, MOST_TEXTS - len(known))]
            if not fresh:
                continue
            said = [*known, *fresh]
            document = Document()
            document.add_text("key", name)
            document.add_text("text", space_pairs("\n".join(said)))
            document.add_bytes("stored", "\n".join(said).encode("utf-8", "replace"))
            document.add_unsigned("host", int.from_bytes(key[:8], "big"))
            document.add_unsigned("rest", int.from_bytes(key[8:], "big"))
            if known:
                self._anchor_writer.delete_documents_by_term("key", name)
            self._anchor_writer.add_document(document)
            self._has_new_anchors = True

    def commit(self, positions: Positions) -> None:
        """After this, all that was put is found, and `positions` are where to go on."""
        try:
            if self._has_new_anchors:
                self._anchor_writer.commit()
                self._has_new_anchors = False
            self._writer.delete_documents_by_term("key", POSITIONS)
            noted = Document()
            noted.add_text("key", POSITIONS)
            noted.add_bytes("stored", msgspec.msgpack.encode(positions))
            self._writer.add_document(noted)
            self._writer.commit()
        except (ValueError, OSError) as error:
            raise IndexTrouble(f"the index cannot be written: {error}; make room and start again") from error
        self.positions = dict(positions)
        self._recent.clear()
        self._reload()

    def close(self) -> None:
        """Let merges end that are under way; what was not committed is dropped."""
        self._writer.rollback()
        for writer in (self._writer, self._anchor_writer):
            writer.wait_merging_threads()

    def _reload(self) -> None:
        for index in (self._pages, self._anchors):
            index.reload()
        self._searcher = self._pages.searcher()
        self._anchor_searcher = self._anchors.searcher()

    def _known_anchors(self, name: str) -> list[str]:
        if not self._anchor_searcher.doc_freq("key", name):
            return []
        hits = self._anchor_searcher.search(Query.term_query(self._anchors.schema, "key", name, "basic"), 1).hits
        return _stored(self._anchor_searcher, hits[0][1]).decode().split("\n") if hits else []

    def _delete(self, key: bytes) -> None:
        self._writer.delete_documents_by_term("key", key.hex())

    def _document(self, entry: Entry) -> Document:
        document = Document()
        document.add_text("key", entry.key.hex())
        if entry.canonical:
            document.add_text("canonical", entry.canonical.hex())
        for site in sites_of(entry.host):
            document.add_text("site", site)
        document.add_text("language", entry.language)
        for name, text in (("title", entry.title), ("headings", entry.headings), ("body", entry.body)):
            _add_words(document, name, text, entry.language)
        document.add_text("url", entry.url.partition("://")[2])
        document.add_text("plain", f"{entry.title}\n{entry.headings}")
        document.add_text("title_start", entry.title[:_TITLE_START])
        stored, repetition = self._stored(entry)
        document.add_bytes("stored", stored)
        numbers = (
            int.from_bytes(entry.key[:8], "big"),
            int.from_bytes(entry.key[8:], "big"),
            int(entry.fetched_at),
            int(entry.until) if entry.until is not None else _NEVER,
            entry.simhash,
            hash_words(entry.title),
            hash_text(entry.label),
            _facts(entry, repetition),
        )
        for name, number in zip(_UNSIGNED, numbers, strict=True):
            document.add_unsigned(name, number)
        return document

    def _stored(self, entry: Entry) -> tuple[bytes, float]:
        """What is kept to show the page, compressed, and how much of it repeats."""
        text = entry.body.encode("utf-8", "replace")[:_SHOWN_BYTES].decode("utf-8", "ignore")
        kept = Stored(entry.url, entry.host, entry.title, text, entry.language, entry.fetched_at, entry.snippet_limit)
        plain = msgspec.msgpack.encode(kept)
        packed = self._compress(plain)
        return packed, 1.0 - len(packed) / len(plain) if len(plain) > 2_000 else 0.0


def _add_words(document: Document, field: str, text: str, language: str) -> None:
    if not text:
        return
    words = space_pairs(text)
    if language == "en":  # Tantivy's threads do this themselves
        document.add_text(field, words)
    else:
        document.add_pre_tokenized_text(field, analyser(language).pre_tokenize(words))


def _facts(entry: Entry, repetition: float) -> int:
    """Small things in one number: language in 3 bytes, then quality, spam, and whether it is a front page."""
    language = int.from_bytes(entry.language[:3].encode("ascii", "ignore").ljust(3, b"\0"), "big")
    count = len(entry.body)
    quality = min(1.0, count / 1_500) * (1.0 if entry.title else 0.7)
    spam = min(1.0, max(0.0, (repetition - 0.93) / 0.06))
    return language << 24 | int(quality * 255) << 16 | int(spam * 255) << 8 | entry.is_home


def read_positions(directory: Path) -> Positions:
    """Up to where the index has the feeds."""
    return _positions(open_part(directory / "pages", None))


def _positions(pages: tantivy.Index) -> Positions:
    searcher = pages.searcher()
    hits = searcher.search(Query.term_query(pages.schema, "key", POSITIONS, "basic"), 1).hits
    return msgspec.msgpack.decode(_stored(searcher, hits[0][1]), type=Positions) if hits else {}


def _stored(searcher: tantivy.Searcher, address: Any) -> bytes:
    return bytes(searcher.doc(address).get_first("stored") or b"")
