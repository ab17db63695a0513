"""A page read from the tree that Lexbor builds of it, as browsers do."""

from __future__ import annotations

from collections.abc import Callable

from selectolax.lexbor import LexborHTMLParser, LexborNode

from lycosa.web.elements import LONGEST_ANCHOR, LONGEST_HREF, MOST_LINKS, PLAIN_TREE, Elements
from lycosa.web.marks import BLOCKS, Tree, numbers
from lycosa.web.page import Link, Page, fold
from lycosa.web.taming import tame

_LONGEST_TEXT = 2_000_000


def read_tree(html: bytes, page: Page) -> None:
    tamed = tame(html)
    if tamed is not html:
        page.cut_early.append("nesting")
    parser = LexborHTMLParser(tamed, scripting=True, options=PLAIN_TREE)
    root = parser.root
    if root is not None:
        page.tree = tree = Tree(parser)
        _Walk(page, tree).read(root)


class _Walk:
    """The state of one pass; `_ACTS` says which method each element calls."""

    def __init__(self, page: Page, tree: Tree) -> None:
        self.page = page
        self.tree = tree
        self.elements = Elements(page)

    def read(self, root: LexborNode) -> None:
        """Visit every element once. The two frequent kinds, anchors and blocks, are noted and read in a row."""
        self.elements.html(root.attributes)
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
        self.elements.close()

    def anchor(self, node: LexborNode) -> None:
        """Only a name for `_ACTS`: `read` notes anchors itself, for `read_anchors`."""
        raise AssertionError(node)

    def block(self, node: LexborNode) -> None:
        """Only a name for `_ACTS`: `read` notes blocks itself, for whoever asks for text."""
        raise AssertionError(node)

    def skip(self, node: LexborNode) -> None:
        self.tree.unread.append(node)

    def title(self, node: LexborNode) -> None:
        parent = node.parent
        if parent is None or parent.tag != "svg":
            self.elements.title(node.text_lexbor())
        self.tree.unread.append(node)

    def base(self, node: LexborNode) -> None:
        self.elements.base(node.attributes)

    def meta(self, node: LexborNode) -> None:
        self.elements.meta(node.attributes)

    def script(self, node: LexborNode) -> None:
        self.elements.script(node.attributes, node.text_lexbor)
        self.tree.unread.append(node)

    def noscript(self, node: LexborNode) -> None:
        self.elements.noscript(node.text_lexbor())
        self.tree.unread.append(node)

    def area(self, node: LexborNode) -> None:
        self.elements.area(node.attributes)

    def resource(self, node: LexborNode) -> None:
        self.elements.resource(node.attributes)

    def media(self, node: LexborNode) -> None:
        kind = node.tag or ""
        self.elements.media(kind, node.attributes)
        if kind == "iframe":
            self.tree.unread.append(node)

    def read_anchors(self, anchors: list[LexborNode], blocks: list[int]) -> None:
        """The links of all `a` elements, and for each the block it stands in."""
        if len(anchors) + len(self.page.links) > MOST_LINKS:
            del anchors[max(0, MOST_LINKS - len(self.page.links)) :]
            self.page.cut_early.append("links")
        links, linked, all_blocks, left = self.page.links, self.tree.linked, self.tree.blocks, _LONGEST_TEXT
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
            text = " ".join(raw.split())[:LONGEST_ANCHOR]
            links.append(Link(href, "a", at.get("rel") or "", text or _picture_text(node)))
            linked.append((block, text))


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
    return fold(image.attributes["alt"] or "")[:LONGEST_ANCHOR] if image is not None else ""


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
