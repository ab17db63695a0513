"""What is found in an HTML page: the values that `web.html` gives to everybody else.

The text is kept as it was read, with marks where blocks begin and end; `text` and `blocks` are made from it when asked.
"""

from __future__ import annotations

from collections import Counter
from typing import Literal, NamedTuple

import msgspec

from lycosa.web.charset import Charset

FOLLOWED = frozenset(("a", "area", "frame", "iframe", "refresh"))
BEGIN, END = "\x02\x03"  # marks in text: control characters that no keyboard types

Region = Literal["", "main", "nav", "aside", "header", "footer", "form"]


def fold(text: str) -> str:
    """White space as a reader sees it: runs are one space, none at the ends."""
    text = text.strip()
    # Most text is in order already, and looking is far cheaper than taking it apart into words.
    if text:
        for space in _UNFOLDED:
            if space in text:
                return " ".join(text.split())
    return text


_UNFOLDED = ("\n", "  ", "\t", "\r", "\xa0", "\f")


class Link(msgspec.Struct, frozen=True, gc=False):
    """A reference as it stands in the page. `kind` is the element that made it, or `refresh`."""

    href: str
    kind: str
    rel: str = ""
    text: str = ""

    @property
    def is_followed(self) -> bool:
        """Does it lead to another page, with no word that crawlers should not go there?"""
        return self.kind in FOLLOWED and not (self.rel and "nofollow" in self.rel.lower().split())


class Heading(msgspec.Struct, frozen=True, gc=False):
    level: int
    text: str


class Block(NamedTuple):
    """A run of text between two block-level tags, white space folded."""

    text: str
    tag: str
    region: Region
    link_characters: int  # how much of the text is links


class Page(msgspec.Struct):
    """What one pass over a page finds. Empty strings and lists where the page is silent."""

    base: str  # what its links are relative to
    charset: Charset
    title: str = ""
    language: str = ""
    canonical: str = ""  # as it stands in the page
    meta: dict[str, str] = msgspec.field(default_factory=dict)  # by lower-case name, property or http-equiv
    data: list[str] = msgspec.field(default_factory=list)  # JSON-LD, unparsed
    links: list[Link] = msgspec.field(default_factory=list)
    headings: list[Heading] = msgspec.field(default_factory=list)
    marked_text: str = ""  # all text, with a mark where a block begins or ends
    block_tags: list[str] = msgspec.field(default_factory=list)  # for each mark of a beginning: the element
    regions: list[tuple[int, Region]] = msgspec.field(default_factory=list)  # from which block on which region holds
    anchor_blocks: list[int] = msgspec.field(default_factory=list)  # for each link of kind `a`: the block it is in
    cut: list[str] = msgspec.field(default_factory=list)  # which caps were reached

    @property
    def description(self) -> str:
        return self.meta.get("description") or self.meta.get("og:description", "")

    @property
    def text(self) -> str:
        """All visible text, a line for each block."""
        runs = self.marked_text.replace(END, BEGIN).split(BEGIN)
        return "\n".join([line for line in map(fold, runs) if line])

    @property
    def blocks(self) -> list[Block]:
        """The text in blocks, with what is known of each."""
        runs, tags = self.marked_text.split(BEGIN), ["p", *self.block_tags]
        if len(runs) != len(tags):  # the page itself has such characters in it
            return [Block(line, "p", "", 0) for line in self.text.split("\n") if line]
        linked = Counter[int]()
        for number, link in zip(self.anchor_blocks, (link for link in self.links if link.kind == "a"), strict=False):
            linked[number] += len(link.text)
        blocks: list[Block] = []
        changes: dict[int, Region] = dict(self.regions)
        region: Region = ""
        for number, (run, tag) in enumerate(zip(runs, tags, strict=True)):
            region = changes.get(number, region)
            inside, *behind = run.split(END)
            blocks.append(Block(fold(inside), tag, region, linked[number]))
            blocks += [Block(fold(text), "p", "", 0) for text in behind]
        return [block for block in blocks if block.text]
