"""Following feeds: nothing is left out, whatever is flushed, cut or begun meanwhile."""

from __future__ import annotations

from pathlib import Path

from lycosa.backends.feed_tail import FEED, TABLES, Tail, pages_after, shard_names
from lycosa.backends.journal import Journal
from lycosa.backends.memory import MemoryStore
from lycosa.backends.parquet import ParquetTables
from lycosa.crawl.feed import Feed, PageRow, RequestRow, settled_to


class Crawl:
    """The feed of one shard, as a crawl writes it."""

    def __init__(self, directory: Path, name: str, store: MemoryStore | None = None) -> None:
        self.store = store or MemoryStore()
        journal = Journal(directory / FEED, name, settled_to(self.store))
        self.feed = Feed(self.store, journal, ParquetTables(directory / TABLES, name))

    def put(self, *names: str, is_settled: bool = True) -> None:
        for name in names:
            url = f"https://h.example/{name}"
            request = RequestRow("h.example", url, None, 1.0, 2.0, 200, "page", "fetched", 1, None)
            page = PageRow(url=url, host="h.example", fetched_at=1.0, status=200, outcome="fetched", title=name)
            change = self.feed.put(request, page, [(f"{url}/x", "a", "", f"to {name}", None)])
            if is_settled:
                self.store.write([change])

    def flush(self) -> None:
        self.feed.seal()
        self.feed.flush()


def names(tail: Tail, after: int) -> tuple[list[str], int]:
    found, last = [], after
    for batch in tail.read(after):
        found += [page.title or "" for page in batch.pages]
        last = batch.last
    return found, last


def test_entries_come_in_order_and_once(tmp_path: Path) -> None:
    crawl, tail = Crawl(tmp_path, "shard-00"), Tail(tmp_path, "shard-00")
    crawl.put("a", "b")
    assert names(tail, 0) == (["a", "b"], 2)
    crawl.put("c")
    assert names(tail, 2) == (["c"], 3)
    assert names(tail, 3) == ([], 3)


def test_what_was_flushed_is_read_from_files(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path, "shard-00")
    crawl.put("a", "b")
    crawl.flush()
    crawl.put("c")
    assert names(Tail(tmp_path, "shard-00"), 0) == (["a", "b", "c"], 3)
    assert pages_after(tmp_path, {}) == 2
    assert pages_after(tmp_path, {"shard-00": 2}) == 0


def test_a_flush_in_between_leaves_nothing_out(tmp_path: Path) -> None:
    crawl, tail = Crawl(tmp_path, "shard-00"), Tail(tmp_path, "shard-00")
    crawl.put("a")
    assert names(tail, 0) == (["a"], 1)
    crawl.put("b")
    crawl.flush()
    crawl.put("c")
    found, last = names(tail, 1)
    assert last == 3
    assert found[-2:] == ["b", "c"]  # and perhaps those of the same file again


def test_links_come_with_their_pages_and_from_files(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path, "shard-00")
    crawl.put("a")
    [batch] = Tail(tmp_path, "shard-00").read(0)
    assert [(source, link[3]) for source, links in batch.links for link in links] == [("https://h.example/a", "to a")]
    crawl.flush()
    [batch] = Tail(tmp_path, "shard-00").read(0)
    assert [link[0] for _, links in batch.links for link in links] == ["https://h.example/a/x"]


def test_entries_that_a_crash_took_back_are_read_in_their_new_form(tmp_path: Path) -> None:
    crawl, tail = Crawl(tmp_path, "shard-00"), Tail(tmp_path, "shard-00")
    crawl.put("a")
    crawl.put("lost", is_settled=False)
    assert names(tail, 0) == (["a", "lost"], 2)
    again = Crawl(tmp_path, "shard-00", crawl.store)  # cuts what was not settled
    again.put("b", "c")
    assert names(tail, 2)[0] == ["b", "c"]


def test_every_shard_has_its_own_numbers(tmp_path: Path) -> None:
    first, second = Crawl(tmp_path, "shard-00"), Crawl(tmp_path, "shard-01")
    first.put("a", "b")
    second.put("c")
    second.flush()
    assert shard_names(tmp_path) == ["shard-00", "shard-01"]
    assert names(Tail(tmp_path, "shard-00"), 0) == (["a", "b"], 2)
    assert names(Tail(tmp_path, "shard-01"), 0) == (["c"], 1)


def test_a_directory_without_a_crawl_has_no_shards(tmp_path: Path) -> None:
    assert shard_names(tmp_path) == []
    assert names(Tail(tmp_path, "shard-00"), 0) == ([], 0)
