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
except ImportError:  # no compiler where it was installed
    _read = None  # type: ignore[assignment]

PLAIN_BYTES = 500_000  # longer pages are near the caps, which only the tree knows
_LONGEST_HEADING = 2_000


def is_compiled() -> bool:
    return _read is not None


def read_plain(html: bytes, page: Page) -> bool:
    """Read the page (in UTF-8); False, and nothing is written, if it is not plain."""
    found = _read(html, html5, LONGEST_HREF) if _read is not None and len(html) <= PLAIN_BYTES else None
    if found is None:
        return False
    notes, anchors, too_long, headings, text, blocks = found
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
    page.read = PlainWords(text, headings, blocks)
    return True


class PlainWords:
    """The words of a plain page, which were all read with its links."""

    def __init__(
        self, text: str, headings: Sequence[tuple[int, str]], blocks: Sequence[tuple[str, str, str, int]]
    ) -> None:
        self.headings = [Heading(level, said[:_LONGEST_HEADING]) for level, said in headings]
        self.cut: list[str] = []
        self._text = text
        self._blocks = blocks

    def text(self) -> str:
        return self._text

    def blocks(self) -> list[Block]:
        return list(map(_block, self._blocks))


_block = partial(tuple.__new__, Block)  # a third of the cost of `Block._make`
_MEDIA = frozenset(("img", "iframe", "source", "video", "audio", "track", "embed", "input"))
_ACTS = {
    "html": Elements.html,
    "base": Elements.base,
    "meta": Elements.meta,
    "area": Elements.area,
    "link": Elements.resource,
}
