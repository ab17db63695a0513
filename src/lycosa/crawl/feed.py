"""The feed: every request that was settled, on its way into the tables.

For each settled lease there is an entry in a journal: the request, the page if there was one, and its links. It is
appended before the batch that settles the lease, which names its number, so an entry counts only if its lease is
settled. `flush` writes a run of entries as table files that carry their first and last number, and only when those are
safely on disk is it noted how far that is done and the run removed. So a crash repeats a flush and neither loses a row
nor has one twice: files beyond what was noted are removed when the feed is opened.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from lycosa.kit.columns import Column, read_columns
from lycosa.ports import Change, Journal, Store, Tables

_SETTLED, _FED = b"settled", b"fed"  # in `meta`: the last entry that counts, and the last that is in files
_FILE_BYTES = 8 << 20  # of entries that make a file
_FILE_ENTRIES = 5_000  # or so many, if they are small
_SHAPED_BYTES = 1 << 20  # of entries that are shaped at once


class PageRow(msgspec.Struct, array_like=True, gc=False, kw_only=True):
    """An answer, as the table `pages` has it."""

    url: str
    host: str
    fetched_at: float
    status: int
    outcome: str
    content_type: str | None = None
    bytes: int = 0  # of the body, decoded
    title: str | None = None
    language: str | None = None
    text: str | None = None  # the main text
    outlinks: int = 0
    content_hash: str | None = None
    simhash: int | None = None
    alias_of: str | None = None
    near_of: str | None = None
    canonical: str | None = None
    redirect_to: str | None = None
    depth: int = 0
    warc_file: str | None = None
    warc_offset: int | None = None
    warc_length: int | None = None
    charset: str | None = None
    fields: str | None = None  # what processors added, a JSON object
    headings: str | None = None  # a line each
    directives: str | None = None  # what the page says to robots: noindex, nosnippet, …


class RequestRow(msgspec.Struct, array_like=True, gc=False):
    """A request, as the table `requests` has it."""

    host: str
    url: str
    address: str | None
    started_at: float
    ended_at: float | None
    status: int | None
    kind: str
    outcome: str
    bytes: int
    gap_s: float | None  # since the end of the answer before, of the same host


# A link of a page: target, kind, rel, text, and the rule that did not take it. The page itself is in the same entry.
LinkFound = tuple[str, str, str, str, str | None]
LINK_COLUMNS = ("source", "target", "kind", "rel", "text", "discovered_at", "refused")
COLUMNS = {
    "requests": RequestRow.__struct_fields__,
    "pages": PageRow.__struct_fields__,
    "links": LINK_COLUMNS,
}
_URL, _FETCHED_AT = COLUMNS["pages"].index("url"), COLUMNS["pages"].index("fetched_at")
_LINK_PLACES = (~_URL, 0, 1, 2, 3, ~_FETCHED_AT, 4)
_STARTED_AT = COLUMNS["requests"].index("started_at")

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[RequestRow, PageRow | None, list[list[Any]]]).decode


class Feed:
    def __init__(self, store: Store, journal: Journal, tables: Tables) -> None:
        self._store = store
        self._journal = journal
        self._tables = tables
        self._fed = flushed_to(store)
        self._sealed = journal.last
        tables.drop_after(self._fed)
        journal.drop_to(self._fed)

    def put(self, request: RequestRow, page: PageRow | None = None, links: Sequence[LinkFound] = ()) -> Change:
        """Append an entry; the change that makes it count belongs into the batch that settles the request."""
        number = self._journal.append(_encode((request, page, links)))
        return ("meta", _SETTLED, number.to_bytes(8, "big"))

    @property
    def is_full(self) -> bool:
        """Is there enough for a file?"""
        return self._journal.open_bytes >= _FILE_BYTES or self._journal.last - self._sealed >= _FILE_ENTRIES

    def seal(self) -> None:
        """What was put so far is to be flushed. To be called between batches, never during one."""
        self._journal.seal()
        self._sealed = settled_to(self._store)  # less than the journal has if a batch failed: that entry never counts

    def flush(self) -> None:
        """Write what is sealed into files. May run in a thread beside `put`; after a failure it can be tried again."""
        while self._fed < self._sealed:
            self._flush_file(self._sealed)

    def _flush_file(self, until: int) -> None:
        first, last, size = self._fed + 1, until, 0
        parts, entries, gathered = Shaping(self._tables), list[bytes](), 0
        for number, entry in self._journal.read(self._fed, until):
            entries.append(entry)
            gathered += len(entry)
            if gathered >= _SHAPED_BYTES:
                parts.add(entries)
                size, entries, gathered = size + gathered, [], 0
            if size >= 2 * _FILE_BYTES:
                last = number
                break
        parts.add(entries)
        parts.write(first, last)
        self._store.write([("meta", _FED, last.to_bytes(8, "big"))])
        self._store.sync()  # or a power cut could take the note, and with it the files, when the journal has gone
        self._fed = last
        self._journal.drop_to(last)

    def sync(self) -> None:
        self._journal.sync()

    def close(self) -> None:
        self._journal.close()


_Entry = tuple[RequestRow, PageRow | None, list[list[Any]]]


class Shaping:
    """Rows on their way into files, in the tables' own form. They are handed over a few at a time, so that the memory
    of those before is used again: for the processor that is the difference between near and far."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._kinds = tables.kinds("requests"), tables.kinds("pages"), tables.kinds("links")
        self._shaped: dict[tuple[str, str], list[Any]] = {}

    def add(self, entries: Sequence[bytes]) -> None:
        if not entries:
            return
        columns = read_columns(entries, self._kinds, _LINK_PLACES)
        day = _day_of(columns[0][_STARTED_AT]) if columns is not None else None
        if columns is not None and day is not None:
            for table, shaped in zip(COLUMNS, columns, strict=True):
                self._shape(day, table, shaped, shaped[0].count)
        else:
            self.add_values(entries)

    def add_values(self, entries: Sequence[bytes]) -> None:
        """The same by way of values of Python: for what no column expects, and where nothing was compiled."""
        days: dict[str, list[_Entry]] = {}
        for entry in map(_decode, entries):
            days.setdefault(_day(entry[0].started_at), []).append(entry)
        for day, of_day in days.items():
            self._add_columns(day, "requests", _columns([request for request, _, _ in of_day]))
            self._add_columns(day, "pages", _columns([page for _, page, _ in of_day if page is not None]))
            self._add_columns(day, "links", _link_columns(of_day))

    def _add_columns(self, day: str, table: str, columns: Sequence[Sequence[Any]]) -> None:
        self._shape(day, table, columns, len(columns[0]) if columns else 0)

    def _shape(self, day: str, table: str, columns: Sequence[Sequence[Any] | Column], count: int) -> None:
        if count:
            self._shaped.setdefault((day, table), []).append(self._tables.shape(table, columns))

    def write(self, first: int, last: int) -> None:
        for (day, table), shaped in self._shaped.items():
            self._tables.write(table, shaped, first, last, day)


