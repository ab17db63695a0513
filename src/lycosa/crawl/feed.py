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
from typing import Any, NamedTuple

import msgspec

from lycosa.ports import Change, Journal, Store, Tables

_SETTLED, _FED = b"settled", b"fed"  # in `meta`: the last entry that counts, and the last that is in files
_FILE_BYTES = 8 << 20  # of entries that make a file


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
_decode = msgspec.msgpack.Decoder(tuple[list[Any], list[Any] | None, list[list[Any]]]).decode


class Feed:
    def __init__(self, store: Store, journal: Journal, tables: Tables) -> None:
        self._store = store
        self._journal = journal
        self._tables = tables
        self._fed = flushed_to(store)
        tables.drop_after(self._fed)
        journal.drop_to(self._fed)

    def put(self, request: RequestRow, page: PageRow | None = None, links: Sequence[LinkFound] = ()) -> Change:
        """Append an entry; the change that makes it count belongs into the batch that settles the request."""
        number = self._journal.append(_encode((request, page, links)))
        return ("meta", _SETTLED, number.to_bytes(8, "big"))

    @property
    def is_full(self) -> bool:
        """Is there enough for a file?"""
        return self._journal.open_bytes >= _FILE_BYTES

    def seal(self) -> int:
        """The number of the last entry to be flushed now. To be called between batches, never during one."""
        return self._journal.seal()

    def flush(self, until: int) -> None:
        """Write the entries up to one that `seal` named into files. May run in a thread beside `put`."""
        while self._fed < until:
            self._flush_file(until)

    def _flush_file(self, until: int) -> None:
        first, last, size = self._fed + 1, until, 0
        days: dict[str, _Day] = {}
        for number, value in self._journal.read(self._fed, until):
            request, page, links = _decode(value)
            day = _day(request[3])
            if day not in days:
                days[day] = _Day()
            days[day].add(request, page, links)
            size += len(value)
            if size >= _FILE_BYTES:
                last = number
                break
        for name, day_rows in days.items():
            for table, columns in day_rows.tables():
                self._tables.write(table, columns, first, last, name)
        self._store.write([("meta", _FED, last.to_bytes(8, "big"))])
        self._fed = last
        self._journal.drop_to(last)

    def sync(self) -> None:
        self._journal.sync()

    def close(self) -> None:
        self._journal.close()


class _Day:
    """The rows of one day; links by column, because they are most of the work."""

    def __init__(self) -> None:
        self.requests: list[Sequence[Any]] = []
        self.pages: list[Sequence[Any]] = []
        self.links: list[list[Any]] = [[] for _ in LINK_COLUMNS]

    def add(self, request: Sequence[Any], page: Sequence[Any] | None, links: Sequence[Sequence[Any]]) -> None:
        self.requests.append(request)
        if page is None:
            return
        self.pages.append(page)
        if links:
            targets, kinds, rels, texts, refusals = zip(*links, strict=True)
            count = len(links)
            added = ([page[0]] * count, targets, kinds, rels, texts, [page[2]] * count, refusals)
            for column, values in zip(self.links, added, strict=True):
                column.extend(values)

    def tables(self) -> Iterator[tuple[str, Sequence[Sequence[Any]]]]:
        yield "requests", list(zip(*self.requests, strict=True))
        if self.pages:
            yield "pages", list(zip(*self.pages, strict=True))
        if self.links[0]:
            yield "links", self.links


def settled_to(store: Store) -> int:
    """The number of the last entry that counts."""
    return int.from_bytes(store.get("meta", _SETTLED) or b"", "big")


def flushed_to(store: Store) -> int:
    """The number of the last entry that is in files: a file with higher ones is not to be read."""
    return int.from_bytes(store.get("meta", _FED) or b"", "big")


def rows_of(entries: Iterable[tuple[int, bytes]], table: str) -> Iterator[dict[str, Any]]:
    """The rows of a table in these entries; times are Unix seconds."""
    names = COLUMNS[table]
    for _, value in entries:
        request, page, links = _decode(value)
        if table == "requests":
            yield dict(zip(names, request, strict=False))
        elif page is not None and table == "pages":
            yield dict(zip(names, page, strict=False))
        elif page is not None:
            for target, kind, rel, text, why in links:
                yield dict(zip(names, (page[0], target, kind, rel, text, page[2], why), strict=True))


def _day(at: float) -> str:
    return datetime.datetime.fromtimestamp(at, datetime.UTC).strftime("%Y-%m-%d")
