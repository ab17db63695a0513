"""Progress: rates of the last seconds, what is left under a budget, and lines that fit a terminal."""

from __future__ import annotations

import io
from collections import Counter

from rich.console import Console

from lycosa.cli.progress import Meter, line, show_time
from lycosa.cli.terminal import table


def counters(pages: int, **more: int) -> Counter[str]:
    return Counter({"fetched": pages, "downloaded": pages * 1_000, "hosts": 12, "queued": 1_234_567, **more})


def test_rates_are_those_of_the_last_ten_seconds():
    meter = Meter(None)
    for second in range(61):
        figures = meter.read(counters(second if second < 40 else 40 + 5 * (second - 40)), 3, 1_000.0 + second)
    assert figures.elapsed_s == 60
    assert round(figures.pages_per_s, 2) == 5.0
    assert round(figures.bytes_per_s) == 5_000


def test_pages_of_an_earlier_run_are_not_of_this_ones_rate():
    meter = Meter(2_000)
    meter.read(counters(1_000), 0, 5.0)
    figures = meter.read(counters(1_010), 0, 10.0)
    assert (figures.pages_per_s, figures.left_s) == (2.0, 495.0)


def test_without_a_budget_nothing_is_said_to_be_left():
    meter = Meter(None)
    meter.read(counters(0), 0, 0.0)
    assert "left" not in line(meter.read(counters(9), 0, 5.0))


def test_everything_fits_eighty_columns():
    meter = Meter(10_000_000)
    meter.read(counters(0), 0, 0.0)
    kinds = {f"failed:connect.{kind}": 123_456 for kind in ("refused", "timeout", "unreachable", "odd", "other")}
    figures = meter.read(counters(1_234_567, failed=617_280, delayed=1_000_000, **kinds), 768, 100_000.0)
    shown = io.StringIO()
    Console(file=shown, width=80).print(table(figures))
    lines = shown.getvalue().splitlines()
    assert len(lines) == 6
    assert all(len(each) <= 80 for each in lines)
    assert "1,234,567" in lines[1]
    assert "connect.refused" in lines[5]


def test_time_is_shown_as_a_clock_shows_it():
    assert [show_time(seconds) for seconds in (0, 59.9, 61, 3_600)] == ["0:00", "0:59", "1:01", "1:00:00"]
