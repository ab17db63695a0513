"""A page is read as browsers read it: links, metadata, headings and text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.web.elements import LONGEST_HREF, MOST_LINKS, read_refresh, read_srcset
from lycosa.web.html import PARSED_BYTES, read_page
from lycosa.web.page import FOLLOWED, Heading, Link, Page
from lycosa.web.text import main_text

URL = "https://example.org/dir/page.html"


@pytest.fixture(autouse=True, params=["as it stands", "from the tree"])
def both_ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain pages are read in one of two ways, with the same result."""
    if request.param == "from the tree":
        monkeypatch.setattr("lycosa.web.html.read_plain", lambda html, page: False)


def read(html: str | bytes) -> Page:
    return read_page(html.encode() if isinstance(html, str) else html, URL)


def links(html: str) -> list[tuple[str, str]]:
    return [(link.kind, link.href) for link in read(html).links]


# -- links -------------------------------------------------------------------------------------------------------------


def test_links_stay_as_they_stand_in_the_page_with_their_words() -> None:
    page = read("<a href='../x?a=1&amp;b=2#f' rel='Nofollow ugc'> a <b>bold</b>\n word </a>")
    assert page.links == [Link("../x?a=1&b=2#f", "a", "Nofollow ugc", "a bold word")]


@pytest.mark.parametrize(
    ("html", "kind"),
    [
        ("<area href=x alt=y>", "area"), ("<iframe src=x></iframe>", "iframe"), ("<img src=x>", "img"),
        ("<frameset><frame src=x></frameset>", "frame"), ("<script src=x></script>", "script"),
        ("<embed src=x>", "embed"),
        ("<link href=x rel=icon>", "link"), ("<video src=x></video>", "video"),
        ("<audio><source src=x></audio>", "source"),
        ("<video poster=x></video>", "video"), ("<object data=x></object>", "object"), ("<track src=x>", "track"),
        ("<input type=image src=x>", "input"), ("<img srcset='x 2x'>", "img"), ("<a href=x>", "a"),
        ("<meta http-equiv=refresh content='0;url=x'>", "refresh"), ("<svg><a href=x></a></svg>", "a"),
    ],
)  # fmt: skip
def test_every_element_that_names_a_resource_is_recorded_with_its_kind(html: str, kind: str) -> None:
    assert links(html) == [(kind, "x")]


def test_only_links_that_lead_to_pages_are_followed_and_nofollow_ones_are_not() -> None:
    assert {"a", "area", "frame", "iframe", "refresh", "processor"} == FOLLOWED
    assert Link("x", "a").is_followed
    assert not Link("x", "a", "noopener NOFOLLOW").is_followed
    assert Link("x", "a", "nofollowers").is_followed
    assert not Link("x", "img").is_followed


def test_a_link_without_href_is_none_and_an_empty_one_is_the_page_itself() -> None:
    assert links("<a name=x>a</a><a>b</a>") == []
    assert links('<a href="">a</a>') == links("<a href>a</a>") == [("a", "")]


def test_a_link_around_a_picture_says_what_the_picture_says() -> None:
    assert read("<a href=x><img src=i alt=' Our  shop '></a>").links[-1].text == "Our shop"


@pytest.mark.parametrize("html", ["<a href=1><h3>Title</h3><p>Lead</p></a>", "<a href=1>Title<br>Lead</a>",
    "<a href=1><b><div>Title</div></b>Lead</a>", "<a href=1>Title<ul><li>Lead</ul></a>"])  # fmt: skip
def test_words_of_a_link_do_not_grow_together(html: str) -> None:
    assert read(html).links[0].text == "Title Lead"


@pytest.mark.parametrize("html", ["<!-- <a href=x> -->", "<script>'<a href=x>'</script>", "<style><a href=x></style>",
    "<textarea><a href=x></textarea>", "<title><a href=x></title>", "<template><a href=x></template>",
    "<a title='<a href=x>'>", "&lt;a href=x&gt;", "<xmp><a href=x></xmp>"])  # fmt: skip
def test_what_only_looks_like_a_link_is_none(html: str) -> None:
    assert links(html) == []


