"""Spaces without end, recognised by their URLs: every refusal has a name.

`TrapRules.refusal` judges a URL by itself: its length, its depth, segments that repeat, too many parameters, dates far
from now, session ids in the path. `Patterns` judges it by the company it keeps on its host: ever more combinations of
parameters on one path, or ever more dates of one shape. Neither is the last line of defence: that is the page budget of
the registered domain, which no trap can talk its way out of.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar

import msgspec

_SESSION = re.compile(r"/\((?:[A-Z]\([0-9a-z]{16,}\))+\)/|[;/](?:sid|session|jsessionid)[=-][0-9a-z]{16,}", re.I)
_DATE_NAME = re.compile(r"date|day|month|year|week", re.I)
_DATE_NAMES = frozenset(("from", "to", "start", "end"))
_YEAR = re.compile(r"(\d{4})(?!\d)")
_DATE_PATH = re.compile(r"/(\d{4})[/\-](?:0?[1-9]|1[0-2])(?:[/\-]\d{1,2})?(?=[/?.]|$)")
_DATE_SHAPE = re.compile(r"(?<!\d)(?:19|2\d)\d\d[/\-.]?(?:0?[1-9]|1[0-2])(?!\d)")
_DIGITS = re.compile(r"\d+")
_LONGEST_PERIOD = 3
_Key = tuple[str, str]
_Value = TypeVar("_Value")


class TrapRules(msgspec.Struct, frozen=True):
    """Limits on what a single URL may look like."""

    max_length: int = 2_083
    max_segments: int = 24
    max_repeats: int = 3  # the same one to three segments in a row
    max_parameters: int = 16
    years_ahead: int = 2
    years_back: int = 50

    def refusal(self, url: str, year: int) -> str | None:
        """The name of the trap this URL looks like, given the current year; None for a harmless one."""
        if len(url) > self.max_length:
            return "trap.length"
        start = url.find("/", url.find("://") + 3)
        path, _, query = url[max(start, 0) :].partition("?")
        segments = path.split("/")[1:]
        if len(segments) > self.max_segments:
            return "trap.depth"
        if len(segments) > self.max_repeats and repeats(segments) > self.max_repeats:
            return "trap.repeat"
        if query.count("&") >= self.max_parameters:
            return "trap.parameters"
        if _SESSION.search(path):
            return "trap.session"
        years = _DATE_PATH.findall(path)
        if query:
            years += [found[1] for value in _dates(query) if (found := _YEAR.match(value))]
        if not years:
            return None
        near = range(year - self.years_back, year + self.years_ahead + 1)
        return "trap.calendar" if any(int(each) not in near for each in years) else None


def _dates(query: str) -> list[str]:
    """The values of parameters that are named like dates and look like numbers."""
    pairs = [pair.partition("=") for pair in query.split("&")] if query else []
    return [
        value
        for name, _, value in pairs
        if value[:1].isdigit() and (name.lower() in _DATE_NAMES or _DATE_NAME.search(name))
    ]


def repeats(segments: list[str]) -> int:
    """How often the same one, two or three segments follow each other, at the most."""
    if len(set(segments)) == len(segments):
        return 1
    most = 1
    for period in range(1, _LONGEST_PERIOD + 1):
        run = 0
        for at in range(period, len(segments)):
            run = run + 1 if segments[at] == segments[at - period] != "" else 0
            most = max(most, run // period + 1)
    return most


class Patterns:
    """How many URLs of one shape a host has shown. Bounded: the shapes seen longest ago are forgotten."""

    def __init__(self, combinations: int = 64, dates: int = 1_000, remembered: int = 100_000) -> None:
        self._combinations = combinations
        self._dates = dates
        self._remembered = remembered
        self._names: OrderedDict[tuple[str, str], set[str]] = OrderedDict()
        self._counts: OrderedDict[tuple[str, str], int] = OrderedDict()

    def refusal(self, host: str, url: str) -> str | None:
        """Count a new URL; the name of the trap once its shape has used up what a shape may have."""
        path, mark, query = url.partition("?")
        if mark and self._has_too_many_names(host, path, query):
            return "trap.facets"
        if (_DATE_SHAPE.search(url) or (mark and _dates(query))) and self._has_too_many_dates(host, path, query):
            return "trap.calendar"
        return None

    def _has_too_many_names(self, host: str, path: str, query: str) -> bool:
        names = "&".join(sorted({pair.partition("=")[0] for pair in query.split("&")}))
        seen = _recall(self._names, (host, path), self._remembered, set[str])
        if names not in seen:
            if len(seen) >= self._combinations:
                return True
            seen.add(names)
        return False

    def _has_too_many_dates(self, host: str, path: str, query: str) -> bool:
        names = sorted({pair.partition("=")[0] for pair in query.split("&")})
        shape = (host, _DIGITS.sub("0", f"{path}?{'&'.join(names)}"))
        count = _recall(self._counts, shape, self._remembered, int) + 1
        self._counts[shape] = count
        return count > self._dates


def _recall(kept: OrderedDict[_Key, _Value], key: _Key, most: int, new: Callable[[], _Value]) -> _Value:
    value = kept.get(key)
    if value is None:
        value = kept[key] = new()
        if len(kept) > most:
            kept.popitem(last=False)
    else:
        kept.move_to_end(key)
    return value
