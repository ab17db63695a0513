"""What is found in an HTML page: the values that `web.html` gives to everybody else.

Links and metadata are there at once. Headings and text are read when they are first asked for, since many a page is
asked for nothing but its links: from the page again if it is plain, else from its tree, which is then let go, or with
the page if nobody asks.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol

import msgspec

from lycosa.web.charset import Charset

FOLLOWED = frozenset(("a", "area", "frame", "iframe", "refresh", "processor"))

Region = Literal["", "main", "nav", "aside", "header", "footer", "form"]


def fold(text: str) -> str:
    """White space as a reader sees it: runs are one space, none at the ends."""
    return " ".join(text.split())


class Link(msgspec.Struct, frozen=True, gc=False):
    """A reference as it stands in the page. `kind` is the element that made it, or `refresh`, or `processor`."""

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


class Words(Protocol):
    """All that a page says, in lines; what was cut off is said in `cut`."""

    headings: list[Heading]
    cut: list[str]

    def text(self) -> str: ...

    def blocks(self) -> list[Block]: ...

    def main_text(self) -> str: ...


class Unread(Protocol):
    """A tree whose words nobody has asked for yet."""

    def read(self) -> Words: ...


class Silence:
    """The words of a page that has none."""

    def __init__(self) -> None:
        self.headings: list[Heading] = []
        self.cut: list[str] = []

    def read(self) -> Words:
        return self

    def text(self) -> str:
        return ""

    def blocks(self) -> list[Block]:
        return []

    def main_text(self) -> str:
        return ""


class Page(msgspec.Struct):
    """What is found in a page. Empty strings and lists where the page is silent."""

    base: str  # what its links are relative to
    charset: Charset
    title: str = ""
    language: str = ""
    canonical: str = ""  # as it stands in the page
    meta: dict[str, str] = msgspec.field(default_factory=dict)  # by lower-case name, property or http-equiv
    data: list[str] = msgspec.field(default_factory=list)  # JSON-LD, unparsed
    links: list[Link] = msgspec.field(default_factory=list)
    too_long: int = 0  # anchors whose address is too long to be one
    cut_early: list[str] = msgspec.field(default_factory=list)  # which caps were reached before the text was read
    tree: Unread = msgspec.field(default_factory=Silence)
    read: Words | None = None

    @property
    def words(self) -> Words:
        if self.read is None:
            self.read = self.tree.read()
            self.tree = Silence()  # frees the tree
        return self.read

    @property
    def cut(self) -> list[str]:
        """Which caps were reached. To know, the text has to be read."""
        return self.cut_early + self.words.cut

    @property
    def description(self) -> str:
        return self.meta.get("description") or self.meta.get("og:description", "")

    @property
    def headings(self) -> list[Heading]:
        return self.words.headings

    @property
    def text(self) -> str:
        """All visible text, a line for each block."""
        return self.words.text()

    @property
    def blocks(self) -> list[Block]:
        """The text in blocks, with what is known of each."""
        return self.words.blocks()

    @property
    def main_text(self) -> str:
        """What the page is about, without menus, footers and lists of links (`web.text`)."""
        return self.words.main_text()
