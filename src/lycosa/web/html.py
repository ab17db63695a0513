"""An HTML page read in one pass: links and metadata at once, headings and text (`web.marks`) when asked for.

The tree is built by Lexbor, exactly as browsers build it, and walked once; what `noscript` holds is meant for readers
like us, so its links count, but it has no say over the page (no base, no refresh). Links stay as they stand in the
page, with the kind of element that named them; `web.url.Normaliser.links` makes URLs of them, relative to `Page.base`.

Any bytes give a page. All that a server controls is capped: bytes parsed, depth and cost of the tree (`web.taming`),
number and length of links, metadata and text; what a cap cut off is said in `Page.cut`.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, LexborNode

from lycosa.errors import BadUrl
from lycosa.web import charset as charsets
from lycosa.web.marks import BLOCKS, Tree, numbers
from lycosa.web.page import Link, Page, fold
from lycosa.web.taming import tame
from lycosa.web.url import Base

PARSED_BYTES = 4_000_000
_PLAIN_TREE = (
    LexborDocumentOptions.WO_EVENTS.value
)  # the source, not what scripts would see: `select` is quadratic there
MOST_LINKS = 10_000
LONGEST_HREF = 8_192
_LONGEST_ANCHOR = 500
_LONGEST_TEXT = 2_000_000
_MOST_META = 200
_LONGEST_META = 2_000
_LONGEST_DATA = 64_000
_MOST_DATA = 32
_MOST_UNSCRIPTED = 20
_LONGEST_UNSCRIPTED = 50_000


def read_page(body: bytes, url: str, content_type: str | None = None) -> Page:
    """Read the bytes of a page found at `url`; `content_type` is the HTTP header."""
    charset = charsets.sniff(body, content_type)
    page = Page(base=url, charset=charset)
    if len(body) > PARSED_BYTES:
        body = body[:PARSED_BYTES]
        page.cut_early.append("length")
    html = _as_utf8(body, charset)
    tamed = tame(html)
    if tamed is not html:
        page.cut_early.append("nesting")
    parser = LexborHTMLParser(tamed, scripting=True, options=_PLAIN_TREE)
    root = parser.root
    if root is not None:
        page.tree = tree = Tree(parser)
        _Walk(page, tree).read(root)
    return page


def _as_utf8(body: bytes, charset: charsets.Charset) -> bytes:
    """What the parser takes. Bad bytes in UTF-8 it replaces itself."""
    if charset.label == "utf-8":
        return body.removeprefix(b"\xef\xbb\xbf")
    return charsets.decode(body, charset).encode("utf-8", "replace")


class _Walk:
    """The state of one pass; `_ACTS` says which method each element calls."""

    def __init__(self, page: Page, tree: Tree) -> None:
        self.page = page
        self.tree = tree
        self.based = False
        self.links = page.links
        self.unscripted: list[str] = []  # markup meant for readers that run no scripts

    def read(self, root: LexborNode) -> None:
        """Visit every element once. The two frequent kinds, anchors and blocks, are noted and read in a row."""
        at = root.attributes
        self.page.language = (at.get("lang") or at.get("xml:lang") or "").strip()[:35]
        acts, blocks = _ACTS, self.tree.blocks
        is_anchor, is_block = _Walk.anchor, _Walk.block
        anchors: list[LexborNode] = []
        anchor_blocks: list[int] = []
        for node in root.traverse():
            tag = node.tag_id
            if tag not in acts:  # inline: nothing but its text matters
                continue
            act = acts[tag]
            if act is is_block:
                blocks.append(node)
            elif act is is_anchor:
                anchors.append(node)
                anchor_blocks.append(len(blocks))
            else:
                act(self, node)
        self.read_anchors(anchors, anchor_blocks)
        for markup in self.unscripted:
            self.read_unscripted(markup)

    def anchor(self, node: LexborNode) -> None:
        """Only a name for `_ACTS`: `read` notes anchors itself, for `read_anchors`."""
        raise AssertionError(node)

    def block(self, node: LexborNode) -> None:
        """Only a name for `_ACTS`: `read` notes blocks itself, for whoever asks for text."""
        raise AssertionError(node)

    def skip(self, node: LexborNode) -> None:
        self.tree.unread.append(node)

    # -- metadata ------------------------------------------------------------------------------------------------------

    def title(self, node: LexborNode) -> None:
        parent = node.parent
        if not self.page.title and (parent is None or parent.tag != "svg"):
            self.page.title = fold(node.text_lexbor())[:_LONGEST_META]
        self.tree.unread.append(node)

    def base(self, node: LexborNode) -> None:
        href = node.attributes.get("href")
        if href is None or self.based:
            return
        self.based = True
        with contextlib.suppress(BadUrl):
            base = Base(self.page.base).join(href[:LONGEST_HREF])
            if not base.startswith(("data:", "javascript:")):
                self.page.base = base

    def meta(self, node: LexborNode) -> None:
        at = node.attributes
        name, content = at.get("name") or at.get("property") or at.get("http-equiv"), at.get("content")
        if not name or content is None:
            return
        name, content, meta = name.strip().lower()[:100], content.strip()[:_LONGEST_META], self.page.meta
        if name == "refresh":
            target = read_refresh(content)
            self.link(target, "refresh")
        if name not in meta:
            if len(meta) < _MOST_META:
                meta[name] = content
        elif name not in _SINGLE:  # rules for robots add up
            meta[name] = f"{meta[name]}, {content}"[:_LONGEST_META]

    def script(self, node: LexborNode) -> None:
        at = node.attributes
        src = at.get("src")
        if src:
            self.link(src, "script")
        elif (at.get("type") or "").strip().lower() == "application/ld+json" and len(self.page.data) < _MOST_DATA:
            text = node.text_lexbor().strip()
            if text and len(text) <= _LONGEST_DATA:
                self.page.data.append(text)
        self.tree.unread.append(node)

    # -- links ---------------------------------------------------------------------------------------------------------

    def link(self, href: str, kind: str, rel: str = "", text: str = "") -> None:
        if href and len(href) <= LONGEST_HREF:
            if len(self.links) < MOST_LINKS:
                self.links.append(Link(href, kind, rel, text[:_LONGEST_ANCHOR]))
            elif self.page.cut_early[-1:] != ["links"]:
                self.page.cut_early.append("links")

    def read_anchors(self, anchors: list[LexborNode], blocks: list[int]) -> None:
        """The links of all `a` elements, and for each the block it stands in."""
        if len(anchors) + len(self.links) > MOST_LINKS:
            del anchors[max(0, MOST_LINKS - len(self.links)) :]
            self.page.cut_early.append("links")
        links, linked, all_blocks, left = self.links, self.tree.linked, self.tree.blocks, _LONGEST_TEXT
        count = len(all_blocks)
        for node, block in zip(anchors, blocks, strict=False):
            at = node.attributes
            if "href" not in at:
                continue
            href = at["href"] or ""
            if len(href) > LONGEST_HREF:
                self.page.too_long += 1
                continue
            if block < count:
                above = all_blocks[block].parent
                if above is not None and above.tag_id not in BLOCKS and _is_inside(above, node):
                    _space_blocks(node)
            raw = node.text_lexbor() if left > 0 else ""  # anchors may be nested, and each holds all inside
            left -= len(raw)
            text = " ".join(raw.split())[:_LONGEST_ANCHOR] or _picture_text(node)
            links.append(Link(href, "a", at.get("rel") or "", text))
            linked.append((block, text))

    def noscript(self, node: LexborNode) -> None:
        markup = node.text_lexbor()
        if "<" in markup and len(self.unscripted) < _MOST_UNSCRIPTED:
            self.unscripted.append(markup[:_LONGEST_UNSCRIPTED])
        self.tree.unread.append(node)

    def read_unscripted(self, markup: str) -> None:
        root = LexborHTMLParser(tame(markup.encode("utf-8", "replace")), scripting=True, options=_PLAIN_TREE).root
        for node in root.css("a[href],area[href],img[src],iframe[src]") if root is not None else ():
            at, kind = node.attributes, node.tag or ""
            text = fold(node.text_lexbor()) if kind == "a" else at.get("alt") or ""
            self.link(at.get("href") or at.get("src") or "", kind, at.get("rel") or "", text)

    def area(self, node: LexborNode) -> None:
        at = node.attributes
        href = at.get("href")
        if href is not None:
            self.link(href, "area", at.get("rel") or "", fold(at.get("alt") or ""))

    def resource(self, node: LexborNode) -> None:
        at = node.attributes
        href, rel = at.get("href"), (at.get("rel") or "").lower()
        if not href or len(href) > LONGEST_HREF:
            return
        if "canonical" in rel and not self.page.canonical and "canonical" in rel.split():
            self.page.canonical = href.strip()
        self.link(href, "link", rel)

    def media(self, node: LexborNode) -> None:
        at, kind = node.attributes, node.tag or ""
        named = [at[name] for name in ("src", "data", "poster") if name in at]
        if "srcset" in at:
            named += read_srcset(at["srcset"] or "")
        for href in named:
            self.link(href or "", kind)
        if kind == "iframe":
            self.tree.unread.append(node)


def _is_inside(above: LexborNode | None, anchor: LexborNode) -> bool:
    """Is it in the anchor, with no block between the two?"""
    while above is not None and above.tag_id not in BLOCKS:
        if above.mem_id == anchor.mem_id:
            return True
        above = above.parent
    return False


def _space_blocks(anchor: LexborNode) -> None:
    """Keep the words of the blocks in an anchor apart. Lines are divided there anyway, so no text is changed by it."""
    for node in [node for node in anchor.traverse() if node.tag_id in BLOCKS]:
        node.insert_before(b" ")
        node.insert_after(b" ")


def _picture_text(node: LexborNode) -> str:
    """What a link says that holds nothing but a picture."""
    image = node.css_first("img[alt]") if node.first_child is not None else None
    return fold(image.attributes["alt"] or "")[:_LONGEST_ANCHOR] if image is not None else ""


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


_ACTS: dict[int, Callable[[_Walk, LexborNode], None]] = {
    **dict.fromkeys(BLOCKS, _Walk.block),
    **dict.fromkeys(numbers("style", "textarea", "noframes", "noembed", "xmp"), _Walk.skip),
    **dict.fromkeys(
        numbers("img", "iframe", "frame", "source", "video", "audio", "track", "embed", "object", "input"), _Walk.media
    ),
    **dict.fromkeys(numbers("a"), _Walk.anchor),
    **dict.fromkeys(numbers("noscript"), _Walk.noscript),
    **dict.fromkeys(numbers("title"), _Walk.title),
    **dict.fromkeys(numbers("base"), _Walk.base),
    **dict.fromkeys(numbers("meta"), _Walk.meta),
    **dict.fromkeys(numbers("script"), _Walk.script),
    **dict.fromkeys(numbers("area"), _Walk.area),
    **dict.fromkeys(numbers("link"), _Walk.resource),
}
