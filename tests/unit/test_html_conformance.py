"""HTML as html5lib, Scrapy and w3lib test it."""

import time
from collections.abc import Iterator
from typing import Any

from conformance import cases, document, raw
from selectolax.lexbor import LexborHTMLParser

from lycosa.errors import BadUrl
from lycosa.web.html import read_page
from lycosa.web.url import Base

SLOWEST_S = 0.05
NAMED = (
    "href",
    "src",
    "action",
    "data",
    "poster",
    "cite",
    "background",
    "srcset",
    "longdesc",
    "manifest",
    "formaction",
)


def elements(html: str, scripting: bool) -> Iterator[tuple[str, dict[str, str]]]:
    """All elements that the parser makes, those inside templates included."""
    root = LexborHTMLParser(html, scripting=scripting).root
    assert root is not None
    for node in root.traverse():
        yield node.tag or "", {name: value or "" for name, value in node.attributes.items()}


def has_tag(html: str, tag: str, attributes: dict[str, str]) -> bool:
    return any(found == (tag, attributes) for found in elements(html, scripting=True))


def test_start_tags_and_attributes_are_read_as_the_standard_says() -> None:
    known = document("html5lib_links")["tokens"]
    failed = [
        case["id"] for case in known if not all(has_tag(case["html"], tag, dict(given)) for tag, given in case["tags"])
    ]
    assert failed == []
    assert len(known) == 364


def test_links_stand_in_the_tree_where_the_standard_puts_them() -> None:
    known = document("html5lib_links")["tree"]
    failed = []
    for case in known:
        named = [
            [tag, name, value]
            for tag, attributes in elements(case["html"], case["script_on"])
            for name, value in attributes.items()
            if name in NAMED
        ]
        if named != case["attrs"]:
            failed.append(case["id"])
    assert failed == []
    assert len(known) == 6


def seconds_for(html: bytes) -> float:
    started = time.process_time()
    page = read_page(html, "http://example.org/")
    assert len(page.text) <= 2 * len(html) + 10  # a table may repeat what stands in it, but not without bound
    assert isinstance(page.blocks, list)
    return time.process_time() - started


def test_every_page_of_html5lib_is_read_quickly_and_without_an_exception() -> None:
    known = cases("html5lib_robust")
    bodies = {case["id"]: raw(case["html"]) for case in known}
    slow = [name for name, body in bodies.items() if seconds_for(body) > SLOWEST_S and seconds_for(body) > SLOWEST_S]
    assert slow == []
    assert len(known) == 1577


def joined(case: dict[str, Any]) -> set[str]:
    charset = f"text/html; charset={case['encoding']}" if case.get("encoding") else None
    page = read_page(raw(case["html"]), case["base_url"], charset)
    base, found = Base(page.base), set()
    for link in page.links:
        try:
            found.add(base.join(link.href) if link.kind in ("a", "area") else "")
        except BadUrl:  # a link that no browser could follow
            continue
    return found - {""}


def test_all_links_that_scrapy_finds_are_found() -> None:
    known = [
        case
        for case in cases("links")
        if case["kind"] == "a+area href" and not case.get("kw") and case.get("response") != "XmlResponse"
    ]
    failed = []
    for case in known:
        found = joined(case)
        if not set(case["links"]) <= found or (found and not case["links"]):
            failed.append(case["id"])
    assert failed == []
    assert len(known) == 15


def test_the_base_of_a_page_is_what_w3lib_finds() -> None:
    known = [case for case in cases("links") if case["kind"] == "base"]
    failed = []
    for case in known:
        url = case["base_url"] or "http://unchanged.example/"  # an empty one: the page must not change its base
        if read_page(raw(case["html"]), url).base != (case["links"][0] or url):
            failed.append(case["id"])
    assert failed == []
    assert len(known) == 20


# What w3lib expects against the HTML standard, and so is not expected here.
NOT_THE_STANDARD = {
    "w3lib-refresh-22": "the tag is never closed: the standard makes no element of it (eof-in-tag)",
    "w3lib-refresh-31": "no charset is declared, and with one byte beyond ASCII every guess is as good as another",
    "w3lib-refresh-32": "the query of a URL is encoded in UTF-8 unless the page is known to be in another charset",
    "w3lib-refresh-40": "noscript has no say over the page: a refresh there is what browsers with scripts never see",
    "w3lib-refresh-42": "a script is no markup",
}


def test_a_refresh_leads_where_w3lib_says_but_for_what_contradicts_the_standard() -> None:
    known = [case for case in cases("links") if case["kind"] == "meta refresh"]
    failed = []
    for case in known:
        page = read_page(raw(case["html"]), case["base_url"])
        found = {Base(page.base).join(link.href) for link in page.links if link.kind == "refresh"}
        if found != {link for link in case["links"] if link} and case["id"] not in NOT_THE_STANDARD:
            failed.append(case["id"])
    assert failed == []
    assert len(known) == 26
