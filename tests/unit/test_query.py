"""The query language: what is written, and how it is read."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lycosa.search.query import Group, Query, Term, read_query, read_site


def words(query: Query) -> list[str]:
    return [term.text for group in query.wanted for term in group.choices]


def test_words_are_wanted_one_by_one() -> None:
    assert read_query("wolf  spider").wanted == (Group((Term("wolf"),)), Group((Term("spider"),)))


def test_quotes_make_a_phrase() -> None:
    assert read_query('"to be or not"').wanted == (Group((Term("to be or not", is_phrase=True),)),)


def test_a_quote_that_is_not_closed_ends_with_the_query() -> None:
    assert read_query('big "wolf spider').wanted[1] == Group((Term("wolf spider", is_phrase=True),))


def test_typographic_quotes_are_quotes() -> None:
    assert read_query("“wolf spider”") == read_query('"wolf spider"')


def test_a_minus_excludes_a_word_or_a_phrase() -> None:
    query = read_query('spider -web -"black widow"')
    assert words(query) == ["spider"]
    assert query.unwanted == (Term("web"), Term("black widow", is_phrase=True))


def test_or_joins_its_neighbours() -> None:
    assert read_query("a OR b OR c d").wanted == (Group((Term("a"), Term("b"), Term("c"))), Group((Term("d"),)))


@pytest.mark.parametrize("text", ["OR", "OR a", "a OR"])
def test_or_without_two_sides_is_a_word(text: str) -> None:
    assert "or" in [word.lower() for word in words(read_query(text))]


def test_operators_narrow_the_search() -> None:
    query = read_query("x site:Docs.Example.org/guide -site:old.example lang:EN-gb after:2026-01-31 before:2026-02-28")
    assert words(query) == ["x"]
    assert query.sites == ("docs.example.org/guide",)
    assert query.unwanted_sites == ("old.example",)
    assert query.languages == ("en",)
    assert query.after == 1769817600.0
    assert query.before == 1772236800.0


def test_words_can_be_asked_of_titles_and_urls() -> None:
    query = read_query('intitle:guide inurl:"api v2" -intitle:draft')
    assert [group.choices[0].where for group in query.wanted] == ["title", "url"]
    assert query.unwanted == (Term("draft", "title", True),)


@pytest.mark.parametrize("text", ["after:soon", "lang:???", "site:", "site:///", "foo:bar", "before:99999999999999"])
def test_what_cannot_be_read_as_an_operator_is_words(text: str) -> None:
    query = read_query(text)
    assert query.after is None
    assert query.before is None
    assert not query.sites
    assert not query.languages


@pytest.mark.parametrize(("text", "site"), [
    ("https://Example.org/", "example.org"), ("*.example.org", "example.org"), ("example.org:8080/a/", "example.org/a"),
    ("bücher.example", "xn--bcher-kva.example"), ("..", ""), ("", ""), ("[::1]", "[::1]"),
])  # fmt: skip
def test_sites_are_read_as_people_write_them(text: str, site: str) -> None:
    assert read_site(text) == site


@given(st.text(max_size=200))
@example('-"')
@example('"""')
@example("-:-")
@example("site:\ud800")
@example("OR OR OR -OR")
@example("\x00:\x00")
def test_anything_is_a_query(text: str) -> None:
    query = read_query(text)
    assert all(any(letter.isalnum() for letter in word) for word in words(query))


@given(
    st.lists(
        st.sampled_from(["a", "OR", '"', "-", "site:", "x.org", "intitle:", "after:", "2026", "lang:", ":", "b c"])
    )
)
def test_any_mixture_of_operators_is_a_query(parts: list[str]) -> None:
    assert isinstance(read_query(" ".join(parts)), Query)
    assert isinstance(read_query("".join(parts)), Query)
