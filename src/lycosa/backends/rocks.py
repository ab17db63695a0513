"""The durable store: RocksDB, one directory, one process that writes.

Every batch goes through the write-ahead log, so it survives `kill -9`; `sync` makes it survive a power cut. Memory is
one block cache, one budget of write buffers, and the indexes and filters of the tables: about three bytes a URL. These
stay out of the cache. In it, at megabytes each, they pushed each other out, and with 1.5 M URLs a read took 600 µs,
not 10.

A write that fails leaves a gap in the log, so no other may follow it. What was written before is safe, reading goes
on, and once there is room again the next write opens the store anew and succeeds: whoever was refused has only to try
again.
"""

from __future__ import annotations

import fcntl
import itertools
import os
import shutil
import struct
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from rocksdict import (
    AccessType,
    BlockBasedOptions,
    Cache,
    Checkpoint,
    DbClosedError,
    DBCompressionType,
    Options,
    Rdict,
    ReadOptions,
    WriteBatch,
)

from lycosa.errors import DiskFull, LycosaError
from lycosa.ports import Change

FAMILIES = (
    "urls",
    "queue",
    "hosts",
    "waiting",
    "asleep",
    "due",
    "robots",
    "leases",
    "content",
    "near",
    "seen",
    "outbox",
    "meta",
)
_FORMER = ("known",)  # families of older versions, that no row of this one is in
_LOOKS = 20
_SCANNED = ("queue", "waiting", "asleep", "due", "seen", "outbox")  # in order, not by key: a filter would be of no use
_COPIED = 1_000  # rows a batch
_FLOCK = struct.Struct("hhqqi4x")  # Linux: kind, whence, start, length, process
_written: set[Path] = set()  # stores that this process holds for writing
_FILTERED = 0.02  # of a write buffer is a filter: most keys that are looked for are not in it
_ROOM_BYTES = 64 << 20  # to go on after the disk was full: opening writes what was in memory to tables


class StoreBusy(LycosaError):
    """Another process works in this directory."""


class StoreBroken(LycosaError):
    """The directory holds something that is not a store of ours, or a damaged one."""


class StoreDenied(LycosaError):
    """The system does not let us read or write there."""


