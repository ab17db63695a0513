"""HTTP response headers, read leniently: a header that makes no sense is as good as absent, never an error.

Names are compared without case; of repeated headers the first counts where only one can (RFC 9110 5.3), all where they
form a list. Values arrive as text in which each undecodable byte has become something harmless.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from lycosa.web import charset as charsets
from lycosa.web.dates import read_http_date

LONGEST_RETRY_AFTER_S = 86_400.0
_LONGEST_VALUE = 16_384
_MOST_LINK_HEADERS = 20
_LONGEST_CACHE_CONTROL = 2_000
_MEDIA_TYPE = re.compile(r"\s*([!#$%&'*+.^_`|~0-9A-Za-z\-]+/[!#$%&'*+.^_`|~0-9A-Za-z\-]+)\s*(?:;|,|$)")
_LINK_VALUE = re.compile(r"<([^<>]*+)>((?:\s*+;\s*+[^\s=;,]++(?:\s*+=\s*+(?:\"[^\"]*+\"|[^\s;,\"]*+))?+)*+)")
_LINK_PARAMETER = re.compile(r";\s*+([^\s=;,]++)(?:\s*+=\s*+(?:\"([^\"]*+)\"|([^\s;,\"]*+)))?+\s*+")
_HTML_TYPES = frozenset(("text/html", "application/xhtml+xml"))
_XML_TYPES = frozenset(("text/xml", "application/xml", "application/rss+xml", "application/atom+xml"))


class Headers:
    """Header fields in the order they came."""

    __slots__ = ("_fields", "pairs")

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self.pairs = tuple(pairs)
        self._fields: dict[str, list[str]] = {}
        for name, value in self.pairs:
            self._fields.setdefault(name.strip().lower(), []).append(value.strip()[:_LONGEST_VALUE])

    def get(self, name: str) -> str | None:
        """The first value of a field."""
        values = self._fields.get(name.lower())
        return values[0] if values else None

    def get_all(self, name: str) -> list[str]:
        return list(self._fields.get(name.lower(), ()))


class ContentType(NamedTuple):
    """`text/html` and the encoding it names, if it names one that exists."""

    media_type: str
    charset: str | None

    @property
    def is_html(self) -> bool:
        return self.media_type in _HTML_TYPES

    @property
    def is_xml(self) -> bool:
        return self.media_type in _XML_TYPES or self.media_type.endswith("+xml")

    @property
    def is_text(self) -> bool:
        return self.media_type.startswith("text/")


@lru_cache(64)  # of at most 16 KB each, and there are few that are not one of three
def read_content_type(value: str | None) -> ContentType:
    found = _MEDIA_TYPE.match(value or "")
    return ContentType(found[1].lower() if found else "", charsets.charset_of_type(value))


def looks_like_html(body: bytes) -> bool:
    """Do these bytes begin like a page? For servers that say nothing, or something else (WHATWG MIME Sniffing 7.1)."""
    head = body[:1024].lstrip(b"\xef\xbb\xbf\t\n\x0c\r ").lower()
    return head.startswith(_HTML_STARTS)


_HTML_STARTS = tuple(
    b"<" + tag
    for tag in b"!doctype html|html|head|script|iframe|h1|div|font|table|a |style|title|b>|body|br|p>|!--|meta".split(
        b"|"
    )
)


_ETAG = re.compile(r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]{0,256}"')
_DATE = re.compile(  # as almost every server writes it; the rest takes longer to read
    r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (?:0[1-9]|1\d|2[0-8]) (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) "
    r"(?:19|20)\d\d (?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d GMT"
)


class Validators(NamedTuple):
    """What a later request sends so that an unchanged page costs a status line."""

    etag: str | None
    last_modified: str | None

    def request_headers(self) -> list[tuple[str, str]]:
        asked = (("If-None-Match", self.etag), ("If-Modified-Since", self.last_modified))
        return [(name, value) for name, value in asked if value]


def read_validators(headers: Headers) -> Validators:
    etag, modified = headers.get("etag"), headers.get("last-modified")
    is_tag = etag is not None and _ETAG.fullmatch(etag) is not None
    is_date = modified is not None and (_DATE.fullmatch(modified) or read_http_date(modified)) is not None
    return Validators(etag if is_tag else None, modified if is_date else None)


def read_max_age(headers: Headers, now: float) -> float | None:
    """For how many seconds the answer says it stays fresh: Cache-Control before Expires (RFC 9111 4.2.1)."""
    for value in headers.get_all("cache-control"):
        for directive in value[:_LONGEST_CACHE_CONTROL].split(","):
            name, _, given = (part.strip().strip('"') for part in directive.partition("="))
            if name.lower() in ("no-store", "no-cache"):
                return 0.0
            if name.lower() == "max-age" and given.isascii() and given.isdigit() and len(given) < 12:
                return float(given)
    expires = headers.get("expires")
    if expires is None:
        return None
    until = read_http_date(expires)
    return max(0.0, until - (read_http_date(headers.get("date")) or now)) if until is not None else 0.0


def read_retry_after(value: str | None, now: float) -> float | None:
    """Seconds to wait, from seconds or a date, at most a day; None for anything else, and for the past."""
    if not value:
        return None
    value = value.strip()
    if value.isascii() and value.isdigit():
        seconds = float(value) if len(value) < 12 else LONGEST_RETRY_AFTER_S
    else:
        until = read_http_date(value)
        if until is None:
            return None
        seconds = until - now
    return min(seconds, LONGEST_RETRY_AFTER_S) if seconds > 0 else None


def read_link_header(headers: Headers, rel: str) -> list[str]:
    """The targets of `Link: <…>; rel=…` with the given relation."""
    found: list[str] = []
    for value in headers.get_all("link")[:_MOST_LINK_HEADERS]:
        for link in _LINK_VALUE.finditer(value):
            said = {name.lower(): quoted or plain for name, quoted, plain in reversed(_LINK_PARAMETER.findall(link[2]))}
            if rel in said.get("rel", "").lower().split():
                found.append(link[1].strip())
    return found
