"""What `lycosa rank` reads of a crawl, over all its shards."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from lycosa.backends.graph_rows import Shard
from lycosa.cli.opened import opened
from lycosa.crawl.feed import flushed_to
from lycosa.crawl.rows import HostRow, UrlRow, read_text, unpack
from lycosa.ports import Store


class Shards(NamedTuple):
    store: Store  # of all of them
    tables: list[Shard]  # what of the tables counts, shard by shard

    def seeds(self) -> list[str]:
        """The seeds of the crawl, in their normal form."""
        return [line for line in read_text(self.store.get("meta", b"seeds")).splitlines() if line]

    def url_at(self, key: bytes) -> str | None:
        stored = self.store.get("urls", key)
        return unpack(stored, UrlRow).url if stored is not None else None

    def host_at(self, key: int) -> str | None:
        stored = self.store.get("hosts", key.to_bytes(8, "big"))
        return unpack(stored, HostRow).name if stored is not None else None


@contextlib.contextmanager
def opened_shards(directory: Path) -> Iterator[Shards]:
    with opened(directory) as crawl:
        tables = [Shard(shard.name, flushed_to(shard.store), shard.entries) for shard in crawl.shards]
        yield Shards(crawl.store, tables)
