"""The words of a page: headings, text, and the blocks that text is made of (ADR 0006).

Text must know which elements are blocks: `<h1>One</h1>two` are two lines and `H<sub>2</sub>O` is one word. Visiting
each piece of text from Python costs more than parsing the page, so marks are put into the tree where blocks begin and
end, and the parser gives all text in one call. Marks are white space, so whoever folds white space never sees them. A
page that has such characters in it loses what is known of its blocks, not its text.
"""

from __future__ import annotations

import re
from itertools import chain, pairwise

import numpy as np
from selectolax.lexbor import LexborHTMLParser, LexborNode

from lycosa.web.page import Block, Heading, Region, fold
from lycosa.web.text import main_text

BEGIN, END, REGION, LEAVE = "\x1e\x1d\x1f\x1c"
_BEGIN, _END, _REGION_END = BEGIN.encode(), END.encode(), (END + LEAVE).encode()  # bytes go into the tree faster
_SPACES = "\n\t\r\x0b\x0c\xa0"  # those that pages have in numbers
_BLANKS = re.compile("  +")
_LONGEST_TEXT = 2_000_000
_LONG_TEXT = 60_000
_LONGEST_HEADING = 2_000
_MOST_HEADINGS = 1_000
_MOST_BLOCKS = 25_000

_FACTORY = LexborHTMLParser("")


def numbers(*tags: str) -> dict[int, str]:
    """Lexbor's numbers of elements: comparing them is what makes a walk cheap."""
    return {_FACTORY.create_node(tag).tag_id: tag for tag in tags}


# Not `tbody`, `tr` and their like: the parser lets no text stand in them outside of a cell.
BLOCKS = numbers(
    *"address article aside blockquote br button caption center dd details dialog dir div dl dt fieldset figcaption "
    "figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr legend li listing main marquee menu nav ol optgroup option "
    "p pre search section select summary table td text th ul".split()
)
_HEADINGS = {number: int(tag[1]) for number, tag in numbers("h1", "h2", "h3", "h4", "h5", "h6").items()}
_REGIONS: tuple[Region, ...] = ("main", "nav", "aside", "header", "footer", "form")
_ROLES = ("main", "navigation", "complementary", "banner", "contentinfo", "search")
# A region is told by how many marks begin it: they stand right behind the mark of its block.
_REGION_MARKS = {number: (REGION * at).encode() for at, number in enumerate(numbers(*_REGIONS), 1)}
_ROLE_MARKS = {role: (REGION * at).encode() for at, role in enumerate(_ROLES, 1)}
_CHANGES = (REGION, LEAVE)
_MARKS = {number: _BEGIN + _REGION_MARKS.get(number, b"") for number in BLOCKS}


class Tree:
    """A parsed page whose links are read and whose words are not."""

    def __init__(self, parser: LexborHTMLParser) -> None:
        self.blocks: list[LexborNode] = []
        self.unread: list[LexborNode] = []  # elements that hold text nobody reads
        self.linked: list[tuple[int, str]] = []  # for each link of kind `a`: how many blocks begin before it; its text
        self._parser = parser

    def read(self) -> MarkedText:
        """Mark the tree and take its text. It can be done once."""
        cut = ["blocks"] if len(self.blocks) > _MOST_BLOCKS else []
        del self.blocks[_MOST_BLOCKS:]
        tags = [node.tag_id for node in self.blocks]
        regions = self._mark(tags) + self._mark_roles()
        marked = self._read_text()
        if len(marked) > _LONGEST_TEXT:
            marked = marked[:_LONGEST_TEXT]
            cut.append("text")
        text = MarkedText(marked, tags, regions, self.linked, cut)
        text.headings = self._read_headings(tags, text)
        return text

    def _mark(self, tags: list[int]) -> bytes:
        """Put a mark where each block begins and, where text follows, ends. Returns the marks of regions."""
        is_block, marks, regions = BLOCKS, _MARKS, b""
        for node, tag in zip(self.blocks, tags, strict=True):
            mark = marks[tag]
            node.insert_before(mark)
            if len(mark) > 1:
                node.insert_after(_REGION_END)
                regions += mark[1:] + _REGION_END
                continue
            after = node.next
            if after is not None and after.is_empty_text_node:
                after = after.next
            if after is None:  # the last of an inline element, behind which the line would go on
                above = node.parent
                is_ended = above is None or above.tag_id in is_block
            else:
                is_ended = after.tag_id in is_block
            if not is_ended:
                node.insert_after(_END)
        return regions

    def _mark_roles(self) -> bytes:
        """Elements that are regions because they say so; those that are by their name are marked already."""
        root, regions = self._parser.root, b""
        for node in root.css("[role]") if root is not None and b"role=" in self._parser.raw_html else ():
            mark = _ROLE_MARKS.get((node.attributes["role"] or "").strip().lower())
            if mark and _MARKS.get(node.tag_id) == _BEGIN:
                node.insert_before(mark)
                node.insert_after(_REGION_END)
                regions += mark + _REGION_END
        return regions

    def _read_headings(self, tags: list[int], text: MarkedText) -> list[Heading]:
        """A heading is the line that it begins, unless it holds blocks."""
        headings, left = [], _LONGEST_TEXT
        numbers = [number for number, tag in enumerate(tags) if tag in _HEADINGS]
        for number in numbers[:_MOST_HEADINGS]:
            node, within = self.blocks[number], self.blocks[number + 1 : number + 2]
            if text.is_aligned and not (within and _is_in(within[0], node)):
                said = text.lines[text.begins[number + 1]]
            else:
                raw = node.text_lexbor() if left > 0 else ""  # headings may be nested, and each holds all inside
                left -= len(raw)
                said = fold(raw)
            if said:
                headings.append(Heading(_HEADINGS[tags[number]], said[:_LONGEST_HEADING]))
        return headings

    def _read_text(self) -> str:
        for node in self.unread:
            if _holds_only_text(node):  # else elements that are yet to be looked at may die with it
                node.decompose()
        body = self._parser.body
        # A frameset puts the body out of the tree, but the parser still knows it.
        return body.text_lexbor() if body is not None and body.parent is not None else ""


