"""Text of strangers never becomes a tag."""

from __future__ import annotations

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from lycosa.service.markup import Markup, clean, element, highlighted, join


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def read(markup: Markup) -> Reader:
    reader = Reader()
    reader.feed(markup.html)
    reader.close()
    return reader


@given(st.text(), st.text())
def test_any_text_and_any_value_come_back_as_they_were(text: str, value: str) -> None:
    found = read(element("p", element("a", text, title=value), "."))
    assert [name for name, _ in found.tags] == ["p", "a"]
    assert found.tags[1][1] == {"title": clean(value)}
    assert "".join(found.texts) == clean(text) + "."


@given(st.text(), st.lists(st.tuples(st.integers(-3, 30), st.integers(-3, 30))))
def test_highlights_change_nothing_of_the_text_wherever_they_are(text: str, ranges: list[tuple[int, int]]) -> None:
    found = read(highlighted(text, ranges))
    assert "".join(found.texts) == clean(text)
    assert {name for name, _ in found.tags} <= {"mark"}


def test_neighbours_are_one_highlight() -> None:
    assert highlighted("a wolf spider here", [(2, 6), (7, 13)]).html == "a <mark>wolf spider</mark> here"
    assert highlighted("wolf, spider", [(0, 4), (6, 12)]).html == "<mark>wolf</mark>, <mark>spider</mark>"


def test_attributes() -> None:
    made = element("input", type="text", class_="x", aria_label="y", required=True, disabled=False, value=None)
    assert made.html == '<input type="text" class="x" aria-label="y" required>'


def test_what_turns_a_line_around_is_shown() -> None:
    assert clean("photo\u202egpj.exe\x00\x1b[31m") == "photo\ufffdgpj.exe\ufffd\ufffd[31m"
    assert clean("שלום \u200f 👩\u200d💻 a\tb") == "שלום \u200f 👩\u200d💻 a\tb"
    assert clean("\ud800").encode() == "\ufffd".encode()


def test_nothing_is_left_out_but_none() -> None:
    assert join(["a", None, Markup("<b>"), ""], ", ").html == "a, <b>, "
