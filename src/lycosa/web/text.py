"""The main text of a page: what it is about, without menus, footers and lists of links.

Judged block by block: a block is text if it is long and little of it is links; a short one (a heading, a list item, a
line of code) is text if its neighbours are. Where the page marks its main part, only that part counts. When hardly
anything is left, everything outside the marked boilerplate is given: too much is better than nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from lycosa.web.page import Block

_LONG = 80
_SHORT = 25
_LINKED = 0.33
_MENU = 0.6
_REACH = 3  # blocks to either side that a short block may lean on
_ENOUGH = 120  # characters
_BODY = ("", "main")


def main_text(blocks: Sequence[Block]) -> str:
    """The blocks that are text, a line each, in order."""
    body = [block for block in blocks if block.region in _BODY]
    marked = [block for block in body if block.region == "main"]
    if _size(marked) >= _ENOUGH:
        body = marked
    kept = _keep(body)
    if _size(kept) < _ENOUGH:
        kept = body or list(blocks)
    return "\n".join([block.text for block in kept])


def _size(blocks: Sequence[Block]) -> int:
    return sum([len(block.text) for block in blocks])


def _keep(body: list[Block]) -> list[Block]:
    sure = [_is_text(block) for block in body]
    near = [False] * len(body)
    for at, is_sure in enumerate(sure):
        if is_sure:
            for other in range(max(0, at - _REACH), min(len(body), at + _REACH + 1)):
                near[other] = True
    return [
        block
        for block, is_sure, is_near in zip(body, sure, near, strict=True)
        if is_sure or (is_near and _may_be(block))
    ]


def _is_text(block: Block) -> bool:
    return len(block.text) >= _LONG and block.link_characters < _LINKED * len(block.text)


def _may_be(block: Block) -> bool:
    """Short, but not a menu: headings always, the rest if it is words more than links."""
    if block.tag.startswith("h") and block.tag[1:].isdigit():
        return True
    share = block.link_characters / len(block.text)
    return share < (_LINKED if len(block.text) < _SHORT else _MENU)
