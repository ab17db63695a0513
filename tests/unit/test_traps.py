"""Spaces without end are refused, each under the name of its trap; ordinary URLs pass."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.web.traps import Patterns, TrapRules, repeats

YEAR = 2026
RULES = TrapRules()


def refusal(url: str) -> str | None:
    return RULES.refusal(url, YEAR)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/",
        "https://example.org/a/b/c/d/e.html?q=1&page=2",
        "https://example.org/2019/05/17/a-story",
        "https://example.org/archive?year=1999",
        "https://example.org/a/a/a/b",
        "https://example.org/1066/battle",
        "https://example.org/events?from=2027-01-01",
        "https://example.org/session-recordings/index.html",
        "https://example.org/item/9999",
        "https://example.org//double//slashes//everywhere",
        "https://example.org",
    ],
)
def test_ordinary_urls_pass(url: str) -> None:
    assert refusal(url) is None


def test_a_url_of_2083_characters_passes_and_a_longer_one_is_refused() -> None:
    stem = "http://example.org/"
    assert refusal(stem + "x" * (2083 - len(stem))) is None
    assert refusal(stem + "x" * (2084 - len(stem))) == "trap.length"


def test_a_path_of_24_segments_passes_and_a_deeper_one_is_refused() -> None:
    segments = [f"s{number}" for number in range(25)]
    assert refusal("http://example.org/" + "/".join(segments[:24])) is None
    assert refusal("http://example.org/" + "/".join(segments)) == "trap.depth"


@pytest.mark.parametrize(
    "path", ["/a/a/a/a", "/x/a/a/a/a/y", "/a/b/a/b/a/b/a/b", "/en/a/b/c/a/b/c/a/b/c/a/b/c", "/a/a/a/a?q=1"]
)
def test_segments_that_repeat_more_than_three_times_are_refused(path: str) -> None:
    assert refusal(f"http://example.org{path}") == "trap.repeat"


@pytest.mark.parametrize("path", ["/a/a/a", "/a/b/a/b/a/b", "/a/b/c/a/b/c/a/b/c", "/a/x/a/y/a/z/a"])
def test_segments_that_repeat_up_to_three_times_pass(path: str) -> None:
    assert refusal(f"http://example.org{path}") is None


@pytest.mark.parametrize(
    ("path", "times"),
    [("a", 1), ("a/b", 1), ("a/a", 2), ("a/b/a/b", 2), ("x/a/a/a", 3), ("", 1), ("a/b/c/d/a/b/c/d", 1)],
)
def test_repeats_counts_runs_of_one_to_three_segments(path: str, times: int) -> None:
    assert repeats(path.split("/")) == times


def test_sixteen_parameters_pass_and_seventeen_are_refused() -> None:
    pairs = [f"p{number}=1" for number in range(17)]
    assert refusal("http://example.org/?" + "&".join(pairs[:16])) is None
    assert refusal("http://example.org/?" + "&".join(pairs)) == "trap.parameters"


@pytest.mark.parametrize(
    "path",
    [
        "/(S(lit3py55t21z5v55vlm25s55))/orders.aspx",
        "/(A(abcdefghijklmnop)F(0123456789abcdef))/x",
        "/shop;jsessionid=0123456789abcdef0123",
        "/sid-0123456789abcdef/page",
        "/session=abcdef0123456789/page",
    ],
)
def test_session_ids_in_the_path_are_refused(path: str) -> None:
    assert refusal(f"http://example.org{path}") == "trap.session"


@pytest.mark.parametrize(
    "target",
    [
        "/calendar?year=2031",
        "/c?month=1950-01",
        "/c?startdate=2100-01-01",
        "/events/2199/12/",
        "/1901/01/05.html",
        "/c?to=3000",
    ],
)
def test_dates_far_from_now_are_a_calendar_without_end(target: str) -> None:
    assert refusal(f"http://example.org{target}") == "trap.calendar"


def test_what_is_far_moves_with_the_year() -> None:
    url = "http://example.org/calendar?year=2031"
    assert RULES.refusal(url, 2026) == "trap.calendar"
    assert RULES.refusal(url, 2030) is None


def test_limits_can_be_chosen() -> None:
    strict = TrapRules(max_length=30, max_segments=2, max_repeats=1, max_parameters=1)
    assert strict.refusal("http://example.org/" + "x" * 20, YEAR) == "trap.length"
    assert strict.refusal("http://e.org/a/b/c", YEAR) == "trap.depth"
    assert strict.refusal("http://e.org/a/a", YEAR) == "trap.repeat"
    assert strict.refusal("http://e.org/?a=1&b=2", YEAR) == "trap.parameters"


@given(st.text(max_size=200), st.integers(1970, 9999))
def test_no_text_makes_the_rules_raise(url: str, year: int) -> None:
    assert (RULES.refusal(url, year) or "trap.").startswith("trap.")
    assert (Patterns().refusal("host", url) or "trap.").startswith("trap.")


@pytest.mark.parametrize(
    "piece", ["/", "/a", "/2020", "?day", "&dateday", "(A(", "/(S(aaaaaaaaaaaaaaaaaaaa)", "day=", ";sid="]
)
def test_hostile_urls_are_judged_in_no_time(piece: str) -> None:
    long = TrapRules(max_length=10**7, max_segments=10**7, max_parameters=10**7)
    url = "http://example.org/?" + piece * (20_000 // len(piece))
    started = time.process_time()
    RULES.refusal(url, YEAR)
    long.refusal(url[:2_083], YEAR)
    Patterns().refusal("example.org", url[:2_083])
    assert time.process_time() - started < 0.2


def test_ever_new_combinations_of_parameters_on_one_path_are_facets() -> None:
    patterns = Patterns(combinations=3)
    url = "http://e.org/shop?{}=1&{}=2"
    for number in range(3):
        assert patterns.refusal("e.org", url.format("a", f"f{number}")) is None
    assert patterns.refusal("e.org", url.format("a", "f3")) == "trap.facets"


def test_known_combinations_still_pass_when_new_ones_do_not() -> None:
    patterns = Patterns(combinations=1)
    assert patterns.refusal("e.org", "http://e.org/?page=1") is None
    assert patterns.refusal("e.org", "http://e.org/?color=red") == "trap.facets"
    assert all(patterns.refusal("e.org", f"http://e.org/?page={page}") is None for page in range(2, 500))


def test_the_order_of_parameters_makes_no_new_combination() -> None:
    patterns = Patterns(combinations=1)
    assert patterns.refusal("e.org", "http://e.org/?a=1&b=2") is None
    assert patterns.refusal("e.org", "http://e.org/?b=3&a=4") is None


def test_other_paths_and_other_hosts_have_their_own_count() -> None:
    patterns = Patterns(combinations=1)
    assert patterns.refusal("e.org", "http://e.org/x?a=1") is None
    assert patterns.refusal("e.org", "http://e.org/y?b=1") is None
    assert patterns.refusal("f.org", "http://f.org/x?c=1") is None


def test_ever_more_dates_of_one_shape_are_a_calendar() -> None:
    patterns = Patterns(dates=5)
    days = [f"http://e.org/cal/2026-01-{day:02}" for day in range(1, 8)]
    assert [patterns.refusal("e.org", day) for day in days] == [None] * 5 + ["trap.calendar"] * 2


def test_numbers_that_are_no_dates_have_no_such_limit() -> None:
    patterns = Patterns(dates=5)
    assert all(patterns.refusal("e.org", f"http://e.org/item/{number}") is None for number in range(100, 400))


def test_what_is_remembered_is_bounded_and_the_oldest_shape_is_forgotten() -> None:
    patterns = Patterns(combinations=1, remembered=10)
    patterns.refusal("e.org", "http://e.org/first?a=1")
    assert patterns.refusal("e.org", "http://e.org/first?b=1") == "trap.facets"
    for number in range(10):
        patterns.refusal("e.org", f"http://e.org/{number}?a=1")
    assert patterns.refusal("e.org", "http://e.org/first?b=1") is None
