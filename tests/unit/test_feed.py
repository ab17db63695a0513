"""From settled requests to tables: nothing lost, nothing twice, whenever the process dies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from lycosa.backends.journal import Journal, read_journal
from lycosa.backends.memory import MemoryStore
from lycosa.backends.parquet import SCHEMAS, ParquetTables, read_tables
from lycosa.crawl.feed import COLUMNS, Feed, LinkFound, PageRow, RequestRow, flushed_to, rows_of, settled_to
from lycosa.ports import Tables

DAY_S = 86_400.0


class Desk:
    """A feed on a store in memory, with its journal and tables in a directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.store = MemoryStore()
        self.feed = self.open()

    def open(self, tables: Tables | None = None) -> Feed:
        journal = Journal(self.directory / "feed", "s", settled_to(self.store))
        self.feed = Feed(self.store, journal, tables or ParquetTables(self.directory / "tables", "s"))
        return self.feed

    def put(self, number: int, at: float = 1.0) -> None:
        url = f"http://a/{number}"
        page = PageRow(url=url, host="a", fetched_at=at, status=200, outcome="fetched", text=f"text {number}")
        links: list[LinkFound] = [(f"http://a/{number}/x", "a", "", "x", None), ("http://b/", "a", "", "b", "scope")]
        request = RequestRow("a", url, "192.0.2.1", at, at + 0.5, 200, "page", "fetched", 10, None)
        self.store.write([self.feed.put(request, page, links)])

    def flush(self) -> None:
        self.feed.seal()
        self.feed.flush()

    def in_files(self, table: str) -> list[dict[str, Any]]:
        return list(read_tables(self.directory / "tables", table))

    def waiting(self, table: str) -> list[dict[str, Any]]:
        entries = read_journal(self.directory / "feed", "s", flushed_to(self.store), settled_to(self.store))
        return list(rows_of(entries, table))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_the_rows_of_the_feed_have_the_columns_of_the_tables_in_their_order() -> None:
    assert {table: list(names) for table, names in COLUMNS.items()} == {
        table: schema.names for table, schema in SCHEMAS.items()
    }


def test_what_waits_can_be_read_and_after_a_flush_is_in_files_instead(desk: Desk) -> None:
    for number in range(3):
        desk.put(number)
    assert [row["url"] for row in desk.waiting("pages")] == ["http://a/0", "http://a/1", "http://a/2"]
    assert [row["refused"] for row in desk.waiting("links")] == [None, "scope"] * 3
    assert desk.in_files("pages") == []
    desk.flush()
    assert desk.waiting("pages") == desk.waiting("links") == desk.waiting("requests") == []
    assert [row["text"] for row in desk.in_files("pages")] == ["text 0", "text 1", "text 2"]
    assert len(desk.in_files("links")) == 6
    assert [row["outcome"] for row in desk.in_files("requests")] == ["fetched"] * 3


def test_every_day_has_files_of_its_own(desk: Desk) -> None:
    desk.put(1, at=10.0)
    desk.put(2, at=DAY_S + 10.0)
    desk.flush()
    days = sorted(path.parent.name for path in (desk.directory / "tables" / "pages").rglob("*.parquet"))
    assert days == ["date=1970-01-01", "date=1970-01-02"]


def test_an_entry_whose_batch_was_never_written_does_not_count(desk: Desk) -> None:
    desk.put(1)
    desk.feed.put(RequestRow("a", "http://a/lost", None, 1.0, None, None, "page", "fetched", 0, None))
    desk.open()  # the process died before the batch
    desk.put(2)
    desk.flush()
    assert [row["url"] for row in desk.in_files("requests")] == ["http://a/1", "http://a/2"]


def test_an_entry_whose_batch_failed_is_not_flushed_either_and_its_number_is_given_again(desk: Desk) -> None:
    desk.put(1)
    desk.feed.put(RequestRow("a", "http://a/lost", None, 1.0, None, None, "page", "fetched", 0, None))
    desk.flush()  # as a crawl does that ends because its store failed
    desk.open()
    desk.put(2)
    assert [row["url"] for row in desk.waiting("requests")] == ["http://a/2"]
    desk.flush()
    assert [row["url"] for row in desk.in_files("requests")] == ["http://a/1", "http://a/2"]


class Dying(ParquetTables):
    """Writes so many tables, and then the process is dead."""

    def __init__(self, directory: Path, lives: int) -> None:
        super().__init__(directory, "s")
        self.lives = lives

    def write(self, table: str, shaped: Sequence[Any], first: int, last: int, day: str) -> None:
        if self.lives == 0:
            raise KeyboardInterrupt
        self.lives -= 1
        super().write(table, shaped, first, last, day)


@pytest.mark.parametrize("lives", [0, 1, 2])
def test_a_flush_that_dies_half_way_is_repeated_and_no_row_is_there_twice(desk: Desk, lives: int) -> None:
    desk.open(Dying(desk.directory / "tables", lives))
    desk.put(1)
    with pytest.raises(KeyboardInterrupt):
        desk.flush()
    desk.open()
    assert [row["url"] for row in desk.waiting("pages")] == ["http://a/1"]
    desk.put(2)
    desk.flush()
    for table in ("pages", "requests"):
        assert [row["url"] for row in desk.in_files(table)] == ["http://a/1", "http://a/2"]


def test_a_flush_that_died_after_its_last_file_is_repeated_too(desk: Desk) -> None:
    desk.put(1)
    fed = desk.store.get("meta", b"fed")
    desk.flush()
    desk.store.write([("meta", b"fed", fed)])  # as if the process had died before this was noted
    (desk.directory / "feed" / "s-000000000001.log").touch()
    desk.open()
    assert desk.in_files("pages") == []
