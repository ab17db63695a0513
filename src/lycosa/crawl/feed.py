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
from typing import Any, NamedTuple

import msgspec

from lycosa.ports import Change, Journal, Store, Tables

_SETTLED, _FED = b"settled", b"fed"  # in `meta`: the last entry that counts, and the last that is in files
_FILE_BYTES = 8 << 20  # of entries that make a file
_RUN_AT_ONCE = 1_000  # entries that a crash left, in a file


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


class LinkFound(NamedTuple):
    """A link of a page; the page itself is in the same entry."""

    target: str
    kind: str
    rel: str
    text: str
    refused: str | None  # the rule that did not take it


LINK_COLUMNS = ("source", "target", "kind", "rel", "text", "discovered_at", "refused")
COLUMNS = {
    "pages": PageRow.__struct_fields__,
    "links": LINK_COLUMNS,
    "requests": RequestRow.__struct_fields__,
}

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[RequestRow, PageRow | None, list[list[Any]]]).decode


class Feed:
    """What waits is in the journal and, for the next flush, in memory: about one file of it."""

    def __init__(self, store: Store, journal: Journal, tables: Tables) -> None:
        self._store = store
        self._journal = journal
        self._tables = tables
        self._fed = flushed_to(store)
        tables.drop_after(self._fed)
        journal.drop_to(self._fed)
        self._open = _Run(self._fed)
        self._sealed: list[_Run] = []
        for number, value in journal.read(self._fed, journal.last):
            self._open.add(number, *_decode(value))
            if number % _RUN_AT_ONCE == 0:
                self._seal_run()

    def put(self, request: RequestRow, page: PageRow | None = None, links: Sequence[LinkFound] = ()) -> Change:
        """Append an entry; the change that makes it count belongs into the batch that settles the request."""
        number = self._journal.append(_encode((request, page, links)))
        self._open.add(number, request, page, links)
        return ("meta", _SETTLED, number.to_bytes(8, "big"))

    @property
    def is_full(self) -> bool:
        """Is there enough for a file?"""
        return self._journal.open_bytes >= _FILE_BYTES

    def seal(self) -> None:
        """What was put so far is to be flushed. To be called between batches, never during one."""
        self._journal.seal()
        self._seal_run()

    def _seal_run(self) -> None:
        if self._open.entries:
            self._sealed.append(self._open)
            self._open = _Run(self._open.last)

    def flush(self) -> None:
        """Write what is sealed into files. May run in a thread beside `put`; after a failure it can be tried again."""
        while self._sealed:
            run = self._sealed[0]
            for day, table, columns in run.tables():
                self._tables.write(table, columns, run.first, run.last, day)
            self._store.write([("meta", _FED, run.last.to_bytes(8, "big"))])
            self._fed = run.last
            self._journal.drop_to(run.last)
            del self._sealed[0]

    def sync(self) -> None:
        self._journal.sync()

    def close(self) -> None:
        self._journal.close()


class _Run:
    """A run of entries that become one file of each table, or one for each day."""

    def __init__(self, after: int) -> None:
        self.first = after + 1
        self.last = after
        self.entries: list[tuple[RequestRow, PageRow | None, Sequence[Sequence[Any]]]] = []

    def add(
        self, number: int, request: RequestRow, page: PageRow | None = None, links: Sequence[Sequence[Any]] = ()
    ) -> None:
        self.last = number
        self.entries.append((request, page, links))

    def tables(self) -> Iterator[tuple[str, str, Sequence[Sequence[Any]]]]:
        """Day, table and columns of each file."""
        days: dict[str, list[tuple[RequestRow, PageRow | None, Sequence[Sequence[Any]]]]] = {}
        for entry in self.entries:
            days.setdefault(_day(entry[0].started_at), []).append(entry)
        for day, entries in days.items():
            yield day, "requests", _columns([request for request, _, _ in entries])
            pages = [page for _, page, _ in entries if page is not None]
            if pages:
                yield day, "pages", _columns(pages)
            links = _link_columns(entries)
            if links[0]:
                yield day, "links", links


def _columns(rows: Sequence[msgspec.Struct]) -> list[tuple[Any, ...]]:
    return list(zip(*map(msgspec.structs.astuple, rows), strict=True))


def _link_columns(
    entries: Sequence[tuple[RequestRow, PageRow | None, Sequence[Sequence[Any]]]],
) -> list[list[Any]]:
    columns: list[list[Any]] = [[] for _ in LINK_COLUMNS]
    for _, page, links in entries:
        if page is not None and links:
            targets, kinds, rels, texts, refusals = zip(*links, strict=True)
            count = len(links)
            added = ([page.url] * count, targets, kinds, rels, texts, [page.fetched_at] * count, refusals)
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


@lru_cache(4)
def _name_of_day(number: int) -> str:
    return datetime.datetime.fromtimestamp(number * 86_400, datetime.UTC).strftime("%Y-%m-%d")


def _day(at: float) -> str:
    return _name_of_day(int(at // 86_400))