def test_links_in_noscript_count_but_it_has_no_say_over_the_page() -> None:
    page = read(
        "<noscript><base href=//evil.org/><meta http-equiv=refresh content='0;url=/no'><a href=n>N</a>"
        "<img src=pixel></noscript><a href=x>"
    )
    assert page.base == URL
    assert sorted((link.kind, link.href) for link in page.links) == [("a", "n"), ("a", "x"), ("img", "pixel")]


@pytest.mark.parametrize(
    ("html", "base"),
    [
        ("<base href=/b/>", "https://example.org/b/"), ("<base href=sub/>", "https://example.org/dir/sub/"),
        ("<base href=//cdn.org/x>", "https://cdn.org/x"),
        ("<base target=x><base href=/a><base href=/b>", "https://example.org/a"),
        ("<base href='http://['>", URL), ("<base href=data:,x>", URL), ("<base href=javascript:x>", URL),
        ("<!--<base href=/b>-->", URL),
        ("<p><base href=/late></p>", "https://example.org/late"), ("", URL),
    ],
)  # fmt: skip
def test_the_first_base_decides_what_links_are_relative_to(html: str, base: str) -> None:
    assert read(html).base == base


@pytest.mark.parametrize(
    ("content", "target"),
    [
        ("0;url=x", "x"), ("5; URL = 'x y' z", "x y"), ("5,url=x", "x"), ("5 x", "x"), (".5;url=x", "x"), ("0;x", "x"),
        ("5", ""), ("", ""), ("url=x", ""), ("5url=x", ""), ("-1;url=x", ""), ("5;", ""), ("5; url", "url"),
        ("0;url=", ""),
        (";url=x", ""),
    ],
)  # fmt: skip
def test_a_refresh_is_read_as_browsers_read_it(content: str, target: str) -> None:
    assert read_refresh(content) == target


@pytest.mark.parametrize(
    ("srcset", "addresses"),
    [
        ("a.jpg 1x, b.jpg 2x", ["a.jpg", "b.jpg"]), ("a.jpg, b.jpg", ["a.jpg", "b.jpg"]), ("a 1x,b 2x", ["a", "b"]),
        ("a,b.jpg 1x", ["a,b.jpg"]), (" ,, a", ["a"]), ("", []),
        ("data:image/png;base64,AA= 1x, b", ["data:image/png;base64,AA=", "b"]),
        ("a.jpg (x,y), b.jpg", ["a.jpg", "b.jpg"]),
    ],
)  # fmt: skip
def test_a_srcset_names_all_its_pictures(srcset: str, addresses: list[str]) -> None:
    assert read_srcset(srcset) == addresses


# -- metadata ----------------------------------------------------------------------------------------------------------


def test_title_description_language_and_canonical_are_found() -> None:
    page = read(
        "<html lang=' de-AT '><title> Ein\n &lt;Titel&gt; </title><meta name=Description content=' kurz '>"
        "<link rel='x CANONICAL' href=' /c '><link rel=canonical href=/d>"
    )
    assert (page.title, page.description, page.language, page.canonical) == ("Ein <Titel>", "kurz", "de-AT", "/c")


def test_the_title_is_the_first_one_and_never_that_of_a_drawing() -> None:
    assert read("<svg><title>drawing</title></svg><title>page</title><title>second</title>").title == "page"


def test_rules_for_robots_add_up_and_of_descriptions_the_first_wins() -> None:
    page = read("<meta name=robots content=noindex><meta name=ROBOTS content=nofollow>"
                "<meta name=description content=a><meta name=description content=b>")  # fmt: skip
    assert page.meta == {"robots": "noindex, nofollow", "description": "a"}


def test_properties_and_http_equiv_are_metadata_too() -> None:
    page = read(
        "<meta property=og:description content=a><meta http-equiv=X-Robots content=b><meta name=x><meta content=y>"
    )
    assert page.meta == {"og:description": "a", "x-robots": "b"}
    assert page.description == "a"


def test_json_ld_is_kept_as_it_stands() -> None:
    assert read("<script type='Application/LD+json'> {\"a\": 1} </script><script>x</script>").data == ['{"a": 1}']


