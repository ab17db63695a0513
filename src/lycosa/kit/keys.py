"""Keys and the ranges that own them.

A host hashes to 64 bits, a URL to 128: its host's hash, then the hash of everything but the host. Written big-endian,
the URLs of a host are neighbours in any ordered store, and a shard, a partition or an arc of the ring is one
contiguous range of keys. Ranges are half-open, `start` included and `end` not, over the space [0, 2**64).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import NamedTuple

from xxhash import xxh3_64_digest, xxh3_64_intdigest

SPACE = 1 << 64
KEY_BYTES = 16


def host_key(host: str) -> int:
    return xxh3_64_intdigest(host.encode("utf-8", "surrogatepass"))


def text_key(text: bytes) -> int:
    """Where a name that is no host lies in the same space: a band, say."""
    return xxh3_64_intdigest(text)


def url_key(host: str, rest: str) -> bytes:
    """The 16-byte key of a URL; `rest` is the URL without its host, which `web.url.cut` gives."""
    return half_key(host) + half_key(rest)


def half_key(text: str) -> bytes:
    """The hash of a host, or of all of a URL but its host, as it stands in a key."""
    return xxh3_64_digest(text.encode("utf-8", "surrogatepass"))


def owner_of(key: int, owners: int) -> int:
    """Which of `owners` equal ranges holds the key: the one rule by which hosts are dealt out everywhere."""
    return key * owners >> 64


class KeyRange(NamedTuple):
    """Host hashes from `start` up to, not including, `end`."""

    start: int
    end: int

    def __contains__(self, key: object) -> bool:
        return isinstance(key, int) and self.start <= key < self.end

    @property
    def size(self) -> int:
        return self.end - self.start

    def bounds(self) -> tuple[bytes, bytes | None]:
        """First URL key inside and first one past it, for a scan; None when the range reaches the end of the space."""
        last = None if self.end == SPACE else self.end.to_bytes(8, "big") + bytes(8)
        return self.start.to_bytes(8, "big") + bytes(8), last

    def split(self) -> tuple[KeyRange, KeyRange]:
        middle = self.start + self.size // 2
        return KeyRange(self.start, middle), KeyRange(middle, self.end)


def ranges(owners: int) -> list[KeyRange]:
    """The whole space in `owners` ranges, consistent with `owner_of`."""
    if owners < 1:
        raise ValueError("the key space needs at least one owner")
    edges = [-(-index * SPACE // owners) for index in range(owners + 1)]
    return [KeyRange(start, end) for start, end in itertools.pairwise(edges)]


def merge(parts: Iterable[KeyRange]) -> list[KeyRange]:
    """The same keys in as few ranges as possible."""
    joined: list[KeyRange] = []
    for part in sorted(part for part in parts if part.size > 0):
        if joined and part.start <= joined[-1].end:
            joined[-1] = KeyRange(joined[-1].start, max(joined[-1].end, part.end))
        else:
            joined.append(part)
    return joined
