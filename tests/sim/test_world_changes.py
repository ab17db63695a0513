"""Pages change as Poisson processes whose rates are known."""

import math
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from lycosa.sim.atlas import Atlas, PageId
from lycosa.sim.changes import LINE_S, ChangeTimes
from lycosa.sim.dice import Dice
from lycosa.sim.plan import WorldPlan
from lycosa.sim.versions import Versions

DAY_S = 86_400.0


def test_counts_in_an_interval_have_the_mean_and_variance_of_the_rate() -> None:
    rate, start, length, pages = 3 / DAY_S, 400 * DAY_S, 5 * DAY_S, 3_000
    counts = []
    for page in range(pages):
        times = ChangeTimes(Dice(1), rate, page)
        counts.append(times.until(start + length).events - times.until(start).events)
    mean = sum(counts) / pages
    variance = sum((count - mean) ** 2 for count in counts) / pages
    expected = rate * length  # 15
    assert abs(mean - expected) < 4 * math.sqrt(expected / pages)
    assert abs(variance / expected - 1) < 0.12


def test_slow_pages_follow_their_rate_too() -> None:
    rate, pages = 1 / (20 * 365 * DAY_S), 4_000  # about two events in all the time there is
    counts = [ChangeTimes(Dice(2), rate, page).until(LINE_S).events for page in range(pages)]
    expected = rate * LINE_S
    assert abs(sum(counts) / pages - expected) < 4 * math.sqrt(expected / pages)


def test_gaps_between_changes_are_exponential() -> None:
    times = ChangeTimes(Dice(3), 1 / 3_600, "page")
    at, gaps = 0.0, []
    for _ in range(2_000):
        following = times.next_after(at)
        assert following is not None
        assert following > at
        gaps.append(following - at)
        at = following
    mean = sum(gaps) / len(gaps)
    assert abs(mean / 3_600 - 1) < 0.1
    assert abs(sum(gap > mean for gap in gaps) / len(gaps) - math.exp(-1)) < 0.04


@settings(deadline=None)
@given(
    st.integers(0, 1_000),
    st.floats(0, 1e8),
    st.floats(0, 1e6),
    st.sampled_from([0.0, 1e-8, 1e-6, 1e-4, 1 / 60]),
)
def test_history_never_contradicts_itself(page: int, at_s: float, later_s: float, rate: float) -> None:
    times = ChangeTimes(Dice(4), rate, page)
    before, after = times.until(at_s), times.until(at_s + later_s)
    assert before.events <= after.events
    if before.last_s is not None:
        assert before.last_s <= at_s
        assert times.until(before.last_s).events == before.events
        assert times.until(math.nextafter(before.last_s, 0)).events < before.events
    else:
        assert before.events == 0
    following = times.next_after(at_s)
    if following is not None:
        assert following > at_s
        assert times.until(following).events == before.events + 1
        assert (following <= at_s + later_s) == (after.events > before.events)


def test_rates_are_log_normal_with_a_share_that_never_changes() -> None:
    plan = WorldPlan(seed=6, hosts=1, pages=3_000, exact_share=0, near_share=0, static_share=0.3, changes_per_day=0.5)
    versions = Versions(Atlas(plan))
    rates = sorted(versions.rate_per_s(PageId(0, number)) for number in range(3_000))
    static = sum(rate == 0 for rate in rates)
    assert abs(static / 3_000 - 0.3) < 0.03
    moving = rates[static:]
    assert 0.4 < moving[len(moving) // 2] * DAY_S < 0.6


def test_copies_change_with_their_source() -> None:
    atlas = Atlas(replace(WorldPlan(seed=6, hosts=10, pages=500), static_share=0.0))
    versions, shape = Versions(atlas), atlas.shape(0)
    copy = PageId(0, shape.tree)
    assert atlas.source(copy) != copy
    assert versions.at(copy, 1.75e9) == versions.at(atlas.source(copy), 1.75e9)
    assert versions.rate_per_s(copy) == versions.rate_per_s(atlas.source(copy))


def test_before_the_epoch_nothing_has_happened() -> None:
    plan = WorldPlan()
    assert Versions(Atlas(plan)).at(PageId(0, 0), plan.epoch - 1) == (0, plan.epoch)
