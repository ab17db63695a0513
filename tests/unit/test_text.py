"""The main text keeps the article and leaves out menus, footers and lists of links."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lycosa.web.html import read_page
from lycosa.web.page import Block
from lycosa.web.text import main_text

LONG = "The wolf spider does not spin a web to catch its prey but runs it down on the ground, mostly at night. "


@pytest.fixture(autouse=True, params=["as it stands", "from the tree"])
def both_ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain pages are read in one of two ways, with the same result."""
    if request.param == "from the tree":
        monkeypatch.setattr("lycosa.web.html.read_plain", lambda html, page: False)


def main_of(html: str) -> str:
    return read_page(html.encode(), "http://example.org/").main_text


def test_paragraphs_stay_and_menus_go() -> None:
    menu = (
        "<ul>" + "".join(f"<li><a href=/{word}>{word}</a>" for word in "Home News Shop About Contact".split()) + "</ul>"
    )
    text = main_of(f"{menu}<h1>Spiders</h1><p>{LONG}</p><p>{LONG}</p><div>{menu}</div>")
    assert text == f"Spiders\n{LONG.strip()}\n{LONG.strip()}"


@pytest.mark.parametrize("region", ["nav", "aside", "header", "footer", "form"])
def test_marked_boilerplate_is_left_out_however_long_it_is(region: str) -> None:
    text = main_of(f"<{region}><p>Boiler {LONG}</p></{region}><p>Article {LONG}</p>")
    assert "Article" in text
    assert "Boiler" not in text


def test_where_the_page_marks_its_main_part_only_that_counts() -> None:
    text = main_of(f"<p>Before {LONG}</p><main><p>Inside {LONG}</p><p>Inside too {LONG}</p></main><p>After {LONG}</p>")
    assert text.startswith("Inside")
    assert "Inside too" in text
    assert "Before" not in text
    assert "After" not in text


def test_text_behind_a_line_break_belongs_to_the_main_part_too() -> None:
    text = main_of(f"<main><p>One {LONG}<br>Two {LONG}<br>Three {LONG}</p></main>")
    assert [line.split()[0] for line in text.split("\n")] == ["One", "Two", "Three"]


def test_text_behind_a_line_break_in_a_footer_is_footer() -> None:
    assert "Rights" not in main_of(f"<p>{LONG}{LONG}</p><footer>Imprint<br>Rights {LONG}</footer>")


def test_text_behind_an_inner_element_belongs_to_the_main_part_too() -> None:
    text = main_of(f"<main><p>One {LONG}</p><nav><a href=/>Menu</a></nav>Loose {LONG}</main>")
    assert "Loose" in text
    assert "Menu" not in text


def test_a_menu_inside_main_is_left_out() -> None:
    assert "Menu" not in main_of(f"<main><nav>Menu {LONG}</nav><p>{LONG}</p><p>{LONG}</p></main>")


def test_short_lines_between_paragraphs_stay() -> None:
    assert "A short remark." in main_of(f"<p>{LONG}</p><p>A short remark.</p><p>{LONG}</p>")


def test_headings_before_their_text_stay() -> None:
    assert main_of(f"<h2>Habitat</h2><p>{LONG}{LONG}</p>").startswith("Habitat\n")


def test_a_paragraph_with_a_few_links_is_text() -> None:
    assert "prey" in main_of(f"<p>{LONG}<a href=1>see</a> and {LONG} <a href=2>more</a></p>")


def test_a_long_list_of_links_is_no_text() -> None:
    links = "".join(f"<a href={number}>Another story about spider number {number}</a> " for number in range(20))
    assert "story" not in main_of(f"<div>{links}</div><p>{LONG}{LONG}</p>")


def test_a_page_of_short_lines_gives_all_of_them_rather_than_nothing() -> None:
    assert main_of("<p>Opening hours</p><p>Monday</p><p>9 to 5</p>") == "Opening hours\nMonday\n9 to 5"


def test_a_page_that_is_all_boilerplate_gives_it_rather_than_nothing() -> None:
    assert main_of("<nav><a href=1>One</a></nav><footer>Two</footer>") == "One\nTwo"


def test_the_order_of_the_page_is_kept() -> None:
    text = main_of("".join(f"<p>{number} {LONG}</p>" for number in range(20)))
    assert [int(line.split()[0]) for line in text.split("\n")] == list(range(20))


def test_no_blocks_give_no_text() -> None:
    assert main_text([]) == ""


BLOCKS = st.lists(
    st.builds(
        Block,
        st.text(min_size=1, max_size=150),
        st.sampled_from(["p", "h1", "hr", "h", "li", "td"]),
        st.sampled_from(["", "main", "nav", "aside", "header", "footer", "form"]),
        st.integers(0, 300),
    ),
    max_size=20,
)


@given(BLOCKS)
def test_the_main_text_is_made_of_blocks_of_the_page_in_order(blocks: list[Block]) -> None:
    text = main_text(blocks)
    at = 0
    for block in blocks:
        if text.startswith(block.text, at) and text[at + len(block.text) : at + len(block.text) + 1] in ("", "\n"):
            at += len(block.text) + 1
    assert at >= len(text)
    assert bool(text) == bool(blocks)


PARTS = st.builds(
    lambda tag, inner: f"<{tag}>{inner}</{tag}>",
    st.sampled_from(["p", "h1", "h2", "li", "div", "nav", "main", "footer", "aside", "header"]),
    st.builds(
        lambda before, linked, after: f"{before}<a href=x>{linked}</a>{after}",
        st.integers(0, 130).map(lambda size: ("Wölfe spinnen nicht. " * 7)[:size]),
        st.integers(0, 90).map(lambda size: ("Spinnen in der Nähe " * 5)[:size]),
        st.sampled_from(["", "mehr", LONG]),
    ),
)


@given(st.lists(PARTS, max_size=14).map("".join))
@settings(max_examples=500, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_main_text_is_the_same_however_the_page_is_read(html: str) -> None:
    page = read_page(html.encode(), "http://example.org/")
    assert page.main_text == main_text(page.blocks)