class RocksStore:
    """Fulfils `ports.Store`."""

    def __init__(self, path: Path, *, read_only: bool = False, cache_bytes: int = 192 << 20) -> None:
        self._path = path
        self._is_read_only = read_only
        self._failure: LycosaError | None = None
        self._cache = Cache(cache_bytes)
        for _ in range(_LOOKS):
            logs = set(path.glob("*.log"))
            self._open()
            if not read_only or logs <= set(path.glob("*.log")):
                return
            self.close()  # the writer has put a log into tables meanwhile, and we may have got neither
        self._open()

    def _open(self) -> None:
        options = _options(self._cache, "default")
        families = {name: _options(self._cache, name) for name in self._known_families()}
        access = AccessType.read_only() if self._is_read_only else AccessType.read_write()
        try:
            self._db = Rdict(str(self._path), options=options, column_families=families, access_type=access)
            for name in _FORMER:
                if name in families:
                    del families[name]
                    self._db.drop_column_family(name)
            self._families = {name: self._db.get_column_family(name) for name in families}
            self._handles = {name: self._db.get_column_family_handle(name) for name in families}
        except Exception as error:  # rocksdict has no class of its own for these
            raise _explain(error, self._path) from None
        if not self._is_read_only:
            _written.add(self._path.resolve())

    def _known_families(self) -> Collection[str]:
        """A store that an older version wrote may lack some, and have others, which only a writer can mend."""
        if not self._is_read_only and not (self._path / "CURRENT").exists():
            return FAMILIES
        try:
            found = frozenset(Rdict.list_cf(str(self._path)))
        except Exception as error:
            raise _explain(error, self._path) from None
        if self._is_read_only:
            return [name for name in FAMILIES if name in found]
        return [*FAMILIES, *(name for name in _FORMER if name in found)]

    def get(self, family: str, key: bytes) -> bytes | None:
        try:
            value: bytes | None = self._families[family].get(key)
        except Exception as error:
            raise _explain(error, self._path) from None
        return value

    def get_many(self, family: str, keys: Sequence[bytes]) -> list[bytes | None]:
        if not keys:
            return []
        try:
            found: list[bytes | None] = self._families[family].get(list(keys)) or []
        except Exception as error:
            raise _explain(error, self._path) from None
        return found

    def scan(self, family: str, start: bytes = b"", end: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        if family not in self._families:  # an older version wrote it, and we only read
            return
        options = ReadOptions()
        if end is not None:
            options.set_iterate_upper_bound(end)
        rows = self._families[family].iter(options)
        rows.seek(start)
        while rows.valid():
            yield rows.key(), rows.value()
            rows.next()
        try:
            rows.status()  # a damaged table ends a scan as if it were the last row
        except Exception as error:
            raise _explain(error, self._path) from None

    def write(self, changes: Iterable[Change]) -> None:
        if self._failure is not None:
            self._open_again(self._failure)
        batch, handles = WriteBatch(raw_mode=True), self._handles
        for family, key, value in changes:
            if value is None:
                batch.delete(key, handles[family])
            else:
                batch.put(key, value, handles[family])
        if not batch.is_empty():
            self._commit(batch)

    def _commit(self, batch: WriteBatch) -> None:
        try:
            self._db.write(batch)
        except Exception as error:
            raise self._fail(error) from None

    def sync(self) -> None:
        if self._failure is not None:
            self._open_again(self._failure)
        try:
            self._db.flush_wal(True)
        except Exception as error:
            raise self._fail(error) from None

    def _fail(self, error: Exception) -> Exception:
        explained = _explain(error, self._path)
        if isinstance(explained, LycosaError):
            self._failure = explained
        return explained

    def _open_again(self, failure: LycosaError) -> None:
        """Go on after a write that failed, if that can be."""
        if not isinstance(failure, DiskFull) or shutil.disk_usage(self._path).free < _ROOM_BYTES:
            raise failure
        self.close()
        self._open()
        self._failure = None

    def checkpoint(self, directory: Path) -> None:
        """Make a copy of the store as it is now, while it is in use. The directory must not exist.

        The writer links the files it has, which takes no space and no time; files on another disk are copied. A reader
        has to copy the rows, for those that are only in the write-ahead log would be missing otherwise.
        """
        if directory.exists():
            raise StoreDenied(f"{directory} exists already: name a new directory for the copy")
        directory.parent.mkdir(parents=True, exist_ok=True)
        if self._is_read_only:
            self._copy_rows(directory)
            return
        try:
            Checkpoint(self._db).create_checkpoint(str(directory))
        except Exception as error:
            raise _explain(error, directory) from None

    def _copy_rows(self, directory: Path) -> None:
        copy = RocksStore(directory)
        try:
            for family in FAMILIES:
                rows = self.scan(family)
                while some := list(itertools.islice(rows, _COPIED)):
                    copy.write([(family, key, value) for key, value in some])
            copy.sync()
        finally:
            copy.close()

    def close(self) -> None:
        self._families.clear()
        self._handles.clear()
        if not self._is_read_only:
            _written.discard(self._path.resolve())
        try:
            self._db.close()
        except DbClosedError:
            pass
        except Exception as error:
            if self._failure is None:  # else it was told already
                raise _explain(error, self._path) from None


def is_in_use(path: Path) -> bool:
    """Does a process hold this store for writing?

    The lock is only asked about, never taken: whoever starts a crawl at the same moment must not find it taken. And not
    even that where we hold it ourselves: the system lets go of a process's lock when it closes any file on it.
    """
    if path.resolve() in _written:
        return True
    try:
        with (path / "LOCK").open("r+b") as lock:
            asked = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
            kind, *_ = _FLOCK.unpack(fcntl.fcntl(lock, fcntl.F_GETLK, asked))
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return bool(kind != fcntl.F_UNLCK)


def _explain(error: Exception, path: Path) -> Exception:
    """What RocksDB says, as a sentence that names the remedy."""
    said = str(error)
    if isinstance(error, DbClosedError):
        return error  # a mistake of ours
    if "No space left" in said or "os error 28" in said or "quota" in said:
        return DiskFull(f"the disk that holds {path} is full: free some space, nothing that was settled is lost")
    if "lock file" in said or "lock hold" in said:
        return StoreBusy(f"{path} is in use by another crawl: wait for it or stop it first")
    if any(sign in said for sign in ("Permission denied", "Read-only file system", "os error 13", "os error 30")):
        return StoreDenied(f"{path} cannot be read and written: change its permissions or name another directory")
    if "Corruption" in said or "checksum" in said:
        return StoreBroken(
            f"the store in {path} is damaged: restore a backup or begin a new directory ({said[:200].strip()})"
        )
    return StoreBroken(f"{path} cannot be opened as a store: name the directory of a crawl ({said[:200].strip()})")


def _options(cache: Cache, family: str) -> Options:
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.create_missing_column_families(True)
    # What is not at the bottom is soon merged and written again: compressing it each time is a third of that work.
    options.set_compression_type(DBCompressionType.none())
    options.set_bottommost_compression_type(DBCompressionType.lz4())
    # Sizes are of files, and those at the bottom hold four times the rows. At the usual 10 the level above has a row
    # for every 40, and a row at the bottom is written again with every few that come down (ADR 19).
    options.set_max_bytes_for_level_multiplier(4)
    options.set_max_background_jobs(2)
    options.set_write_buffer_size(16 << 20)
    options.set_max_write_buffer_number(3)
    options.set_db_write_buffer_size(64 << 20)
    options.set_max_total_wal_size(128 << 20)  # what opening may have to read again
    options.set_max_open_files(-1)  # a reader holds them all from the start: the writer may delete them at any time
    options.set_keep_log_file_num(2)
    table = BlockBasedOptions()
    table.set_block_cache(cache)
    table.set_cache_index_and_filter_blocks(False)
    if family not in _SCANNED:
        table.set_bloom_filter(10, False)
        options.set_memtable_prefix_bloom_ratio(_FILTERED)
        options.set_memtable_whole_key_filtering(True)
    # Nearly all keys that are looked for here are here: the filter of Seen has answered for the others.
    options.set_optimize_filters_for_hits(family == "urls")
    options.set_block_based_table_factory(table)
    return options
