"""Sitemaps and feeds: which URLs a site owner lists, and what is said of them.

Reads urlset and index sitemaps, text lists, RSS and Atom, plain or gzipped, in any encoding. The reader recovers: a
broken or cut-off file gives what can still be read. It knows no DTD, so no entity is ever expanded or fetched, and it
is linear in the size of the file. At most `MOST_ENTRIES` entries and `LONGEST_BYTES` bytes are read.
"""

from __future__ import annotations

import html
import re
import zlib
from typing import Literal

import msgspec

from lycosa.errors import BadUrl
from lycosa.web import charset as charsets
from lycosa.web.dates import read_date
from lycosa.web.url import Base

MOST_ENTRIES = 50_000
LONGEST_BYTES = 50_000_000
_LONGEST_FIELD = 8_192
_GZIP = b"\x1f\x8b"

Kind = Literal["urlset", "index", "feed", "text", "none"]


class Entry(msgspec.Struct, frozen=True, gc=False):
    url: str
    lastmod: float | None = None  # Unix time
    changefreq: str | None = None
    priority: float | None = None


class Sitemap(msgspec.Struct):
    """What was read. `none` is no sitemap at all; `cut` says that a cap was reached or the file ended early."""

    kind: Kind
    entries: list[Entry] = msgspec.field(default_factory=list)
    cut: bool = False


def read_sitemap(body: bytes, url: str, content_type: str | None = None) -> Sitemap:
    """Read a sitemap or feed found at `url`. Never raises for what is in it."""
    body, cut = _unzip(body)
    if len(body) > LONGEST_BYTES:
        body, cut = body[:LONGEST_BYTES], True
    text = charsets.decode(body, _charset(body, content_type)).lstrip("\ufeff \t\r\n")
    root = _ROOT.search(text)
    if root is None:
        return _read_list(text, url, cut)
    kind = _KINDS.get(root[2].lower(), "none")
    reader = _Reader(kind, url, root[1] or "")
    if kind != "none":
        reader.read(text, root.start())
    return Sitemap(kind, list(reader.entries.values()), cut or reader.is_full)


def _unzip(body: bytes) -> tuple[bytes, bool]:
    if not body.startswith(_GZIP):
        return body, False
    unzip = zlib.decompressobj(31)
    try:
        plain = unzip.decompress(body, LONGEST_BYTES)
    except zlib.error:
        return b"", True
    return plain, not unzip.eof


def _charset(body: bytes, content_type: str | None) -> charsets.Charset:
    found = _DECLARED.match(body[:200].lstrip(b"\xef\xbb\xbf \t\r\n"))
    label = charsets.charset_of_type(content_type) or (charsets.lookup(found[1].decode("ascii")) if found else None)
    if body.startswith((b"\xff\xfe", b"\xfe\xff")) or label is None or label.startswith("utf-16"):
        sniffed = charsets.sniff(body)
        return charsets.Charset("utf-8", "default") if sniffed.reason == "ascii" else sniffed
    return charsets.Charset(label, "declared")


def _read_list(text: str, url: str, cut: bool) -> Sitemap:
    """One URL a line."""
    base, entries = Base(url), dict[str, Entry]()
    for line in text.splitlines():
        address = _address(base, line.strip())
        if address and len(entries) >= MOST_ENTRIES:
            return Sitemap("text", list(entries.values()), True)
        if address and line.lstrip().lower().startswith("http"):
            entries.setdefault(address, Entry(address))
    return Sitemap("text" if entries else "none", list(entries.values()), cut)


def _address(base: Base, text: str) -> str | None:
    """The URL meant by a location; sitemaps give full ones, some owners leave the host out."""
    if (
        not text.lower().startswith(("http://", "https://", "/"))
        or len(text) > _LONGEST_FIELD
        or _UNUSABLE.search(text)
    ):
        return None
    try:
        address = base.join(text)
    except BadUrl:
        return None
    return address if address.startswith(("http://", "https://")) else None


