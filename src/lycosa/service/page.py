"""The page: a box, and what was found. Works without scripts; the one there is only completes what is typed."""

from __future__ import annotations

from lycosa.search.answer import Answer
from lycosa.service.facets import show_facets, show_filters
from lycosa.service.markup import Content, Markup, element, join
from lycosa.service.parameters import LONGEST_QUERY
from lycosa.service.problems import Problem
from lycosa.service.results import show_paging, show_results, show_suggestion, show_summary
from lycosa.service.shown import FILTERS, Shown
from lycosa.service.static import StaticFiles

_LONGEST_TITLE = 100  # characters of the query
_HINTS = (
    ("wolf spider", "pages that have these words"),
    ('"wolf spider"', "next to each other, in this order"),
    ("spider -web", "without a word"),
    ("spider OR tarantula", "one or the other"),
    ("site:example.org", "on a host and those below it"),
    ("intitle:guide inurl:docs", "in the title, in the address"),
    ("lang:en after:2026-01-31", "a language, fetched since a day"),
)
# The eyes of a wolf spider, as they look at you: two above, two large ones, four small ones below.
_EYES = ((7, 6, 2), (17, 6, 2), (8, 12.5, 3.2), (16, 12.5, 3.2), (4.5, 19, 1.3), (9.5, 19.5, 1.3), (14.5, 19.5, 1.3),
         (19.5, 19, 1.3))  # fmt: skip


def show_search(shown: Shown, answer: Answer | None, pages: int, static: StaticFiles) -> Markup:
    """The page of a search, or the empty one that begins it."""
    if answer is None:
        return _document("Search", _home(shown, pages), static, is_home=True)
    query = shown.request.query.strip()[:_LONGEST_TITLE]
    page = f" — page {shown.number}" if shown.number > 1 else ""
    return _document(f"{query or 'Pages'}{page}", _found(shown, answer), static, shown)


def show_problem(problem: Problem, query: str, static: StaticFiles) -> Markup:
    told = [
        element("h1", _TITLES.get(problem.status, "That did not work")),
        element("p", problem.message),
        element("p", element("a", "Begin a new search", href="/search")),
    ]
    main = element("div", *told, class_="notice")
    return _document(_TITLES.get(problem.status, "That did not work"), main, static, query=query)


_TITLES = {
    400: "This search cannot be read",
    404: "Not found",
    405: "This is only for reading",
    421: "Not known under this name",
    503: "One moment, please",
}


def _home(shown: Shown, pages: int) -> Markup:
    hints = [join([element("dt", element("code", written)), element("dd", meaning)]) for written, meaning in _HINTS]
    return element(
        "div",
        element("h1", _logo(), "Lycosa"),
        _box(shown.request.query, shown),
        element("p", f"{pages:,} {'page' if pages == 1 else 'pages'} to search in", class_="summary"),
        element("section", element("h2", "Ways to ask"), element("dl", *hints), class_="hints"),
        class_="home",
    )


def _found(shown: Shown, answer: Answer) -> Markup:
    facets = show_facets(shown, answer.facets) if answer.results else None
    head = element(
        "div",
        element("h1", "Results for ", element("bdi", shown.request.query.strip() or "these filters"), class_="hidden"),
        show_summary(shown, answer) if answer.results else None,
        element("a", "Narrow", href="#narrow", class_="to-facets") if facets is not None else None,
        class_="head",
    )
    results = element(
        "div",
        head,
        show_filters(shown),
        show_suggestion(shown, answer),
        show_results(shown, answer) if answer.results else _nothing(shown),
        show_paging(shown, answer),
        class_="found",
    )
    return element("div", results, facets, class_="columns")


def _nothing(shown: Shown) -> Markup:
    is_narrowed = any(shown.given.get(name) for name in FILTERS)
    ways: list[Content] = []
    if shown.number > 1:
        ways.append(element("li", element("a", "Go back to the first page", href=shown.page(1))))
    if is_narrowed:
        everywhere = shown.address(**dict.fromkeys(FILTERS, ""))
        ways.append(element("li", element("a", "Search without the filters", href=everywhere)))
    ways += [
        element("li", "Use fewer or other words"),
        element("li", "Take away quotes, minus signs and site: or lang:"),
    ]
    told = element("p", "No page was found for ", element("b", element("bdi", shown.request.query.strip())), ".")
    if not shown.request.query.strip():
        told = element("p", "No page was found.")
    if shown.number > 1:
        told = element("p", "There are no more results.")
    return element("div", element("h2", "Nothing here"), told, element("ul", *ways), class_="notice")


def _box(query: str, shown: Shown | None) -> Markup:
    """The form. Filters stay as they are when the words change."""
    kept = [(name, shown.given[name]) for name in FILTERS if shown.given.get(name)] if shown is not None else []
    hidden = [element("input", type="hidden", name=name, value=value) for name, value in kept]
    return element(
        "form",
        element("label", "Search the crawled pages", for_="q", class_="hidden"),
        element(
            "input",
            type="search",
            id="q",
            name="q",
            value=query,
            maxlength=str(LONGEST_QUERY),
            placeholder="Search",
            list="completions",
            autocomplete="off",
            autocapitalize="off",
            spellcheck="false",
            autofocus=shown is not None and not shown.is_question,
            dir="auto",
        ),
        element("datalist", id="completions"),
        *hidden,
        element("button", "Search", type="submit"),
        action="/search",
        method="get",
        role="search",
    )


def _logo() -> Markup:
    eyes = [element("circle", cx=f"{x:g}", cy=f"{y:g}", r=f"{radius:g}") for x, y, radius in _EYES]
    return element("svg", *eyes, viewBox="0 0 24 24", class_="logo", aria_hidden="true", focusable="false")


def _document(
    title: str, main: Markup, static: StaticFiles, shown: Shown | None = None, *, query: str = "", is_home: bool = False
) -> Markup:
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", f"{title} · Lycosa"),
        element("link", rel="icon", type="image/svg+xml", href=static.address("icon.svg")),
        element("link", rel="stylesheet", href=static.address("style.css")),
        element("script", src=static.address("complete.js"), defer=True),
    )
    home = element("a", _logo(), element("span", "Lycosa"), href="/search", class_="brand")
    box = _box(shown.request.query if shown is not None else query, shown)
    body = element(
        "body",
        element("a", "Skip to the results", href="#main", class_="skip"),
        None if is_home else element("header", home, box),
        element("main", main, id="main"),
        element("footer", element("p", "Pages were crawled by Lycosa, politely. What they say is theirs.")),
    )
    return join([Markup("<!doctype html>"), element("html", head, body, lang="en")])
