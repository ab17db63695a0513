"""What an operator may settle for a host, and what not."""

from __future__ import annotations

import pytest

from lycosa.backends.memory import MemoryStore
from lycosa.crawl.manners import Manners
from lycosa.errors import BadInput
from lycosa.web.addresses import OwnHosts
from lycosa.web.hours import Hours
from lycosa.web.politeness import Override


class Clock:
    at = 1000.0


def manners(store: MemoryStore, clock: Clock, delay_s: float = 2.0) -> Manners:
    return Manners(store, delay_s, OwnHosts(["own.example"]), Hours(["late.example 22:00-23:00"]), lambda: clock.at)


def test_below_a_second_only_own_hosts_are_asked() -> None:
    found = manners(MemoryStore(), Clock(), delay_s=0.0)
    assert found.delay_of("own.example") == 0.0
    assert found.delay_of("other.example") == 2.0


def test_an_override_lengthens_any_gap_and_shortens_that_of_own_hosts_only() -> None:
    found = manners(MemoryStore(), Clock())
    found.override("other.example", Override(crawl_delay_s=10.0))
    assert found.delay_of("other.example") == 10.0
    with pytest.raises(BadInput, match="not shorter"):
        found.override("other.example", Override(max_rps=5.0))
    with pytest.raises(BadInput, match="longer than 30 s"):
        found.override("other.example", Override(crawl_delay_s=20.0), crawl_delay_s=30.0)
    found.override("own.example", Override(crawl_delay_s=0.5), crawl_delay_s=30.0)
    assert found.delay_of("own.example") == 0.5
    assert found.crawl_delay_of("own.example", 30.0) is None
    assert found.crawl_delay_of("other.example", 30.0) == 30.0


def test_a_refused_override_leaves_the_one_before_in_force() -> None:
    found = manners(MemoryStore(), Clock())
    found.override("other.example", Override(crawl_delay_s=10.0))
    with pytest.raises(BadInput):
        found.override("other.example", Override(crawl_delay_s=0.1))
    assert found.delay_of("other.example") == 10.0


def test_it_ends_at_its_time_and_lasts_over_a_restart() -> None:
    store, clock = MemoryStore(), Clock()
    manners(store, clock).override("a.example", Override(crawl_delay_s=9.0, effective_until=2000.0))
    again = manners(store, clock)
    assert again.delay_of("a.example") == 9.0
    assert list(again.overrides()) == ["a.example"]
    clock.at = 2000.0
    assert again.delay_of("a.example") == 2.0
    assert again.overrides() == {}


def test_a_paused_host_is_not_open_and_is_again_when_the_pause_is_lifted() -> None:
    store, clock = MemoryStore(), Clock()
    found = manners(store, clock)
    assert found.open_at("a.example", 1000.0) == 1000.0
    found.override("a.example", Override(paused=True))
    assert found.open_at("a.example", 1000.0) > 1000.0
    found.override("a.example", None)
    assert found.open_at("a.example", 1000.0) == 1000.0
    assert manners(store, clock).overrides() == {}


def test_out_of_hours_a_host_is_not_open() -> None:
    found = manners(MemoryStore(), Clock())
    assert found.open_at("late.example", 0.0) > 0.0
    assert found.open_at("late.example", 22.5 * 3600) == 22.5 * 3600
