"""What the whole crawl may take."""

from __future__ import annotations

from collections import Counter

from lycosa.crawl.allowance import Allowance, Limits

DAY_S = 86_400.0


class Clock:
    at = 10 * DAY_S + 100.0


def allowance(limits: Limits, stats: Counter[str], clock: Clock) -> Allowance:
    return Allowance(limits, stats, lambda: clock.at)


def test_pages_under_way_count_as_if_they_were_fetched() -> None:
    stats = Counter(fetched=7)
    assert allowance(Limits(pages=10), stats, Clock()).pages_left(2) == 1
    assert allowance(Limits(), stats, Clock()).pages_left(10_000) > 10**9


def test_a_day_has_its_own_pages_and_the_next_day_new_ones_also_after_a_restart() -> None:
    stats, clock = Counter[str](), Clock()
    one = allowance(Limits(pages=100, day_pages=5), stats, clock)
    one.count(5)
    assert one.pages_left(0) == 0
    assert one.is_day_over()
    again = allowance(Limits(pages=100, day_pages=5), stats, clock)
    assert again.pages_left(0) == 0
    clock.at += DAY_S
    assert again.pages_left(0) == 5
    assert not again.is_day_over()


def test_when_all_pages_are_used_up_it_is_not_for_today_only() -> None:
    stats = Counter(fetched=3)
    one = allowance(Limits(pages=3, day_pages=3), stats, Clock())
    one.count(3)
    assert not one.is_day_over()


def test_more_bytes_than_a_second_has_hold_it_up_until_they_are_allowed() -> None:
    stats, clock = Counter(downloaded=1_000_000), Clock()
    one = allowance(Limits(bytes_per_s=100), stats, clock)
    assert not one.is_too_fast()
    stats["downloaded"] += 301
    assert one.is_too_fast()
    clock.at += 2.1
    assert not one.is_too_fast()
