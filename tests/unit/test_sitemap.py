"""Sitemaps and feeds: what is listed, what is said of it, and what broken or hostile files give."""

import gzip
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.web.sitemap import LONGEST_BYTES, MOST_ENTRIES, Entry, Sitemap, read_sitemap

URL = "https://example.org/maps/sitemap.xml"
NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
HOSTILE_BYTES = 50_000  # what is quadratic takes half a second or more, what is linear 5 ms


def read(body: str | bytes, content_type: str | None = None) -> Sitemap:
    return read_sitemap(body.encode() if isinstance(body, str) else body, URL, content_type)


def urls(body: str | bytes, content_type: str | None = None) -> list[str]:
    return [entry.url for entry in read(body, content_type).entries]


def urlset(*locations: str) -> str:
    return f"<urlset {NAMESPACE}>" + "".join(f"<url><loc>{loc}</loc></url>" for loc in locations) + "</urlset>"


def test_a_urlset_lists_pages_with_what_is_said_of_them() -> None:
    sitemap = read(
        f'<?xml version="1.0" encoding="UTF-8"?><urlset {NAMESPACE}><url><loc> https://example.org/a </loc>'
        "<lastmod>1970-01-02</lastmod><changefreq>Daily</changefreq><priority>0.8</priority></url></urlset>"
    )
    assert sitemap == Sitemap("urlset", [Entry("https://example.org/a", 86400.0, "daily", 0.8)])


def test_an_index_lists_sitemaps() -> None:
    sitemap = read(
        f"<sitemapindex {NAMESPACE}><sitemap><loc>https://example.org/1.xml.gz</loc>"
        "<lastmod>1970-01-01T00:01:00Z</lastmod></sitemap></sitemapindex>"
    )
    assert sitemap == Sitemap("index", [Entry("https://example.org/1.xml.gz", 60.0)])


def test_rss_gives_the_link_of_each_item_and_not_of_the_channel() -> None:
    sitemap = read(
        "<rss><channel><link>https://example.org/</link><item><link>https://example.org/1</link>"
        "<pubDate>Thu, 01 Jan 1970 00:01:00 GMT</pubDate></item>"
        "<item><guid>https://example.org/2</guid></item></channel></rss>"
    )
    assert sitemap == Sitemap("feed", [Entry("https://example.org/1", 60.0), Entry("https://example.org/2")])


def test_atom_gives_the_alternate_link_of_each_entry() -> None:
    assert urls(
        '<feed xmlns="http://www.w3.org/2005/Atom"><link href="/"/><entry><link rel="self" href="/self"/>'
        "<link rel='alternate' href='/1?a=1&amp;b=2'/><updated>2020-01-01</updated></entry>"
        '<entry><link href="https://example.org/2"/></entry></feed>'
    ) == ["https://example.org/1?a=1&b=2", "https://example.org/2"]


def test_rss_1_is_a_feed() -> None:
    assert urls("<rdf:RDF><item><link>https://example.org/1</link></item></rdf:RDF>") == ["https://example.org/1"]


def test_a_text_file_has_one_url_a_line() -> None:
    sitemap = read("\ufeffhttps://example.org/a\r\n\r\n not a url\nhttps://example.org/b \nhttps://example.org/a\n")
    assert sitemap.kind == "text"
    assert [entry.url for entry in sitemap.entries] == ["https://example.org/a", "https://example.org/b"]


def test_gzip_is_opened_whatever_the_file_is_called() -> None:
    assert urls(gzip.compress(urlset("https://example.org/a").encode())) == ["https://example.org/a"]


def test_a_cut_gzip_gives_what_can_be_read_and_says_so() -> None:
    whole = gzip.compress(urlset(*[f"https://example.org/{number}" for number in range(5_000)]).encode())
    sitemap = read(whole[: len(whole) // 2])
    assert sitemap.cut
    assert 100 < len(sitemap.entries) < 5_000


def test_a_gzip_bomb_is_read_up_to_the_cap_only() -> None:
    sitemap = read(gzip.compress(b"<urlset>" + b" " * (LONGEST_BYTES + 10), compresslevel=1))
    assert sitemap.cut
    assert sitemap.entries == []


def test_broken_gzip_is_no_sitemap() -> None:
    assert read(b"\x1f\x8bgarbage") == Sitemap("none", [], True)


def test_prefixes_of_the_root_are_understood_and_those_of_others_ignored() -> None:
    assert urls(
        "<sm:urlset><sm:url><sm:loc>https://example.org/a</sm:loc>"
        "<image:image><image:loc>https://example.org/a.png</image:loc></image:image></sm:url></sm:urlset>"
    ) == ["https://example.org/a"]


def test_cdata_entities_and_comments_are_read_as_xml_reads_them() -> None:
    assert urls(
        urlset("<![CDATA[https://example.org/?a=1&b=2]]>", "https://example.org/?c=1&amp;d=2", "<!-- no -->/e")
    ) == ["https://example.org/?a=1&b=2", "https://example.org/?c=1&d=2", "https://example.org/e"]


def test_relative_locations_that_start_with_a_slash_belong_to_the_host() -> None:
    assert urls(urlset("/a", "b", "//other.org/c")) == ["https://example.org/a", "https://other.org/c"]


@pytest.mark.parametrize(
    "bad", ["ftp://example.org/", "javascript:alert(1)", "mailto:a@b.c", "http://", "", "http://[/"]
)
def test_only_web_addresses_are_entries(bad: str) -> None:
    assert urls(urlset(bad, "https://example.org/ok")) == ["https://example.org/ok"]


def test_a_page_listed_twice_is_one_entry() -> None:
    assert urls(urlset("https://example.org/a", "https://example.org/a")) == ["https://example.org/a"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("priority", "7"),
        ("priority", "nan"),
        ("priority", "high"),
        ("changefreq", "sometimes"),
        ("lastmod", "yesterday"),
    ],
)
def test_nonsense_about_a_page_is_ignored_and_the_page_kept(field: str, value: str) -> None:
    body = f"<urlset><url><loc>https://example.org/a</loc><{field}>{value}</{field}></url></urlset>"
    assert read(body).entries == [Entry("https://example.org/a")]


def test_a_file_that_ends_early_gives_its_whole_entries() -> None:
    body = urlset("https://example.org/a", "https://example.org/bcd")
    assert urls(body[: body.index("bcd") + 1]) == ["https://example.org/a"]


def test_missing_end_tags_are_forgiven() -> None:
    assert urls("<urlset><url><loc>https://example.org/a<url><loc>https://example.org/b</urlset>") == [
        "https://example.org/a",
        "https://example.org/b",
    ]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "iso-8859-1", "windows-1252"])
