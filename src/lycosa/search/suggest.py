"""Did you mean, and completion: from the words of titles and headings, as people write them.

For a word that no page has, the vocabulary is searched in numpy for words with nearly the same letters, and only those
are compared letter by letter. The vocabulary is read again now and then, not with every commit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lycosa.search.index import View
from lycosa.search.query import Query

_MOST_WORDS = 300_000
_SHORTEST = 4  # shorter words are near too many others
_FEW_PAGES = 2  # a word of a vocabulary that is hardly there corrects nothing
_MOST_COMPARED = 400


class Vocabulary:
    """Words and how many pages have them, laid out for comparing."""

    def __init__(self, words: Sequence[tuple[str, int]]) -> None:
        chosen = [(word, pages) for word, pages in words if len(word) >= _SHORTEST and word.isalpha()]
        self._words = [word for word, _ in chosen]
        self._pages = np.array([pages for _, pages in chosen], np.int64)
        self._sizes = np.array([len(word) for word in self._words], np.int64)
        self._letters = np.array([_letters(word) for word in self._words], np.uint64)
        self._known = dict(words)

    @classmethod
    def of(cls, view: View) -> Vocabulary:
        return cls(view.words("", _MOST_WORDS))

    def pages_with(self, word: str) -> int:
        return self._known.get(word, 0)

    def nearest(self, word: str) -> str | None:
        """A word that pages have and that is one or two letters away, the commonest of the nearest."""
        if len(word) < _SHORTEST or not word.isalpha() or not self._words:
            return None
        allowed = 1 if len(word) < 6 else 2
        near = (
            (np.abs(self._sizes - len(word)) <= allowed)
            & (np.bitwise_count(self._letters ^ np.uint64(_letters(word))) <= 2 * allowed)
            & (self._pages >= _FEW_PAGES)
        )
        places = np.flatnonzero(near)
        if len(places) > _MOST_COMPARED:
            places = places[np.argsort(-self._pages[places])[:_MOST_COMPARED]]
        best: tuple[int, int, str] | None = None
        for place in places:
            other = self._words[place]
            away = edits(word, other, allowed)
            if 0 < away <= allowed:
                # The first letter is seldom wrong.
                rank = (2 * away + (other[0] != word[0]), -int(self._pages[place]), other)
                best = min(best, rank) if best is not None else rank
        return best[2] if best is not None else None


def _letters(word: str) -> int:
    """Which letters a word has, as bits."""
    bits = 0
    for letter in word:
        bits |= 1 << (ord(letter) & 63)
    return bits


def edits(one: str, other: str, most: int) -> int:
    """How many letters to insert, drop, replace or swap with their neighbour; `most` + 1 if there are more."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        older, before, row = before, row, [at]
        for place, against in enumerate(other, 1):
            cost = min(before[place] + 1, row[-1] + 1, before[place - 1] + (letter != against))
            if at > 1 and place > 1 and letter == other[place - 2] and one[at - 2] == against:
                cost = min(cost, older[place - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return min(row[-1], most + 1)


def suggest(text: str, query: Query, rare: Sequence[str], vocabulary: Vocabulary) -> str | None:
    """The query with its unknown words replaced by near ones that are known; None if there is nothing to replace."""
    better = text
    for word in rare:
        near = vocabulary.nearest(word) if not vocabulary.pages_with(word) else None
        if near is not None:
            at = better.lower().find(word)
            if at >= 0:
                better = better[:at] + near + better[at + len(word) :]
    return better if better != text else None


def complete(view: View, prefix: str, limit: int) -> list[str]:
    """Titles that begin so, then words that go on the last word; the commonest first."""
    start = " ".join(prefix.lower().split())[:80]
    if not start or limit < 1:
        return []
    if prefix[-1:].isspace():
        start += " "
    found = [title for title, _ in view.titles(start, limit)]
    head, space, last = start.rpartition(" ")
    if last and len(found) < limit:
        found += [f"{head}{space}{word}" for word, _ in view.words(last, limit)]
    return list(dict.fromkeys([" ".join(each.split()) for each in found]))[:limit]
