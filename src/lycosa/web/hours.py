"""Hours of the day in which a host may be asked, as its operator wishes: `example.org 22:00-06:00`, in UTC.

A rule holds for a host and all below it, the longest name wins, `*` is everybody else. A host without a rule may be
asked at any time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from lycosa.errors import BadRule, BadSetting
from lycosa.web.scope import read_rule

_RULE = re.compile(r"(\S+)\s+([01]?\d|2[0-3]):([0-5]\d)\s*-\s*([01]?\d|2[0-4]):([0-5]\d)")
_DAY_S = 86_400.0


class Window(NamedTuple):
    """Seconds after midnight; it may reach over midnight."""

    start_s: float
    end_s: float

    def open_at(self, now: float) -> float:
        """`now` if it is open, else when it opens."""
        since_start = (now - self.start_s) % _DAY_S
        length_s = (self.end_s - self.start_s) % _DAY_S or _DAY_S
        return now if since_start < length_s else now + (_DAY_S - since_start)


class Hours:
    def __init__(self, rules: Iterable[str] = ()) -> None:
        self._windows = dict(map(_read, rules))

    def __bool__(self) -> bool:
        return bool(self._windows)

    def open_at(self, host: str, now: float) -> float:
        """The first moment from `now` on at which the host may be asked."""
        name = host
        while name:
            if name in self._windows:
                return self._windows[name].open_at(now)
            name = name.partition(".")[2]
        return self._windows["*"].open_at(now) if "*" in self._windows else now


def _read(rule: str) -> tuple[str, Window]:
    found = _RULE.fullmatch(rule.strip())
    if found is None:
        raise BadSetting(f"{rule!r} gives no hours: write a host and times of UTC, like 'example.org 22:00-06:00'")
    host, *times = found.groups()
    start, end = int(times[0]) * 3600 + int(times[1]) * 60, int(times[2]) * 3600 + int(times[3]) * 60
    return _name(host, rule), Window(float(start), float(end))


def _name(host: str, rule: str) -> str:
    """A host as rows have it: letters of other scripts in their ASCII form."""
    if host == "*":
        return host
    try:
        return read_rule(f"host:{host.removeprefix('*.')}").value
    except BadRule:
        raise BadSetting(
            f"{rule!r} names no host: write a host and times of UTC, like 'example.org 22:00-06:00'"
        ) from None
