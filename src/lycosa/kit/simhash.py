"""A 64-bit fingerprint in which texts that share most of their word pairs differ in few bits (Charikar 2002).

Each distinct pair of neighbouring words votes on every bit. Pairs, not triples: a changed word spoils two votes
instead of three, which halves the misses on short texts, and unrelated texts stay as far apart (ADR 0003). Text
written without spaces is cut into overlapping characters instead of words.

`bands` gives the keys under which two fingerprints within `RADIUS` bits of each other are sure to meet: cut 64 bits
into five blocks; three differing bits leave two blocks untouched, so one of the ten pairs of blocks agrees whole.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from xxhash import xxh3_64_intdigest

RADIUS = 3
BANDS = 10
_BLOCKS = ((51, 13), (38, 13), (25, 13), (12, 13), (0, 12))  # (shift, width) of the five blocks
_PAIRS = tuple(combinations(_BLOCKS, 2))
_MULTIPLY, _FINISH = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
_Hashes = np.ndarray[tuple[int], np.dtype[np.uint64]]
_SPACES = b"\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f "
_SPACES_TO_NUL = bytes.maketrans(_SPACES, bytes(len(_SPACES)))
_LAST_POWER = 63
_POWERS = np.array([xxh3_64_intdigest(bytes([place])) | 1 for place in range(_LAST_POWER + 1)], dtype=np.uint64)
_ROWS = 255  # votes that a byte can count
_LONG_TOKEN_BYTES = 24  # a mean above this is no text of words


def simhash(text: str) -> int:
    """The fingerprint of a text; 0 for a text without words."""
    text = text.lower()
    words, letters = _hash_words(text.encode("utf-8", "replace"))
    if letters > _LONG_TOKEN_BYTES * len(words):
        run = "".join(text.split())
        words, _ = _hash_words(
            " ".join([run[at : at + 2] for at in range(max(1, len(run) - 1))]).encode("utf-8", "replace")
        )
    if not len(words):
        return 0
    pairs = words[:-1] * _MULTIPLY + words[1:] if len(words) > 1 else words
    pairs ^= pairs >> np.uint64(32)
    pairs *= _FINISH
    pairs ^= pairs >> np.uint64(29)
    pairs.sort()
    return _vote(pairs[np.append(True, pairs[1:] != pairs[:-1])])


def _hash_words(text: bytes) -> tuple[_Hashes, int]:
    """A hash for each word, all at once: letters times powers by their place in it, summed. And how many letters."""
    letters = np.frombuffer(b"\0" + text.translate(_SPACES_TO_NUL), dtype=np.uint8)
    is_letter = letters != 0
    starts = np.flatnonzero(is_letter[1:] > is_letter[:-1]) + 1
    if not len(starts):
        return np.zeros(0, dtype=np.uint64), 0
    # Where in its word each letter stands: its place less the place where the word begins.
    first = starts[0]
    begins = np.repeat(starts, np.diff(np.append(starts, len(letters))))
    places = np.arange(first, len(letters)) - begins
    words = np.add.reduceat(_POWERS.take(places & _LAST_POWER) * letters[first:], starts - first)
    words ^= words >> np.uint64(31)
    words *= _FINISH
    return words, int(np.count_nonzero(is_letter))


def _vote(features: _Hashes) -> int:
    """The majority of each bit over all features, summed eight byte-wide counters at a time."""
    ballots = np.unpackbits(features.view(np.uint8)).view(np.uint64).reshape(-1, 8)
    ayes = np.zeros(64, dtype=np.int64)
    for start in range(0, len(ballots), _ROWS):
        ayes += ballots[start : start + _ROWS].sum(axis=0, dtype=np.uint64).view(np.uint8)
    return int.from_bytes(np.packbits(ayes * 2 > len(features)).tobytes(), "big")


def distance(one: int, other: int) -> int:
    return (one ^ other).bit_count()


def bands(fingerprint: int) -> tuple[int, ...]:
    """Ten keys, each naming its pair of blocks and their bits: fingerprints within `RADIUS` share at least one."""
    keys = []
    for number, ((high, high_width), (low, low_width)) in enumerate(_PAIRS):
        left = fingerprint >> high & (1 << high_width) - 1
        right = fingerprint >> low & (1 << low_width) - 1
        keys.append(number << 26 | left << low_width | right)
    return tuple(keys)