def _day_of(times: Column) -> str | None:
    """The day of all these times, if it is the same."""
    micros = memoryview(times.data).cast("q")
    first, last = _day(min(micros) / 1e6), _day(max(micros) / 1e6)
    return first if first == last else None


def _columns(rows: Sequence[msgspec.Struct]) -> list[tuple[Any, ...]]:
    return list(zip(*map(msgspec.structs.astuple, rows), strict=True))


def _link_columns(entries: Sequence[_Entry]) -> list[list[Any]]:
    columns: list[list[Any]] = [[] for _ in LINK_COLUMNS]
    for _, page, links in entries:
        if page is not None and links:
            targets, kinds, rels, texts, refusals = zip(*links, strict=True)
            count = len(links)
            source, at = [page.url] * count, [page.fetched_at] * count
            added: tuple[Sequence[Any], ...] = (source, targets, kinds, rels, texts, at, refusals)
            for column, values in zip(columns, added, strict=True):
                column.extend(values)
    return columns


def settled_to(store: Store) -> int:
    """The number of the last entry that counts."""
    return int.from_bytes(store.get("meta", _SETTLED) or b"", "big")


def flushed_to(store: Store) -> int:
    """The number of the last entry that is in files: a file with higher ones is not to be read."""
    return int.from_bytes(store.get("meta", _FED) or b"", "big")


def rows_of(entries: Iterable[tuple[int, bytes]], table: str) -> Iterator[dict[str, Any]]:
    """The rows of a table in these entries; times are Unix seconds."""
    for _, value in entries:
        request, page, links = _decode(value)
        if table == "requests":
            yield msgspec.structs.asdict(request)
        elif page is not None and table == "pages":
            yield msgspec.structs.asdict(page)
        elif page is not None:
            for target, kind, rel, text, why in links:
                yield dict(zip(LINK_COLUMNS, (page.url, target, kind, rel, text, page.fetched_at, why), strict=True))


def entry_of(value: bytes) -> tuple[PageRow | None, list[Any]]:
    """The page of an entry of the journal, and its links."""
    _, page, links = _decode(value)
    return page, links


@lru_cache(4)
def _name_of_day(number: int) -> str:
    return datetime.datetime.fromtimestamp(number * 86_400, datetime.UTC).strftime("%Y-%m-%d")


def _day(at: float) -> str:
    return _name_of_day(int(at // 86_400))