_UNUSABLE = re.compile(r"\n|&[A-Za-z]\w*;")  # two locations run together; an entity that nobody defined
_DECLARED = re.compile(rb"<\?xml[^>]*?encoding\s*=\s*[\"']([A-Za-z0-9._\-]{1,40})[\"']", re.I)
_ROOT = re.compile(r"<(?:([A-Za-z_][\w.\-]*):)?(urlset|sitemapindex|rss|rdf|feed|html|body|head)\b", re.I)
_KINDS: dict[str, Kind] = {"urlset": "urlset", "sitemapindex": "index", "rss": "feed", "rdf": "feed", "feed": "feed"}
_TOKEN = re.compile(
    r"<!\[CDATA\[(.*?)(?:\]\]>|\Z)"
    r"|<!--.*?(?:-->|\Z)|<[?!][^>]*+(?:>|\Z)"
    r"|<(/?)(?:([A-Za-z_][\w.\-]*+):)?([A-Za-z_][\w.\-]*+)((?:[^<>\"']++|\"[^\"]*+\"|'[^']*+')*+)>",
    re.S,
)
_ATTRIBUTE = re.compile(r"(?<![\w:.\-])([A-Za-z_:][\w:.\-]*+)\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)')")
_ENTRIES = {"urlset": {"url"}, "index": {"sitemap"}, "feed": {"item", "entry"}}
_FIELDS = {
    "urlset": frozenset(("loc", "lastmod", "changefreq", "priority")),
    "index": frozenset(("loc", "lastmod")),
    "feed": frozenset(("link", "guid", "pubdate", "updated", "published", "date")),
}
_FREQUENCIES = frozenset(("always", "hourly", "daily", "weekly", "monthly", "yearly", "never"))


class _Reader:
    """Walks the tokens of one file, remembering only the entry it is in."""

    def __init__(self, kind: Kind, url: str, prefix: str) -> None:
        self.entries: dict[str, Entry] = {}
        self.is_full = False
        self._kind = kind
        self._base = Base(url)
        # Elements of the sitemap itself carry its root's prefix; others (image:loc) are somebody else's.
        self._prefixes = {prefix, ""} if kind != "feed" else {"", "dc"}
        self._inside = False
        self._field = ""
        self._text: list[str] = []
        self._locations: list[str] = []
        self._values: dict[str, str] = {}

    def read(self, text: str, at: int) -> None:
        for token in _TOKEN.finditer(text, at):
            self._add(text[at : token.start()], is_markup=True)
            at = token.end()
            if token[1] is not None:
                self._add(token[1], is_markup=False)
            elif token[4] is not None:
                self._tag(token[4].lower(), token[3] or "", bool(token[2]), token[5])
            if self.is_full:
                return
        rest, cut_tag, _ = text[at:].partition("<")
        if cut_tag:  # a location is whole only if something follows it
            self._add(rest, is_markup=True)
        self._end_entry()

    def _add(self, text: str, is_markup: bool) -> None:
        if self._inside and text and not text.isspace() and len(self._text) < 100:
            text = text[:_LONGEST_FIELD]
            self._text.append(html.unescape(text) if is_markup and "&" in text else text)

    def _tag(self, name: str, prefix: str, closing: bool, attributes: str) -> None:
        if prefix not in self._prefixes:
            self._text.clear()
            self._field = "foreign"
            return
        self._end_field()
        if name in _ENTRIES[self._kind]:
            self._end_entry()
            self._inside = not closing
        elif self._inside and not closing:
            self._field = name if name in _FIELDS[self._kind] else "foreign"
            if name == "link" and attributes:
                self._link(attributes)

    def _link(self, attributes: str) -> None:
        """Atom names the address in an attribute."""
        given = {
            found[1].lower(): html.unescape(found[2] or found[3] or "") for found in _ATTRIBUTE.finditer(attributes)
        }
        if given.get("href") and given.get("rel", "alternate") == "alternate":
            self._locations.append(given["href"])

    def _end_field(self) -> None:
        text = "".join(self._text).strip()
        self._text.clear()
        if text and self._inside:
            if self._field in ("loc", "link", ""):
                self._locations.append(text)
            else:
                self._values.setdefault(self._field, text)
        self._field = ""

    def _end_entry(self) -> None:
        self._end_field()
        # A feed's item has one page: its link, or else its guid. An entry of a sitemap may carelessly hold several.
        guid = self._values.get("guid", "")
        locations = (self._locations or [guid])[:1] if self._kind == "feed" else self._locations
        for location in locations:
            url = _address(self._base, location)
            if url is not None and url not in self.entries:
                self.is_full = len(self.entries) >= MOST_ENTRIES
                if not self.is_full:
                    self.entries[url] = self._entry(url)
        self._locations.clear()
        self._values.clear()

    def _entry(self, url: str) -> Entry:
        said = self._values
        dates = [said[name] for name in ("lastmod", "updated", "pubdate", "date", "published") if name in said]
        frequency = said.get("changefreq", "").lower()
        try:
            priority = float(said["priority"])
        except (KeyError, ValueError):
            priority = -1.0
        return Entry(
            url,
            read_date(dates[0]) if dates else None,
            frequency if frequency in _FREQUENCIES else None,
            priority if 0.0 <= priority <= 1.0 else None,
        )
