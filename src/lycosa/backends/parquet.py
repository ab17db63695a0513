"""Tables as Parquet files, laid out so that DuckDB, Polars and Spark read them as they are.

    TABLE/date=YYYY-MM-DD/NAME-FIRST-LAST.parquet       FIRST and LAST are the sequence numbers of the rows in it

A file is written under a hidden name, synced, renamed and its directory synced: what can be listed is whole and stays.
Writing the same range again replaces the file by an equal one, so a crash between the rename and the deletion of the
source rows costs nothing. Every file carries the format version and its range; a newer format is refused.
"""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lycosa.backends.durable import sync_directory, sync_file
from lycosa.errors import LycosaError
from lycosa.kit.columns import Column

if TYPE_CHECKING:
    import pyarrow.compute as pc

FORMAT = 1
_FORMAT_KEY, _FIRST_KEY, _LAST_KEY = b"lycosa.format", b"lycosa.first", b"lycosa.last"
_TIME = pa.timestamp("us", tz="UTC")
_KINDS = {  # as `kit.columns` has them
    pa.string(): "s",
    pa.large_string(): "S",
    pa.int16(): "h",
    pa.int32(): "i",
    pa.int64(): "q",
    pa.uint64(): "Q",
    pa.float64(): "d",
    _TIME: "t",
}
_ROWS_IN_GROUP = 64_000
_UNLIKE = frozenset({"text", "content_hash", "simhash", "fields", "warc_offset", "bytes"})  # values seldom come twice

SCHEMAS: dict[str, pa.Schema] = {
    "pages": pa.schema(
        [
            pa.field("url", pa.string(), nullable=False),
            pa.field("host", pa.string(), nullable=False),
            pa.field("fetched_at", _TIME, nullable=False),
            ("status", pa.int16()),
            ("outcome", pa.string()),
            ("content_type", pa.string()),
            ("bytes", pa.int64()),  # of the body, decoded
            ("title", pa.string()),
            ("language", pa.string()),
            ("text", pa.large_string()),
            ("outlinks", pa.int32()),
            ("content_hash", pa.string()),  # 64 hex digits, as everywhere a person sees it
            ("simhash", pa.uint64()),
            ("alias_of", pa.string()),
            ("near_of", pa.string()),
            ("canonical", pa.string()),
            ("redirect_to", pa.string()),
            ("depth", pa.int32()),
            ("warc_file", pa.string()),
            ("warc_offset", pa.int64()),
            ("warc_length", pa.int64()),
            ("charset", pa.string()),
            ("fields", pa.string()),  # a JSON object of whatever processors added
            ("headings", pa.string()),  # a line each
            ("directives", pa.string()),  # what the page says to robots, as noindex or nosnippet
        ]
    ),
    "links": pa.schema(
        [
            pa.field("source", pa.string(), nullable=False),
            pa.field("target", pa.string(), nullable=False),
            ("kind", pa.string()),
            ("rel", pa.string()),
            ("text", pa.string()),
            pa.field("discovered_at", _TIME, nullable=False),
            ("refused", pa.string()),  # the rule of scope or trap that refused it; null = taken
        ]
    ),
    "requests": pa.schema(
        [
            pa.field("host", pa.string(), nullable=False),
            pa.field("url", pa.string(), nullable=False),
            ("address", pa.string()),
            pa.field("started_at", _TIME, nullable=False),
            ("ended_at", _TIME),
            ("status", pa.int16()),
            ("kind", pa.string()),  # page or robots
            ("outcome", pa.string()),  # "interrupted": under way when the process died, so its end is not known
            ("bytes", pa.int64()),  # over the wire
            ("gap_s", pa.float64()),  # since the end of the previous answer of the host
        ]
    ),
}


class TableTrouble(LycosaError):
    """A table that cannot be written, or that this version cannot read."""


class TableFile(msgspec.Struct, frozen=True):
    """One file of a table; the range is what its name says."""

    path: Path
    day: str
    first: int
    last: int

    @property
    def writer(self) -> str:
        return self.path.name.rsplit("-", 2)[0]


class ParquetTables:
    """Fulfils `ports.Tables` for one writer, whose files begin with its name."""

    def __init__(self, directory: Path, name: str) -> None:
        self._directory = directory
        self._name = name
        # Arrow's own allocator gives memory back and asks for it again with every file: half of a flush's system time.
        pa.set_memory_pool(pa.system_memory_pool())

    def kinds(self, table: str) -> str:
        return "".join(_KINDS[field.type] for field in _schema(table))

    def shape(self, table: str, columns: Sequence[Sequence[Any] | Column]) -> pa.Table:
        return _table(columns, _schema(table))

    def write(self, table: str, shaped: Sequence[pa.Table], first: int, last: int, day: str) -> None:
        _write(self._directory, table, pa.concat_tables(shaped), (first, last), day, self._name)

    def drop_after(self, last: int) -> None:
        for table in SCHEMAS:
            for file in list_files(self._directory, table):
                if file.path.name.startswith(f"{self._name}-") and file.last > last:
                    file.path.unlink()
            # What a killed writer left half written: nobody reads it, and `forget` would not find what is in it.
            for left in (self._directory / table).rglob(f".{glob.escape(self._name)}-*.part"):
                left.unlink(missing_ok=True)


