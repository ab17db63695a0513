"""Snippets and highlights."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lycosa.search.index import Term
from lycosa.search.snippet import LENGTH, highlight, make_snippet


def stem(word: str) -> str:
    return word.lower().removesuffix("s")


def term(word: str, pages: int = 10) -> Term:
    return Term(word, frozenset((stem(word),)), pages)


FAR = "Nothing here. " * 60 + "The wolf spider hunts at night.\nIt builds no web. " + "More of nothing. " * 60


def test_a_snippet_shows_where_the_words_stand() -> None:
    made = make_snippet(FAR, [term("wolf"), term("spiders")], stem, None)
    assert "wolf spider hunts" in made.text
    assert [made.text[start:end] for start, end in made.highlights] == ["wolf", "spider"]
    assert made.text.startswith("… ")
    assert made.text.endswith(" …")


def test_a_text_without_the_words_shows_its_beginning() -> None:
    assert make_snippet(FAR, [term("absent")], stem, None).text.startswith("Nothing here.")


def test_the_page_decides_how_much_may_be_shown() -> None:
    assert make_snippet(FAR, [term("wolf")], stem, 0).text == ""
    assert len(make_snippet(FAR, [term("wolf")], stem, 10).text) <= 10
    assert len(make_snippet(FAR, [term("wolf")], stem, 50).text) <= 50 + len("…  …")


def test_only_whole_words_are_highlighted() -> None:
    text = "A wolverine is no wolf, and werewolf neither; wolfs are."
    assert [text[start:end] for start, end in highlight(text, [term("wolf")], stem)] == ["wolf", "wolfs"]


def test_characters_written_without_spaces_are_highlighted_in_pairs() -> None:
    text = "全文検索機能"
    assert highlight(text, [Term("検索", frozenset(("検索",)), 1)], stem) == [(2, 4)]


def test_a_letter_that_grows_when_lowered_moves_nothing() -> None:
    text = "İİİ wolf"
    assert highlight(text, [term("wolf")], stem) == [(4, 8)]


@given(st.text(max_size=2_000), st.lists(st.text(min_size=1, max_size=8), max_size=4), st.none() | st.integers(0, 300))
def test_highlights_lie_inside_of_any_snippet(text: str, words: list[str], most: int | None) -> None:
    made = make_snippet(text, [term(word.lower()) for word in words], stem, most)
    assert len(made.text) <= LENGTH + 4
    ends = [place for pair in made.highlights for place in pair]
    assert ends == sorted(ends)
    assert all(0 <= place <= len(made.text) for place in ends)
