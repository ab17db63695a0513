"""The journal: entries keep their numbers, whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.backends.journal import Journal, JournalTrouble, read_journal


def entries(directory: Path, after: int = 0, until: int = 10**9) -> list[tuple[int, bytes]]:
    return list(read_journal(directory, "j", after, until))


def test_entries_are_numbered_from_one_and_read_back_in_order(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "j", 0)
    assert [journal.append(value) for value in (b"a", b"", b"c" * 100_000)] == [1, 2, 3]
    assert entries(tmp_path) == [(1, b"a"), (2, b""), (3, b"c" * 100_000)]
    assert entries(tmp_path, after=1, until=2) == [(2, b"")]


def test_what_its_owner_does_not_acknowledge_is_cut_when_it_is_opened(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "j", 0)
    for value in (b"one", b"two", b"three"):
        journal.append(value)
    again = Journal(tmp_path, "j", 2)
    assert again.found == 2
    assert again.append(b"other") == 3
    assert entries(tmp_path) == [(1, b"one"), (2, b"two"), (3, b"other")]


@given(cut=st.integers(0, 40))
def test_a_torn_tail_ends_the_journal_at_a_whole_entry(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    directory = tmp_path_factory.mktemp("journal")
    journal = Journal(directory, "j", 0)
    for value in (b"first", b"second"):
        journal.append(value)
    file = next(directory.glob("*.log"))
    file.write_bytes(file.read_bytes()[: max(0, file.stat().st_size - cut)])
    whole = [value for _, value in entries(directory)]
    assert whole == [b"first", b"second"][: len(whole)]
    assert Journal(directory, "j", 2).found == len(whole)


def test_a_damaged_entry_is_not_read(tmp_path: Path) -> None:
    Journal(tmp_path, "j", 0).append(b"something")
    file = next(tmp_path.glob("*.log"))
    file.write_bytes(file.read_bytes()[:-1] + b"!")
    assert entries(tmp_path) == []


def test_sealed_segments_go_when_they_are_not_needed_and_the_open_one_stays(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "j", 0)
    journal.append(b"old")
    assert journal.seal() == 1
    journal.append(b"new")
    journal.drop_to(2)
    assert entries(tmp_path) == [(2, b"new")]
    assert journal.append(b"newer") == 3


def test_a_journal_that_was_emptied_goes_on_with_its_numbers(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "j", 0)
    journal.append(b"x")
    journal.drop_to(journal.seal())
    assert Journal(tmp_path, "j", 1).append(b"y") == 2
    assert entries(tmp_path, after=1) == [(2, b"y")]


def test_a_file_in_the_way_is_said_in_one_sentence(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "j", 0)
    (tmp_path / "j-000000000001.log").mkdir()
    with pytest.raises(JournalTrouble, match="make room there"):
        journal.append(b"x")