def write_table(  # noqa: PLR0913 what the path of a file is made of
    directory: Path,
    table: str,
    rows: Sequence[dict[str, Any]],
    first: int,
    last: int,
    day: str,
    *,
    name: str = "part",
) -> Path:
    """Write rows `first` to `last` of a table as one file. Missing columns are null; times are Unix seconds.

    Sequence numbers are the writer's own: where several write, each gives its `name`.
    """
    columns = [[row.get(column) for row in rows] for column in _schema(table).names]
    return write_columns(directory, table, columns, first, last, day, name=name)


def write_columns(  # noqa: PLR0913 what the path of a file is made of
    directory: Path,
    table: str,
    columns: Sequence[Sequence[Any]],
    first: int,
    last: int,
    day: str,
    *,
    name: str = "part",
) -> Path:
    """As `write_table`, given a sequence of values for each column in order: the fast way."""
    content = _table(columns, _schema(table))
    return _write(directory, table, content, (first, last), day, name)


def _write(directory: Path, table: str, content: pa.Table, numbers: tuple[int, int], day: str, name: str) -> Path:
    first, last = numbers
    folder = directory / table / f"date={day}"
    path = folder / f"{name}-{first:012d}-{last:012d}.parquet"
    about = {_FORMAT_KEY: str(FORMAT), _FIRST_KEY: str(first), _LAST_KEY: str(last)}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _put(path, [content], _schema(table).with_metadata(about))
        for changed in (folder.parent, directory):
            sync_directory(changed)
    except OSError as error:
        raise TableTrouble(
            f"cannot write the table {table} in {directory}: {error.strerror or error}; make room there and start again"
        ) from error
    return path


def rewrite_file(path: Path, table: str, change: Callable[[pa.Table], pa.Table], out: Path | None = None) -> int:
    """Write a file again after `change`, in its place or as `out`, and return its number of rows.

    The name keeps its range, also when no row is left: what a file stands for does not change. One group of rows is in
    memory at a time.
    """
    target = out or path
    told, count = read_about(path), 0

    def batches() -> Iterator[pa.Table]:
        nonlocal count
        for batch in _fragment(path).to_batches(schema=_schema(table)):
            changed = change(pa.Table.from_batches([batch]))
            count += changed.num_rows
            yield changed

    target.parent.mkdir(parents=True, exist_ok=True)
    _put(target, batches(), _schema(table).with_metadata(told))
    return count


def _put(path: Path, parts: Iterable[pa.Table], schema: pa.Schema) -> None:
    unfinished = path.with_name(f".{path.name}.part")
    repeating = [column for column in schema.names if column not in _UNLIKE]
    try:
        # Not a file of Python: for each write to one of those Arrow waits for the interpreter.
        with (
            pa.OSFile(str(unfinished), "wb") as file,
            pq.ParquetWriter(
                file, schema, compression="zstd", use_dictionary=repeating, write_page_checksum=True
            ) as writer,
        ):
            for part in parts:
                writer.write_table(part, row_group_size=_ROWS_IN_GROUP)
        sync_file(unfinished)
        unfinished.rename(path)
        sync_directory(path.parent)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise


def list_files(directory: Path, table: str) -> list[TableFile]:
    """Every file of a table, by day and then by range."""
    _schema(table)
    found = [_table_file(path) for path in (directory / table).rglob("*.parquet") if not path.name.startswith(".")]
    return sorted(found, key=lambda file: (file.day, file.first, file.path))


def read_tables(
    directory: Path,
    table: str,
    columns: Sequence[str] | None = None,
    filter: pc.Expression | None = None,  # noqa: A002
) -> Iterator[dict[str, Any]]:
    """The rows of a table, file by file; `filter` is an Arrow expression such as `field("host") == "example.org"`."""
    for file in list_files(directory, table):
        yield from read_file(file.path, table, columns, filter)


def read_file(
    path: Path,
    table: str,
    columns: Sequence[str] | None = None,
    filter: pc.Expression | None = None,  # noqa: A002
) -> Iterator[dict[str, Any]]:
    """The rows of one file; columns that an older version did not have are null."""
    read_about(path)
    for batch in _fragment(path).to_batches(schema=_schema(table), columns=columns and list(columns), filter=filter):
        yield from batch.to_pylist()


def read_unix(
    path: Path,
    table: str,
    columns: Sequence[str] | None = None,
    filter: pc.Expression | None = None,  # noqa: A002
) -> Iterator[dict[str, Any]]:
    """As `read_file`, with times as Unix seconds: what rows are written from, and several times as fast."""
    read_about(path)
    names = list(columns or _schema(table).names)
    for batch in _fragment(path).to_batches(schema=_schema(table), columns=names, filter=filter):
        values = [_seconds(column) if column.type == _TIME else column.to_pylist() for column in batch.columns]
        for row in zip(*values, strict=True):
            yield dict(zip(names, row, strict=True))


