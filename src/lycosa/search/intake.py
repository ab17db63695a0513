"""From rows of the tables to changes of the index: which pages are in it, and which no longer are.

A page is in the index once, under its own URL: a copy is not (its original is), and neither is a page whose canonical
address is in the index. What asks not to be indexed, has gone, or leads elsewhere now, is removed. Rows may come twice:
the later one holds, and the same one changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

import msgspec

from lycosa.search.anchors import Anchors
from lycosa.search.index import Entry, Positions, Writer
from lycosa.search.language import language_of
from lycosa.web.directives import Directives, read_told
from lycosa.web.domains import is_address, registered_domain
from lycosa.web.url import cut

_LONGEST_TITLE = 500


class PageSeen(msgspec.Struct, array_like=True, gc=False):
    """What the index needs of a row of `pages`, in this order."""

    url: str
    host: str
    fetched_at: float
    outcome: str
    title: str | None = None
    language: str | None = None
    text: str | None = None
    simhash: int | None = None
    alias_of: str | None = None
    canonical: str | None = None
    headings: str | None = None
    directives: str | None = None


PAGE_COLUMNS = PageSeen.__struct_fields__
LINK_COLUMNS = ("target", "kind", "rel", "text", "refused")
LinkSeen = tuple[str, str, str, str, str | None]  # in that order


class Intake:
    def __init__(self, index: Writer, now: float) -> None:
        self._index = index
        self._now = now  # what is not available any more at this moment is not indexed
        self._anchors = Anchors()
        self.pages = 0  # rows that were taken, for progress

    def page(self, page: PageSeen) -> None:
        self.pages += 1
        if page.outcome == "unchanged":
            return
        key = key_of(page.url)
        entry = self._entry(key, page) if page.outcome == "fetched" else None
        if entry is None or (entry.canonical and self._index.has(entry.canonical)):
            self._index.remove(key)
        else:
            self._index.put(entry)

    def links(self, source: str, links: Iterable[LinkSeen]) -> None:
        self._anchors.add(source, links)

    def commit(self, positions: Positions) -> None:
        """All that was taken so far is in the index, and from where to go on with it."""
        self._index.add_anchors({key_of(url): texts for url, texts in self._anchors.take().items()})
        self._index.commit(positions)

    def _entry(self, key: bytes, page: PageSeen) -> Entry | None:
        """None if the page is not to be found."""
        said = directives_of(page.directives)
        if page.alias_of or not said.may_index(self._now) or (page.text is None and not page.title):
            return None
        text, headings = page.text or "", page.headings or ""
        canonical = page.canonical if page.canonical and page.canonical != page.url else ""
        return Entry(
            key=key,
            url=page.url,
            host=page.host,
            title=(page.title or "")[:_LONGEST_TITLE],
            headings=headings,
            body=text,
            language=language_of(text or headings or page.title or "", page.language),
            fetched_at=page.fetched_at,
            simhash=page.simhash or 0,
            canonical=key_of(canonical) if canonical else b"",
            snippet_limit=said.snippet_limit(),
            until=said.unavailable_after,
            label=label_of(page.host),
            is_home=is_home(page.url),
        )


def key_of(url: str) -> bytes:
    """The key of a URL in its normal form."""
    return cut(url).key()


@lru_cache(256)
def directives_of(told: str | None) -> Directives:
    """From the words in which the table has them."""
    return read_told(told) if told else Directives()


@lru_cache(4096)
def label_of(host: str) -> str:
    """The name of a site, as people say it: `example` of www.example.co.uk; an address has none."""
    return "" if is_address(host) else registered_domain(host).partition(".")[0]


def is_home(url: str) -> bool:
    """Is it the front page of its host?"""
    return url.count("/") == 3 and url.endswith("/")


def sites_of(host: str) -> Sequence[str]:
    """A host and the domains above it: what `site:` may name."""
    if is_address(host):
        return [host]
    labels = host.split(".")
    return [".".join(labels[at:]) for at in range(len(labels))]