def test_headings_are_kept_with_their_level_and_words() -> None:
    assert read("<h1>A <i>b</i></h1><h2></h2><h3>One<br>Two</h3>").headings == [
        Heading(1, "A b"),
        Heading(3, "One Two"),
    ]


@pytest.mark.parametrize(
    "tail", ["tail", " <b>tail</b>", "<br>tail", "<p>tail", "<script>x</script>tail", "<nav>tail</nav>"]
)
def test_a_heading_ends_where_its_element_ends(tail: str) -> None:
    assert read(f"<h2></h2>{tail}").headings == []
    assert read(f"<h2>A</h2>{tail}").headings == [Heading(2, "A")]
    assert read(f"<h2>A<br>B<script>x</script></h2>{tail}").headings == [Heading(2, "A B")]
    assert read(f"<h2>A&#30;B</h2>{tail}").headings == [Heading(2, "A B")]


# -- text --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>one<p>two", "one\ntwo"), ("a<br>b", "a\nb"), ("foo<b>bar</b>baz", "foobarbaz"), ("<div>a</div>b", "a\nb"),
        ("<div>a</div> <b>b</b>", "a\nb"), ("<div>a</div> <!-- c --> b", "a\nb"),
        ("<table><tr><td>a<td>b</table>c", "a\nb\nc"), ("<ul><li>a<li>b</ul>c", "a\nb\nc"), ("a<hr>b", "a\nb"),
        ("<dl><dt>a<dd>b</dl>", "a\nb"), ("a<wbr>b", "ab"), ("<span>a</span><span>b</span>", "ab"),
        ("a<!-- c -->b", "ab"),
        ("a<script>x</script>b", "ab"), ("a<style>x</style>b", "ab"), ("<pre>a\n  b</pre>", "a b"),
        ("a&nbsp;&amp;b", "a &b"),
        ("<select><option>a<option>b</select>", "a\nb"), ("<button>a</button><button>b</button>", "a\nb"),
        ("<template>x</template>a", "a"), ("<iframe>x</iframe>a", "a"), ("<textarea>x</textarea>a", "a"),
        ("<title>t</title>a", "a"), ("<noscript>x</noscript>a", "a"), ("<h1>a</h1>b<h2>c</h2>d", "a\nb\nc\nd"),
        ("<details><summary>a</summary>b</details>c", "a\nb\nc"), ("<hgroup>a</hgroup>b", "a\nb"),
        ("<listing>a</listing>b", "a\nb"), ("x<main>a<nav>b</nav>c</main>d", "x\na\nb\nc\nd"), ("", ""),
        ("<svg>\0</svg><frameset>", ""),
    ],
)  # fmt: skip
def test_words_are_divided_by_blocks_and_only_by_blocks(html: str, text: str) -> None:
    assert read(html).text == text


def test_white_space_is_folded_alike_in_short_and_in_long_texts() -> None:
    line = "<p> \t a\n  b&nbsp; é <i> c</i>\u2009d\n\n</p>  e "
    assert read(line).text == "a b é c\u2009d\ne"
    assert read(line * 9_000).text == "\n".join(["a b é c\u2009d\ne"] * 9_000)


def test_blocks_know_their_element_their_region_and_how_much_of_them_is_links() -> None:
    page = read(
        "<nav><a href=1>Home</a></nav><main><h1>Title</h1><p>Read <a href=2>this</a></p></main><footer>End</footer>"
    )
    assert [tuple(block) for block in page.blocks] == [
        ("Home", "nav", "nav", 4), ("Title", "h1", "main", 0), ("Read this", "p", "main", 4),
        ("End", "footer", "footer", 0),
    ]  # fmt: skip


def test_a_line_behind_a_break_keeps_its_region_and_its_links() -> None:
    blocks = read("<footer>one<br><a href=1>two</a></footer>three").blocks
    assert [(block.text, block.region, block.link_characters) for block in blocks] == [
        ("one", "footer", 0), ("two", "footer", 3), ("three", "", 0),
    ]  # fmt: skip