def count_rows(path: Path) -> int:
    """How many rows a file has, from its end alone."""
    read_about(path)
    return int(pq.read_metadata(path).num_rows)


def read_groups(path: Path, table: str, columns: Sequence[str], repeating: Sequence[str] = ()) -> Iterator[pa.Table]:
    """The groups of rows of one file, by columns; those of `repeating` as codes and the values they stand for."""
    read_about(path)
    try:
        with pq.ParquetFile(path, read_dictionary=list(repeating)) as file:
            for group in range(file.num_row_groups):
                yield file.read_row_group(group, list(columns))
    except (pa.ArrowException, OSError) as error:
        raise TableTrouble(f"{path} is damaged: restore it from a backup or remove it") from error


def _seconds(times: pa.Array) -> list[float | None]:
    return [None if micros is None else micros / 1e6 for micros in times.cast(pa.int64()).to_pylist()]


def _fragment(path: Path) -> Any:
    # Imported here: a crawl only writes, and these cost a tenth of a second and twenty megabytes.
    from pyarrow.dataset import ParquetFileFormat
    from pyarrow.fs import LocalFileSystem

    return ParquetFileFormat().make_fragment(str(path), filesystem=LocalFileSystem())


def read_about(path: Path) -> dict[bytes, bytes]:
    """What a file says of itself: its format, which this version must know, and its range."""
    try:
        told: dict[bytes, bytes] = pq.read_metadata(path).metadata or {}
    except (pa.ArrowInvalid, OSError) as error:
        raise TableTrouble(f"{path} is not a whole Parquet file: restore it from a backup or remove it") from error
    version = told.get(_FORMAT_KEY, b"0").decode("ascii", "replace")
    if not version.isdigit() or int(version) > FORMAT:
        raise TableTrouble(f"{path} has table format {version}, this version reads up to {FORMAT}: use a newer Lycosa")
    return {key: value for key, value in told.items() if key in (_FORMAT_KEY, _FIRST_KEY, _LAST_KEY)}


def check_file(path: Path) -> str | None:
    """Read a file whole and compare the checksums of its pages; what is wrong with it, or None."""
    try:
        read_about(path)
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            for group in range(file.num_row_groups):
                file.read_row_group(group)
    except (TableTrouble, pa.ArrowException, OSError) as error:
        return f"{path.name}: {str(error).splitlines()[0]}"
    return None


def _schema(table: str) -> pa.Schema:
    if table not in SCHEMAS:
        raise TableTrouble(f"there is no table {table!r}: the tables are {', '.join(SCHEMAS)}")
    return SCHEMAS[table]


def _table(columns: Sequence[Sequence[Any] | Column], schema: pa.Schema) -> pa.Table:
    return pa.table([_column(values, field) for values, field in zip(columns, schema, strict=True)], schema=schema)


def _column(values: Sequence[Any] | Column, field: pa.Field) -> pa.Array:
    return _from_memory(values, field) if isinstance(values, Column) else _from_values(values, field)


def _from_memory(column: Column, field: pa.Field) -> pa.Array:
    memory = [column.data] if column.offsets is None else [column.offsets, column.data]
    buffers = [None if part is None else pa.py_buffer(part) for part in (column.validity, *memory)]
    return pa.Array.from_buffers(field.type, column.count, buffers, column.nulls)


def _from_values(values: Sequence[Any], field: pa.Field) -> pa.Array:
    if field.type == _TIME:
        return _times(values)
    try:
        return pa.array(values, field.type)
    except UnicodeEncodeError:
        # What pages say may hold half a character, which no UTF-8 file can.
        values = [value if value is None else value.encode("utf-8", "replace").decode() for value in values]
        return pa.array(values, field.type)
    except (pa.ArrowInvalid, OverflowError):
        # A number that does not fit is unknown: better than a row that keeps all others from ever being written.
        return pa.array([value if _fits(value, field.type) else None for value in values], field.type)


def _times(values: Sequence[float | None]) -> pa.Array:
    """Unix seconds as a column. From bare memory: `pa.array` and `cast` load masked arrays and all functions of Arrow
    first, which costs a short crawl more than anything else it does."""
    seconds = np.array(values, np.float64)
    known = ~np.isnan(seconds)
    micros = np.round(np.where(known, seconds, 0.0) * 1e6).astype(np.int64)
    is_known = None if known.all() else pa.py_buffer(np.packbits(known, bitorder="little"))
    return pa.Array.from_buffers(_TIME, len(values), [is_known, pa.py_buffer(micros)])


def _fits(value: Any, kind: pa.DataType) -> bool:
    try:
        pa.scalar(value, kind)
    except (pa.ArrowInvalid, OverflowError):
        return False
    return True


def _table_file(path: Path) -> TableFile:
    day = next((part.removeprefix("date=") for part in path.parts[::-1] if part.startswith("date=")), "")
    *_, first, last = path.stem.rsplit("-", 2)
    return TableFile(path, day, *(int(number) if number.isdigit() else 0 for number in (first, last)))
