"""Which earlier document is nearly this one: an index of fingerprints by bands, never a scan.

This is the rule and its in-memory form; a durable form keeps the same keys in an ordered store. A bucket holds a
bounded number of members, so that a flood of identical templates costs a bounded look-up: the oldest stay, because
they are what later pages should point at.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Generic, TypeVar

from lycosa.kit.simhash import RADIUS, bands, distance

Name = TypeVar("Name")
BUCKET_CAP = 64


class NearIndex(Generic[Name]):
    """Fingerprints added so far, by name (a URL, a hash, anything)."""

    def __init__(self, bucket_cap: int = BUCKET_CAP) -> None:
        self._buckets: defaultdict[int, list[tuple[int, Name]]] = defaultdict(list)
        self._bucket_cap = bucket_cap
        self.turned_away = 0  # band entries left out because their bucket was full

    def find(self, fingerprint: int, besides: Name | None = None) -> Name | None:
        """The nearest document within `RADIUS`, the earliest of equals; `besides` is never the answer."""
        best: tuple[int, Name] | None = None
        for band in bands(fingerprint):
            for other, name in self._buckets.get(band, ()):
                apart = distance(fingerprint, other)
                if apart <= RADIUS and name != besides and (best is None or apart < best[0]):
                    best = apart, name
        return best[1] if best else None

    def add(self, fingerprint: int, name: Name) -> None:
        for band in bands(fingerprint):
            bucket = self._buckets[band]
            if len(bucket) < self._bucket_cap:
                bucket.append((fingerprint, name))
            else:
                self.turned_away += 1
