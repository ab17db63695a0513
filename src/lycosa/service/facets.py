"""Narrowing a search, as plain links: by host, language and date, and the filters that are in force."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from lycosa.search.answer import Facet, Facets
from lycosa.service.languages import language_name
from lycosa.service.markup import Markup, element, join
from lycosa.service.shown import Shown

SPAN_NAMES = {"day": "Past day", "week": "Past week", "month": "Past month", "year": "Past year"}
_MOST = 8  # of a kind


class _Choice(NamedTuple):
    name: str  # of the parameter
    value: str
    text: str
    pages: int


def show_filters(shown: Shown) -> Markup | None:
    """What narrows the search at present, each with a link that takes it away."""
    given = shown.given
    after, before = given.get("after", ""), given.get("before", "")
    in_force = [
        ("site", f"on {given['site']}" if given.get("site") else ""),
        ("lang", f"in {language_name(shown.request.language)}" if given.get("lang") else ""),
        ("after", SPAN_NAMES.get(after, f"from {after}") if after else ""),
        ("before", f"until {before}" if before else ""),
        ("fold", "nothing folded" if shown.request.fold == 0 else ""),
    ]
    chips = [_chip(text, shown.address(**{name: ""})) for name, text in in_force if text]
    return element("ul", *chips, class_="chips", aria_label="Filters") if chips else None


def _chip(text: str, without: str) -> Markup:
    cross = element("span", "×", class_="cross", aria_hidden="true")
    link = element("a", element("bdi", text), cross, href=without, aria_label=f"Remove the filter: {text}")
    return element("li", link)


def show_facets(shown: Shown, facets: Facets) -> Markup | None:
    """Filters that could be added. A kind that is in force already is not offered again."""
    hosts = [_Choice("site", each.value, each.value, each.count) for each in facets.hosts if each.value]
    languages = [_Choice("lang", each.value, language_name(each.value), each.count) for each in facets.languages]
    dates = [_Choice("after", each.value, SPAN_NAMES[each.value], each.count) for each in _spans(facets.dates)]
    kinds = (("Host", hosts), ("Language", languages), ("Fetched", dates))
    groups = [_group(shown, title, choices) for title, choices in kinds if choices]
    groups = [group for group in groups if group is not None]
    return element("aside", *groups, class_="facets", id="narrow", aria_label="Narrow the search") if groups else None


def _spans(dates: Sequence[Facet]) -> list[Facet]:
    """The shortest of those that hold the same pages."""
    kept: list[Facet] = []
    for each in dates:
        if each.value in SPAN_NAMES and each.count and (not kept or each.count > kept[-1].count):
            kept.append(each)
    return kept


def _group(shown: Shown, title: str, choices: Sequence[_Choice]) -> Markup | None:
    if shown.given.get(choices[0].name):
        return None
    return element("section", element("h2", title), element("ul", *[_choice(shown, each) for each in choices[:_MOST]]))


def _choice(shown: Shown, choice: _Choice) -> Markup:
    text = element("bdi", choice.text)
    count = element("span", f"{choice.pages:,}", class_="count")
    link = element("a", text, href=shown.address(**{choice.name: choice.value}))
    return element("li", join([link, count], " "))
