"""The results of a search, as the page shows them. All of their text is of strangers: `markup` escapes it."""

from __future__ import annotations

import datetime
from urllib.parse import urlsplit

from lycosa.search.answer import Answer, Result
from lycosa.service.languages import language_name
from lycosa.service.markup import Markup, element, highlighted, join
from lycosa.service.shown import Shown

_LONGEST_TITLE = 120
_PAGES_AROUND = 3


def show_summary(shown: Shown, answer: Answer) -> Markup:
    count = f"{answer.total:,} {'page' if answer.total == 1 else 'pages'}"
    page = f", page {shown.number}" if shown.number > 1 else ""
    partly = " — part of the index did not answer" if answer.partial else ""
    return element("p", element("b", count), f"{page} in {answer.took_ms:.1f} ms{partly}", class_="summary")


def show_suggestion(shown: Shown, answer: Answer) -> Markup | None:
    if not answer.suggestion:
        return None
    link = element("a", element("bdi", answer.suggestion), href=shown.address(q=answer.suggestion))
    return element("p", "Did you mean ", link, "?", class_="suggestion")


def show_results(shown: Shown, answer: Answer) -> Markup:
    found = [element("li", _result(shown, result)) for result in answer.results]
    return element("ol", *found, class_="results", start=str(shown.request.offset + 1))


def _result(shown: Shown, result: Result) -> Markup:
    title = result.title.strip()
    text = highlighted(_cut(title), result.title_highlights) if title else join([_cut(result.url)])
    # Only what a crawl could have fetched is a link: an address of another kind would be somebody's trick.
    is_web = result.url.startswith(("http://", "https://"))
    heading = (
        element("a", text, href=result.url, rel="noopener noreferrer nofollow") if is_web else element("span", text)
    )
    snippet = element("p", highlighted(result.snippet, result.highlights), class_="snippet", dir="auto")
    return element(
        "article",
        _address(result.url),
        element("h2", heading, dir="auto"),
        snippet if result.snippet else None,
        _about(shown, result),
    )


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_TITLE else f"{text[:_LONGEST_TITLE].rstrip()}…"


def _address(url: str) -> Markup:
    """The host, and the way from there: what tells results apart at a glance."""
    try:
        parts = urlsplit(url)
        host, path = parts.netloc.rpartition("@")[2], parts.path + (f"?{parts.query}" if parts.query else "")
    except ValueError:
        host, path = "", url
    steps = [element("span", step) for step in path.split("/") if step]
    return element("p", element("bdi", element("b", host), *steps), class_="address")


def _about(shown: Shown, result: Result) -> Markup:
    day = _day(result.fetched_at)
    told = [
        element("time", day.strftime("%-d %B %Y"), datetime=day.date().isoformat()) if day else None,
        element("span", language_name(result.language)) if result.language else None,
        _more(shown, result),
    ]
    return element("p", *told, class_="about")


def _day(moment: float) -> datetime.datetime | None:
    try:
        return datetime.datetime.fromtimestamp(moment, datetime.UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _more(shown: Shown, result: Result) -> Markup | None:
    """Where those are that were folded into this one: near copies, and more of its host."""
    if not result.also or shown.given.get("site"):  # within one host they follow on the next pages
        return None
    text = join([f"{result.also:,} more on ", element("bdi", result.host)])
    return element("a", text, href=shown.address(fold="0", site=result.host))


def show_paging(shown: Shown, answer: Answer) -> Markup | None:
    """Back, the pages near this one, and on. How many there are in all is known only when one gets there."""
    has_more = answer.more and shown.has_page(shown.number + 1)
    if shown.number == 1 and not has_more:
        return None
    last = shown.number + has_more
    near = range(max(1, shown.number - _PAGES_AROUND), last + 1)
    steps = [
        _step(shown, shown.number - 1, "Previous", "prev") if shown.number > 1 else None,
        *[_number(shown, number) for number in near],
        _step(shown, shown.number + 1, "Next", "next") if has_more else None,
    ]
    return element("nav", element("ul", *steps), class_="paging", aria_label="Pages of results")


def _step(shown: Shown, number: int, text: str, rel: str) -> Markup:
    return element("li", element("a", text, href=shown.page(number), rel=rel, class_=rel))


def _number(shown: Shown, number: int) -> Markup:
    is_here = number == shown.number
    label = f"Page {number}"
    link = element(
        "a", str(number), href=shown.page(number), aria_label=label, aria_current="page" if is_here else None
    )
    return element("li", link)
