"""When a host may be asked."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lycosa.errors import BadSetting
from lycosa.web.hours import Hours, Window

HOUR = 3600.0


def test_inside_the_window_it_is_open_and_outside_it_says_when_it_will_be() -> None:
    hours = Hours(["a.example 22:00-06:00"])
    assert hours.open_at("a.example", 23 * HOUR) == 23 * HOUR
    assert hours.open_at("a.example", 5 * HOUR) == 5 * HOUR
    assert hours.open_at("a.example", 6 * HOUR) == 22 * HOUR
    assert hours.open_at("a.example", 24 * HOUR + 7 * HOUR) == 24 * HOUR + 22 * HOUR


def test_a_rule_holds_below_its_name_and_the_longest_name_wins() -> None:
    hours = Hours(["example 1:00-2:00", "a.example 3:00-4:00", "* 5:00-6:00"])
    assert hours.open_at("www.a.example", 0.0) == 3 * HOUR
    assert hours.open_at("b.example", 0.0) == 1 * HOUR
    assert hours.open_at("elsewhere.test", 0.0) == 5 * HOUR
    assert Hours(["a.example 1:00-2:00"]).open_at("elsewhere.test", 0.0) == 0.0


def test_the_whole_day_is_open() -> None:
    assert Hours(["a 0:00-24:00"]).open_at("a", 12345.0) == 12345.0


@given(st.floats(0, 86_399), st.floats(0, 86_399), st.floats(0, 1e9))
@example(start=1.1754943508222875e-38, end=0.0, now=1.1125369292536007e-308)  # a remainder may round up to a whole day
def test_the_moment_it_names_is_open_and_less_than_a_day_away(start: float, end: float, now: float) -> None:
    window = Window(start, end)
    at = window.open_at(now)
    assert now <= at <= now + 86_400
    assert window.open_at(at + 1e-3) == at + 1e-3 or at == now or (end - start) % 86_400 < 1


@pytest.mark.parametrize("rule", ["", "a", "a 25:00-26:00", "a 1:00", "1:00-2:00", "a 1:60-2:00"])
def test_what_gives_no_hours_is_refused_with_an_example(rule: str) -> None:
    with pytest.raises(BadSetting, match="22:00-06:00"):
        Hours([rule])
