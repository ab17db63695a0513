"""The feed of a shard that does not run, put into tables to the last row."""

from __future__ import annotations

from pathlib import Path

from lycosa.backends.journal import Journal
from lycosa.backends.layout import FEED, TABLES
from lycosa.backends.parquet import ParquetTables
from lycosa.crawl.feed import Feed, settled_to
from lycosa.ports import Store


def flush_feed(directory: Path, shard: str, store: Store) -> None:
    journal = Journal(directory / FEED, shard, settled_to(store))
    feed = Feed(store, journal, ParquetTables(directory / TABLES, shard))
    feed.seal()
    feed.flush()
    feed.close()
