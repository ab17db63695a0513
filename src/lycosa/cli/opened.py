"""A crawl directory opened for reading, also while a crawl runs in it.

The store is one view, taken when it is opened; of the tables only what that view says is in files is read from files,
and the rest from the journal, which is read at the same moment. So a flush that happens meanwhile neither hides a row
nor shows one twice.
"""

from __future__ import annotations

import contextlib
import datetime
import heapq
import itertools
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import click

from lycosa import config
from lycosa.backends.directory_lock import locked
from lycosa.backends.journal import read_journal
from lycosa.backends.layout import FEED, SHARD, TABLES, WARCS, check_whole, stores_of
from lycosa.backends.parquet import TableFile, list_files, read_unix
from lycosa.backends.rocks import RocksStore, is_in_use
from lycosa.backends.sharded import ShardedStore
from lycosa.backends.steady import SteadyClock
from lycosa.backends.warc_check import warc_files
from lycosa.crawl.feed import flushed_to, rows_of, settled_to
from lycosa.crawl.forget import blocked_hosts
from lycosa.crawl.look import Look
from lycosa.crawl.manners import Manners
from lycosa.crawl.rows import read_text
from lycosa.errors import BadInput
from lycosa.ports import Store
from lycosa.web.addresses import OwnHosts
from lycosa.web.dates import read_date
from lycosa.web.hours import Hours
from lycosa.web.politeness import Override
from lycosa.web.scope import make_scope, read_rule
from lycosa.web.traps import TrapRules
from lycosa.web.url import Normaliser, cut

in_directory = click.option(
    "--dir", "directory", type=click.Path(path_type=Path), default=Path("crawl"), show_default=True, help="The crawl."
)

_TRIES = 5


class OpenedShard(NamedTuple):
    """What can be read of a shard, as of one moment."""

    name: str
    store: RocksStore
    entries: list[tuple[int, bytes]]  # of the journal: what is in no file yet


class Opened:
    """What can be read of a crawl."""

    def __init__(self, directory: Path, settings: config.Settings, shards: Sequence[OpenedShard]) -> None:
        self.directory = directory
        self.shards = shards
        self.store = store_of([shard.store for shard in shards])
        self.settings = settings
        self.normal = Normaliser(settings.urls.tracking, settings.urls.session)
        self.look = Look(self.store, self.normal)

    @property
    def is_running(self) -> bool:
        return any(is_in_use(path) for path in stores_of(self.directory))

    @property
    def warcs(self) -> list[Path]:
        return warc_files(self.directory / WARCS)

    def refusal(self, url: str) -> str | None:
        """Which rule would refuse a link to this URL (in its normal form), if one would."""
        crawl, limits = self.settings.crawl, self.settings.traps
        seeds = read_text(self.store.get("meta", b"seeds")).splitlines()
        blocked = [f"host:{host}" for host in blocked_hosts(self.store)]
        scope = make_scope(crawl.scope, seeds, crawl.include, [*crawl.exclude, *blocked], with_media=crawl.media)
        traps = TrapRules(limits.max_length, limits.max_segments, limits.max_repeats, limits.max_parameters)
        year = datetime.datetime.now(datetime.UTC).year
        return scope.refusal(url, cut(url).host, 1) or traps.refusal(url, year)

    def overrides(self) -> dict[str, Override]:
        """What is set by hand for hosts, and in force."""
        return self.manners().overrides()

    def manners(self) -> Manners:
        polite = self.settings.polite
        return Manners(
            self.store, float(polite.delay), OwnHosts(polite.own_hosts), Hours(polite.hours), SteadyClock().now
        )

    def table_files(self, table: str) -> list[TableFile]:
        """The files that this view of the store says are finished."""
        until = {shard.name: flushed_to(shard.store) for shard in self.shards}
        found = list_files(self.directory / TABLES, table)
        # Shards that were merged into others have left finished files.
        return [file for file in found if file.last <= until.get(file.writer, file.last)]

    def rows(self, table: str, columns: Sequence[str] | None = None, keep: Any = None) -> Iterator[dict[str, Any]]:
        """Every row of a table, times as Unix seconds. `keep` is an Arrow expression, which rows that are in no file
        yet are not asked for: whoever gives one checks those again.
        """
        for file in self.table_files(table):
            yield from read_unix(file.path, table, columns, keep)
        for shard in self.shards:
            for row in rows_of(shard.entries, table):
                yield row if columns is None else {name: row[name] for name in columns}

    def rows_by_time(self, table: str, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Every row, those of several shards in the order of `started_at` as far as each shard has them so."""
        writers: dict[str, list[Iterable[dict[str, Any]]]] = {shard.name: [] for shard in self.shards}
        for file in self.table_files(table):
            writers.setdefault(file.writer, []).append(read_unix(file.path, table, columns, None))
        for shard in self.shards:
            writers[shard.name].append({name: row[name] for name in columns} for row in rows_of(shard.entries, table))
        parts = [itertools.chain.from_iterable(files) for files in writers.values()]
        return heapq.merge(*parts, key=itemgetter("started_at"))


@contextlib.contextmanager
def opened(directory: Path) -> Iterator[Opened]:
    stores = existing_stores(directory)
    settings = settings_of(directory)
    shards: list[OpenedShard] = []
    try:
        for path in stores:
            shards.append(_view(directory, path))
        yield Opened(directory, settings, shards)
    finally:
        for shard in shards:
            shard.store.close()


def existing_stores(directory: Path) -> list[Path]:
    """The stores of a crawl's shards; BadInput if there is no crawl."""
    check_whole(directory)
    if not (directory / SHARD).is_dir():
        raise BadInput(f"{directory} holds no crawl: name its directory with --dir")
    return [path for path in stores_of(directory) if path.is_dir()]


def store_of(stores: Sequence[RocksStore]) -> Store:
    return stores[0] if len(stores) == 1 else ShardedStore(stores)


@contextlib.contextmanager
def written(directory: Path) -> Iterator[list[RocksStore]]:
    """The stores of a crawl, open for writing: not while a crawl runs."""
    existing_stores(directory)
    with locked(directory), contextlib.ExitStack() as opening:
        check_whole(directory)  # again, now that nobody divides it
        stores: list[RocksStore] = []
        for path in stores_of(directory):  # those missing are made: rows are where they belong among all of them
            stores.append(RocksStore(path))
            opening.callback(stores[-1].close)
        yield stores


def _view(directory: Path, path: Path) -> OpenedShard:
    """A store and what its tables do not have yet, as of one moment."""
    for attempt in range(_TRIES):
        store = RocksStore(path, read_only=True)
        fed, settled = flushed_to(store), settled_to(store)
        entries = list(read_journal(directory / FEED, path.name, fed, settled))
        if len(entries) == settled - fed or attempt == _TRIES - 1 or not is_in_use(path):
            break
        store.close()  # a flush came between the two: look again
    return OpenedShard(path.name, store, entries)


def settings_of(directory: Path) -> config.Settings:
    file = directory / "lycosa.toml"
    return config.load(file if file.exists() else None)


def moment(text: str | None) -> float | None:
    """A date as a user writes it, as Unix time."""
    if text is None:
        return None
    found = read_date(text)
    if found is None:
        raise BadInput(f"{text!r} is no date: write it like 2026-01-31 or 2026-01-31T12:00:00Z")
    return found


def host_name(text: str) -> str:
    """A host as a user writes it, as rows have it."""
    return read_rule(f"host:{text}").value
