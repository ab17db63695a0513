"""Values picked out of a page by CSS selectors."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.crawl import items
from lycosa.crawl.items import Items, Match, grow, read_selector
from lycosa.errors import BadInput
from lycosa.web.charset import Charset

UTF8 = Charset("utf-8", "http")
SHOP = """
<h1> Two   <i>things</i></h1>
<div class=thing id=t1><h2>Hat<small>new</small></h2><a href="/hat?a=1#x">see</a><img src=hat.png>
  <ul><li>red<li>blue</ul><p class=maker><b>Ada</b><br>London</p></div>
<div class=thing id=t2><h2>Cup</h2><a href="//other/cup">see</a></div>
<div class=thing></div><p hidden>last
"""


def tree(html: str | bytes, base: str = "http://a/shop/") -> Match:
    root = grow(html.encode() if isinstance(html, str) else html, base, UTF8)
    assert root is not None
    return root


@pytest.mark.parametrize(
    ("selector", "values"),
    [
        ("h1", ["Two things"]),
        ("h1::text", ["Two"]),
        ("h2", ["Hatnew", "Cup"]),
        ("h2::text", ["Hat", "Cup"]),
        ("a::attr(href)", ["/hat?a=1#x", "//other/cup"]),
        ("a::attr( HREF )", ["/hat?a=1#x", "//other/cup"]),
        ("a::url", ["http://a/hat?a=1#x", "http://other/cup"]),
        ("img::url", ["http://a/shop/hat.png"]),
        ("div::attr(id)", ["t1", "t2"]),
        ("p::attr(hidden)", [""]),
        ("b::html", ["<b>Ada</b>"]),
        ("p.maker", ["Ada London"]),
        ("ul", ["red blue"]),
        ("h1, h2::text", ["Two", "Hat", "Cup"]),
        ("video", []),
    ],
)
def test_a_selector_says_what_to_look_for_and_what_to_take(selector: str, values: list[str]) -> None:
    assert tree(SHOP).css(selector).getall() == values
    assert tree(SHOP).css(selector).get() == (values[0] if values else None)


def test_nothing_found_gives_the_default() -> None:
    assert tree(SHOP).css("video::attr(src)").get("none") == "none"


def test_matches_can_be_selected_from_again_and_know_their_attributes() -> None:
    things = tree(SHOP).css("div.thing")
    assert [thing.css("h2::text").get() for thing in things] == ["Hat", "Cup", None]
    assert things[0].attributes == {"class": "thing", "id": "t1"}
    assert len(things[1:]) == 2
    assert things[1].extract({"name": "h2"}) == {"name": "Cup"}


@pytest.mark.parametrize("bad", ["a[", "h1::text, h2::text", "h1::before", ">>", "h1:nonsense", "a::attr()"])
def test_what_is_no_selector_is_refused_in_one_sentence(bad: str) -> None:
    with pytest.raises(BadInput, match="is not a CSS selector"):
        read_selector(bad)


def test_a_field_is_the_first_match_and_in_brackets_all_of_them() -> None:
    found = Items({"name": "h2::text", "names": ["h2::text"], "none": "video", "no": ["video"]}).of(tree(SHOP))
    assert found == [{"name": "Hat", "names": ["Hat", "Cup"], "none": None, "no": []}]


def test_every_match_of_the_base_is_an_item_and_empty_ones_are_left_out() -> None:
    found = Items({"id": "::attr(id)", "name": "h2::text", "colours": ["li"]}, base="div.thing").of(tree(SHOP))
    assert found == [
        {"id": "t1", "name": "Hat", "colours": ["red", "blue"]},
        {"id": "t2", "name": "Cup", "colours": []},
    ]


def test_items_lie_inside_items() -> None:
    fields = {
        "title": "h1",
        "first": {"base": "div.thing", "fields": {"maker": {"base": ".maker", "fields": {"name": "b"}}}},
        "things": [{"base": "div.thing", "fields": {"name": "h2::text"}}],
    }
    assert Items(fields).of(tree(SHOP)) == [
        {"title": "Two things", "first": {"maker": {"name": "Ada"}}, "things": [{"name": "Hat"}, {"name": "Cup"}]}
    ]


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({}, "needs fields"),
        ({"a": 1}, "field 'a' cannot be 1"),
        ({"a": ["h1", "h2"]}, "a list holds one selector"),
        ({"a": "h1["}, "field 'a': 'h1\\[' is not a CSS selector"),
        ({"a": {"bse": "h1"}}, "'bse' means nothing here"),
        ({"a": {"base": "h1"}}, "needs fields"),
        ({"a": {"base": 1, "fields": {"b": "c"}}}, "base cannot be 1"),
    ],
)
def test_fields_that_make_no_sense_are_refused_in_one_sentence(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(BadInput, match=says):
        Items(fields)


def test_items_that_lie_inside_each_other_without_end_are_refused() -> None:
    fields: dict[str, Any] = {"a": "b"}
    for _ in range(20):
        fields = {"a": {"base": "p", "fields": fields}}
    with pytest.raises(BadInput, match="deep"):
        Items(fields)


def test_what_a_page_can_make_it_cost_is_bounded() -> None:
    nested = tree("<div class=a>" * 300 + "x" * 100_000)
    found = Items({"text": ""}, base="div.a").of(nested)
    assert sum(len(item["text"]) for item in found) <= items.MOST_CHARACTERS
    blank = tree("<div class=a>" * 300 + " " * 100_000)
    assert Items({"text": ""}, base="div.a").of(blank) == []
    many = Items({"all": ["b"]}, base="p").of(tree("<p><b>x</b></p>" * 3_000))
    assert len(many) == items.MOST_ITEMS
    wide = Items({"all": ["li"]}).of(tree("<li>x</li>" * 30_000))
    assert 0 < len(wide[0]["all"]) <= items.MOST_VALUES


def test_text_is_read_in_the_pages_own_encoding() -> None:
    root = grow("<p>né".encode("latin-1"), "http://a/", Charset("windows-1252", "meta"))
    assert root is not None
    assert root.css("p").get() == "né"


@given(st.binary(max_size=300))
def test_any_bytes_can_be_selected_from(body: bytes) -> None:
    root = grow(body, "http://a/", UTF8)
    if root is not None:
        Items({"a": "*", "b": ["a::url"], "c": "::html"}, base="p, a").of(root)
