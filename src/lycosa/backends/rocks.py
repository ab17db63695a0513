"""The durable store: RocksDB, one directory, one process that writes.

Every batch goes through the write-ahead log, so it survives `kill -9`; `sync` makes it survive a power cut. Memory is
bounded by one block cache and one budget of write buffers, whatever the number of rows.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from rocksdict import (
    AccessType,
    BlockBasedOptions,
    Cache,
    DBCompressionType,
    Options,
    Rdict,
    ReadOptions,
    WriteBatch,
)

from lycosa.errors import LycosaError
from lycosa.ports import Change

FAMILIES = ("urls", "queue", "hosts", "waiting", "due", "robots", "leases", "content", "near", "feed", "seen", "meta")


class StoreBusy(LycosaError):
    """Another process works in this directory."""


class StoreBroken(LycosaError):
    """The directory holds something that is not a store of ours, or a damaged one."""


class RocksStore:
    """Fulfils `ports.Store`."""

    def __init__(self, path: Path, *, read_only: bool = False, cache_bytes: int = 64 << 20) -> None:
        self._cache = Cache(cache_bytes)
        options = _options(self._cache)
        families = {name: _options(self._cache) for name in FAMILIES}
        access = AccessType.read_only() if read_only else AccessType.read_write()
        try:
            self._db = Rdict(str(path), options=options, column_families=families, access_type=access)
        except Exception as error:  # rocksdict has no class of its own for these
            if "lock" in str(error).lower():
                raise StoreBusy(f"{path} is in use by another crawl: wait for it or stop it first") from None
            raise StoreBroken(f"{path} cannot be opened as a store: {str(error)[:200]}") from None
        self._families = {name: self._db.get_column_family(name) for name in FAMILIES}
        self._handles = {name: self._db.get_column_family_handle(name) for name in FAMILIES}

    def get(self, family: str, key: bytes) -> bytes | None:
        value: bytes | None = self._families[family].get(key)
        return value

    def get_many(self, family: str, keys: Sequence[bytes]) -> list[bytes | None]:
        return list(self._families[family].get(list(keys)) or []) if keys else []

    def scan(self, family: str, start: bytes = b"", end: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        options = ReadOptions()
        if end is not None:
            options.set_iterate_upper_bound(end)
        rows = self._families[family].iter(options)
        rows.seek(start)
        while rows.valid():
            yield rows.key(), rows.value()
            rows.next()

    def write(self, changes: Iterable[Change]) -> None:
        batch, handles = WriteBatch(raw_mode=True), self._handles
        for family, key, value in changes:
            if value is None:
                batch.delete(key, handles[family])
            else:
                batch.put(key, value, handles[family])
        if not batch.is_empty():
            self._db.write(batch)

    def sync(self) -> None:
        self._db.flush_wal(True)

    def close(self) -> None:
        self._families.clear()
        self._handles.clear()
        self._db.close()


def is_in_use(path: Path) -> bool:
    """Does a process hold this store for writing?"""
    try:
        with (path / "LOCK").open("r+b") as lock:
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def _options(cache: Cache) -> Options:
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.create_missing_column_families(True)
    options.set_compression_type(DBCompressionType.lz4())
    options.set_max_background_jobs(2)
    options.set_write_buffer_size(16 << 20)
    options.set_max_write_buffer_number(3)
    options.set_db_write_buffer_size(64 << 20)
    options.set_max_open_files(256)
    options.set_keep_log_file_num(2)
    table = BlockBasedOptions()
    table.set_block_cache(cache)
    table.set_bloom_filter(10, False)
    table.set_cache_index_and_filter_blocks(True)
    options.set_block_based_table_factory(table)
    return options