def _holds_only_text(node: LexborNode) -> bool:
    child = node.first_child
    while child is not None:
        if not child.is_text_node:
            return False
        child = child.next
    return True


def _is_in(block: LexborNode, outer: LexborNode) -> bool:
    """Does `outer` hold the first block that comes after it?"""
    above = block.parent
    while above is not None and above.tag_id not in BLOCKS:
        above = above.parent
    return above is not None and above.mem_id == outer.mem_id


class MarkedText:
    """The text of a page with its marks; its lines are made once, for `text` and for `blocks`."""

    def __init__(
        self, marked: str, tags: list[int], regions: bytes, linked: list[tuple[int, str]], cut: list[str]
    ) -> None:
        self.headings: list[Heading] = []
        self.cut = cut
        self._tags = tags
        self._linked = linked
        self._has_regions = bool(regions)
        plain = _plain_spaces(marked)
        if len(plain) > _LONG_TEXT:
            plain = _squeeze(plain)
        parts = [part.split(BEGIN) for part in plain.split(END)]
        self.begins = _places(parts)  # for each block, and for what comes before the first: which line it begins
        self.is_aligned = len(self.begins) == len(tags) + 1  # else some marks are the page's own
        self._are_marks_ours = self.is_aligned and all(
            _count(marked, mark) == regions.count(mark.encode()) for mark in (REGION, LEAVE)
        )
        self._runs = list(chain.from_iterable(parts))
        self.lines = [line if "  " not in line else _BLANKS.sub(" ", line) for line in map(str.strip, self._runs)]

    def text(self) -> str:
        return "\n".join([line for line in self.lines if line])

    def main_text(self) -> str:
        return main_text(self.blocks())

    def blocks(self) -> list[Block]:
        if not self._are_marks_ours:
            return [Block(line, "p", "", 0) for line in self.lines if line]
        tags = ["p"] * len(self.lines)  # what follows the end of a block is a paragraph of whatever lies around
        for line, tag in zip(self.begins[1:], self._tags, strict=True):
            tags[line] = BLOCKS[tag]
        told = zip(self.lines, tags, self._find_regions(), self._count_linked(), strict=True)
        return [Block._make(block) for block in told if block[0]]

    def _find_regions(self) -> list[Region]:
        """For each line the region it is in. Only `main` has regions inside."""
        regions: list[Region] = [""] * len(self._runs)
        here: Region = ""
        around: list[Region] = []
        changes = [at for at, run in enumerate(self._runs) if run[:1] in _CHANGES] if self._has_regions else []
        for at, until in pairwise([*changes, len(regions)]):
            run = self._runs[at]
            if run[0] == LEAVE:
                here = around.pop()
            else:
                around.append(here)
                entered = _REGIONS[len(run) - len(run.lstrip(REGION)) - 1]
                here = entered if here in ("", "main") else here
            regions[at:until] = [here] * (until - at)
        return regions

    def _count_linked(self) -> list[int]:
        """For each line how many characters of it are links. One that blocks end in has more lines to look in."""
        counts = [0] * len(self.lines)
        begins, latest = [*self.begins, len(self.lines)], 0
        for block, text in self._linked:
            if block >= len(self.begins):  # past the cap on blocks
                break
            line, until = begins[block], begins[block + 1]
            if until > line + 1:
                latest = line = next((at for at in range(max(line, latest), until) if text in self.lines[at]), line)
            while text and not self.lines[line] and line + 1 < len(counts):  # the link begins before the block it holds
                line += 1
            counts[line] += len(text)
        return counts


def _places(parts: list[list[str]]) -> list[int]:
    """Which of the runs in all parts are begun by a block: all but the first of each part, save of the first part."""
    places, at = [0], 0
    for part in parts:
        places += range(at + 1, at + len(part))
        at += len(part)
    return places


def _count(text: str, mark: str) -> int:
    """How often a mark stands in a text: seldom, so that finding the next beats looking at every letter."""
    count, at = 0, text.find(mark)
    while at >= 0:
        count, at = count + 1, text.find(mark, at + 1)
    return count


def _plain_spaces(text: str) -> str:
    """White space of all kinds as blanks. Looking for each kind in all of the text beats looking at each word."""
    for space in _SPACES:
        if space in text:
            text = text.replace(space, " ")
    return text


def _squeeze(text: str) -> str:
    """Each run of blanks as one. In a long text this is faster for all of it than line by line."""
    letters = np.frombuffer(b"." + text.encode("utf-8", "surrogatepass"), dtype=np.uint8)
    is_blank = letters == ord(" ")
    kept: bytes = letters[1:][~(is_blank[1:] & is_blank[:-1])].tobytes()
    return kept.decode("utf-8", "surrogatepass")
