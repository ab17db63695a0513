"""Dates as the web writes them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lycosa.web.dates import read_date, read_http_date, read_w3c_date


def at(*parts: int) -> float:
    return datetime(*parts, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    "text",
    [
        "Tue, 15 Nov 1994 08:12:31 GMT",
        "Tuesday, 15-Nov-94 08:12:31 GMT",
        "Tue Nov 15 08:12:31 1994",
        "  Tue, 15 Nov 1994 08:12:31 GMT ",
        "Tue, 15 Nov 1994 10:12:31 +0200",
        "15 Nov 1994 08:12:31",
    ],
)
def test_http_dates_are_read_in_each_of_their_spellings(text: str) -> None:
    assert read_http_date(text) == at(1994, 11, 15, 8, 12, 31)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2024", at(2024, 1, 1)),
        ("2024-03", at(2024, 3, 1)),
        ("2024-03-05", at(2024, 3, 5)),
        ("2024-03-05T06:07Z", at(2024, 3, 5, 6, 7)),
        ("2024-03-05T06:07:08Z", at(2024, 3, 5, 6, 7, 8)),
        ("2024-03-05t06:07:08.123456z", at(2024, 3, 5, 6, 7, 8)),
        ("2024-03-05T06:07:08+05:30", at(2024, 3, 5, 0, 37, 8)),
        ("2024-03-05T06:07:08-0800", at(2024, 3, 5, 14, 7, 8)),
        (" 2024-03-05 06:07:08 UTC ", at(2024, 3, 5, 6, 7, 8)),
        ("2024-02-29", at(2024, 2, 29)),
        ("1969-12-31T23:59:59Z", -1.0),
    ],
)
def test_w3c_dates_are_read_from_a_year_to_fractions_of_a_second(text: str, moment: float) -> None:
    assert read_w3c_date(text) == moment


@pytest.mark.parametrize("read", [read_http_date, read_w3c_date, read_date])
@pytest.mark.parametrize(
    "text",
    [
        None, "", " ", "0", "-1", "yesterday", "Tue, 31 Feb 2020 00:00:00 GMT", "Tue, 15 Nov 1994", "2023-02-29",
        "2024-13-01", "2024-00-10", "0000-01-01", "20240305", "２０２４", "2024-03-05T25:00:00Z",
        "2024-03-05T06:07:61Z", "2024-03-05T06:07:08+99:99", "9" * 500, "Tue, 15 Nov 99999 08:12:31 GMT",
        "2024-03-05T06:07:08Z" + " " * 500,
    ],
)  # fmt: skip
def test_what_is_no_date_is_none(read: object, text: str | None) -> None:
    assert callable(read)
    assert read(text) is None


def test_a_leap_second_is_the_second_before_it() -> None:
    assert read_w3c_date("2016-12-31T23:59:60Z") == at(2016, 12, 31, 23, 59, 59)
    assert read_http_date("Sat, 31 Dec 2016 23:59:60 GMT") == at(2016, 12, 31, 23, 59, 59)


def test_either_kind_is_read_where_both_occur() -> None:
    assert read_date("2024-03-05") == read_date("Tue, 05 Mar 2024 00:00:00 GMT") == at(2024, 3, 5)


_PIECES = st.lists(
    st.sampled_from(
        ["Tue", ", ", " ", "-", ":", "+", "T", "Z", "GMT", "Nov", "Jan", "0", "1", "31", "60", "99", "2024"]
    )
)


@given(st.text() | _PIECES.map("".join) | st.datetimes().map(str))
@example("Mon, 01 Jan 0001 00:00:00 +2359")
@example("0001-01-01T00:00:00+14:00")
@example("a 1 jan 2020 1:1:1 +99999999999999999")
def test_any_text_is_a_finite_moment_or_none(text: str) -> None:
    for read in (read_http_date, read_w3c_date, read_date):
        moment = read(text)
        assert moment is None or abs(moment) < 1e12


@given(st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30)))
def test_a_date_that_is_written_is_read_back(moment: datetime) -> None:
    seconds = moment.replace(microsecond=0, tzinfo=UTC).timestamp()
    assert read_w3c_date(moment.isoformat() + "Z") == seconds
    if moment.year >= 1900:
        assert read_http_date(moment.strftime("%a, %d %b %Y %H:%M:%S GMT")) == seconds
