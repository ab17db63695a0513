"""Rows of the tables `pages` and `links`, in batches as the link graph wants them.

Of each shard: its files up to what its store says is flushed, and the rest from its journal. Files of other writers are
read whole. A batch is a group of rows of a file, so memory does not depend on how many there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lycosa.backends.parquet import TableFile, list_files, read_groups
from lycosa.crawl.feed import rows_of
from lycosa.kit.keys import KEY_BYTES, half_key
from lycosa.web.page import FOLLOWED
from lycosa.web.url import cut

Keys = NDArray[np.bytes_]  # of 16 bytes each
KEY = np.dtype(f"S{KEY_BYTES}")
_PAGE_COLUMNS = ("url", "host", "fetched_at", "outcome", "alias_of", "near_of", "canonical", "redirect_to")
_LINK_COLUMNS = ("source", "target", "kind", "rel", "discovered_at", "refused")
_REPEATING = ("source", "target", "kind", "rel", "refused")
_HINTS = frozenset(("nofollow", "ugc", "sponsored"))
_AT_ONCE = 50_000
_NOBODY = bytes(KEY_BYTES)


class Shard(NamedTuple):
    """What is to be read of one shard."""

    name: str
    flushed: int  # the last number that is in files
    entries: Sequence[tuple[int, bytes]]  # of its journal


class PageBatch(NamedTuple):
    urls: list[str]
    hosts: list[str]
    at: NDArray[np.int64]  # microseconds
    outcomes: list[str | None]
    alias_of: list[str | None]
    near_of: list[str | None]
    canonical: list[str | None]
    redirect_to: list[str | None]


class Coded(NamedTuple):
    """A column whose values repeat."""

    values: list[Any]
    codes: NDArray[np.int64]


class LinkBatch(NamedTuple):
    sources: Coded
    targets: Coded
    at: NDArray[np.int64]
    is_reference: NDArray[np.bool_]  # and not an image or a script
    is_nofollow: NDArray[np.bool_]


def keys_of(urls: Iterable[str | None]) -> Keys:
    """The keys of normalised URLs; zeros for none."""
    hosts: dict[str, bytes] = {}
    return np.frombuffer(b"".join([_key(url, hosts) if url else _NOBODY for url in urls]), KEY)


def _key(url: str, hosts: dict[str, bytes]) -> bytes:
    """As `cut(url).key()`, twice as fast for URLs without port: there are millions of them, of few hosts."""
    scheme, _, after = url.partition("://")
    host, slash, path = after.partition("/")
    if not slash or not host or ":" in host or "@" in host:
        return _odd_key(url)
    half = hosts.get(host)
    if half is None:
        half = hosts[host] = half_key(host)
    return half + half_key(f"{scheme}:///{path}")


def _odd_key(url: str) -> bytes:
    try:
        return cut(url).key()
    except (ValueError, IndexError):  # no crawl writes such a row, but a table may be anybody's
        return _NOBODY


def files_of(tables: Path, table: str, shards: Sequence[Shard]) -> list[TableFile]:
    flushed = {shard.name: shard.flushed for shard in shards}
    return [
        file for file in list_files(tables, table)
        if file.last <= flushed.get(file.path.stem.rsplit("-", 2)[0], file.last)
    ]  # fmt: skip


def page_batches(tables: Path, shards: Sequence[Shard]) -> Iterator[PageBatch]:
    for file in files_of(tables, "pages", shards):
        for group in read_groups(file.path, "pages", _PAGE_COLUMNS):
            columns = {name: _plain(group, name) for name in _PAGE_COLUMNS if name != "fetched_at"}
            yield _page_batch(columns, _micros(group, "fetched_at"))
    for rows in _chunks(shards, "pages"):
        columns = {name: [row[name] for row in rows] for name in _PAGE_COLUMNS}
        yield _page_batch(columns, _micros_of(columns["fetched_at"]))


def _page_batch(columns: dict[str, list[Any]], at: NDArray[np.int64]) -> PageBatch:
    texts = [columns[name] for name in ("outcome", "alias_of", "near_of", "canonical", "redirect_to")]
    return PageBatch(columns["url"], columns["host"], at, *texts)


def link_batches(tables: Path, shards: Sequence[Shard]) -> Iterator[LinkBatch]:
    for file in files_of(tables, "links", shards):
        for group in read_groups(file.path, "links", _LINK_COLUMNS, _REPEATING):
            coded = {name: _coded(group, name) for name in _REPEATING}
            yield _link_batch(coded, _micros(group, "discovered_at"))
    for rows in _chunks(shards, "links"):
        coded = {name: _code([row[name] for row in rows]) for name in _REPEATING}
        yield _link_batch(coded, _micros_of([row["discovered_at"] for row in rows]))


def _link_batch(coded: dict[str, Coded], at: NDArray[np.int64]) -> LinkBatch:
    kind, rel, refused = coded["kind"], coded["rel"], coded["refused"]
    nofollow = _marked(rel, lambda text: not _HINTS.isdisjoint(text.lower().split()))
    nofollow |= _marked(refused, lambda text: text == "nofollow")  # said of the whole page
    return LinkBatch(coded["source"], coded["target"], at, _marked(kind, FOLLOWED.__contains__), nofollow)


def _marked(column: Coded, test: Any) -> NDArray[np.bool_]:
    """Of each row, whether its value passes."""
    passed = np.array([value is not None and bool(test(value)) for value in column.values] or [False])
    marked: NDArray[np.bool_] = passed[column.codes]
    return marked


def _chunks(shards: Sequence[Shard], table: str) -> Iterator[list[dict[str, Any]]]:
    for shard in shards:
        rows = rows_of(shard.entries, table)
        while chunk := list(islice(rows, _AT_ONCE)):
            yield chunk


def _plain(group: pa.Table, name: str) -> list[Any]:
    values: list[Any] = group.column(name).to_pylist()
    return values


def _micros(group: pa.Table, name: str) -> NDArray[np.int64]:
    micros: NDArray[np.int64] = group.column(name).cast(pa.int64()).to_numpy()
    return micros


def _micros_of(seconds: list[float]) -> NDArray[np.int64]:
    """As `backends.parquet` writes them."""
    return np.round(np.array(seconds, np.float64) * 1e6).astype(np.int64)


def _coded(group: pa.Table, name: str) -> Coded:
    column = group.column(name).combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0) if column.num_chunks else pa.array([], column.type)
    values = [*column.dictionary.to_pylist(), None]
    codes = column.indices.fill_null(len(values) - 1).to_numpy()
    return Coded(values, codes.astype(np.int64))


def _code(values: list[Any]) -> Coded:
    known: dict[Any, int] = {}
    codes = np.array([known.setdefault(value, len(known)) for value in values], np.int64)
    return Coded(list(known), codes)
