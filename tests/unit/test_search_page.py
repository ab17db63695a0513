"""The page: what stands on it, and where its links lead."""

from __future__ import annotations

import re
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from lycosa.search.answer import Answer, Facet, Facets, Request
from tests.unit.test_service import NOW, Library, app_of, asked

HOSTILE = '"><img src=x onerror=alert(1)><script>alert(2)</script>'


def page(target: str, library: Any = None) -> str:
    reply = asked(app_of(library), target)
    assert reply.status == 200
    return reply.text


def links(html: str) -> dict[str, str]:
    """Addresses by their texts."""
    found = re.findall(r'<a [^>]*?href="([^"]*)"[^>]*>(.*?)</a>', html, re.S)
    return {re.sub(r"<[^>]+>", "", text): unescape(address) for address, text in found}


def parameters(address: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}


def test_without_a_query_there_is_a_box_and_how_to_ask() -> None:
    library = Library()
    html = page("/search", library)
    assert not library.asked
    assert '<form action="/search" method="get" role="search">' in html
    assert "25 pages to search in" in html
    assert "site:example.org" in html


def test_results_have_title_address_snippet_date_and_language() -> None:
    html = page("/search?q=wolf", Library(snippet="A wolf spider.", highlights=[(2, 6)], title_highlights=[(0, 4)]))
    assert html.count("<article>") == 10
    assert '<a href="http://a.example/0" rel="noopener noreferrer nofollow"><mark>Page</mark> 0</a>' in html
    assert "A <mark>wolf</mark> spider." in html
    assert '<time datetime="2027-01-15">15 January 2027</time><span>English</span>' in html
    assert "<b>25 pages</b>" in html
    assert "<title>wolf · Lycosa</title>" in html


def test_paging_goes_on_and_back_and_ends() -> None:
    first, second, third = (page(f"/search?q=a%26b&site=a.example&offset={offset}") for offset in (0, 10, 20))
    assert "Previous" not in links(first)
    assert parameters(links(first)["Next"]) == {"q": "a&b", "site": "a.example", "offset": "10"}
    assert parameters(links(second)["Next"])["offset"] == "20"
    assert "offset" not in parameters(links(second)["Previous"])
    assert 'aria-current="page"' in second
    assert "Next" not in links(third)
    assert '<ol class="results" start="21">' in third
    assert parameters(links(page("/search?q=a&limit=5"))["Next"]) == {"q": "a", "limit": "5", "offset": "5"}


def test_a_facet_adds_a_filter_and_begins_with_the_first_page() -> None:
    html = page("/search?q=a&offset=10")
    assert parameters(links(html)["b.example"]) == {"q": "a", "site": "b.example"}
    assert parameters(links(html)["German"]) == {"q": "a", "lang": "de"}
    assert parameters(links(html)["Past week"]) == {"q": "a", "after": "week"}


def test_a_filter_in_force_stays_with_the_box_and_can_be_taken_away() -> None:
    library = Library()
    html = page("/search?q=a&site=b.example&after=week&fold=0", library)
    assert library.asked[0].site == "b.example"
    assert library.asked[0].after == NOW - 7 * 86_400
    assert '<input type="hidden" name="site" value="b.example">' in html
    assert parameters(links(html)["on b.example×"]) == {"q": "a", "after": "week", "fold": "0"}
    assert parameters(links(html)["nothing folded×"]) == {"q": "a", "site": "b.example", "after": "week"}
    assert "b.example" not in links(html)  # not offered again


def test_what_was_folded_is_a_link_away() -> None:
    html = page("/search?q=a", Library(also=3))
    assert parameters(links(html)["3 more on a.example"]) == {"q": "a", "fold": "0", "site": "a.example"}


class Nothing(Library):
    suggestion: str | None = None

    def search(self, request: Request) -> Answer:
        return Answer(query=request.query, total=0, took_ms=1.0, results=[], suggestion=self.suggestion)


def test_nothing_found_says_so_and_what_one_may_do() -> None:
    html = page("/search?q=wolff&lang=de", Nothing())
    assert "No page was found for" in html
    assert parameters(links(html)["Search without the filters"]) == {"q": "wolff"}


def test_did_you_mean() -> None:
    library = Nothing()
    library.suggestion = "wolf & spider"
    html = page("/search?q=wolff&offset=20", library)
    assert parameters(links(html)["wolf &amp; spider"]) == {"q": "wolf & spider"}


def test_of_a_query_that_is_too_long_the_beginning_is_taken() -> None:
    library = Library()
    page("/search?q=" + "a" * 5_000, library)
    assert library.asked[0].query == "a" * 2_000


def test_a_parameter_that_cannot_be_used_is_told_on_a_page_with_a_box() -> None:
    reply = asked(app_of(), "/search?q=wolf&offset=minus")
    assert reply.status == 400
    assert "This search cannot be read" in reply.text
    assert 'value="wolf"' in reply.text


@pytest.mark.parametrize("url", ["javascript:alert(1)", "data:text/html,x", "//evil.example", "ftp://a.example/", ""])
def test_only_addresses_of_the_web_are_links(url: str) -> None:
    html = page("/search?q=a", Library(url=url))
    assert f'href="{url}"' not in html
    assert "javascript:" not in "".join(links(html).values())


def test_whatever_a_page_says_is_text() -> None:
    class Hostile(Library):
        def search(self, request: Request) -> Answer:
            answer = super().search(request)
            facets = Facets([Facet(HOSTILE, 2)], [Facet(HOSTILE, 1)], [Facet(HOSTILE, 1)])
            return Answer(query=HOSTILE, total=1, took_ms=1.0, results=answer.results, facets=facets,
                          suggestion=HOSTILE, more=True)  # fmt: skip

    about = {"title": HOSTILE, "snippet": HOSTILE, "url": f"http://a.example/{HOSTILE}", "highlights": [(0, 3)],
             "title_highlights": [(2, 8)], "also": 2}  # fmt: skip
    html = page(f"/search?q={HOSTILE.replace('>', '%3E')}", Hostile(**about))
    tags = set(re.findall(r"<([a-z0-9]+)", html))
    assert "img" not in tags
    assert re.findall(r"<script[^>]*>", html) == [
        tag for tag in re.findall(r"<script[^>]*>", html) if 'src="/static/' in tag
    ]
    assert html.count("<script") == 1
    assert "onerror" not in " ".join(re.findall(r"<[a-z0-9]+ [^>]*?>", re.sub(r'"[^"]*"', '""', html)))


def test_the_page_has_neither_style_nor_script_of_its_own() -> None:
    html = page("/search?q=a")
    assert " style=" not in html
    assert "<style" not in html
    assert re.findall(r"<script(?! src=)", html) == []
    assert re.findall(r" on[a-z]+=", html) == []
