"""A fetched page as processors and the Python API see it.

It is shared by all who look at the page, so it is to be read and left as it is. The tree that `css` selects from is
built when it is first asked for, once a page; a page nobody selects from costs nothing.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import msgspec

from lycosa.crawl.items import Fields, Items, Match, Matches, grow
from lycosa.crawl.rows import UrlRow
from lycosa.errors import BadUrl
from lycosa.model import Response
from lycosa.web.headers import Headers
from lycosa.web.page import Page
from lycosa.web.url import Base


class PageView(msgspec.Struct, frozen=True, dict=True, eq=False):
    """One answer with status 200, its body and, if that is HTML, what was read from it."""

    url: str  # the normal form: the page's name everywhere in Lycosa
    requested: str  # as it was asked for
    status: int
    headers: Headers
    body: bytes  # without any coding
    content_type: str  # media type in lower case, empty if the server said none
    content_hash: str  # SHA-256 of the body, 64 hex digits
    fetched_at: float  # Unix time
    depth: int  # links from a seed
    page: Page | None = None  # None if it is not HTML

    @property
    def base(self) -> str:
        """What links are relative to."""
        return self.page.base if self.page else self.requested

    @property
    def title(self) -> str:
        return self.page.title if self.page else ""

    @property
    def text(self) -> str:
        """All visible text, a line for each block; empty if it is not HTML."""
        return self.page.text if self.page else ""

    @property
    def main_text(self) -> str:
        """The text without menus and footers."""
        return self.page.main_text if self.page else ""

    @cached_property
    def links(self) -> list[str]:
        """Where the page leads, as absolute URLs: what the crawl follows if it is in scope."""
        hrefs = [link.href for link in self.page.links if link.is_followed] if self.page else []
        return list(dict.fromkeys(url for href in hrefs if (url := self.join(href)) is not None))

    def join(self, href: str) -> str | None:
        """A link of this page as an absolute URL; None for what is no URL."""
        try:
            return self._joiner.join(href)
        except BadUrl:
            return None

    def css(self, selector: str) -> Matches:
        """What a CSS selector finds; see `crawl.items`."""
        return self._root.css(selector) if self._root is not None else Matches()

    def extract(self, fields: Fields) -> dict[str, Any]:
        """One item of the page: field names to selectors."""
        return Items(fields).one(self)

    @cached_property
    def _root(self) -> Match | None:
        return grow(self.body, self.base, self.page.charset) if self.page else None

    @cached_property
    def _joiner(self) -> Base:
        return Base(self.base)


def view_of(row: UrlRow, response: Response, content_type: str, content_hash: bytes, page: Page | None) -> PageView:
    """The view of what was fetched."""
    return PageView(
        row.url,
        response.url,
        response.status,
        response.headers,
        response.body,
        content_type,
        content_hash.hex(),
        response.started_at,
        row.depth,
        page,
    )
