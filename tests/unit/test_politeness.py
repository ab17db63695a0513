"""How long a host is left alone: pace, push-back, Retry-After, overrides, shared addresses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.web.politeness import (
    AddressTrouble,
    Override,
    Pace,
    address_gap_s,
    after_answer,
    after_failure,
    after_push_back,
    is_parked_by,
)

FAST, MIDDLING, SLOW = 0.05, 0.5, 3.0

_DELAYS = st.floats(0, 100)
_CRAWL_DELAYS = st.none() | st.floats(0, 1000)
_EVENTS = st.lists(
    st.sampled_from(["push", "fail", "retry"])
    | st.tuples(st.sampled_from([200, 301, 404, 500]), st.sampled_from([FAST, MIDDLING, SLOW])),
    max_size=60,
)


def lived_through(events: list[object], delay_s: float, crawl_delay_s: float | None = None) -> Pace:
    pace, now = Pace(), 1000.0
    for event in events:
        now += 1
        if event == "fail":
            pace = after_failure(pace)
        elif isinstance(event, tuple):
            pace = after_answer(pace, *event)
        else:
            retry_after_s = 60.0 if event == "retry" else None
            pace = after_push_back(pace, now, delay_s, crawl_delay_s, retry_after_s=retry_after_s)
    return pace


def test_a_new_host_waits_twice_the_delay_and_earns_the_delay_with_five_fast_answers() -> None:
    pace, gaps = Pace(), []
    for _ in range(7):
        gaps.append(pace.gap_s(2.0))
        pace = after_answer(pace, 200, FAST)
    assert gaps[0] == 4.0
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[4] > 2.2
    assert gaps[5:] == [pytest.approx(2.0)] * 2


def test_slow_answers_and_failures_lengthen_the_gap_up_to_eight_times() -> None:
    pace = Pace()
    assert after_answer(pace, 200, SLOW).gap_s(2.0) > 4.0
    assert after_failure(pace).gap_s(2.0) > 4.0
    for _ in range(50):
        pace = after_failure(after_answer(pace, 200, SLOW))
    assert pace.gap_s(2.0) == 16.0


def test_middling_answers_change_nothing_and_errors_earn_nothing() -> None:
    assert after_answer(Pace(), 200, MIDDLING).gap_s(2.0) == 4.0
    assert after_answer(Pace(), 500, FAST).gap_s(2.0) == 4.0
    assert after_answer(Pace(), 404, FAST).gap_s(2.0) < 4.0


@given(_EVENTS, _DELAYS, _CRAWL_DELAYS)
def test_the_gap_is_never_below_the_delay_nor_the_crawl_delay(
    events: list[object], delay_s: float, crawl_delay_s: float | None
) -> None:
    gap_s = lived_through(events, delay_s, crawl_delay_s).gap_s(delay_s, crawl_delay_s)
    assert gap_s >= delay_s
    assert gap_s >= (crawl_delay_s or 0)
    assert gap_s <= max(8 * delay_s, crawl_delay_s or 0, 300)


@given(_EVENTS)
def test_a_delay_of_zero_stays_zero_until_the_host_pushes_back(events: list[object]) -> None:
    quiet = [event for event in events if event not in ("push", "retry")]
    assert lived_through(quiet, 0.0).gap_s(0.0) == 0.0
    assert lived_through([*quiet, "push"], 0.0).gap_s(0.0) >= 1.0


def test_each_push_back_doubles_the_gap_up_to_five_minutes() -> None:
    pace, gaps = Pace(), []
    for _ in range(9):
        pace = after_push_back(pace, 0.0, 2.0)
        gaps.append(pace.gap_s(2.0))
    assert gaps == [8, 16, 32, 64, 128, 256, 300, 300, 300]


def test_a_push_back_doubles_a_crawl_delay_too() -> None:
    pace = after_push_back(Pace(), 0.0, 2.0, 10.0)
    assert pace.gap_s(2.0, 10.0) == 20.0
    assert after_push_back(pace, 0.0, 2.0, 10.0).gap_s(2.0, 10.0) == 40.0
    assert after_push_back(Pace(), 0.0, 2.0, 200.0).gap_s(2.0, 200.0) == 300.0
    assert after_push_back(Pace(), 0.0, 2.0, 400.0).gap_s(2.0, 400.0) == 400.0


@given(_EVENTS, _DELAYS, _CRAWL_DELAYS)
def test_a_push_back_never_shortens_the_gap(events: list[object], delay_s: float, crawl_delay_s: float | None) -> None:
    before = lived_through(events, delay_s, crawl_delay_s)
    after = lived_through([*events, "push"], delay_s, crawl_delay_s)
    gap_before, gap_after = before.gap_s(delay_s, crawl_delay_s), after.gap_s(delay_s, crawl_delay_s)
    assert gap_after >= min(2 * gap_before, 300.0)
    assert gap_after >= gap_before


@given(_EVENTS, _DELAYS)
def test_successes_bring_any_host_back_to_the_delay(events: list[object], delay_s: float) -> None:
    pace = lived_through(events, delay_s)
    gaps = []
    for _ in range(100):
        pace = after_answer(pace, 200, FAST)
        gaps.append(pace.gap_s(delay_s))
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] == pytest.approx(delay_s)


def test_the_wait_halves_after_five_successes_in_a_row_and_an_error_starts_the_count_anew() -> None:
    pushed = after_push_back(Pace(), 0.0, 8.0)
    pace = pushed
    for status in (200, 200, 200, 200, 500, 200, 200, 200, 200):
        pace = after_answer(pace, status, MIDDLING)
    assert pace.backoff_s == pushed.backoff_s
    assert after_answer(pace, 200, MIDDLING).backoff_s == pushed.backoff_s / 2


def test_nothing_is_asked_before_retry_after_has_passed() -> None:
    pace = after_push_back(Pace(), 1000.0, 2.0, retry_after_s=86_400.0)
    assert pace.ready_at(1001.0, 2.0) == 1000.0 + 86_400.0
    assert after_answer(pace, 200, FAST).ready_at(1001.0, 2.0) == 1000.0 + 86_400.0
    shorter = after_push_back(pace, 1000.0, 2.0, retry_after_s=5.0)
    assert shorter.wait_until == pace.wait_until, "a shorter wish does not undo a longer one"
    assert pace.ready_at(90_000.0, 2.0) == 90_000.0 + pace.gap_s(2.0)


def test_a_crawl_delay_over_five_minutes_parks_the_host() -> None:
    assert is_parked_by(301.0)
    assert not is_parked_by(300.0)
    assert not is_parked_by(None)


# Operators


def test_an_override_asks_for_the_longer_of_its_gaps() -> None:
    assert Override(max_rps=0.5, crawl_delay_s=1.0).gap_s() == 2.0
    assert Override(max_rps=10.0, crawl_delay_s=1.0).gap_s() == 1.0
    assert Override(crawl_delay_s=0.0).gap_s() == 0.0
    assert Override(paused=True).gap_s() is None


def test_an_override_holds_until_its_end() -> None:
    assert Override().is_in_force(1e12)
    assert Override(effective_until=100.0).is_in_force(99.0)
    assert not Override(effective_until=100.0).is_in_force(100.0)


def test_shortening_below_the_delay_or_the_crawl_delay_is_told_apart() -> None:
    assert Override(crawl_delay_s=1.0).shortens(2.0, None)
    assert Override(crawl_delay_s=5.0).shortens(2.0, 10.0)
    assert not Override(crawl_delay_s=2.0).shortens(2.0, None)
    assert not Override(paused=True).shortens(2.0, 10.0)


# Addresses


def pushed_back(*seen: tuple[str, float]) -> AddressTrouble:
    trouble = AddressTrouble()
    for host, at in seen:
        trouble = trouble.after_push_back(host, at)
    return trouble


def test_three_hosts_pushing_back_within_ten_minutes_slow_their_address() -> None:
    assert not pushed_back(("a", 0), ("b", 1)).slows_address(2)
    assert pushed_back(("a", 0), ("b", 300), ("c", 599)).slows_address(599)
    assert not pushed_back(("a", 0), ("b", 300), ("c", 600)).slows_address(600)
    assert not pushed_back(("a", 0), ("b", 1), ("a", 2), ("b", 3), ("a", 4)).slows_address(5), "two hosts are two"


def test_the_address_recovers_after_ten_minutes() -> None:
    trouble = pushed_back(("a", 0), ("b", 0), ("c", 0))
    assert trouble.slows_address(599)
    assert not trouble.slows_address(600)


@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.floats(0, 200)), max_size=40))
def test_trouble_is_exactly_three_hosts_in_the_window_and_little_is_remembered(steps: list[tuple[str, float]]) -> None:
    trouble, now, latest = AddressTrouble(), 0.0, {}
    for host, pause in steps:
        now += pause
        trouble = trouble.after_push_back(host, now)
        latest[host] = now
        assert trouble.slows_address(now) == (sum(now - at < 600 for at in latest.values()) >= 3)
        assert len(trouble.seen) <= 3


def test_the_gap_of_an_address_is_never_above_a_hosts_own_unless_in_trouble() -> None:
    calm, troubled = AddressTrouble(), pushed_back(("a", 0), ("b", 0), ("c", 0))
    assert address_gap_s(0.5, 2.0, calm, 1.0) == 0.5
    assert address_gap_s(0.5, 0.0, calm, 1.0) == 0.0
    assert address_gap_s(2.0, 2.0, troubled, 1.0) == 4.0
    assert address_gap_s(0.1, 0.0, troubled, 1.0) == 1.0
