"""A page read as it stands, without a tree: possible where its tags nest properly, and many times faster.

The reading is done in C (`native/page.c`), which gives up on any page that is not plain. Where nothing was compiled,
no page is plain, and all that is lost is time (ADR 0010).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from html.entities import html5
from itertools import starmap

from lycosa.web.elements import LONGEST_HREF, Elements
from lycosa.web.page import Block, Heading, Link, Page

try:
    from lycosa.native import read_page as _read
    from lycosa.native import read_words as _read_words
except ImportError:  # no compiler where it was installed
    _read = None  # type: ignore[assignment]

PLAIN_BYTES = 1_000_000  # longer pages are near the caps, which only the tree knows
_LONGEST_HEADING = 2_000


def is_compiled() -> bool:
    return _read is not None


def read_plain(html: bytes, page: Page) -> bool:
    """Read the page (in UTF-8); False, and nothing is written, if it is not plain."""
    found = _read(html, html5, LONGEST_HREF) if _read is not None and len(html) <= PLAIN_BYTES else None
    if found is None:
        return False
    notes, anchors, too_long, headings, main_text = found
    elements = Elements(page)
    for tag, attributes, content in notes:
        if tag in _MEDIA:
            elements.media(tag, attributes)
        elif content is None:
            _ACTS[tag](elements, attributes)
        elif tag == "script":
            elements.script(attributes, content.__str__)
        elif tag == "title":
            elements.title(content)
        else:
            elements.noscript(content)
    page.links.extend(starmap(Link, anchors))
    page.too_long += too_long
    elements.close()
    page.read = PlainWords(html, headings, main_text)
    return True


class PlainWords:
    """The words of a plain page: its headings and main text, which were read with its links. For all of its text, which
    few ask for, it is read again."""

    def __init__(self, html: bytes, headings: Sequence[tuple[int, str]], main_text: str) -> None:
        self.headings = [Heading(level, said[:_LONGEST_HEADING]) for level, said in headings]
        self.cut: list[str] = []
        self._html = html
        self._main_text = main_text
        self._whole: tuple[str, list[Block]] | None = None

    def main_text(self) -> str:
        return self._main_text

    def text(self) -> str:
        return self._words()[0]

    def blocks(self) -> list[Block]:
        return list(self._words()[1])

    def _words(self) -> tuple[str, list[Block]]:
        if self._whole is None:
            found = _read_words(self._html, html5, LONGEST_HREF)
            assert found is not None  # it was plain before
            self._whole, self._html = (found[0], list(map(_block, found[1]))), b""
        return self._whole


_block = partial(tuple.__new__, Block)  # a third of the cost of `Block._make`
_MEDIA = frozenset(("img", "iframe", "source", "video", "audio", "track", "embed", "input"))
_ACTS = {
    "html": Elements.html,
    "base": Elements.base,
    "meta": Elements.meta,
    "area": Elements.area,
    "link": Elements.resource,
}
