"""`lycosa backup`: a copy of a crawl that another `lycosa crawl` can go on with, taken while the crawl runs.

The store is read first, as of one moment, and WARC files are copied afterwards: rows point at bytes that were written
before them, and files only grow, so all that the copied rows point at is in the copied files. Of the tables exactly
those files are copied that the store says are finished, and the rest of the rows goes over with the journal. Files that
are still being written are copied up to their last whole visit.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import click

from lycosa.backends.journal import Journal
from lycosa.backends.layout import FEED, RECORDS, TABLES, WARCS, note_shards
from lycosa.backends.parquet import SCHEMAS
from lycosa.backends.warc_check import whole_bytes
from lycosa.cli.fresh import fresh
from lycosa.cli.opened import Opened, OpenedShard, in_directory, opened
from lycosa.cli.options import as_json
from lycosa.crawl.feed import flushed_to
from lycosa.kit.units import show_size

_CHUNK = 1 << 20


@click.command()
@click.argument("out", metavar="OUT", type=click.Path(path_type=Path))
@in_directory
@as_json
def backup(out: Path, directory: Path, as_json: bool) -> None:
    """Copy a crawl, also while it runs. To restore it, use the copy as --dir."""
    with opened(directory) as crawl, fresh(out) as place:
        place.mkdir()
        for shard in crawl.shards:
            shard.store.checkpoint(place / shard.name)
            _copy_journal(shard, place / FEED)
        if len(crawl.shards) > 1:
            note_shards(place, len(crawl.shards))
        tables = _copy_tables(crawl, place / TABLES)
        size = sum(_copy_warc(path, place / WARCS / path.name) for path in crawl.warcs)
        for path in sorted((directory / RECORDS).glob("*.jsonl")):
            _copy_lines(path, place / RECORDS / path.name)
        settings = directory / "lycosa.toml"
        if settings.exists():
            shutil.copyfile(settings, place / settings.name)
    if as_json:
        click.echo(json.dumps({"out": str(out), "table_files": tables, "warc_bytes": size}))
    else:
        click.echo(f"{out}: the store, {tables:,} files of tables, {show_size(size)} of WARC files")


def _copy_journal(shard: OpenedShard, path: Path) -> None:
    journal = Journal(path, shard.name, flushed_to(shard.store))
    for _, entry in shard.entries:
        journal.append(entry)
    journal.sync()
    journal.close()


def _copy_tables(crawl: Opened, place: Path) -> int:
    count = 0
    for table in SCHEMAS:
        for file in crawl.table_files(table):
            target = place / file.path.relative_to(crawl.directory / TABLES)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file.path, target)
            count += 1
    return count


def _copy_warc(source: Path, target: Path) -> int:
    target.parent.mkdir(exist_ok=True)
    size = left = whole_bytes(source)
    with source.open("rb") as old, target.open("wb") as new:
        while left and (chunk := old.read(min(_CHUNK, left))):
            new.write(chunk)
            left -= len(chunk)
        new.flush()
        os.fsync(new.fileno())
    return size - left


def _copy_lines(source: Path, target: Path) -> None:
    """What processors have recorded. A line that is just being written is torn: it is cut before the next is added."""
    target.parent.mkdir(exist_ok=True)
    shutil.copyfile(source, target)
