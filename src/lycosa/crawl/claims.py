"""Who was first with a text: exact copies by their SHA-256, near copies by the bands of their fingerprints.

One body is stored for each hash; later URLs with the same body are aliases of the first. Near copies are looked for
among fingerprints that share a band, in buckets of bounded size, so a look-up costs one batch of reads however many
pages there are. What is returned as changes is for the caller to write, with the settlement of the page or before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from lycosa.crawl.rows import UrlRow, unpack
from lycosa.kit.simhash import RADIUS, bands, distance
from lycosa.ports import Change, Store

LEAST_WORDS = 50
_BUCKET = 64
_ENTRY = 24  # fingerprint and URL key
_NOTHING: dict[bytes, bytes] = {}


class Claim(msgspec.Struct, array_like=True):
    """The first page with some body, and where that body lies."""

    format: int
    url: str
    date: str
    payload_digest: str
    coding: str
    file: str
    offset: int
    length: int
    page: str = ""  # the normal form of `url`, if that is spelled otherwise


_decode = msgspec.msgpack.Decoder(Claim).decode
_encode = msgspec.msgpack.Encoder().encode


class Claims:
    def __init__(self, store: Store) -> None:
        self._store = store

    def first_with(self, content_hash: bytes) -> Claim | None:
        stored = self._store.get("content", content_hash)
        return _decode(stored) if stored is not None else None

    def all(self) -> Iterator[tuple[bytes, Claim]]:
        """Every claim with its hash."""
        for content_hash, stored in self._store.scan("content"):
            yield content_hash, _decode(stored)

    def claim(self, content_hash: bytes, claim: Claim) -> Change:
        return ("content", content_hash, _encode(claim))

    def url_at(self, key: bytes) -> str | None:
        """The URL of a page that `near` found."""
        row = self.row_at(key)
        return row.url if row is not None else None

    def row_at(self, key: bytes) -> UrlRow | None:
        stored = self._store.get("urls", key)
        return unpack(stored, UrlRow) if stored is not None else None

    def near(self, fingerprint: int, key: bytes) -> tuple[bytes | None, list[Change]]:
        """The key of the nearest earlier page within three bits, and the changes that add this one."""
        best, changes = self.near_in(names_of(fingerprint), fingerprint, key)
        return (best[1] if best else None), changes

    def near_in(
        self, names: Sequence[bytes], fingerprint: int, key: bytes, unwritten: Mapping[bytes, bytes] = _NOTHING
    ) -> tuple[tuple[int, bytes] | None, list[Change]]:
        """The same in some of the bands, with the distance. Of what is still `unwritten` the store does not know."""
        own = fingerprint.to_bytes(8, "big") + key
        best: tuple[int, bytes] | None = None
        changes: list[Change] = []
        for name, stored in zip(names, self._store.get_many("near", names), strict=True):
            bucket = unwritten.get(name) or stored
            if not bucket:  # nobody is near, as nearly always
                changes.append(("near", name, own))
                continue
            for at in range(0, len(bucket), _ENTRY):
                other = bucket[at + 8 : at + _ENTRY]
                apart = distance(fingerprint, int.from_bytes(bucket[at : at + 8], "big"))
                if apart <= RADIUS and other != key and (best is None or apart < best[0]):
                    best = (apart, other)
            if len(bucket) < _BUCKET * _ENTRY and own not in bucket:
                changes.append(("near", name, bucket + own))
        return best, changes


def names_of(fingerprint: int) -> list[bytes]:
    """The names of a fingerprint's bands, as the store has them."""
    return [band.to_bytes(5, "big") for band in bands(fingerprint)]


def read_claim(stored: bytes | None) -> Claim | None:
    return _decode(stored) if stored is not None else None
