"""An HTML page read in one pass: links, metadata, headings and text.

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
from lycosa.web.page import BEGIN, END, Heading, Link, Page, Region, RegionChange, fold
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
_MOST_HEADINGS = 1_000
_MOST_BLOCKS = 25_000
_MOST_UNSCRIPTED = 20
_LONGEST_UNSCRIPTED = 50_000


def read_page(body: bytes, url: str, content_type: str | None = None) -> Page:
    """Read the bytes of a page found at `url`; `content_type` is the HTTP header."""
    charset = charsets.sniff(body, content_type)
    page = Page(base=url, charset=charset)
    if len(body) > PARSED_BYTES:
        body = body[:PARSED_BYTES]
        page.cut.append("length")
    html = _as_utf8(body, charset)
    tamed = tame(html)
    if tamed is not html:
        page.cut.append("nesting")
    root = LexborHTMLParser(tamed, scripting=True, options=_PLAIN_TREE).root
    if root is not None:
        _Walk(page).read(root, b"role=" in tamed)
    return page


def _as_utf8(body: bytes, charset: charsets.Charset) -> bytes:
    """What the parser takes. Bad bytes in UTF-8 it replaces itself."""
    if charset.label == "utf-8":
        return body.removeprefix(b"\xef\xbb\xbf")
    return charsets.decode(body, charset).encode("utf-8", "replace")


class _Walk:
    """The state of one pass; `_ACTS` says which method each element calls."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.based = False
        self.links = page.links
        self.unread: list[LexborNode] = []  # elements that hold text nobody reads, and nothing else
        self.unscripted: list[str] = []  # markup meant for readers that run no scripts
        self.blocks: list[LexborNode] = []
        self.tags = page.block_tags
        self.headings: list[LexborNode] = []
        self.roles: dict[int, Region] = {}  # elements that are regions because they say so
        self.region: Region = ""
        self.region_end: int | None = None  # the element that no longer belongs to it
        self.outer: tuple[Region, int | None] = ("", None)  # the region around it

    def read(self, root: LexborNode, with_roles: bool) -> None:
        """Visit every element once. The two frequent kinds, anchors and blocks, are noted and read in a row."""
        at = root.attributes
        self.page.language = (at.get("lang") or at.get("xml:lang") or "").strip()[:35]
        if with_roles:
            self.roles = {node.mem_id: _ROLES[role] for node in root.css("[role]") if (role := _role(node)) in _ROLES}
        acts, blocks, tags, roles = _ACTS, self.blocks, self.tags, self.roles
        is_anchor, is_block = _Walk.anchor, _Walk.block
        anchors: list[LexborNode] = []
        anchor_blocks: list[int] = []
        for node in root.traverse():
            act = acts.get(node.tag_id)
            if act is None:  # inline: nothing but its text matters
                continue
            if self.region_end is not None and node.mem_id == self.region_end:
                self.leave()
            if act is is_anchor:
                anchors.append(node)
                anchor_blocks.append(len(blocks))
            elif act is is_block:
                if roles and node.mem_id in roles:
                    self.enter(node)
                else:
                    blocks.append(node)
                    tags.append(_BLOCKS[node.tag_id])
            else:
                act(self, node)
        self.mark_blocks()
        self.read_headings()
        self.read_anchors(anchors, anchor_blocks)
        for markup in self.unscripted:
            self.read_unscripted(markup)
        self.read_text(root)

    def anchor(self, node: LexborNode) -> None:
        """Only a name for `_ACTS`: `read` notes anchors itself, for `read_anchors`."""
        raise AssertionError(node)

    def block(self, node: LexborNode) -> None:
        self.blocks.append(node)
        self.tags.append(_BLOCKS[node.tag_id])

    def heading(self, node: LexborNode) -> None:
        self.block(node)
        self.headings.append(node)

    def enter(self, node: LexborNode) -> None:
        """A region begins: remember the element that comes after it. Only `main` has regions inside."""
        region = self.roles.get(node.mem_id) or _REGIONS[node.tag_id]
        if self.region in ("", "main") and region != self.region:
            self.outer = (self.region, self.region_end)
            self.region, self.region_end = region, _element_after(node)
            self.page.regions.append(RegionChange(len(self.blocks), region, self.outer[0]))
        self.block(node)

    def leave(self) -> None:
        end = self.region_end
        self.region, self.region_end = self.outer
        self.outer = ("", None)
        if self.region_end == end:  # both regions end here
            self.region, self.region_end = self.outer
        self.page.regions.append(RegionChange(len(self.blocks), self.region, self.region))

    def skip(self, node: LexborNode) -> None:
        self.unread.append(node)

    # -- text ----------------------------------------------------------------------------------------------------------

    def mark_blocks(self) -> None:
        """Put a mark into the tree where each block begins and, where text follows, ends."""
        is_block, ends = _BLOCKS, self.page.block_ends
        if len(self.blocks) > _MOST_BLOCKS:
            del self.blocks[_MOST_BLOCKS:], self.tags[_MOST_BLOCKS:]
            self.page.cut.append("blocks")
        for number, node in enumerate(self.blocks):
            node.insert_before(BEGIN)
            after = node.next
            if after is not None and not after.is_empty_text_node and after.tag_id not in is_block:
                node.insert_after(END)
                ends.append(number)

    def read_headings(self) -> None:
        left = _LONGEST_TEXT
        for node in self.headings[:_MOST_HEADINGS]:
            raw = node.text_lexbor() if left > 0 else ""  # headings may be nested, and each holds all inside
            left -= len(raw)
            text = fold(raw)
            if text:
                self.page.headings.append(Heading(_HEADINGS[node.tag_id], text[:_LONGEST_META]))

    def read_text(self, root: LexborNode) -> None:
        for node in self.unread:
            if _holds_only_text(node):  # else its own elements may be in the list, and die with it
                node.decompose()
        body = root.css_first("body")
        text = body.text_lexbor() if body is not None else ""
        if len(text) > _LONGEST_TEXT:
            text = text[:_LONGEST_TEXT]
            self.page.cut.append("text")
        self.page.marked_text = text

    # -- metadata ------------------------------------------------------------------------------------------------------

    def title(self, node: LexborNode) -> None:
        parent = node.parent
        if not self.page.title and (parent is None or parent.tag != "svg"):
            self.page.title = fold(node.text_lexbor())[:_LONGEST_META]
        self.unread.append(node)

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
        self.unread.append(node)

    # -- links ---------------------------------------------------------------------------------------------------------

    def link(self, href: str, kind: str, rel: str = "", text: str = "") -> None:
        if href and len(href) <= LONGEST_HREF:
            if len(self.links) < MOST_LINKS:
                self.links.append(Link(href, kind, rel, text[:_LONGEST_ANCHOR]))
            elif self.page.cut[-1:] != ["links"]:
                self.page.cut.append("links")

    def read_anchors(self, anchors: list[LexborNode], blocks: list[int]) -> None:
        """The links of all `a` elements, and for each the block it stands in."""
        if len(anchors) + len(self.links) > MOST_LINKS:
            del anchors[max(0, MOST_LINKS - len(self.links)) :]
            self.page.cut.append("links")
        at_blocks, links, left = self.page.anchor_blocks, self.links, _LONGEST_TEXT
        for node, block in zip(anchors, blocks, strict=False):
            at = node.attributes
            href = at.get("href", _NO_HREF) or ""
            if href is not _NO_HREF and len(href) <= LONGEST_HREF:
                raw = node.text_lexbor() if left > 0 else ""  # anchors may be nested, and each holds all inside
                left -= len(raw)
                text = fold(raw) or _picture_text(node)
                links.append(Link(href, "a", at.get("rel") or "", text[:_LONGEST_ANCHOR]))
                at_blocks.append(block)

    def noscript(self, node: LexborNode) -> None:
        markup = node.text_lexbor()
        if "<" in markup and len(self.unscripted) < _MOST_UNSCRIPTED:
            self.unscripted.append(markup[:_LONGEST_UNSCRIPTED])
        self.unread.append(node)

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
            self.unread.append(node)


