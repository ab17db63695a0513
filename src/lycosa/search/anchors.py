"""The words of links to a page, gathered until the next commit.

Of a page's inbound links a handful of different texts is enough: what repeats says nothing new, and menus repeat on
every page. So what was seen lately is dropped before anything else looks at it. Links that robots are asked not to
follow, and words that say nothing of where they lead, do not count.
"""

from __future__ import annotations

from collections.abc import Iterable

MOST_TEXTS = 12  # of one page
_LONGEST_TEXT = 120
_REMEMBERED = 200_000  # links
_KINDS = frozenset(("a", "area"))
# Words that say nothing of where a link leads.
_EMPTY = frozenset(
    "next|previous|prev|up|home|top|back|index|contents|here|click|click here|this|link|more|read more|"
    "learn more|details|continue|skip to content|menu|source|view source|edit|permalink|anchor|toc|first|last|"
    "next page|previous page|download|login|log in|sign in|register|search|contact|about|privacy|terms".split("|")
)


class Anchors:
    def __init__(self) -> None:
        self._new: dict[str, list[str]] = {}
        self._met: set[int] = set()

    def add(self, source: str, links: Iterable[tuple[str, str, str, str, str | None]]) -> None:
        """Links of a page: target, kind, rel, text, refusal."""
        met = self._met
        for target, kind, rel, text, refused in links:
            if refused is not None or not text or kind not in _KINDS:
                continue
            # A hash of the pair alone: if two ever collide, one text of one link is missing.
            mark = hash((target, text))
            if mark in met:
                continue
            met.add(mark)
            if target != source and "nofollow" not in rel:
                self._take(target, text)
        if len(met) > _REMEMBERED:
            met.clear()

    def _take(self, target: str, text: str) -> None:
        said = " ".join(text[:_LONGEST_TEXT].split())
        plain = said.lower().strip(" .:»›→<>«‹←¶#")
        if len(plain) > 1 and not plain.isdigit() and plain not in _EMPTY:
            texts = self._new.setdefault(target, [])
            if len(texts) < MOST_TEXTS and said not in texts:
                texts.append(said)

    def take(self) -> dict[str, list[str]]:
        """What has come since the last time."""
        new, self._new = self._new, {}
        return new
