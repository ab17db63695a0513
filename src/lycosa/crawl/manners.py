"""What an operator has settled for hosts: their least gap, pauses, hours of the day.

The configured delay is the floor; own hosts may go below one second, others may not. An override holds for one host
until it is lifted or its time is over, also after a restart: it may lengthen the gap of any host, and shorten that of
own ones only. Changes hold from the next lease on.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from lycosa import config
from lycosa.errors import BadInput
from lycosa.ports import Store
from lycosa.web.addresses import OwnHosts
from lycosa.web.hours import Hours
from lycosa.web.politeness import Override

_DEFAULT_DELAY_S = 2.0
_PREFIX, _END = b"override:", b"override;"
_REMEMBERED = 10_000
_GLANCE_S = 1.0  # a paused host is looked at again so soon


class Manners:
    def __init__(self, store: Store, delay_s: float, own: OwnHosts, hours: Hours, now: Callable[[], float]) -> None:
        self._store = store
        self._delay_s = delay_s
        self._own = own
        self._hours = hours
        self._now = now
        self._known: dict[str, bool] = {}  # is a host one of our own? Asked several times for each request
        self._overrides = {
            key.removeprefix(_PREFIX).decode(): msgspec.msgpack.decode(value, type=Override)
            for key, value in store.scan("meta", _PREFIX, _END)
        }

    def delay_of(self, host: str) -> float:
        """The least gap of a host, in seconds."""
        override = self._in_force(host)
        gap_s = override.gap_s() if override is not None else None
        if gap_s is None:
            return self._floor_of(host)
        # It was allowed when it was set; meanwhile the host may have ceased to be ours, or the floor may be higher.
        return gap_s if self._is_own(host) else max(gap_s, self._floor_of(host))

    def _floor_of(self, host: str) -> float:
        if self._delay_s >= config.FLOOR_DELAY_S or self._is_own(host):
            return self._delay_s
        return _DEFAULT_DELAY_S

    def crawl_delay_of(self, host: str, crawl_delay_s: float | None) -> float | None:
        """The host's own wish, which only the override of an own host sets aside."""
        override = self._in_force(host)
        return crawl_delay_s if override is None or override.gap_s() is None or not self._is_own(host) else None

    def open_at(self, host: str, now: float) -> float:
        """When the host may be asked: `now`, or later if it is paused or out of hours."""
        override = self._in_force(host)
        if override is not None and override.paused:
            return now + _GLANCE_S
        return min(self._hours.open_at(host, now), now + _GLANCE_S) if self._hours else now

    def override(self, host: str, override: Override | None, crawl_delay_s: float | None = None) -> None:
        """Set or lift the override of a host; BadInput if it would be less polite than its owner may expect."""
        key, floor_s = _PREFIX + host.encode(), self._floor_of(host)
        if override is None:
            self._overrides.pop(host, None)
            self._store.write([("meta", key, None)])
            return
        if not override.is_usable():
            raise BadInput(f"a gap or rate for {host} is a number that is not negative: write it like 30s")
        if override.shortens(floor_s, crawl_delay_s) and not self._is_own(host):
            raise BadInput(
                f"{host} is not one of polite.own_hosts: its gap can be made longer than "
                f"{max(floor_s, crawl_delay_s or 0.0):g} s, not shorter"
            )
        self._overrides[host] = override
        self._store.write([("meta", key, msgspec.msgpack.encode(override))])

    def overrides(self) -> dict[str, Override]:
        """Those in force."""
        return {host: each for host, each in self._overrides.items() if each.is_in_force(self._now())}

    def _in_force(self, host: str) -> Override | None:
        override = self._overrides.get(host) if self._overrides else None
        return override if override is not None and override.is_in_force(self._now()) else None

    def _is_own(self, host: str) -> bool:
        is_own = self._known.get(host)
        if is_own is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            is_own = self._known[host] = self._own.covers(host, None)
        return is_own