def _role(node: LexborNode) -> str:
    return (node.attributes["role"] or "").strip().lower()


def _holds_only_text(node: LexborNode) -> bool:
    child = node.first_child
    while child is not None:
        if not child.is_text_node:
            return False
        child = child.next
    return True


def _picture_text(node: LexborNode) -> str:
    """What a link says that holds nothing but a picture."""
    image = node.css_first("img[alt]") if node.first_child is not None else None
    return fold(image.attributes["alt"] or "") if image is not None else ""


def _element_after(node: LexborNode) -> int | None:
    """The number of the first element behind this one and all it holds (among those that `_ACTS` knows)."""
    here: LexborNode | None = node
    while here is not None:
        after = here.next
        while after is not None and after.tag_id not in _ACTS:
            after = after.next
        if after is not None:
            return after.mem_id
        here = here.parent
    return None


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
_NO_HREF = "\0"
_ROLES: dict[str, Region] = {
    "main": "main",
    "navigation": "nav",
    "complementary": "aside",
    "banner": "header",
    "contentinfo": "footer",
    "search": "form",
}
_SINGLE = frozenset(("description", "viewport", "author", "og:title", "og:description", "og:url", "og:type", "refresh"))


_FACTORY = LexborHTMLParser("")


def _numbers(*tags: str) -> dict[int, str]:
    """Lexbor's numbers of elements: comparing them is what makes the walk cheap."""
    return {_FACTORY.create_node(tag).tag_id: tag for tag in tags}


_HEADINGS = {number: int(tag[1]) for number, tag in _numbers("h1", "h2", "h3", "h4", "h5", "h6").items()}
_BLOCKS = _numbers(
    *"address article aside blockquote br button caption center dd details dialog dir div dl dt fieldset figcaption "
    "figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr legend li listing main marquee menu nav ol optgroup option "
    "p pre search section select summary table tbody td text tfoot th thead tr ul".split()
)
_REGION_NAMES: tuple[Region, ...] = ("main", "nav", "aside", "header", "footer", "form")
_REGIONS = dict(zip(_numbers(*_REGION_NAMES), _REGION_NAMES, strict=True))
_ACTS: dict[int, Callable[[_Walk, LexborNode], None]] = {
    **dict.fromkeys(_BLOCKS, _Walk.block),
    **dict.fromkeys(_HEADINGS, _Walk.heading),
    **dict.fromkeys(_REGIONS, _Walk.enter),
    **dict.fromkeys(_numbers("style", "textarea", "noframes", "noembed", "xmp"), _Walk.skip),
    **dict.fromkeys(
        _numbers("img", "iframe", "frame", "source", "video", "audio", "track", "embed", "object", "input"), _Walk.media
    ),
    **dict.fromkeys(_numbers("a"), _Walk.anchor),
    **dict.fromkeys(_numbers("noscript"), _Walk.noscript),
    **dict.fromkeys(_numbers("title"), _Walk.title),
    **dict.fromkeys(_numbers("base"), _Walk.base),
    **dict.fromkeys(_numbers("meta"), _Walk.meta),
    **dict.fromkeys(_numbers("script"), _Walk.script),
    **dict.fromkeys(_numbers("area"), _Walk.area),
    **dict.fromkeys(_numbers("link"), _Walk.resource),
}
