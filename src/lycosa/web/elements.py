"""What the elements of a page mean, whoever found them: its title, base, metadata, and all links but anchors."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser

from lycosa.errors import BadUrl
from lycosa.web.page import Link, Page, fold
from lycosa.web.taming import tame
from lycosa.web.url import Base

# The source, not what scripts would see: `select` is quadratic there.
PLAIN_TREE = LexborDocumentOptions.WO_EVENTS.value
MOST_LINKS = 10_000
LONGEST_HREF = 8_192
LONGEST_ANCHOR = 500
_MOST_META = 200
_LONGEST_META = 2_000
_LONGEST_DATA = 64_000
_MOST_DATA = 32
_MOST_UNSCRIPTED = 20
_LONGEST_UNSCRIPTED = 50_000

Attributes = Mapping[str, str | None]


class Elements:
    """Writes what elements say into a page. `anchor` and the text of the page are left to whoever reads it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.links = page.links
        self._is_based = False
        self._unscripted: list[str] = []  # markup meant for readers that run no scripts

    def html(self, at: Attributes) -> None:
        self.page.language = (at.get("lang") or at.get("xml:lang") or "").strip()[:35]

    def title(self, text: str) -> None:
        if not self.page.title:
            self.page.title = fold(text)[:_LONGEST_META]

    def base(self, at: Attributes) -> None:
        href = at.get("href")
        if href is None or self._is_based:
            return
        self._is_based = True
        with contextlib.suppress(BadUrl):
            base = Base(self.page.base).join(href[:LONGEST_HREF])
            if not base.startswith(("data:", "javascript:")):
                self.page.base = base

    def meta(self, at: Attributes) -> None:
        name, content = at.get("name") or at.get("property") or at.get("http-equiv"), at.get("content")
        if not name or content is None:
            return
        name, content, meta = name.strip().lower()[:100], content.strip()[:_LONGEST_META], self.page.meta
        if name == "refresh":
            self.link(read_refresh(content), "refresh")
        if name not in meta:
            if len(meta) < _MOST_META:
                meta[name] = content
        elif name not in _SINGLE:  # rules for robots add up
            meta[name] = f"{meta[name]}, {content}"[:_LONGEST_META]

    def script(self, at: Attributes, read_text: Callable[[], str]) -> None:
        src = at.get("src")
        if src:
            self.link(src, "script")
        elif (at.get("type") or "").strip().lower() == "application/ld+json" and len(self.page.data) < _MOST_DATA:
            text = read_text().strip()
            if text and len(text) <= _LONGEST_DATA:
                self.page.data.append(text)

    def area(self, at: Attributes) -> None:
        href = at.get("href")
        if href is not None:
            self.link(href, "area", at.get("rel") or "", fold(at.get("alt") or ""))

    def resource(self, at: Attributes) -> None:
        href, rel = at.get("href"), (at.get("rel") or "").lower()
        if not href or len(href) > LONGEST_HREF:
            return
        if "canonical" in rel and not self.page.canonical and "canonical" in rel.split():
            self.page.canonical = href.strip()
        self.link(href, "link", rel)

    def media(self, kind: str, at: Attributes) -> None:
        named = [at[name] for name in ("src", "data", "poster") if name in at]
        if "srcset" in at:
            named += read_srcset(at["srcset"] or "")
        for href in named:
            self.link(href or "", kind)

    def noscript(self, markup: str) -> None:
        if "<" in markup and len(self._unscripted) < _MOST_UNSCRIPTED:
            self._unscripted.append(markup[:_LONGEST_UNSCRIPTED])

    def link(self, href: str, kind: str, rel: str = "", text: str = "") -> None:
        if href and len(href) <= LONGEST_HREF:
            if len(self.links) < MOST_LINKS:
                self.links.append(Link(href, kind, rel, text[:LONGEST_ANCHOR]))
            elif self.page.cut_early[-1:] != ["links"]:
                self.page.cut_early.append("links")

    def close(self) -> None:
        """After all else: the links of what is meant for readers that run no scripts."""
        for markup in self._unscripted:
            root = LexborHTMLParser(tame(markup.encode("utf-8", "replace")), scripting=True, options=PLAIN_TREE).root
            for node in root.css("a[href],area[href],img[src],iframe[src]") if root is not None else ():
                at, kind = node.attributes, node.tag or ""
                text = fold(node.text_lexbor()) if kind == "a" else at.get("alt") or ""
                self.link(at.get("href") or at.get("src") or "", kind, at.get("rel") or "", text)


def read_refresh(content: str) -> str:
    """The target of `5; url=…` as browsers read it; empty if it only reloads."""
    found = _REFRESH.match(content)
    if found is None:
        return ""
    target = found[1] or ""
    if target[:1] in ("'", '"'):
        target = target[1:].partition(target[0])[0]
    return target.strip()


def read_srcset(srcset: str) -> list[str]:
    """The addresses in a srcset, at most twenty. One that ends with a comma has no descriptors behind it."""
    found: list[str] = []
    at = 0
    while len(found) < 20 and (candidate := _CANDIDATE.match(srcset, at)):
        address = candidate[1]
        found.append(address.rstrip(","))
        at = candidate.end()
        if not address.endswith(","):
            descriptors = _DESCRIPTORS.match(srcset, at)
            at = descriptors.end() if descriptors else at
    return found


_REFRESH = re.compile(r"\s*[0-9.]++\s*[;,\s]\s*+(?:url\s*+=\s*+)?+(\S.*)?", re.I | re.S)
_CANDIDATE = re.compile(r"[\s,]*+([^\s]++)")
_DESCRIPTORS = re.compile(r"(?:[^,(]++|\([^)]*+\)?)*+")
_SINGLE = frozenset(("description", "viewport", "author", "og:title", "og:description", "og:url", "og:type", "refresh"))
