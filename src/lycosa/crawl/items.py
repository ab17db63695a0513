"""Values picked out of a page by CSS selectors: for Python, and for the declarative files of the `items` processor.

A selector is CSS as Lexbor understands it and may end in what to take of each match:

    h1                  all text inside, white space folded
    h1::text            the element's own text, without that of elements in it
    a::attr(href)       an attribute as it stands there
    a::url              its href or src as an absolute URL
    div::html           its markup
    ::attr(id)          nothing before the colons means the element itself

Fields name such selectors. A selector gives the first value or None, a list of one selector gives all values, and a
mapping with `base` and `fields` gives an item inside the item (in a list: one for each match). What a page can make
this cost is bounded: so many values, so many characters, and no more.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Protocol, overload

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, LexborNode, SelectolaxError

from lycosa.errors import BadInput, BadUrl
from lycosa.web import charset as charsets
from lycosa.web.html import PARSED_BYTES
from lycosa.web.page import fold
from lycosa.web.taming import tame
from lycosa.web.url import Base

MOST_VALUES = 20_000  # of one page
MOST_CHARACTERS = 2_000_000
MOST_ITEMS = 1_000
_MOST_BLOCKS = 25_000
_DEEPEST = 8
_PLAIN_TREE = LexborDocumentOptions.WO_EVENTS.value
_SELECTOR = re.compile(r"\s*(.*?)\s*(?:::(text|html|url|attr\(\s*([^\s()\"'=<>/]+)\s*\)))?\s*", re.S)
_BLOCKS = (
    "br,p,div,li,dt,dd,tr,td,th,h1,h2,h3,h4,h5,h6,section,article,header,footer,aside,nav,blockquote,pre,figcaption"
)

Fields = Mapping[str, Any]  # name: selector, [selector], {base, fields} or [{base, fields}]


class Selector(NamedTuple):
    """CSS (empty: the element itself), and what is taken of a match."""

    css: str
    take: str  # "", "text", "html", "url" or "attr"
    attribute: str = ""


_ALL_TEXT = Selector("", "")


@lru_cache(1024)
def read_selector(text: str) -> Selector:
    """BadInput for what is not a selector."""
    found = _SELECTOR.fullmatch(text)
    assert found is not None  # it matches anything
    css, take, attribute = found[1], found[2] or "", found[3] or ""
    if css:
        try:
            _EMPTY.css(css)
        except SelectolaxError:
            hint = (
                "::text, ::html, ::url and ::attr(name) stand once, at the end" if "::" in css else "see docs/python.md"
            )
            raise BadInput(f"{text!r} is not a CSS selector: {hint}") from None
    return Selector(css, "attr" if attribute else take, attribute.lower())


_root = LexborHTMLParser("<p>").root
assert _root is not None
_EMPTY: LexborNode = _root


class Selectable(Protocol):
    """A page, or a part of one."""

    def css(self, selector: str) -> Matches: ...


class Match:
    """One element that a selector found, and what is to be taken of it."""

    __slots__ = ("_base", "_node", "_selector")

    def __init__(self, node: LexborNode, base: str, selector: Selector | None = None) -> None:
        self._node, self._base, self._selector = node, base, selector or _ALL_TEXT

    def css(self, selector: str) -> Matches:
        """What a selector finds in this element (and the element itself, if it fits)."""
        wanted = read_selector(selector)
        nodes = self._node.css(wanted.css) if wanted.css else [self._node]
        return Matches([Match(node, self._base, wanted) for node in nodes])

    def get(self) -> str | None:
        """The value; None for an attribute that is not there."""
        return self._read()[0]

    def _read(self) -> tuple[str | None, int]:
        """The value, and how many characters it was made of."""
        node, take = self._node, self._selector.take
        if take in ("attr", "url"):
            value = self._attribute() if take == "attr" else self._url()
            return value, len(value or "")
        if take == "html":
            value = node.html or ""
            return value, len(value)
        raw = node.text_lexbor() if take == "" else node.text(deep=False)
        return fold(raw), len(raw)

    def _attribute(self) -> str | None:
        at = self._node.attributes
        return (at[self._selector.attribute] or "") if self._selector.attribute in at else None

    def _url(self) -> str | None:
        at = self._node.attributes
        href = at.get("href") or at.get("src")
        with contextlib.suppress(BadUrl):
            return Base(self._base).join(href) if href else None
        return None

    def extract(self, fields: Fields) -> dict[str, Any]:
        """One item of this element."""
        return Items(fields).one(self)

    @property
    def attributes(self) -> dict[str, str]:
        return {name: value or "" for name, value in self._node.attributes.items()}


class Matches(Sequence[Match]):
    """All that a selector found, in the order of the page."""

    __slots__ = ("_matches",)

    def __init__(self, matches: Sequence[Match] = ()) -> None:
        self._matches = matches

    def get(self, default: str | None = None) -> str | None:
        """The first value."""
        return next(self._values(), default)

    def getall(self) -> list[str]:
        return list(self._values())

    def _values(self) -> Iterator[str]:
        return (value for match in self._matches if (value := match.get()) is not None)

    def __len__(self) -> int:
        return len(self._matches)

    @overload
    def __getitem__(self, at: int) -> Match: ...
    @overload
    def __getitem__(self, at: slice) -> Matches: ...
    def __getitem__(self, at: int | slice) -> Match | Matches:
        return Matches(self._matches[at]) if isinstance(at, slice) else self._matches[at]


def grow(body: bytes, base: str, charset: charsets.Charset) -> Match | None:
    """The root of a page's tree, to select from. A space stands between blocks, so that their words stay apart."""
    html = charsets.decode(body[:PARSED_BYTES], charset).encode("utf-8", "replace")
    root = LexborHTMLParser(tame(html), scripting=True, options=_PLAIN_TREE).root
    if root is None:
        return None
    for node in root.css(_BLOCKS)[:_MOST_BLOCKS]:
        node.insert_before(" ")
        node.insert_after(" ")
    return Match(root, base)