def test_marks_of_our_own_in_a_page_do_no_harm() -> None:
    page = read("<p>a\x02b\x03c</p><p>d")
    assert "\n".join(block.text for block in page.blocks) == page.text
    assert [letter for letter in page.text if letter.isalpha()] == list("abcd")


# -- caps --------------------------------------------------------------------------------------------------------------


def test_more_links_than_the_cap_are_cut_and_that_is_said() -> None:
    assert read("<a href=x></a>" * MOST_LINKS).cut == []
    for element in ("<a href=x></a>", "<img src=x>"):
        page = read(element * (MOST_LINKS + 1))
        assert (len(page.links), page.cut) == (MOST_LINKS, ["links"])


def test_the_cap_on_links_holds_for_all_kinds_together() -> None:
    page = read("<a href=x></a>" * 7_000 + "<img src=x>" * 7_000)
    assert len(page.links) <= MOST_LINKS
    assert "links" in page.cut


def test_bytes_past_the_cap_are_not_parsed_and_that_is_said() -> None:
    page = read(b"<p>a</p><!--" + b" " * PARSED_BYTES + b"--><a href=late>")
    assert (page.text, page.links, page.cut) == ("a", [], ["length"])


def test_absurdly_long_values_are_cut_or_left_out() -> None:
    long = "x" * 100_000
    page = read(
        f"<title>{long}</title><html lang={long}><a href={long}>a</a><a href=b>{long}</a>"
        f"<meta name=m content={long}><h1>{long}</h1><script type=application/ld+json>{long}</script>"
    )
    assert [link.href for link in page.links] == ["b"]
    assert (
        max(map(len, [page.title, page.language, page.links[0].text, page.meta["m"], page.headings[0].text])) <= 2_000
    )
    assert page.data == []
    assert read(f"<a href={'x' * LONGEST_HREF}>").links


def test_text_past_the_cap_is_cut_and_that_is_said() -> None:
    page = read("<p>" + "word " * 500_000)
    assert page.cut == ["text"]
    assert len(page.text) <= 2_000_000


def test_more_blocks_than_the_cap_are_cut_and_that_is_said() -> None:
    page = read("<p>a</p>" * 26_000 + "<a href=x>b</a>")
    assert page.cut[-1] == "blocks"
    assert page.text.startswith("a\na\n")
    assert page.blocks[0] == ("a", "p", "", 0)
    assert "b" in page.blocks[-1].text


def test_a_page_whose_text_nobody_asked_for_gives_it_later_and_always_the_same() -> None:
    page = read("<h1>A</h1><p>b <a href=x>c</a>")
    assert page.links == [Link("x", "a", "", "c")]
    assert page.blocks == page.blocks
    assert (page.text, page.headings, page.text) == ("A\nb c", [Heading(1, "A")], "A\nb c")


# -- any bytes ---------------------------------------------------------------------------------------------------------

PIECES = (
    "<p> </p> <div> </div> <a href=x> </a> <br> <table> <td> </table> <b> </b> <svg> <title> </title> </svg> <math>"
    " <template>"
    " </template> <select> <option> </select> <noscript> </noscript> <main> <nav> </nav> <h1> <script> </script>"
    " <iframe> <frameset>"
    " <base href=//[> <meta charset=utf-16> <!-- --> <![CDATA[ ' \" < > & &#0; \x00 \x02 \x03 é \ufeff <textarea>"
    " <plaintext>"
).split()  # fmt: skip


@given(
    st.binary(max_size=300) | st.lists(st.sampled_from(PIECES), max_size=50).map(lambda parts: " ".join(parts).encode())
)
def test_any_bytes_give_a_page_that_can_be_used(body: bytes) -> None:
    page = read(body)
    assert sorted(" ".join(block.text for block in page.blocks).split()) == sorted(page.text.split())
    assert set(main_text(page.blocks).split()) <= set(page.text.split())
    assert len(page.links) <= MOST_LINKS
    assert all(len(link.href) <= LONGEST_HREF for link in page.links)
    assert page.base.startswith(("http:", "https:")) or ":" in page.base


@given(st.binary(max_size=200), st.text(max_size=40))
def test_any_content_type_is_survived(body: bytes, content_type: str) -> None:
    assert read_page(body, URL, content_type).charset.label
