"""The query language: words, "phrases", -not, OR, and `site:`, `intitle:`, `inurl:`, `lang:`, `after:`, `before:`.

Anything is a query. What cannot be read as an operator is read as words: an unclosed quote ends with the query, a date
that is none is a word, `OR` without two sides is a word too. Nothing here knows how words are stemmed or indexed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

import msgspec

from lycosa.web.dates import read_date

LONGEST = 2_000  # characters that are read
MOST_TERMS = 64

_ITEM = re.compile(r'(-?)(?:([A-Za-z]+):)?"([^"]*)(?:"|$)|(\S+)')
_QUOTES = str.maketrans(dict.fromkeys("“”„‟«»＂", '"'))
_DAY_S = 86_400.0
Where = Literal["text", "title", "url"]
_PLACES: dict[str, Where] = {"intitle": "title", "inurl": "url"}


class Term(msgspec.Struct, frozen=True):
    """Text to be found: its words, or next to each other and in order if it is a phrase."""

    text: str
    where: Where = "text"
    is_phrase: bool = False


class Group(msgspec.Struct, frozen=True):
    """One of these."""

    choices: tuple[Term, ...]


class Query(msgspec.Struct, frozen=True):
    wanted: tuple[Group, ...] = ()
    unwanted: tuple[Term, ...] = ()
    sites: tuple[str, ...] = ()  # one of them: a host, with the hosts below it; perhaps with the beginning of a path
    unwanted_sites: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    after: float | None = None  # fetched from this moment on
    before: float | None = None

    @property
    def is_empty(self) -> bool:
        return not (self.wanted or self.unwanted or self.sites or self.unwanted_sites or self.languages) and (
            self.after is None and self.before is None
        )

    def words(self) -> str:
        """What is searched for, without operators."""
        return " ".join([term.text for group in self.wanted for term in group.choices])


def read_query(text: str) -> Query:
    read = _Reader()
    for item in _items(text[:LONGEST].translate(_QUOTES)):
        read.take(item)
    return read.query()


class _Item(msgspec.Struct, frozen=True):
    raw: str
    is_not: bool
    field: str
    value: str
    is_quoted: bool


def _items(text: str) -> Iterator[_Item]:
    for found in _ITEM.finditer(text):
        minus, field, quoted, bare = found.groups()
        if quoted is not None:
            yield _Item(found[0], bool(minus), (field or "").lower(), quoted, True)
            continue
        # A quote in the middle of a word is part of nothing: 5"disk is two words.
        value = bare.replace('"', " ")
        is_not = value.startswith("-") and len(value) > 1
        name, colon, rest = value.removeprefix("-" if is_not else "").partition(":")
        if colon and rest and name.isascii() and name.isalpha():
            yield _Item(bare, is_not, name.lower(), rest, False)
        else:
            yield _Item(bare, is_not, "", value[is_not:], False)


class _Reader:
    def __init__(self) -> None:
        self._wanted: list[list[Term]] = []
        self._unwanted: list[Term] = []
        self._filters: dict[str, list[str]] = {"site": [], "-site": [], "lang": []}
        self._dates: dict[str, float] = {}
        self._or = False  # stood there, and its right side is not known yet
        self._may_or = False  # is there a left side?

    def take(self, item: _Item) -> None:
        if item.raw == "OR" and self._may_or and not self._or:
            self._or = True
        elif not self._filter(item):
            self._text(item)

    def query(self) -> Query:
        if self._or:
            self._wanted.append([Term("or")])
        return Query(
            wanted=tuple([Group(tuple(choices)) for choices in self._wanted[:MOST_TERMS]]),
            unwanted=tuple(self._unwanted[:MOST_TERMS]),
            sites=tuple(self._filters["site"][:MOST_TERMS]),
            unwanted_sites=tuple(self._filters["-site"][:MOST_TERMS]),
            languages=tuple(self._filters["lang"][:MOST_TERMS]),
            after=self._dates.get("after"),
            before=self._dates.get("before"),
        )

    def _filter(self, item: _Item) -> bool:
        """Does it narrow the search, rather than being searched for?"""
        value = item.value.strip().lower()
        if item.field == "site" and (site := read_site(item.value)):
            self._filters["-site" if item.is_not else "site"].append(site)
        elif item.field == "lang" and not item.is_not and re.fullmatch(r"[a-z]{2,3}(-\w+)?", value):
            self._filters["lang"].append(value.partition("-")[0])
        elif item.field in ("after", "before") and not item.is_not and (date := read_date(item.value)) is not None:
            self._dates[item.field] = date
        else:
            return False
        self._or = self._may_or = False
        return True

    def _text(self, item: _Item) -> None:
        where = _PLACES.get(item.field, "text")
        text = item.value if where != "text" or not item.field else f"{item.field} {item.value}"
        if not any(letter.isalnum() for letter in text):
            return
        term = Term(text, where, item.is_quoted or where != "text")
        if item.is_not:
            self._unwanted.append(term)
            self._or = self._may_or = False
            return
        if self._or:
            self._wanted[-1].append(term)
        else:
            self._wanted.append([term])
        self._or, self._may_or = False, True


def read_site(text: str) -> str:
    """`example.org` or `example.org/docs` from what people write behind `site:`; empty if it is no host."""
    bare = re.sub(r"^[a-z]+://", "", text.strip().lower()).strip("/").removeprefix("*.").lstrip(".")
    host, slash, path = bare.partition("/")
    host = host.partition(":")[0] if not host.startswith("[") else host
    try:
        host = host.encode("idna").decode() if not host.isascii() else host
    except UnicodeError:
        return ""
    if not host or not any(letter.isalnum() for letter in host):
        return ""
    return f"{host}{slash}{path}"
