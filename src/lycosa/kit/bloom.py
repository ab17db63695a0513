"""Bloom filters of blocks, and how large they must be.

A filter is a bytearray of blocks of 64 bytes: eight lanes of 64 bits. A key of 16 bytes has one block, and in each lane
one bit. So a look costs one wait for memory where scattered bits cost eight, for which a filter is a tenth larger.
Keys are hashes already; here they are only mixed.

With 13 bits a key one absent key in 350 is taken for present, and each further bit takes away a third to a quarter of
them. A filter past its capacity does not forget, it only says "perhaps" too often, so another is begun. Asking several
adds up their rates; each has a bit more than the one before, so however many there come to be, together they stay under
one in a hundred (Almeida and others, Scalable Bloom Filters, 2007). Sizes are whole numbers: the same everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

try:
    from lycosa import native
except ImportError:  # no compiler where it was installed
    native = None  # type: ignore[assignment]

BLOCK_BYTES = 64
_FIRST_BITS = 13
_LANES = 8
_LANE_BITS = 64
_LAST_BIT = 63
_MULTIPLY, _FINISH = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
_SHIFTS = np.arange(_LANES, dtype=np.uint64) * np.uint64(6)
_Words = np.ndarray[tuple[int, ...], np.dtype[np.uint64]]


def make_bloom(capacity: int, bits_per_key: int = _FIRST_BITS) -> bytearray:
    """An empty filter."""
    if capacity < 1 or bits_per_key < 1:
        raise ValueError("a Bloom filter needs a capacity of at least one key, and at least one bit for each")
    return bytearray(-(-capacity * bits_per_key // (8 * BLOCK_BYTES)) * BLOCK_BYTES)


def bits_of_next(number: int) -> int:
    """Bits a key of filter `number`, counted from 0, in a row without end."""
    return _FIRST_BITS + number


def capacity_of_next(number: int, first: int, most: int) -> int:
    """Each filter holds four times the one before, up to `most`: few filters to ask, none too large to save."""
    return min(first << 2 * min(number, 32), max(first, most))


def add_keys(bits: bytearray, keys: Sequence[bytes]) -> None:
    """Add keys to a filter."""
    if native is not None:
        native.add_keys(bits, list(keys))
    elif keys:
        hashes, lanes = _places(keys)
        blocks, where = _blocks(bits, hashes)
        np.bitwise_or.at(blocks, (where[:, None], np.arange(_LANES)), np.uint64(1) << lanes)


def find_keys(filters: Sequence[bytearray], keys: Sequence[bytes]) -> list[int]:
    """For each key the filters that have it, perhaps, as bits of a number; 0 if none of them has it, for certain.

    The last bit stands for all filters from the 64th on.
    """
    if native is not None:
        return native.find_keys(list(filters), list(keys))
    if not keys:
        return []
    hashes, lanes = _places(keys)
    found = np.zeros(len(keys), dtype=np.uint64)
    for number, bits in enumerate(filters):
        blocks, where = _blocks(bits, hashes)
        is_there = (blocks[where] >> lanes & np.uint64(1)).all(axis=1)
        found |= is_there.astype(np.uint64) << np.uint64(min(number, _LAST_BIT))
    return [int(bits) for bits in found.tolist()]


def _places(keys: Sequence[bytes]) -> tuple[_Words, _Words]:
    """For each key a hash that its block depends on, and its bit in each lane."""
    halves = np.frombuffer(b"".join(keys), dtype="<u8").reshape(-1, 2)
    hashes = _mix(halves[:, 0] * _MULTIPLY + halves[:, 1])
    return hashes, _mix(hashes * _MULTIPLY)[:, None] >> _SHIFTS & np.uint64(_LANE_BITS - 1)


def _mix(hashes: _Words) -> _Words:
    hashes = (hashes ^ hashes >> np.uint64(32)) * _FINISH
    return hashes ^ hashes >> np.uint64(29)


def _blocks(bits: bytearray, hashes: _Words) -> tuple[_Words, _Words]:
    """A filter as its blocks, and which of them is each key's."""
    blocks = np.frombuffer(bits, dtype="<u8").reshape(-1, _LANES)
    return blocks, (hashes >> np.uint64(32)) * np.uint64(len(blocks)) >> np.uint64(32)