def test_declared_encodings_are_honoured(encoding: str) -> None:
    body = f'<?xml version="1.0" encoding="{encoding.removesuffix("-sig")}"?>' + urlset("https://example.org/ü")
    assert urls(body.encode(encoding)) == ["https://example.org/%C3%BC"]


def test_a_web_page_is_no_sitemap() -> None:
    assert read("<!doctype html><html><body><a href=https://example.org/>x</a></body></html>") == Sitemap("none")
    assert read("") == Sitemap("none")


def test_entities_are_never_expanded_or_fetched() -> None:
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
    doctype = f'<!DOCTYPE urlset [<!ENTITY l0 "ha">{laughs}<!ENTITY x SYSTEM "file:///etc/passwd">]>'
    assert urls(doctype + urlset("https://example.org/&l11;", "&x;", "https://example.org/a")) == [
        "https://example.org/a"
    ]


def test_at_most_fifty_thousand_entries_are_read_and_the_rest_is_said_to_be_cut() -> None:
    for body in (
        urlset(*[f"https://e.org/{number}" for number in range(MOST_ENTRIES + 5)]),
        "\n".join(f"https://e.org/{number}" for number in range(MOST_ENTRIES + 5)),
    ):
        sitemap = read(body)
        assert len(sitemap.entries) == MOST_ENTRIES
        assert sitemap.cut


def test_exactly_fifty_thousand_entries_are_not_cut() -> None:
    assert not read("\n".join(f"https://e.org/{number}" for number in range(MOST_ENTRIES))).cut


@pytest.mark.parametrize(
    ("start", "piece"),
    [
        ("", "<urlset "), ("", "<html "), ("", "<a:"), ("", " "), ("", "http://"), ("", "http://x/\n"),
        ("<urlset>", "<!"), ("<urlset>", "<?"), ("<urlset>", "<"), ("<urlset>", "<![CDATA["), ("<urlset>", "<!--"),
        ("<urlset>", "<a '\""), ("<urlset>", "<a:"), ("<urlset>", "</"), ("<urlset>", "<url>"), ("<urlset>", "<a <"),
        ("<urlset><url><loc>", "&"), ("<urlset><url>", "<loc>x"), ("<feed><entry><link ", "a"),
        ("<feed><entry><link ", "a "), ("<feed><entry><link a", " "), ("<feed><entry><link ", "a='"),
        ("<feed><entry><link ", ":"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("end", ["", ">"])
def test_reading_is_linear_in_the_size_of_the_file(start: str, piece: str, end: str) -> None:
    body = (start + piece * (HOSTILE_BYTES // len(piece)) + end).encode()
    started = time.process_time()
    read(body)
    assert time.process_time() - started < 0.15


MARKUP = st.lists(
    st.sampled_from(
        "<urlset> <url> <loc> </loc> </url> http://a/ https://b.c/d /e <feed> <entry> <link href='/x'> <link> <rss>"
        " <item> <guid> <![CDATA[ ]]> <!-- --> <?x ?> &amp; &lt; &#0; &#x110000; <x:loc> <lastmod> 2020 9999-99-99"
        " <priority>"
        " 1e999 < > ' \"".split()
    ),
    max_size=40,
).map(lambda parts: "".join(parts).encode())


@given(st.binary(max_size=400) | MARKUP | MARKUP.map(gzip.compress), st.none() | st.text(max_size=30))
def test_any_bytes_give_a_sitemap_of_web_addresses(body: bytes, content_type: str | None) -> None:
    sitemap = read_sitemap(body, URL, content_type)
    assert sitemap.kind in ("urlset", "index", "feed", "text", "none")
    assert all(entry.url.startswith(("http://", "https://")) for entry in sitemap.entries)
    assert all(entry.priority is None or 0 <= entry.priority <= 1 for entry in sitemap.entries)
