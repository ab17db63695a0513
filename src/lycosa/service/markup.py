"""HTML that is escaped by construction.

`element` makes markup of texts and of other markup: a text is always escaped, and only what was made here is not. So
text of strangers cannot become a tag, whoever forgets what. Characters that could turn a line around or that no page
should hold are shown as U+FFFD, one for one, so that places in a text stay what they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from typing import NamedTuple

_VOID = frozenset({"input", "link", "meta", "br"})
_DIRECTING = range(0x202A, 0x202F)  # embeddings and overrides of direction; isolates end with the element
_SHOWN_AS = dict.fromkeys(
    [
        *[number for number in range(0x20) if chr(number) not in "\t\n\r"],
        *range(0x7F, 0xA0),
        *_DIRECTING,
        *range(0xD800, 0xE000),
        0xFFFE,
        0xFFFF,
    ],
    "\ufffd",
)
# Nothing in it is to be escaped or shown otherwise.
_is_plain = re.compile(r"[\w \t\n\r.,:;/?()=%#·…›+*-]*", re.ASCII).fullmatch


class Markup(NamedTuple):
    """Text that is HTML already."""

    html: str


Content = Markup | str | None  # None is nothing at all


def element(name: str, /, *content: Content, **attributes: str | bool | None) -> Markup:
    """`element("a", "text", href="/")`. `class_` and `for_` lose their underscore, others become hyphens.

    An attribute that is None or False is left out, one that is True has no value.
    """
    told = "".join([_attribute(key, value) for key, value in attributes.items() if value is not None])
    opening = f"<{name}{told}>"
    return Markup(opening if name in _VOID else f"{opening}{join(content).html}</{name}>")


def join(content: Iterable[Content], between: str = "") -> Markup:
    return Markup(between.join([_html(each) for each in content if each is not None]))


def highlighted(text: str, ranges: Sequence[tuple[int, int]]) -> Markup:
    """The text with these ranges marked, neighbours as one. Ranges that do not fit, or not ascend, are passed over."""
    fitting: list[tuple[int, int]] = []
    for start, end in ranges:
        before = fitting[-1][1] if fitting else 0
        if not before <= start < end <= len(text):
            continue
        if fitting and text[before:start].isspace():
            start = fitting.pop()[0]  # noqa: PLW2901 the mark goes on
        fitting.append((start, end))
    parts: list[Content] = []
    at = 0
    for start, end in fitting:
        parts += [text[at:start], element("mark", text[start:end])]
        at = end
    return join([*parts, text[at:]])


def clean(text: str) -> str:
    """Without characters that deceive or that no page should hold."""
    return text.translate(_SHOWN_AS)


def _html(content: Markup | str) -> str:
    return content.html if isinstance(content, Markup) else _escaped(content)


def _escaped(text: str) -> str:
    return text if _is_plain(text) else escape(clean(text))  # most texts are: a page has hundreds


def _attribute(key: str, value: str | bool | None) -> str:
    name = _attribute_name(key)
    if isinstance(value, str):
        return f' {name}="{_escaped(value)}"'
    return f" {name}" if value else ""


@cache
def _attribute_name(key: str) -> str:
    return key.rstrip("_").replace("_", "-")