# -- items ------------------------------------------------------------------------------------------------------------


class _Field(NamedTuple):
    name: str
    is_many: bool
    wanted: str | Items


class Items:
    """What makes an item, read once and checked. With `base` every match of it is an item, else the page is one."""

    def __init__(self, fields: Fields, base: str = "", *, _depth: int = 0) -> None:
        if not isinstance(fields, Mapping) or not fields:
            raise BadInput("an item needs fields: give names and selectors, like title = 'h1'")
        if _depth > _DEEPEST:
            raise BadInput(f"items lie inside each other more than {_DEEPEST} deep: take some of them out")
        read_selector(base)
        self.base = base
        self._fields = tuple(_read_field(str(name), value, _depth) for name, value in fields.items())

    @classmethod
    def from_tree(cls, tree: Mapping[str, Any], _depth: int = 0) -> Items:
        """From plain values as a TOML file has them: `base` and `fields`."""
        unknown = sorted(set(tree) - {"base", "fields"})
        if unknown:
            raise BadInput(f"{unknown[0]!r} means nothing here: an item has base and fields")
        base = tree.get("base", "")
        if not isinstance(base, str):
            raise BadInput(f"base cannot be {base!r}: give a selector")
        return cls(tree.get("fields", {}), base, _depth=_depth)

    def of(self, page: Selectable) -> list[dict[str, Any]]:
        """All items of a page; those in which nothing was found are left out."""
        return self._all(page, _Purse())

    def one(self, page: Selectable) -> dict[str, Any]:
        """The fields of the page itself, None or an empty list where nothing was found."""
        return self._item(page, _Purse())

    def _all(self, part: Selectable, purse: _Purse) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for match in part.css(self.base)[:MOST_ITEMS] if purse else ():
            item = self._item(match, purse)
            if any(value not in (None, [], "") for value in item.values()):
                found.append(item)
        return found

    def _item(self, part: Selectable, purse: _Purse) -> dict[str, Any]:
        return {field.name: _fill(field, part, purse) for field in self._fields}


def _read_field(name: str, value: Any, depth: int) -> _Field:
    is_many = isinstance(value, (list, tuple))
    if is_many:
        if len(value) != 1:
            raise BadInput(f"field {name!r} cannot be {value!r}: a list holds one selector, and gives all its matches")
        value = value[0]
    try:
        if isinstance(value, Mapping):
            return _Field(name, is_many, Items.from_tree(value, depth + 1))
        if isinstance(value, str):
            read_selector(value)
            return _Field(name, is_many, value)
    except BadInput as error:
        raise BadInput(f"field {name!r}: {error}") from None
    raise BadInput(f"field {name!r} cannot be {value!r}: give a selector, or a table with base and fields")


class _Purse:
    """What one page may still cost."""

    def __init__(self) -> None:
        self._values, self._characters = MOST_VALUES, MOST_CHARACTERS

    def __bool__(self) -> bool:
        return self._values > 0 and self._characters > 0

    def take(self, match: Match) -> str | None:
        """Its value, cut where the purse is empty."""
        if not self:
            return None
        value, cost = match._read()
        value = value[: self._characters] if value is not None else None
        self._values -= 1
        self._characters -= cost
        return value


def _fill(field: _Field, part: Selectable, purse: _Purse) -> Any:
    if isinstance(field.wanted, Items):
        items = field.wanted._all(part, purse)
        return items if field.is_many else (items[0] if items else None)
    matches = part.css(field.wanted) if purse else Matches()
    values = (value for match in matches if (value := purse.take(match)) is not None)
    return list(values) if field.is_many else next(values, None)
