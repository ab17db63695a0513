"""Tables as Parquet files, laid out so that DuckDB, Polars and Spark read them as they are.

    TABLE/date=YYYY-MM-DD/NAME-FIRST-LAST.parquet       FIRST and LAST are the sequence numbers of the rows in it

A file is written under a hidden name, synced, renamed and its directory synced: what can be listed is whole and stays.
Writing the same range again replaces the file by an equal one, so a crash between the rename and the deletion of the
source rows costs nothing. Every file carries the format version and its range; a newer format is refused.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyarrow.fs import LocalFileSystem

from lycosa.errors import LycosaError

FORMAT = 1
_FORMAT_KEY, _FIRST_KEY, _LAST_KEY = b"lycosa.format", b"lycosa.first", b"lycosa.last"
_TIME = pa.timestamp("us", tz="UTC")
_ROWS_IN_GROUP = 64_000

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
            ("kind", pa.string()),  # page, robots, sitemap, …
            ("outcome", pa.string()),
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
    schema = _schema(table)
    folder = directory / table / f"date={day}"
    path = folder / f"{name}-{first:012d}-{last:012d}.parquet"
    unfinished = path.with_name(f".{path.name}.part")
    about = {_FORMAT_KEY: str(FORMAT), _FIRST_KEY: str(first), _LAST_KEY: str(last)}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        content = _table(rows, schema).replace_schema_metadata(about)
        with unfinished.open("wb") as file:
            pq.write_table(content, file, compression="zstd", row_group_size=_ROWS_IN_GROUP)
            file.flush()
            os.fsync(file.fileno())
        unfinished.rename(path)
        for changed in (folder, folder.parent, directory):
            _sync_directory(changed)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise TableTrouble(
            f"cannot write the table {table} in {directory}: {error.strerror or error}; make room there and start again"
        ) from error
    return path


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
    schema = _schema(table)
    fragment = ds.ParquetFileFormat().make_fragment(str(path), filesystem=LocalFileSystem())
    try:
        told = fragment.metadata.metadata or {}
    except (pa.ArrowInvalid, OSError) as error:
        raise TableTrouble(f"{path} is not a whole Parquet file: restore it from a backup or remove it") from error
    version = told.get(_FORMAT_KEY, b"0").decode("ascii", "replace")
    if not version.isdigit() or int(version) > FORMAT:
        raise TableTrouble(f"{path} has table format {version}, this version reads up to {FORMAT}: use a newer Lycosa")
    for batch in fragment.to_batches(schema=schema, columns=columns and list(columns), filter=filter):
        yield from batch.to_pylist()


def _schema(table: str) -> pa.Schema:
    if table not in SCHEMAS:
        raise TableTrouble(f"there is no table {table!r}: the tables are {', '.join(SCHEMAS)}")
    return SCHEMAS[table]


def _table(rows: Sequence[dict[str, Any]], schema: pa.Schema) -> pa.Table:
    return pa.table([_column([row.get(field.name) for row in rows], field) for field in schema], schema=schema)


def _column(values: list[Any], field: pa.Field) -> pa.Array:
    if field.type == _TIME:
        values = [round(value * 1_000_000) if isinstance(value, (int, float)) else value for value in values]
    elif pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
        # What pages say may hold half a character, which no UTF-8 file can.
        values = [value if value is None else value.encode("utf-8", "replace").decode() for value in values]
    return pa.array(values, field.type)


def _table_file(path: Path) -> TableFile:
    day = next((part.removeprefix("date=") for part in path.parts[::-1] if part.startswith("date=")), "")
    *_, first, last = path.stem.rsplit("-", 2)
    return TableFile(path, day, *(int(number) if number.isdigit() else 0 for number in (first, last)))


def _sync_directory(directory: Path) -> None:
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
