"""Snippets: the part of a page's text that says most of what was asked for, and where its words stand.

Built for speed, because an answer needs ten of them: words are found by the letters their forms begin with, and only
what looks right is stemmed to be sure. The window with the rarest of the words, most of them different, wins.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from lycosa.search.index import Term

LENGTH = 240  # characters
_MOST_HITS = 12  # of one word that are looked at
_LEAST_PREFIX = 3
_REST = re.compile(r"[^\W_]{1,64}")  # of a word
_SPACE = re.compile(r"\s")
Stem = Callable[[str], str]
Range = tuple[int, int]


class Snippet(NamedTuple):
    text: str
    highlights: list[Range]


class _Hit(NamedTuple):
    start: int
    end: int
    term: int


def make_snippet(text: str, terms: Sequence[Term], stem: Stem, most: int | None) -> Snippet:
    """A part of the text, of at most `most` characters if the page says so."""
    length = LENGTH if most is None else min(LENGTH, most)
    if length <= 0 or not text:
        return Snippet("", [])
    hits = find_words(text, terms, stem)
    start = _best_start(hits, terms, length) if hits else 0
    start, end = _trim(text, start, length)
    before, after = start > 0, end < len(text)
    # Looked for again: of a common word only the first few places in the whole text are known.
    marks = highlight(text[start:end], terms, stem)
    return _told(text[start:end], marks, before and length > 20, after and length > 20)


def highlight(text: str, terms: Sequence[Term], stem: Stem) -> list[Range]:
    """Where the words stand in a short text."""
    return _merged([(hit.start, hit.end) for hit in find_words(text, terms, stem)])


def find_words(text: str, terms: Sequence[Term], stem: Stem) -> list[_Hit]:
    lowered = text.lower()
    if len(lowered) != len(text):  # one letter grows when it is lowered, and places would not fit
        lowered = text.replace("\u0130", "I").lower()
    hits: list[_Hit] = []
    for number, term in enumerate(terms):
        hits += _hits_of(lowered, number, term, stem)
    return sorted(set(hits))


def _hits_of(lowered: str, number: int, term: Term, stem: Stem) -> list[_Hit]:
    prefix, is_pair = _sought(term)
    found: list[_Hit] = []
    at, tries = lowered.find(prefix), 0
    while at >= 0 and len(found) < _MOST_HITS and tries < 4 * _MOST_HITS:
        tries += 1
        end = at + len(prefix)
        if is_pair:
            found.append(_Hit(at, end, number))
        elif not at or not lowered[at - 1].isalnum():
            rest = _REST.match(lowered, end)
            end = rest.end() if rest else end
            word = lowered[at:end]
            if word == term.word or stem(word) in term.forms:
                found.append(_Hit(at, end, number))
        at = lowered.find(prefix, end)
    return found


@lru_cache(1024)
def _sought(term: Term) -> tuple[str, bool]:
    """The letters that every form of a word begins with, and whether it is a pair of characters inside of a run."""
    is_pair = not term.word.isascii() and len(term.word) <= 2 and not term.word[0].islower()
    first, last = min(term.word, *term.forms), max(term.word, *term.forms)
    same = next((at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first))
    prefix = first[:same]
    return (prefix if is_pair or len(prefix) >= min(_LEAST_PREFIX, len(term.word)) else term.word), is_pair


def _best_start(hits: list[_Hit], terms: Sequence[Term], length: int) -> int:
    """Where to begin, so that the window has the most different and the rarest words; the earliest of equals."""
    worth = [1.0 / (1.0 + term.pages) ** 0.2 for term in terms]
    best, best_start, first = 0.0, hits[0].start, 0
    counts = [0] * len(terms)
    value = 0.0
    for hit in hits:
        counts[hit.term] += 1
        value += worth[hit.term] if counts[hit.term] == 1 else 0.05 * worth[hit.term]
        while hit.end - hits[first].start > length * 3 // 4:
            gone = hits[first].term
            counts[gone] -= 1
            value -= worth[gone] if counts[gone] == 0 else 0.05 * worth[gone]
            first += 1
        if value > best + 1e-9:
            best, best_start = value, hits[first].start
    return best_start


def _trim(text: str, start: int, length: int) -> Range:
    """Begin with a sentence or a line if one begins near, else with a word; end with a word."""
    if start + length > len(text):
        start = max(0, min(start, len(text) - length))
    lead = max(0, start - length // 4)
    breaks = [at for mark in (". ", "\n", "! ", "? ") if (at := text.rfind(mark, lead, start)) >= 0]
    if breaks:
        start = max(breaks) + 1
    elif lead:
        start = text.find(" ", lead, start) + 1 or start
    else:
        start = lead
    end = min(len(text), start + length)
    if end < len(text) and not text[end].isspace():
        end = max(text.rfind(" ", start + length * 2 // 3, end), text.rfind("\n", start + length * 2 // 3, end), -1)
        end = end if end > 0 else min(len(text), start + length)
    return start, end


def _told(shown: str, marks: list[Range], before: bool, after: bool) -> Snippet:
    """White space as single blanks, with the places of the marks kept, and dots where text was left out."""
    bare = shown.lstrip()
    cut = len(shown) - len(bare)
    bare = bare.rstrip()
    flat = _SPACE.sub(" ", bare)
    lead, tail = "… " if before else "", " …" if after else ""
    inside = [(max(0, start - cut), min(end - cut, len(flat))) for start, end in marks]
    room = [(start + len(lead), end + len(lead)) for start, end in inside if start < end]
    if "  " in flat:
        return _squeezed(lead + flat + tail, room)
    return Snippet(lead + flat + tail, _merged(room))


def _squeezed(text: str, marks: list[Range]) -> Snippet:
    places: list[int] = []
    kept: list[str] = []
    for letter in text:
        places.append(len(kept))
        if letter != " " or not kept or kept[-1] != " ":
            kept.append(letter)
    places.append(len(kept))
    return Snippet("".join(kept), _merged([(places[start], places[min(end, len(text))]) for start, end in marks]))


def _merged(ranges: list[Range]) -> list[Range]:
    merged: list[Range] = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
