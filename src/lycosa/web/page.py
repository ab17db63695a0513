"""What is found in an HTML page: the values that `web.html` gives to everybody else.

The text is kept as it was read, with marks where blocks begin and end; `text` and `blocks` are made from it when asked.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import msgspec

from lycosa.web.charset import Charset

FOLLOWED = frozenset(("a", "area", "frame", "iframe", "refresh"))
BEGIN, END = "\x1e\x1d"  # marks in text: separators that no keyboard types, and white space to Python

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


_UNFOLDED = ("\n", "  ", "\t", "\r", "\xa0", "\f", BEGIN, END)


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


class RegionChange(NamedTuple):
    """From which block on another region holds, and which one lies around that block."""

    block: int
    region: Region
    outside: Region


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
    block_ends: list[int] = msgspec.field(default_factory=list)  # which of them have their end marked
    regions: list[RegionChange] = msgspec.field(default_factory=list)
    anchor_blocks: list[int] = msgspec.field(default_factory=list)  # for each link of kind `a`: how many came before it
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
        runs = self.marked_text.split(BEGIN)
        if len(runs) != len(self.block_tags) + 1:  # the page itself has such characters in it
            return [Block(line, "p", "", 0) for line in self.text.split("\n")] if self.text else []
        linked: dict[int, list[str]] = {}
        for number, link in zip(self.anchor_blocks, (link for link in self.links if link.kind == "a"), strict=False):
            linked.setdefault(number, []).append(link.text)
        blocks: list[Block] = []
        changes, ends = {change.block: change for change in self.regions}, frozenset(self.block_ends)
        region: Region = ""
        around: list[Region] = []  # the regions around the blocks whose end is still to come
        for number, (run, tag) in enumerate(zip(runs, ["p", *self.block_tags], strict=True), -1):
            change = changes.get(number)
            if number in ends:
                around.append(change.outside if change else region)
            region = change.region if change else region
            if END not in run:  # the usual case
                line = fold(run)
                if line:
                    links = sum(map(len, linked.get(number + 1, ())))
                    blocks.append(Block(line, tag, region, links))
                continue
            lines = [fold(part) for part in run.split(END)]
            linked_here = _share_out(linked.get(number + 1, []), lines)
            here, kind = region, tag
            for part, (line, link_characters) in enumerate(zip(lines, linked_here, strict=True)):
                if part:
                    here, kind = around.pop() if around else here, "p"
                if line:
                    blocks.append(Block(line, kind, here, link_characters))
        return blocks


def _share_out(texts: list[str], lines: list[str]) -> list[int]:
    """How many characters of links each line has, given the links' texts in order."""
    linked, at = [0] * len(lines), 0
    for text in texts:
        here = next((number for number in range(at, len(lines)) if text in lines[number]), at)
        linked[here] += len(text)
        at = here
    return linked
