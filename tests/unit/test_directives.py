"""What pages ask of robots, and that it is honoured."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.web.directives import Directives, read_directives, read_told


def said(robots: str = "", *header: str, **named: str) -> Directives:
    return read_directives("Lycosa", {"robots": robots, **named}, header)


@pytest.mark.parametrize("word", ["noindex", "nofollow", "noarchive", "nosnippet"])
def test_each_word_restricts_one_thing_in_meta_or_header(word: str) -> None:
    for found in (said(word), said(word.upper()), said("", word), said(f"all, {word} ,max-snippet:9")):
        assert [name for name in ("noindex", "nofollow", "noarchive", "nosnippet") if getattr(found, name)] == [word]


def test_none_is_noindex_and_nofollow_and_nocache_is_noarchive() -> None:
    assert said("none") == Directives(noindex=True, nofollow=True)
    assert said("nocache") == Directives(noarchive=True)


def test_a_page_that_says_nothing_may_be_followed_indexed_shown_and_kept() -> None:
    for words in ("", "all", "index, follow", ",,,", "nonsense", "noindexing"):
        assert said(words) == Directives()


def test_words_may_be_set_apart_by_blanks_or_semicolons() -> None:
    assert said("noindex nofollow") == said("noindex;nofollow") == Directives(noindex=True, nofollow=True)


def test_words_for_all_and_words_for_us_add_up() -> None:
    assert said("noindex", lycosa="nofollow") == Directives(noindex=True, nofollow=True)
    assert said("noindex", lycosa="all") == Directives(noindex=True)
    assert said("noindex", "nofollow", "Lycosa: noarchive") == Directives(noindex=True, nofollow=True, noarchive=True)


def test_words_for_other_robots_do_not_concern_us() -> None:
    assert said("", "otherbot: noindex, nofollow", otherbot="none") == Directives()


def test_one_header_may_speak_to_several_robots() -> None:
    assert said("", "otherbot: noindex, lycosa: nofollow") == Directives(nofollow=True)
    assert said("", "noindex, lycosa: nofollow, noarchive, otherbot: nosnippet") == Directives(
        noindex=True, nofollow=True, noarchive=True
    )


def test_the_shortest_snippet_wins_and_nosnippet_is_none_at_all() -> None:
    assert said("max-snippet:50", "max-snippet: 20").snippet_limit() == 20
    assert said("max-snippet:-1").snippet_limit() is None
    assert said("max-snippet:-1", "max-snippet:5").snippet_limit() == 5
    assert said("max-snippet:50, nosnippet").snippet_limit() == 0
    assert said("max-snippet:0").snippet_limit() == 0
    assert said("max-snippet:many").snippet_limit() is None


@pytest.mark.parametrize(
    "date", ["2026-03-01", "Sun, 01 Mar 2026 00:00:00 GMT", "01 Mar 2026 00:00:00 UTC", "2026-03-01T01:00:00+01:00"]
)
def test_a_page_may_be_indexed_until_it_is_unavailable(date: str) -> None:
    moment = datetime(2026, 3, 1, tzinfo=UTC).timestamp()
    for found in (said(f"unavailable_after: {date}, noarchive"), said("noarchive", f"unavailable_after: {date}")):
        assert found.may_index(moment - 1)
        assert not found.may_index(moment)
        assert found.noarchive


def test_the_earliest_end_wins_and_noindex_needs_no_date() -> None:
    found = said("unavailable_after: 2026-03-01", "unavailable_after: 2025-03-01", lycosa="unavailable_after: soon")
    assert found.unavailable_after == datetime(2025, 3, 1, tzinfo=UTC).timestamp()
    assert not said("noindex").may_index(0.0)
    assert said("unavailable_after: never").may_index(1e12)


def test_opt_outs_from_machine_learning_and_text_mining_are_recorded_and_restrict_nothing() -> None:
    found = read_directives("Lycosa", {"robots": "noai, noimageai", "tdm-reservation": "0"}, ["noml"], tdm=" 1 ")
    assert found == Directives(opt_outs=frozenset({"noai", "noimageai", "noml", "tdm"}))
    assert read_directives("Lycosa", {"tdm-reservation": "1"}).opt_outs == {"tdm"}
    assert read_directives("Lycosa", {}, (), tdm="0").opt_outs == frozenset()


@given(st.text(), st.lists(st.text(), max_size=4), st.text())
def test_any_text_is_read(robots: str, header: list[str], tdm: str) -> None:
    found = read_directives("Lycosa", {"robots": robots}, header, tdm)
    assert read_directives("Lycosa", {"robots": f"noindex, {robots}"}, header, tdm).noindex
    assert found.snippet_limit() is None or found.snippet_limit() >= 0


@pytest.mark.parametrize(
    "said", ["noindex, nosnippet", "max-snippet:50, noai", "unavailable_after: 2026-01-31", "none", ""]
)
def test_what_the_tables_tell_is_read_back(said: str) -> None:
    directives = read_directives("Lycosa", {"robots": said}, (), "1")
    assert read_told(directives.told()) == directives
