"""Durations and sizes are written as people write them."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.errors import BadInput
from lycosa.kit.units import read_duration, read_size, show_duration, show_size


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("2s", 2), ("2", 2), ("500ms", 0.5), ("1.5h", 5400), ("3m", 180), ("7d", 604800), ("1w", 604800), (" 2 S ", 2)],
)
def test_durations_are_read_in_every_unit(text: str, seconds: float) -> None:
    assert read_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("text", "size"),
    [("10", 10), ("10B", 10), ("10kB", 10_000), ("10MB", 10**7), ("500KiB", 512_000), ("1GiB", 1 << 30), ("2tb", 2e12)],
)
def test_sizes_know_thousands_and_1024s(text: str, size: int) -> None:
    assert read_size(text) == size


@pytest.mark.parametrize(
    "text", ["", " ", "s", "-1s", "2 s s", "1e3", "2y", "two", "1,5s", "nan", "inf", "9" * 40, "٣s"]
)
def test_what_is_no_quantity_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(BadInput, match="write"):
        read_duration(text)
    with pytest.raises(BadInput, match="write"):
        read_size(text)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, "0s"), (0.25, "250ms"), (2, "2s"), (90, "1.5m"), (5400, "1.5h"), (86400, "1d"), (604800, "1w"), (-2, "-2s")],
)
def test_durations_are_shown_in_the_largest_unit_that_fits(seconds: float, shown: str) -> None:
    assert show_duration(seconds) == shown


@pytest.mark.parametrize(("size", "shown"), [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (10**7, "10 MB")])
def test_sizes_are_shown_in_the_largest_unit_that_fits(size: int, shown: str) -> None:
    assert show_size(size) == shown


@given(st.floats(0.001, 1e9))
def test_a_shown_duration_reads_back_to_the_precision_shown(seconds: float) -> None:
    assert read_duration(show_duration(seconds)) == pytest.approx(seconds, rel=1e-3)


@given(st.integers(0, 10**15))
def test_a_shown_size_reads_back_to_the_precision_shown(size: int) -> None:
    assert read_size(show_size(size)) == pytest.approx(size, rel=1e-3)


@given(st.text(max_size=30))
def test_any_text_is_a_quantity_or_bad_input(text: str) -> None:
    for read in (read_duration, read_size):
        with contextlib.suppress(BadInput):
            assert read(text) >= 0
