"""A plain page says the same whether it is read as it stands or from the tree; and what is not plain is left alone."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lycosa.kit import simhash as fingerprints
from lycosa.web import plain
from lycosa.web.charset import Charset
from lycosa.web.page import Page
from lycosa.web.text import main_text
from lycosa.web.tree import read_tree

pytestmark = pytest.mark.skipif(not plain.is_compiled(), reason="lycosa.native was not compiled here")

URL = "https://a.example/x/"
TAGS = (
    "a b i em code span div p ul ol li dl dt dd table tr td th tbody thead caption colgroup col h1 h2 h3 pre br hr img "
    "nav main header footer aside section article form button input select option optgroup label legend fieldset "
    "script style title meta link base noscript textarea iframe svg path video source area address details summary "
    "custom-tag html head body blockquote figure figcaption dialog center font nobr object template math"
).split()
WORDS = [
    "one",
    " two ",
    "\n",
    "&amp;",
    "&nbsp;",
    "&eacute;",
    "&copy",
    "&#233;",
    "&#x2003;",
    "&",
    "<",
    "a < b",
    "é",
    "\u2003",
    "漢字",
]
ATTRIBUTES = (
    """
 href="/p?a=1&b=2"| href=x/| href="&amp;&eacute;&lang=en"| href| rel="nofollow"| class="c"| role="main"| /| =x
 role=" Navigation "| alt=" a  picture "| src="i.png"| srcset="a.png 1x, b.png 2x"| lang="de"| name="robots"
 content="noindex"| content| property="og:title"| href='a'href='b'| title="a > b"| rel="canonical"
""".strip("\n")
    .replace("\n", "|")
    .split("|")
)


def pages() -> st.SearchStrategy[str]:
    names = st.sampled_from(TAGS)
    attributes = st.lists(st.sampled_from(ATTRIBUTES), max_size=3).map("".join)
    begin = st.builds(lambda name, said: f"<{name}{said}>", names, attributes)
    end = names.map(lambda name: f"</{name}>")
    comment = st.sampled_from(["<!-- c -->", "<!doctype html>", "<!-->", "<?xml?>", "<![CDATA[x]]>", "<!--a--!>"])
    words = st.sampled_from(WORDS)
    whole = st.recursive(
        words,
        lambda inner: st.builds(
            lambda name, said, content: f"<{name}{said}>{''.join(content)}</{name}>",
            names,
            attributes,
            st.lists(inner, max_size=4),
        ),
        max_leaves=12,
    )
    return st.lists(st.one_of(whole, whole, whole, begin, end, words, comment), max_size=10).map("".join)


def both(html: bytes) -> tuple[Page, Page] | None:
    one, other = (Page(base=URL, charset=Charset("utf-8", "given")) for _ in range(2))
    if not plain.read_plain(html, one):
        return None
    read_tree(html, other)
    return one, other


def assert_same(one: Page, other: Page, html: object = None) -> None:
    for name in ("base", "title", "language", "canonical", "meta", "data", "links", "too_long", "text", "headings"):
        assert getattr(one, name) == getattr(other, name), (name, html)
    assert [block[:3] for block in one.blocks] == [block[:3] for block in other.blocks], html
    assert one.main_text == main_text(one.blocks), html


@given(pages())
@settings(max_examples=1_500, deadline=None)
def test_a_plain_page_is_read_as_from_its_tree(html: str) -> None:
    found = both(html.encode())
    if found is not None:
        assert_same(*found, html)


def test_a_page_with_bytes_that_are_no_text_is_left_to_the_tree_wherever_they_stand() -> None:
    for menu in (b"\xff", b"\xc3", b"\xe2\x82"):
        html = b"<nav>me" + menu + b"nu</nav><p>" + b"A long line of the article. " * 20
        assert both(html) is None


PLAIN = {
    "end tags left out": "<ul><li>one<li>two<p>three<li>four</ul><p>five<div>six</div><dl><dt>a<dd>b<dt>c</dl>",
    "a table without its parts": "<table><tr><td>1<td>2<tr><th>3<p>4</table>five",
    "links around blocks": "<a href=x><h2>Title</h2><p>words</p></a>tail",
    "a link that is too long": f"<a href={'x' * 9_000}>one</a><a href={'x' * 8_192}>two</a><a href=y>three</a>",
    "a picture in a link": "<a href=x><img src=i.png alt=' Our  shop '></a>",
    "choices": "<form><select><optgroup label=x><option>one<option>two</optgroup></select></form>after",
    "a drawing": "<p>a<svg viewBox='0 0 1 1'><title>t</title><path d='M0'/><g><rect></rect></g></svg>b</p>",
    "references": "<p>a &lt; b &amp; c&nbsp;d &hellip; &#8230; AT&T &unknown</p>",
    "a stray end of a paragraph": "<div>one</p>two</div>",
    "regions": "<nav>menu</nav><main>m<aside>a</aside><div role=navigation>n</div></main><footer>f</footer>",
    "a whole page": "<!doctype html><html lang=en><head><title>T &amp; t</title><meta name=description content=d>"
    "<link rel=canonical href=/c><script>if (a < b) f('<p>')</script></head>"
    "<body><h1>H</h1>text<br>more</body></html>\n",
}


@pytest.mark.parametrize("html", PLAIN.values(), ids=PLAIN.keys())
def test_these_are_plain(html: str) -> None:
    found = both(html.encode())
    assert found is not None
    assert_same(*found)


NOT_PLAIN = {
    "formatting across blocks": "<p><b>one</p><p>two</b></p>",
    "a link in a link": "<a href=x>one<a href=y>two</a></a>",
    "text in a table": "<table>text<tr><td>x</td></tr></table>",
    "a frame": "<frameset><frame src=x></frameset>",
    "a template": "<template><a href=x>x</a></template>",
    "a script that hides its end": "<script><!-- <script> </script> --></script>",
    "a page that ends in a tag": "<p>text<a href=",
    "bytes that are no UTF-8": b"<p>caf\xe9</p>",
    "a zero byte": "<p>a\0b</p>",
    "deep nesting": "<div>" * 1_000,
}


@pytest.mark.parametrize("html", NOT_PLAIN.values(), ids=NOT_PLAIN.keys())
def test_these_are_left_to_the_parser(html: str | bytes) -> None:
    assert both(html if isinstance(html, bytes) else html.encode()) is None


@given(st.binary(max_size=200))
def test_any_bytes_may_come(html: bytes) -> None:
    found = both(html)
    if found is not None:
        assert_same(*found, html)


@given(st.text(alphabet="aB \n\tzé漢\u2003\x1c", max_size=200))
def test_the_compiled_fingerprint_is_the_same(text: str) -> None:
    one, compiled = fingerprints.simhash(text), fingerprints._compiled
    try:
        fingerprints._compiled = None  # type: ignore[assignment]
        assert fingerprints.simhash(text) == one
    finally:
        fingerprints._compiled = compiled
