"""Pages that would cost a parser far more than their size are made harmless; all others are left alone."""

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.web.html import read_page
from lycosa.web.taming import DEEPEST, _is_suspect, flatten, tame

MANY = 100_000
URL = "http://example.org/"


def seconds_for(html: bytes, enough: float = 0.7) -> float:
    """Processor time of the best of several tries, or of the first that is good enough: others use the machine too."""
    best = 60.0
    for _ in range(8):
        started = time.thread_time()
        page = read_page(html, URL)
        assert page.blocks is not None
        best = min(best, time.thread_time() - started)
        if best < enough or best > 3:
            break
    return best


def hrefs(html: bytes) -> list[str]:
    return [link.href for link in read_page(html, URL).links if link.kind == "a"]


def depth(html: bytes) -> int:
    """How deep the deepest tag stands, in a page where every tag is closed in order."""
    now = most = at = 0
    while (at := html.find(b"<", at) + 1) > 0:
        now += -1 if html[at : at + 1] == b"/" else 1
        most = max(most, now)
    return most


ARTICLE = (
    '<!doctype html><html lang=en><head><title>A</title><meta name=description content="b"></head><body>'
    + "".join(
        f"<p>Text <b>bold {number}</b> and <a href='/{number}'>a link</a>, <i>more</i>.<br></p>"
        for number in range(3000)
    )
    + "</body></html>"
).encode()
MENU = b"<ul>" + b"<li><a href=/x>x</a></li>" * 2_000 + b"</ul>"
TABLE = b"<table>" + b"<tr><td>1</td><td>2</td></tr>" * 1_500 + b"</table>"


@pytest.mark.parametrize(
    "page", [b"", b"<", b"text", b"<p>one", ARTICLE, MENU, TABLE, b"<div>" * 200 + b"x" + b"</div>" * 200]
)
def test_ordinary_pages_are_returned_as_they_are(page: bytes) -> None:
    assert tame(page) is page
    assert "nesting" not in read_page(page, URL).cut


