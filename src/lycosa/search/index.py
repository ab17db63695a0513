"""What search needs of an index: what goes in, what comes out, and who does it, as values and Protocols."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec
import numpy as np
import numpy.typing as npt
from xxhash import xxh3_64_intdigest

from lycosa.search.query import Query
from lycosa.search.weights import Weights

Positions = dict[str, int]  # by shard: the number of the last entry of its feed that is in the index
Integers = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]


def hash_text(text: str) -> int:
    """64 bits that stand for a short text in columns; 0 for none."""
    return xxh3_64_intdigest(text.encode("utf-8", "replace")) if text else 0


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A page as it is indexed."""

    key: bytes
    url: str
    host: str
    title: str
    headings: str
    body: str
    language: str
    fetched_at: float
    simhash: int = 0  # 0: there was too little text for one
    canonical: bytes = b""  # the key of what the page calls its own address, if that is another
    snippet_limit: int | None = None  # characters of the text that may be shown
    until: float | None = None  # not to be shown from this moment on
    label: str = ""  # the name of the site: `example` of www.example.co.uk
    is_home: bool = False


class Stored(msgspec.Struct, frozen=True, array_like=True):
    """What is kept of a page to show it."""

    url: str
    host: str
    title: str
    text: str
    language: str
    fetched_at: float
    snippet_limit: int | None


class Candidates(NamedTuple):
    """The pages that match best, as columns."""

    handles: list[Any]  # the index's own names of them, in its present generation
    text: Floats  # how well the words match
    keys: list[bytes]
    hosts: Integers
    fetched_at: Floats
    until: Floats
    simhash: Integers
    title: Integers  # a hash of the words of the title
    label: Integers  # and of the name of the site
    quality: Floats
    spam: Floats
    is_home: Floats
    languages: list[str]


class Found(NamedTuple):
    total: int
    candidates: Candidates


class Term(NamedTuple):
    """A word of the query as the index has it: to highlight, and to ask how common it is."""

    word: str
    forms: frozenset[str]
    pages: int  # that have it


class View(Protocol):
    """The index at one moment."""

    generation: int
    pages: int
    languages: list[str]  # those of its pages, commonest first

    def terms(self, query: Query) -> list[Term]: ...
    def find(self, query: Query, weights: Weights, limit: int) -> Found: ...
    def stored(self, handles: Sequence[Any]) -> list[Stored]: ...
    def explain(self, query: Query, weights: Weights, handle: Any) -> dict[str, float]: ...
    def stem(self, word: str, language: str) -> str: ...
    def title_hash(self, text: str) -> int:
        """As `Candidates.title` has it."""
        ...

    def words(self, prefix: str, limit: int) -> list[tuple[str, int]]:
        """Words as people write them, of titles and headings, with the number of pages that have them."""
        ...

    def titles(self, prefix: str, limit: int) -> list[tuple[str, int]]: ...


class Reader(Protocol):
    def view(self) -> View:
        """The newest state that was committed."""
        ...


class Writer(Protocol):
    """The one that writes. What was committed stays; what was not is as if it had never been."""

    positions: Positions

    def put(self, entry: Entry) -> None: ...
    def remove(self, key: bytes) -> None: ...
    def has(self, key: bytes) -> bool: ...
    def add_anchors(self, anchors: Mapping[bytes, Sequence[str]]) -> None: ...
    def commit(self, positions: Positions) -> None: ...
    def close(self) -> None: ...
