"""Following the feeds of a crawl from outside: journals as they grow, and table files for what is no longer in them.

Every shard has its feed, with numbers of its own. `Tail.read` goes on behind the number it is given, in order, and says
with every batch how far that is. A batch may hold entries again that were read before, never leave one out: who reads
takes the last word on a page. Entries that a crash took back are read in their new form when the journal is begun anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lycosa.backends.journal import list_segments, read_segment
from lycosa.backends.parquet import SCHEMAS, TableFile, list_files, read_about, read_unix
from lycosa.crawl.feed import entry_of
from lycosa.search.intake import LINK_COLUMNS, PAGE_COLUMNS, LinkSeen, PageSeen

TABLES, FEED = "tables", "feed"
_BATCH = 500  # pages


class Batch(NamedTuple):
    last: int  # the number up to which nothing was left out
    pages: list[PageSeen]
    links: list[tuple[str, list[LinkSeen]]]  # by the page they stand on; empty if it is not known


class _Place(NamedTuple):
    """How far a file of the journal has been read."""

    first: int
    offset: int
    number: int


def shard_names(directory: Path) -> list[str]:
    """The shards that have written something, by their names."""
    logs = {path.stem.rpartition("-")[0] for path in (directory / FEED).glob("*.log")}
    tables = {_shard_of(file) for file in list_files(directory / TABLES, "pages")}
    return sorted((logs | tables) - {""})


class Tail:
    """The feed of one shard."""

    def __init__(self, directory: Path, name: str) -> None:
        self._directory = directory
        self._name = name
        self._place: _Place | None = None

    def read(self, after: int) -> Iterator[Batch]:
        """All there is at present behind entry `after`."""
        position = after
        while True:
            before = position
            for batch in self._journal(position):
                position = batch.last
                yield batch
            if position != before:
                continue
            for batch in self._files(position):
                position = batch.last
                yield batch
            if position == before:
                return

    def _journal(self, after: int) -> Iterator[Batch]:
        after = self._cut_back(after)
        segments = [each for each in list_segments(self._directory / FEED, self._name) if each[0] <= after + 1]
        if not segments:
            return
        first, path = segments[-1]
        place = self._place if self._place is not None and self._place.first == first else _Place(first, 0, first - 1)
        batch = Batch(after, [], [])
        try:
            for offset, entry in read_segment(path, place.offset):
                place = _Place(first, offset, place.number + 1)
                if place.number <= after:
                    continue
                batch = batch._replace(last=place.number)
                _add(batch, entry)
                if len(batch.pages) >= _BATCH:
                    self._place = place
                    yield batch
                    batch = Batch(place.number, [], [])
        except FileNotFoundError:  # it went into table files, meanwhile
            return
        self._place = place
        if batch.last > after and (batch.pages or batch.links or batch.last != after):
            yield batch

    def _cut_back(self, after: int) -> int:
        """Where to go on, if entries that were read have been taken back by a crash of their writer."""
        if self._place is None:
            return after
        newer = [first for first, _ in list_segments(self._directory / FEED, self._name) if first > self._place.first]
        cut = [first - 1 for first in newer if first <= self._place.number]
        return min([after, *cut])

    def _files(self, after: int) -> Iterator[Batch]:
        files = [file for file in list_files(self._directory / TABLES, "pages") if _shard_of(file) == self._name]
        files = sorted([file for file in files if file.last > after], key=lambda file: (file.first, file.day))
        for number, file in enumerate(files):
            last = file.last if number + 1 == len(files) or files[number + 1].last != file.last else after
            links = file.path.parents[2] / "links" / file.path.parent.name / file.path.name
            found = [("", _links(links))] if links.exists() else []
            pages: list[PageSeen] = []
            for row in read_unix(file.path, "pages", PAGE_COLUMNS):
                pages.append(PageSeen(*row.values()))
                if len(pages) >= _BATCH:
                    yield Batch(after, pages, [])
                    pages = []
            yield Batch(last, pages, found)


def pages_after(directory: Path, positions: dict[str, int]) -> int:
    """How many pages table files hold beyond these positions, for a progress bar."""
    files = list_files(directory / TABLES, "pages")
    left = [file for file in files if file.last > positions.get(_shard_of(file), 0)]
    return sum(pq.read_metadata(file.path).num_rows for file in left)


def _add(batch: Batch, value: bytes) -> None:
    page, links = entry_of(value)
    if page is not None:
        batch.pages.append(PageSeen(*[getattr(page, name) for name in PAGE_COLUMNS]))
        batch.links.append((page.url, links))


def _links(path: Path) -> list[LinkSeen]:
    """The links of a file that may say something of their targets, each once."""
    read_about(path)
    table = pq.read_table(path, columns=["source", *LINK_COLUMNS], schema=SCHEMAS["links"], partitioning=None)
    kept = pc.and_(pc.is_null(table["refused"]), pc.is_in(table["kind"], pa.array(["a", "area"])))
    kept = pc.and_(kept, pc.and_(pc.not_equal(table["source"], table["target"]), pc.not_equal(table["text"], "")))
    distinct = table.filter(kept).group_by(["target", "text"], use_threads=False).aggregate([])
    pairs = zip(distinct["target"].to_pylist(), distinct["text"].to_pylist(), strict=True)
    return [(target, "a", "", text, None) for target, text in pairs]


def _shard_of(file: TableFile) -> str:
    return file.path.stem.rsplit("-", 2)[0]
