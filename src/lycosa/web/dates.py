"""Dates as the web writes them, as Unix time; None for what is no date.

HTTP dates in their three spellings (RFC 9110 5.6.7), and W3C dates of sitemaps and feeds (ISO 8601, from a bare year to
fractions of a second). Dates outside the years 1 to 9999 and absurd numbers are no dates.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_LONGEST = 64
_LEAP_SECOND = re.compile(r"(?<=:\d\d):60\b")
_LEAST = (1, 1, 1, 0, 0, 0)
_W3C = re.compile(
    r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})"
    r"(?:[T\s](\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)?\s*(Z|UTC|[+-]\d{2}:?\d{2})?)?)?)?",
    re.I,
)


def read_http_date(text: str | None) -> float | None:
    if not text or len(text) > _LONGEST or not any(letter.isalpha() for letter in text):
        return None
    from email.utils import parsedate_to_datetime  # here: a crawl seldom comes to this, and it takes 4 ms to load

    try:
        moment = parsedate_to_datetime(_LEAP_SECOND.sub(":59", text.strip()))
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def read_w3c_date(text: str | None) -> float | None:
    found = _W3C.fullmatch(text.strip()) if text and len(text) <= _LONGEST and text.isascii() else None
    if found is None:
        return None
    year, month, day, hour, minute, second = (
        int(given) if given else least for given, least in zip(found.groups()[:6], _LEAST, strict=True)
    )
    try:
        moment = datetime(year, month, day, hour, minute, 59 if second == 60 else second, tzinfo=UTC)
        return (moment - _offset(found[7])).timestamp()
    except (ValueError, OverflowError):
        return None


def _offset(zone: str | None) -> timedelta:
    if not zone or zone.upper() in ("Z", "UTC"):
        return timedelta()
    ahead = timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
    if ahead >= timedelta(days=1):
        raise ValueError(zone)
    return -ahead if zone[0] == "-" else ahead


def read_date(text: str | None) -> float | None:
    """Either kind."""
    moment = read_w3c_date(text)
    return moment if moment is not None else read_http_date(text)
