"""Many batches as one: nobody notices but the store behind."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from lycosa.backends.memory import MemoryStore
from lycosa.crawl.together import TogetherStore
from lycosa.errors import DiskFull
from lycosa.ports import Change


class Counting(MemoryStore):
    """Remembers each batch, and may be full."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[list[Change]] = []
        self.is_full = False

    def write(self, changes: Iterable[Change]) -> None:
        if self.is_full:
            raise DiskFull("no room")
        self.batches.append(list(changes))
        super().write(self.batches[-1])


@pytest.fixture
def behind() -> Counting:
    return Counting()


@pytest.fixture
def store(behind: Counting) -> TogetherStore:
    return TogetherStore(behind)


def test_all_that_is_written_together_is_one_batch_in_which_the_last_value_stands(
    store: TogetherStore, behind: Counting
) -> None:
    with store.together():
        store.write([("meta", b"count", b"1"), ("urls", b"a", b"A")])
        store.write([("meta", b"count", b"2"), ("urls", b"b", b"B"), ("leases", b"h", None)])
        assert behind.batches == []
    assert [sorted(batch, key=lambda change: change[:2]) for batch in behind.batches] == [
        [("leases", b"h", None), ("meta", b"count", b"2"), ("urls", b"a", b"A"), ("urls", b"b", b"B")]
    ]


def test_what_is_held_is_read_as_if_it_were_written(store: TogetherStore, behind: Counting) -> None:
    store.write([("urls", b"a", b"old"), ("urls", b"b", b"old"), ("urls", b"c", b"old")])
    with store.together():
        store.write([("urls", b"a", b"new"), ("urls", b"b", None)])
        assert [store.get("urls", key) for key in (b"a", b"b", b"c", b"d")] == [b"new", None, b"old", None]
        assert store.get_many("urls", [b"d", b"c", b"b", b"a"]) == [None, b"old", None, b"new"]
        assert behind.get("urls", b"a") == b"old"
        assert list(store.scan("urls")) == [(b"a", b"new"), (b"c", b"old")]
        store.write([("urls", b"e", b"after the scan")])
        assert behind.get("urls", b"e") is None
    assert list(behind.scan("urls")) == [(b"a", b"new"), (b"c", b"old"), (b"e", b"after the scan")]


def test_alone_every_batch_is_written_at_once(store: TogetherStore, behind: Counting) -> None:
    store.write([("urls", b"a", b"1")])
    with store.together():
        pass
    store.write([("urls", b"b", b"2")])
    assert behind.batches == [[("urls", b"a", b"1")], [("urls", b"b", b"2")]]


def test_what_was_written_before_a_failure_is_written(store: TogetherStore, behind: Counting) -> None:
    def fail() -> None:
        with store.together():
            store.write([("urls", b"a", b"1")])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert behind.get("urls", b"a") == b"1"


def test_after_a_batch_that_could_not_be_written_there_is_no_other(store: TogetherStore, behind: Counting) -> None:
    behind.is_full = True
    with pytest.raises(DiskFull), store.together():
        store.write([("urls", b"a", b"1")])
    behind.is_full = False
    assert store.get("urls", b"a") is None
    with pytest.raises(DiskFull):
        store.write([("urls", b"b", b"2")])
    assert list(behind.scan("urls")) == []


def test_syncing_is_not_for_the_middle_of_a_batch(store: TogetherStore) -> None:
    store.sync()
    with pytest.raises(AssertionError), store.together():
        store.sync()


def test_after_a_batch_that_could_not_be_written_none_follows(store: TogetherStore, behind: Counting) -> None:
    store.write([("urls", b"a", b"A")])
    behind.is_full = True
    with pytest.raises(DiskFull):
        store.write([("urls", b"b", b"B")])
    behind.is_full = False
    with pytest.raises(DiskFull):
        store.write([("urls", b"c", b"C")])
    assert list(behind.scan("urls")) == [(b"a", b"A")]
