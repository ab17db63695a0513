"""Which pages are in the index, and which no longer are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lycosa.backends.tantivy_index import IndexBusy, IndexTrouble, IndexWriter, clear, read_positions, writing
from lycosa.backends.tantivy_view import TantivyReader
from lycosa.search.answer import Request
from lycosa.search.engine import Search
from lycosa.search.intake import Intake, PageSeen, is_home, label_of, sites_of

HOST = "h.example"


def seen(path: str, text: str | None = "badger", outcome: str = "fetched", **more: Any) -> PageSeen:
    return PageSeen(f"https://{HOST}/{path}", HOST, 1.0, outcome, f"Title {path}", text=text, **more)


def take(directory: Path, *pages: PageSeen, number: int = 1) -> list[str]:
    """What is found afterwards, by path."""
    index = IndexWriter(directory)
    intake = Intake(index, 100.0)
    for page in pages:
        intake.page(page)
    intake.commit({"shard-00": number})
    index.close()
    answer = Search(TantivyReader(directory)).search(Request(query=f"site:{HOST}", limit=100, fold=0))
    return sorted(result.url.rpartition("/")[2] for result in answer.results)


def test_a_page_is_there_once_however_often_it_is_taken(tmp_path: Path) -> None:
    assert take(tmp_path, seen("a"), seen("a"), seen("b")) == ["a", "b"]
    assert take(tmp_path, seen("a")) == ["a", "b"]


def test_a_page_that_has_gone_is_removed(tmp_path: Path) -> None:
    take(tmp_path, seen("a"), seen("b"))
    assert take(tmp_path, seen("a", None, "gone")) == ["b"]


def test_a_page_that_leads_elsewhere_now_is_removed(tmp_path: Path) -> None:
    take(tmp_path, seen("a"))
    assert take(tmp_path, seen("a", None, "redirected")) == []


def test_a_page_that_has_not_changed_stays(tmp_path: Path) -> None:
    take(tmp_path, seen("a"))
    assert take(tmp_path, seen("a", None, "unchanged")) == ["a"]


def test_a_page_that_comes_to_ask_for_it_is_removed(tmp_path: Path) -> None:
    take(tmp_path, seen("a"))
    assert take(tmp_path, seen("a", directives="noindex, nofollow")) == []


def test_a_page_that_is_past_its_date_is_not_indexed(tmp_path: Path) -> None:
    assert take(
        tmp_path, seen("a", directives="unavailable_after:99"), seen("b", directives="unavailable_after:4000000000")
    ) == ["b"]


def test_copies_are_indexed_once(tmp_path: Path) -> None:
    assert take(tmp_path, seen("a"), seen("b", None, alias_of=f"https://{HOST}/a")) == ["a"]


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_a_page_stands_under_its_canonical_address(tmp_path: Path, order: tuple[str, str]) -> None:
    pages = {"a": seen("a"), "b": seen("b", canonical=f"https://{HOST}/a")}
    assert take(tmp_path / "at once", *[pages[name] for name in order]) == ["a"]
    take(tmp_path / "later", pages[order[0]])
    assert take(tmp_path / "later", pages[order[1]]) == ["a"]


def test_a_canonical_address_that_was_not_fetched_does_not_count(tmp_path: Path) -> None:
    assert take(tmp_path, seen("b", canonical=f"https://{HOST}/never"), seen("c", canonical=f"https://{HOST}/c")) == [
        "b",
        "c",
    ]


def test_pages_that_call_each_other_canonical_leave_one(tmp_path: Path) -> None:
    assert len(take(tmp_path, seen("a", canonical=f"https://{HOST}/b"), seen("b", canonical=f"https://{HOST}/a"))) == 1


def test_a_page_without_text_is_found_by_its_title(tmp_path: Path) -> None:
    assert take(tmp_path, seen("a", None, directives="noarchive")) == ["a"]


def test_positions_are_part_of_the_commit(tmp_path: Path) -> None:
    take(tmp_path, seen("a"), number=7)
    index = IndexWriter(tmp_path)
    index.put(next(iter([Intake(index, 0.0)._entry(b"k" * 16, seen("b"))])))  # type: ignore[arg-type]
    index.close()  # without a commit
    assert read_positions(tmp_path) == {"shard-00": 7}
    assert take(tmp_path, number=8) == ["a"]


def test_only_one_writes(tmp_path: Path) -> None:
    with writing(tmp_path), pytest.raises(IndexBusy, match="another process"), writing(tmp_path):
        pass


def test_an_index_of_another_version_is_begun_anew(tmp_path: Path) -> None:
    take(tmp_path, seen("a"), number=7)
    (tmp_path / "VERSION").write_text("lycosa index 0\n")
    with pytest.raises(IndexTrouble):
        TantivyReader(tmp_path)
    assert take(tmp_path, seen("b")) == ["b"]


def test_names_of_sites() -> None:
    assert label_of("www.example.co.uk") == "example"
    assert label_of("127.0.0.1") == ""
    assert sites_of("docs.example.org") == ["docs.example.org", "example.org", "org"]
    assert sites_of("127.0.0.1") == ["127.0.0.1"]
    assert is_home("https://example.org/")
    assert not is_home("https://example.org/a/")


def test_whoever_reads_goes_on_while_the_index_is_built_anew(tmp_path: Path) -> None:
    take(tmp_path, seen("a"), seen("b"))
    search = Search(TantivyReader(tmp_path))
    assert search.search(Request(query="badger")).total == 2
    clear(tmp_path)
    assert search.search(Request(query="badger site:h.example")).total == 2
    take(tmp_path, seen("c"), number=9)
    assert search.search(Request(query="badger")).total == 1
