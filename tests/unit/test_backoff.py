"""Waiting doubles with each failure, up to a cap."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.kit.backoff import backoff


def test_tries_are_ten_then_twenty_seconds_apart() -> None:
    assert [backoff(failures) for failures in range(5)] == [0, 10, 20, 40, 80]


def test_no_failure_means_no_wait() -> None:
    assert backoff(0) == backoff(-3) == 0.0


def test_the_first_wait_and_the_cap_can_be_chosen() -> None:
    assert [backoff(failures, first_s=1, cap_s=5) for failures in (1, 2, 3, 4, 9)] == [1, 2, 4, 5, 5]


def test_a_cap_below_the_first_wait_wins() -> None:
    assert backoff(1, first_s=10, cap_s=3) == 3


@given(st.integers(-10, 10**9), st.floats(0.001, 1e4), st.floats(0, 1e6))
def test_the_wait_never_shrinks_with_failures_and_never_passes_the_cap(failures: int, first: float, cap: float) -> None:
    wait = backoff(failures, first, cap)
    assert 0 <= wait <= cap
    assert backoff(failures + 1, first, cap) >= wait


def test_a_million_failures_do_not_overflow() -> None:
    assert backoff(10**6) == pytest.approx(86400)
