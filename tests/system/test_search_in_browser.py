"""The page in Chromium: people find, page and narrow, and nothing that a crawled page says does anything."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.system.little_site import site
from tests.system.small_crawl import OWN, lycosa
from tests.system.test_serve import Service, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")

# It says what it is, and tries all it can.
HOSTILE = {
    "/": "<title>Start</title>" + "".join(f"<a href=/{name}>{name}</a> " for name in ("h0", "h1", "h2", "h3", "long")),
    "/h0": "<title>&lt;script&gt;document.title='owned';alert(0)&lt;/script&gt; gremlin</title><p>gremlin "
    "&lt;script&gt;alert(1)&lt;/script&gt; in the text",
    "/h1": '<title>"&gt;&lt;img src=x onerror="document.title=\'owned\';alert(2)"&gt; gremlin</title>'
    "<p>gremlin '\"&gt;&lt;svg onload=alert(3)&gt; &lt;/article&gt;&lt;style&gt;*{display:none}&lt;/style&gt;",
    "/h2": "<title>gremlin invoice\u202egnp.exe</title><p>gremlin \u202e\u2066 turned around {{7*7}} ${7*7}",
    "/h3": "<title>gremlin &amp;lt;b&amp;gt; javascript:alert(4)</title><p>gremlin <a href='javascript:alert(5)'>x</a>",
    "/long": f"<title>gremlin {'W' * 400}</title><p>gremlin {'m' * 3000} end",
}
COMMON = {
    "/": "<title>Index</title>" + "".join(f"<a href=/p{number}>page</a> " for number in range(25)),
    **{
        f"/p{number}": f"<html lang=en><title>Spider number {number}</title><p>The wolf spider of page {number} hunts "
        f"alone and does not build a web, says paragraph {'abcdefghijklmnopqrstuvwxyz'[number] * 9}. "
        + " ".join(f"{word}{number * 7}" for word in ("leaf", "moss", "stone", "water", "wind"))
        * 12
        for number in range(25)
    },
}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    directory = tmp_path_factory.mktemp("browser") / "crawl"
    with site(HOSTILE) as hostile, site(COMMON) as common:
        named = common.replace("127.0.0.1", "localhost")
        lycosa("crawl", hostile, named, "--delay", "0s", "-s", OWN, "-s", OWN.replace('"]', '", "localhost"]'),
               "--dir", directory)  # fmt: skip
    with serving(directory) as service:
        yield service


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_api.sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield browser
        browser.close()


@pytest.fixture(params=["with scripts", "without scripts"])
def context(browser: Browser, request: pytest.FixtureRequest) -> Iterator[BrowserContext]:
    context = browser.new_context(java_script_enabled=request.param == "with scripts", base_url=None)
    yield context
    context.close()


def ask(page: Page, service: Service, query: str) -> None:
    """As people do."""
    page.goto(f"{service.address}/")
    page.get_by_label("Search the crawled pages").fill(query)
    page.get_by_role("button", name="Search").click()
    page.wait_for_url("**/search?q=*")


def titles(page: Page) -> list[str]:
    return page.locator("article h2").all_text_contents()


def test_a_query_its_second_page_and_a_facet(context: BrowserContext, service: Service) -> None:
    page = context.new_page()
    ask(page, service, "wolf spider")
    assert page.locator(".summary").inner_text().startswith("25 pages")
    first = titles(page)
    assert len(first) == 10
    assert page.locator(".snippet mark").first.inner_text().lower() == "wolf spider"

    page.get_by_role("link", name="Next").click()
    page.wait_for_url("**offset=10")
    second = titles(page)
    assert len(second) == 10
    assert not set(first) & set(second)
    page.get_by_role("link", name="Previous").click()
    page.wait_for_url(lambda url: "offset" not in url)
    assert titles(page) == first

    narrow = page.get_by_role("complementary", name="Narrow the search")
    narrow.get_by_role("link", name="localhost").click()
    page.wait_for_url("**site=localhost")
    assert len(titles(page)) == 10
    page.get_by_role("link", name="Remove the filter: on localhost").click()
    page.wait_for_url(lambda url: "site" not in url)


def test_a_query_without_results_and_one_that_is_odd(context: BrowserContext, service: Service) -> None:
    page = context.new_page()
    for query in ("zzzqqqxxx", '"((( AND -', "<script>alert(1)</script>zzzqqq", "\u05d0\u05d1", "%", "a" * 1_999):
        ask(page, service, query)
        assert page.get_by_label("Search the crawled pages").input_value() == query
        assert not page.get_by_role("heading", name="cannot be read").count()
    ask(page, service, "wolf spidre")
    page.get_by_role("link", name="wolf spider").click()
    assert len(titles(page)) == 10


def test_a_bad_address_is_told_with_a_box_to_begin_again(context: BrowserContext, service: Service) -> None:
    page = context.new_page()
    page.goto(f"{service.address}/search?q=spider&offset=-4")
    assert page.get_by_role("heading", name="This search cannot be read").is_visible()
    assert page.get_by_label("Search the crawled pages").input_value() == "spider"


@pytest.mark.parametrize("width", [1280, 390])
def test_whatever_a_crawled_page_says_is_shown_and_does_nothing(browser: Browser, service: Service, width: int) -> None:
    heard: list[str] = []
    context = browser.new_context(viewport={"width": width, "height": 800})
    page = context.new_page()
    page.on("dialog", lambda dialog: (heard.append(dialog.message), dialog.dismiss()))
    page.on("console", lambda message: heard.append(message.text))
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on("request", lambda request: heard.append(request.url) if service.address not in request.url else None)
    ask(page, service, "gremlin")
    shown = titles(page)
    assert "<script>document.title='owned';alert(0)</script> gremlin" in shown
    assert any(title.startswith('"><img src=x onerror=') for title in shown)
    assert "gremlin invoice\ufffdgnp.exe" in shown
    assert "gremlin &lt;b&gt; javascript:alert(4)" in shown
    assert page.title() == "gremlin · Lycosa"
    assert page.locator("main img, main script, main style, main iframe, main [onload], main [onerror]").count() == 0
    addresses = page.locator("main a").evaluate_all("links => links.map(link => link.protocol)")
    assert set(addresses) == {"http:"}
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert heard == []
    context.close()


def test_what_is_typed_is_completed(browser: Browser, service: Service) -> None:
    page = browser.new_page()
    page.goto(f"{service.address}/search")
    page.get_by_label("Search the crawled pages").press_sequentially("spider num")
    option = page.locator("#completions option").first
    option.wait_for(state="attached")
    assert (option.get_attribute("value") or "").startswith("spider number")
    page.close()


def test_it_can_be_used_with_the_keyboard_alone(browser: Browser, service: Service) -> None:
    page = browser.new_page()
    page.goto(f"{service.address}/search?q=spider")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the results"
    page.keyboard.press("Enter")
    assert page.url.endswith("#main")
    page.keyboard.press("Tab")
    inside = "document.querySelector('main').contains(document.activeElement)"
    assert page.evaluate(inside)
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert page.evaluate(outline) == "solid"
    assert page.locator("h1").count() == 1
    assert page.locator("main, header, footer, aside, form[role=search]").count() == 5
    page.close()
