"""Bodies in WARC files: the first of its kind as a response record, copies as revisits."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from lycosa.backends.warc import Original, Visit, WarcWriter
from lycosa.crawl.claims import Claim
from lycosa.crawl.ingest import Stored
from lycosa.model import Response

FORMAT = 1


class WarcBodies:
    """Fulfils `crawl.ingest.Bodies`."""

    def __init__(self, directory: Path, prefix: str, about: Mapping[str, str]) -> None:
        self._writer = WarcWriter(directory, prefix, about)

    def keep(self, response: Response, content_hash: bytes, copy_of: Claim | None, about: dict[str, str]) -> Stored:
        original = None
        if copy_of is not None:
            original = Original(copy_of.url, copy_of.date, copy_of.payload_digest, copy_of.coding)
        written = self._writer.append(Visit(response, content_hash, original, about))
        place, first = written.location, written.original
        claim = Claim(
            FORMAT, first.url, first.date, first.payload_digest, first.coding, place.file, place.offset, place.length
        )
        return Stored(place, claim)

    def sync(self) -> None:
        self._writer.sync()

    def close(self) -> None:
        self._writer.close()
