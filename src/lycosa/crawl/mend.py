"""After a power cut: pages whose bodies or rows did not reach the disk go back to the queue.

The death of the process loses nothing, but a machine that stops without warning may: the store, the WARC files and the
feed are synced together every second, and what the store says of the last one may be true of no file. Such pages are
found by their place, which lies past the end of the file, and fetched again. Their claims are taken back, so that no
copy refers to a body that is not there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from lycosa.crawl.claims import Claims
from lycosa.crawl.frontier import Frontier
from lycosa.crawl.messages import Lost
from lycosa.crawl.outbox import Outbox
from lycosa.crawl.rows import UrlRow, unpack
from lycosa.ports import Change, Store
from lycosa.web.url import cut

MEND = b"mend"  # in `meta`: look at every page when the store is opened, as `Mend.all` does, with this time
_SLACK_S = 60.0  # a request that was sent before may have been answered after it


class Mend:
    def __init__(
        self, store: Store, frontier: Frontier, size_of: Callable[[str], int], outbox: Outbox | None = None
    ) -> None:
        self._store = store
        self._outbox = outbox  # for claims that other shards keep
        self._frontier = frontier
        self._size_of = size_of  # of a WARC file; 0 if there is none

    def urls(self, urls: Iterable[str]) -> int:
        """Look at these pages, the last that were settled; how many went back to the queue."""
        keys = [cut(url).key() for url in urls]
        found = zip(keys, self._store.get_many("urls", keys), strict=True)
        rows = [(key, unpack(stored, UrlRow)) for key, stored in found if stored is not None]
        return self._queue_again((key, row) for key, row in rows if self._is_lost(row))

    def all(self, synced_at: float) -> int:
        """Look at every page: what was settled since `synced_at` may be lost, and nobody knows which pages."""
        rows = ((key, unpack(value, UrlRow)) for key, value in self._store.scan("urls"))
        lost = [(key, row) for key, row in rows if self._is_lost(row) or _is_later(row, synced_at)]
        return self._queue_again(lost)

    def _is_lost(self, row: UrlRow) -> bool:
        return bool(row.warc_file) and row.warc_offset + row.warc_length > self._size_of(row.warc_file)

    def _queue_again(self, rows: Iterable[tuple[bytes, UrlRow]]) -> int:
        claims, count = Claims(self._store), 0
        for key, row in rows:
            changes: list[Change] = []
            claim = claims.first_with(row.content_hash) if row.content_hash else None
            if claim is not None and (claim.file, claim.offset) == (row.warc_file, row.warc_offset):
                changes.append(("content", row.content_hash, None))
            elif claim is None and row.content_hash and self._outbox is not None:
                lost = Lost(row.content_hash, row.warc_file, row.warc_offset)
                changes = self._outbox.route((), changes, (), [lost])
            self._frontier.queue_again(key, row, changes)
            count += 1
        return count


def _is_later(row: UrlRow, synced_at: float) -> bool:
    return row.kind == "page" and row.state == "done" and row.fetched_at > synced_at - _SLACK_S
