"""A 64-bit fingerprint in which texts that share most of their word pairs differ in few bits (Charikar 2002).

Each distinct pair of neighbouring words votes on every bit. Pairs, not triples: a changed word spoils two votes
instead of three, which halves the misses on short texts, and unrelated texts stay as far apart (ADR 0003). Text
written without spaces is cut into overlapping characters instead of words. Letters of ASCII vote without their case.

`bands` gives the keys under which two fingerprints within `RADIUS` bits of each other are sure to meet: cut 64 bits
into five blocks; three differing bits leave two blocks untouched, so one of the ten pairs of blocks agrees whole.
"""

from __future__ import annotations

import numpy as np

try:
    from lycosa.native import simhash as _compiled
except ImportError:  # no compiler where it was installed
    _compiled = None  # type: ignore[assignment]

RADIUS = 3
BANDS = 10
_BLOCKS = ((51, 13), (38, 13), (25, 13), (12, 13), (0, 12))  # (shift, width) of the five blocks
_MULTIPLY, _FINISH = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
_Hashes = np.ndarray[tuple[int], np.dtype[np.uint64]]
_CAPITALS, _SPACES = bytes(range(ord("A"), ord("Z") + 1)), b"\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f "
_PLAIN = bytes.maketrans(_CAPITALS + _SPACES, _CAPITALS.lower() + bytes(len(_SPACES)))
_LONG_TOKEN_BYTES = 24  # a mean above this is no text of words
_LONGEST_WORD_BYTES = 30_000
_CHUNK_BYTES = 1 << 15  # hashed at once: as many powers are kept


def _powers(of: int) -> _Hashes:
    powers = np.full(_CHUNK_BYTES + 1, of, dtype=np.uint64)
    powers[0] = 1
    return np.multiply.accumulate(powers)


_BASE = 0xB5026F5AA96619E9  # any odd number has an inverse
_POWERS, _INVERSES = _powers(_BASE), _powers(pow(_BASE, -1, 1 << 64))
_COLUMNS = (np.arange(8) * 256).astype(np.uint16)
_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)).reshape(256, 8).astype(np.float64)


def simhash(text: str) -> int:
    """The fingerprint of a text; 0 for a text without words."""
    if _compiled is not None:
        said = text if text.isascii() else text.encode("utf-8", "replace")
        found = _compiled(said, _LONGEST_WORD_BYTES, _LONG_TOKEN_BYTES)
        if found is not None:
            return found
    words, letters = _hash_words(text)
    if letters > _LONG_TOKEN_BYTES * len(words):
        run = "".join(text.split())
        words, _ = _hash_words(" ".join([run[at : at + 2] for at in range(max(1, len(run) - 1))]))
    if not len(words):
        return 0
    pairs = words[:-1] * _MULTIPLY + words[1:] if len(words) > 1 else words
    pairs ^= pairs >> np.uint64(32)
    pairs *= _FINISH
    pairs ^= pairs >> np.uint64(29)
    pairs.sort()
    return _vote(pairs[np.append(True, pairs[1:] != pairs[:-1])])


def _hash_words(text: str) -> tuple[_Hashes, int]:
    """A hash for each word, and how many letters they have."""
    plain = text.encode("utf-8", "replace").translate(_PLAIN)
    chunks, start = [], 0
    while start < len(plain):
        end = start + _CHUNK_BYTES - 1
        if end < len(plain):  # not through a word, unless it is endless
            end = plain.rfind(b"\0", start + 1, end) + 1 or end
        chunks.append(_hash_chunk(plain[start:end]))
        start = end
    words = np.concatenate(chunks) if chunks else np.zeros(0, dtype=np.uint64)
    words ^= words >> np.uint64(31)
    words *= _FINISH
    return words, int(np.count_nonzero(np.frombuffer(plain, dtype=np.uint8)))


def _hash_chunk(plain: bytes) -> _Hashes:
    """All words at once: letters times powers of a number, summed, and divided by the power the word begins with."""
    letters = np.frombuffer(b"\0" + plain, dtype=np.uint8)
    is_letter = letters != 0
    starts = (is_letter[1:] > is_letter[:-1]).nonzero()[0] + 1
    if not len(starts):
        return np.zeros(0, dtype=np.uint64)
    words: _Hashes = np.add.reduceat(_POWERS[: len(letters)] * letters, starts)
    words *= _INVERSES.take(starts)
    return words


def _vote(features: _Hashes) -> int:
    """The majority of each bit over all features: how often each byte stands in each column, times the bits it has."""
    columns = (features.view(np.uint8).reshape(-1, 8) + _COLUMNS).ravel()
    ayes = np.bincount(columns, minlength=8 * 256).reshape(8, 256) @ _BITS
    return int.from_bytes(np.packbits(ayes * 2 > len(features)).tobytes(), "big")


def distance(one: int, other: int) -> int:
    return (one ^ other).bit_count()


def bands(fingerprint: int) -> tuple[int, ...]:
    """Ten keys, each naming its pair of blocks and their bits: fingerprints within `RADIUS` share at least one."""
    a, b, c, d, e = [fingerprint >> shift & (1 << width) - 1 for shift, width in _BLOCKS]
    pairs = [a << 13 | b, a << 13 | c, a << 13 | d, a << 12 | e, b << 13 | c, b << 13 | d, b << 12 | e]
    pairs += [c << 13 | d, c << 12 | e, d << 12 | e]
    return tuple([number << 26 | pair for number, pair in enumerate(pairs)])
