"""How large a Bloom filter must be, and what it then promises.

Ten bits a key with seven hashes give about 0.8 % false positives. A filter past its capacity does not forget, it only
says "perhaps" too often; `expected_false_rate` says how often, so that its owner knows when to start another. Asking
several filters adds up their rates, so `rate_of_next` makes each a little stricter than the one before: however many
there come to be, together they stay under the rate that was asked for (Almeida and others, Scalable Bloom Filters,
2007).
"""

from __future__ import annotations

import math
from typing import NamedTuple

_TIGHTER = 0.7  # half a bit a key more for every next filter


class BloomSize(NamedTuple):
    bits: int
    hashes: int
    capacity: int

    @property
    def memory_bytes(self) -> int:
        return self.bits // 8


def size_bloom(capacity: int, bits_per_key: float = 10.0) -> BloomSize:
    """The filter for `capacity` keys, rounded up to whole 64-bit words."""
    if capacity < 1 or bits_per_key <= 0:
        raise ValueError("a Bloom filter needs a capacity of at least one key and more than zero bits for each")
    bits = math.ceil(capacity * bits_per_key / 64) * 64
    return BloomSize(bits, max(1, round(bits / capacity * math.log(2))), capacity)


def expected_false_rate(size: BloomSize, keys: int) -> float:
    """The share of absent keys that a filter holding `keys` keys takes for present."""
    return float((1.0 - math.exp(-size.hashes * keys / size.bits)) ** size.hashes)


def rate_of_next(number: int, overall: float) -> float:
    """The rate of filter `number`, counted from 0, in a row without end that together keeps to `overall`."""
    return overall * (1.0 - _TIGHTER) * _TIGHTER**number


def capacity_of_next(number: int, first: int, most: int) -> int:
    """Each filter holds four times the one before, up to `most`: few filters to ask, none too large to save."""
    return min(first << 2 * min(number, 32), max(first, most))