BOMBS = {
    "formatting": "<p>" + "".join(f"<b i={number}>" for number in range(MANY)) + "<p>x" * MANY,
    "formatting, few": "<p>" + "".join(f"<b i={number}>" for number in range(5_000)) + "<p>x" * 5_000,
    "formatting, long": "<p>" + "".join(f"<b i={number}{'x' * 5_000}>" for number in range(400)) + "<p>x" * 400,
    "formatting, long, behind stray ends": "</b>" * 400
    + "<p>"
    + "".join(f"<b i={number}{'x' * 5_000}>" for number in range(400))
    + "<p>x" * 400,
    "formatting in a table": "<table>" + "".join(f"<i a={number}>" for number in range(3_000)) + "<td>x" * 3_000,
    "attributes": "<a " + " ".join(f"a{number}=1" for number in range(MANY)) + ">x",
    "attributes, newlines": "<a\n" + "\n".join(f"a{number}" for number in range(MANY)) + ">x",
    "divs": "<div>" * MANY,
    "divs with attributes": "".join(f"<div id=a{number}>" for number in range(MANY)),
    "bold with attributes": "".join(f"<b id=a{number}>" for number in range(MANY)),
    "tables": "<table><tr><td>" * (MANY // 3),
    "tables without cells": "<table>" * MANY,
    "lists": "<ul><li>" * (MANY // 2),
    "definitions": "<dl><dd>" * (MANY // 2),
    "buttons": "<button><p>" * (MANY // 2),
    "ruby": "<ruby><rt>" * (MANY // 2),
    "foreign": "<svg><g>" * (MANY // 2),
    "foreign with html": "<svg><foreignObject><p>" * (MANY // 3),
    "math": "<math><mi>" * (MANY // 2),
    "templates": "<template>" * MANY,
    "forms": "<form><div>" * (MANY // 2),
    "headings": "<h1><div>" * (MANY // 2),
    "links": "<a href=x><object>" * (MANY // 2),
    "unknown elements": "<x-y>" * MANY,
    "framesets": "<frameset>" * MANY,
    "stray closers": "<div>" * 19_999 + "</p>" * 200_000,
    "stray closers, few": "<div>" * 4_999 + "</p>" * 200_000,
    "stray closers of formatting": "<optgroup>" * 9_999 + "</b>" * 50_000,
    "stray closers in foreign content": "<svg><g>" * 4_999 + "</div>" * 50_000,
    "closers first": "</i>" * 20_000 + "<div>" * 9_999 + "<p>x" * 9_999,
    "closers in a comment": "<!--" + "</i>" * 20_000 + "-->" + "<div>" * 9_999 + "<p>x" * 9_999,
    "deep and closed": "<div>" * 19_999 + "x" + "</div>" * 19_999,
    "options": "<select>" + "<option>x</option>" * 19_000,
    "options with values": "<select>" + "<option value=1>x</option>" * 19_000 + "</select>",
    "noscripts": ("<noscript>" + "<b i=1><div>" * 2_000 + "</p>" * 2_000 + "</noscript>") * 20,
    "entities": "&amp;&nosuch;&#x110000;" * MANY,
    "less-than signs": "<" * 4_000_000,
    "open comments": "<!--" * 1_000_000,
    "quotes": "<a '\"" * 500_000,
    "one endless name": "<a" * 2_000_000,
    "one endless tag": "<a" + " " * 50_000,
    "slashes": "<a" + "/" * 50_000,
    "line breaks": "x<br>" * 400_000,
    "one long attribute": "<a href='" + "x" * 3_000_000 + "'>",
    "regions": "<main><nav>x</nav>" * 4_000,
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_no_page_costs_more_than_a_second(name: str) -> None:
    assert seconds_for(BOMBS[name].encode()[:4_000_000]) < 1.0


def test_a_hundred_thousand_nested_elements_cost_less_than_a_tenth_of_a_second() -> None:
    assert seconds_for(b"<div>" * MANY, enough=0.08) < 0.1


def test_twenty_megabytes_of_typical_markup_cost_less_than_a_second() -> None:
    words = b"the wolf spider does not spin a web to catch its prey but runs it down " * 5
    paragraph = b"<p class='text'>%b<a href='/more'>more</a> <b>bold</b> %b</p>\n" % (words, words)
    assert seconds_for(paragraph * (20_000_000 // len(paragraph))) < 1.0


def test_flattening_keeps_all_links_and_text_of_a_deep_page() -> None:
    deep = "".join(
        f'<div class="c">word{number} <a href="/{number}">link{number}</a>' for number in range(2_000)
    ).encode()
    assert _is_suspect(deep * 3)
    page = read_page(flatten(deep), URL)
    assert [link.href for link in page.links] == [f"/{number}" for number in range(2_000)]
    assert page.text.split() == [word for number in range(2_000) for word in (f"word{number}", f"link{number}")]


def test_flattening_keeps_title_base_and_metadata() -> None:
    head = (
        b"<title>A &lt;b&gt; <i></title><base href=/b/><meta name=robots content=noindex><link rel=canonical href=/c>"
    )
    page = read_page(flatten(head + b"<div>" * 1_000), URL)
    assert (page.title, page.base, page.meta["robots"], page.canonical) == ("A <b> <i>", f"{URL}b/", "noindex", "/c")


def test_flattening_leaves_out_scripts_and_styles() -> None:
    page = read_page(flatten(b"<script>'<a href=/no>'</script><style>a{}</style><p>yes" + b"<div>" * 500), URL)
    assert page.text == "yes"
    assert page.links == []


@pytest.mark.parametrize(
    ("tag", "href"),
    [
        (b"<a href=/x>", "/x"),
        (b"<A HREF = '/x' >", "/x"),
        (b'<a title=">" href="/x">', "/x"),
        (b"<a href=/x href=/y>", "/x"),
        (b"<a/href=/x>", "/x"),
        (b'<a title="a"href="/x">', "/x"),
        (b"<a href='a\"b'>", 'a"b'),
        (b"<a\nhref=\n/x\n>", "/x"),
        (b'<a href="/?a=1&amp;b=2">', "/?a=1&b=2"),
        (b"<a =x href=/x>", "/x"),
    ],
)
def test_flattening_reads_tags_as_the_standard_does(tag: bytes, href: str) -> None:
    assert hrefs(tag + b"t</a>") == hrefs(flatten(tag + b"t</a>")) == [href]


def test_words_do_not_grow_together_where_deep_tags_are_left_out() -> None:
    text = read_page(flatten(b"<div>" * 500 + b"one<p>two<p>three"), URL).text
    assert text.split() == ["one", "two", "three"]


def test_what_is_flattened_is_not_deeper_than_allowed() -> None:
    assert depth(flatten(b"<div>" * 5_000 + b"<x>" * 100)) <= DEEPEST + 1


@pytest.mark.parametrize("name", ["formatting, few", "attributes", "divs", "lists", "stray closers", "tables", "ruby"])
def test_flattened_pages_are_harmless_themselves(name: str) -> None:
    flat = flatten(BOMBS[name].encode()[:1_000_000])
    assert depth(flat) <= DEEPEST + 1
    assert flat.count(b"<b ") == 0
    assert seconds_for(flat) < 1.0


PIECES = (
    b"<div> </div> <a href='/x'> </a> <b> </b> <p> </p> <table> <td> </table> <svg> </svg> <!-- --> <script>"
    b" </script> <br>"
    b' <title> </title> text \' " < > = <a href=" <textarea> </textarea> &amp; <template> </template> <select> <option>'
).split()


@given(st.lists(st.sampled_from(PIECES), max_size=60).map(b" ".join) | st.binary(max_size=200))
def test_any_bytes_can_be_flattened_and_flattening_again_changes_no_link(html: bytes) -> None:
    flat = flatten(html)
    assert hrefs(flatten(flat)) == hrefs(flat)
    assert read_page(flat, URL).text is not None


def test_flattening_agrees_with_the_parser_on_the_links_of_tangled_pages() -> None:
    dice = random.Random(5)
    simple = [
        b"<div>",
        b"</div>",
        b"<a href='/x'>",
        b"</a>",
        b"text",
        b"<p>",
        b"<br>",
        b"<!-- <a href=/no> -->",
        b"<img src=i>",
    ]
    for _ in range(300):
        html = b"".join(dice.choices(simple, k=30))
        assert set(hrefs(flatten(html))) == set(hrefs(html))


FUZZ = """
import random, resource, sys, time
from lycosa.web.html import read_page
from lycosa.web.text import main_text

dice, worst = random.Random(2026), 0.0
names = ("div p a b i table tr td select option optgroup svg math mi foreignObject desc title template noscript ruby"
         " rt form button frameset frame ul li h1 main nav script style textarea iframe object x-y body html head"
         " br").split()
shapes = "<{}>", "</{}>", "<{} a='", "<{} href=x id={}>"
pieces = [shape.replace("{}", name) for name in names for shape in shapes]
pieces += ["'", '"', "<!--", "-->", "<![CDATA[", "]]>", "text", "&amp;", "&#0;", "<", ">", "/>", "\\0", "<!doctype a>"]
for length, count in ((20, 2500), (300, 150), (6000, 8), (40000, 2)):
    for _ in range(count):
        html = "".join(dice.choices(dice.sample(pieces, 12), k=length)).encode()
        started = time.process_time()
        page = read_page(html, "http://example.org/")
        assert set(main_text(page.blocks).split()) <= set(page.text.split()), html
        worst = max(worst, time.process_time() - started)
print(worst)
"""
MEMORY = """
import resource, sys
sys.path.insert(0, sys.argv[1])
from test_taming import BOMBS
from lycosa.web.html import read_page
for page in BOMBS.values():
    read_page(page.encode()[:4_000_000], "http://example.org/").blocks
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000)
"""


def number_printed_by(script: str) -> float:
    """Runs it in a process of its own: a crash of the parser is then a failed test, not a dead run."""
    command = [sys.executable, "-c", script, str(Path(__file__).parent)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return float(done.stdout)


def test_tangled_markup_never_crashes_the_parser_nor_takes_a_second() -> None:
    assert number_printed_by(FUZZ) < 1.0


def test_the_whole_bestiary_is_read_in_less_than_a_gigabyte() -> None:
    assert number_printed_by(MEMORY) < 1_000
