"""The main text of a page: what it is about, without menus, footers and lists of links.

Judged block by block: a block is text if it is long and little of it is links; a short one (a heading, a list item, a
line of code, a cell of a table) is text if its neighbours are or if it lies between two that are. Where the page marks
its main part, only that part counts. When hardly anything is left, everything outside the marked boilerplate is given:
too much is better than nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from lycosa.web.page import Block

_LONG = 80
_SHORT = 25
_LINKED = 0.33
_UNLINKED = 0.15  # of a whole page: nothing to weed out
_MENU = 0.6
_REACH = 3  # blocks to either side that a short block may lean on
_ENOUGH = 120  # characters
_BODY = ("", "main")
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))


def main_text(blocks: Sequence[Block]) -> str:
    """The blocks that are text, a line each, in order."""
    body = [block for block in blocks if block.region in _BODY]
    marked = [block for block in body if block.region == "main"]
    if _size(marked) >= _ENOUGH:
        body = marked
    kept = body if _link_share(body) < _UNLINKED else _keep(body)
    if _size(kept) < _ENOUGH:
        kept = body or list(blocks)
    return "\n".join([block.text for block in kept])


def _size(blocks: Sequence[Block]) -> int:
    return sum([len(block.text) for block in blocks])


def _link_share(blocks: Sequence[Block]) -> float:
    return sum([block.link_characters for block in blocks]) / max(1, _size(blocks))


def _keep(body: list[Block]) -> list[Block]:
    is_kept = [_is_text(block) for block in body]
    sure = [at for at, is_sure in enumerate(is_kept) if is_sure]
    for at in sure:
        for other in range(max(0, at - _REACH), min(len(body), at + _REACH + 1)):
            is_kept[other] = is_kept[other] or _may_be(body[other])
    # What lies between two stretches of text is part of the article unless it is a list of links.
    for one, other in pairwise(sure):
        if _link_share(body[one + 1 : other]) < _LINKED:
            is_kept[one:other] = [True] * (other - one)
    return [block for block, keep in zip(body, is_kept, strict=True) if keep]


def _is_text(block: Block) -> bool:
    return len(block.text) >= _LONG and block.link_characters < _LINKED * len(block.text)


def _may_be(block: Block) -> bool:
    """Short, but not a menu: headings always, the rest if it is words more than links."""
    if block.tag in _HEADINGS:
        return True
    share = block.link_characters / len(block.text)
    return share < (_LINKED if len(block.text) < _SHORT else _MENU)
