"""Every shard of a crawl, opened for reading as of one moment each."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from lycosa.backends.graph_rows import Shard
from lycosa.backends.rocks import RocksStore
from lycosa.cli.opened import view
from lycosa.crawl.feed import flushed_to
from lycosa.crawl.rows import HostRow, UrlRow, read_text, unpack
from lycosa.errors import BadInput


class Shards(NamedTuple):
    stores: list[RocksStore]
    tables: list[Shard]  # what of the tables counts, shard by shard

    def seeds(self) -> list[str]:
        """The seeds of the crawl, in their normal form."""
        texts = [read_text(store.get("meta", b"seeds")) for store in self.stores]
        return list(dict.fromkeys(line for text in texts for line in text.splitlines() if line))

    def url_at(self, key: bytes) -> str | None:
        for store in self.stores:
            stored = store.get("urls", key)
            if stored is not None:
                return unpack(stored, UrlRow).url
        return None

    def host_at(self, key: int) -> str | None:
        for store in self.stores:
            stored = store.get("hosts", key.to_bytes(8, "big"))
            if stored is not None:
                return unpack(stored, HostRow).name
        return None


@contextlib.contextmanager
def opened_shards(directory: Path) -> Iterator[Shards]:
    names = sorted(path.name for path in directory.glob("shard-*") if path.is_dir())
    if not names:
        raise BadInput(f"{directory} holds no crawl: name its directory with --dir")
    with contextlib.ExitStack() as stack:
        stores, tables = [], []
        for name in names:
            store, entries = view(directory, name)
            stack.callback(store.close)
            stores.append(store)
            tables.append(Shard(name, flushed_to(store), entries))
        yield Shards(stores, tables)
