"""What every store does, in memory or on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lycosa.backends.memory import MemoryStore
from lycosa.backends.rocks import RocksStore, StoreBroken, StoreBusy
from lycosa.ports import Change, Store


@pytest.fixture(params=["memory", "rocks"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made: Store = MemoryStore() if request.param == "memory" else RocksStore(tmp_path / "store")
    yield made
    made.close()


def test_what_was_written_is_read_back_and_what_was_deleted_is_gone(store: Store) -> None:
    store.write([("urls", b"a", b"1"), ("urls", b"b", b"2"), ("hosts", b"a", b"other family")])
    store.write([("urls", b"a", None)])
    assert store.get("urls", b"a") is None
    assert store.get_many("urls", [b"b", b"a", b"zz"]) == [b"2", None, None]
    assert store.get("hosts", b"a") == b"other family"


def test_the_last_change_of_a_key_in_a_batch_wins(store: Store) -> None:
    store.write([("urls", b"k", b"1"), ("urls", b"k", None), ("urls", b"k", b"3")])
    assert store.get("urls", b"k") == b"3"


def test_deleting_what_is_not_there_is_no_error(store: Store) -> None:
    store.write([("queue", b"nothing", None)])
    assert list(store.scan("queue")) == []


def test_a_scan_is_in_order_and_ends_before_its_end(store: Store) -> None:
    store.write([("queue", bytes([number]), b"") for number in (5, 1, 255, 3)])
    assert [key for key, _ in store.scan("queue")] == [b"\x01", b"\x03", b"\x05", b"\xff"]
    assert [key for key, _ in store.scan("queue", b"\x02", b"\x05")] == [b"\x03"]
    assert [key for key, _ in store.scan("queue", b"\x06")] == [b"\xff"]


_CHANGES = st.lists(
    st.tuples(st.sampled_from(["urls", "queue"]), st.binary(max_size=3), st.none() | st.binary(max_size=3)), max_size=30
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=st.lists(_CHANGES, max_size=5))
def test_the_store_on_disk_agrees_with_the_one_in_memory(
    batches: list[list[Change]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    memory, rocks = MemoryStore(), RocksStore(tmp_path_factory.mktemp("rocks") / "store")
    try:
        for batch in batches:
            memory.write(batch)
            rocks.write(batch)
        for family in ("urls", "queue"):
            assert list(rocks.scan(family)) == list(memory.scan(family))
            assert list(rocks.scan(family, b"\x10", b"\xf0")) == list(memory.scan(family, b"\x10", b"\xf0"))
    finally:
        rocks.close()


@pytest.fixture
def open_rocks(tmp_path: Path) -> Iterator[Callable[..., RocksStore]]:
    opened: list[RocksStore] = []

    def open_one(*, read_only: bool = False) -> RocksStore:
        opened.append(RocksStore(tmp_path / "store", read_only=read_only))
        return opened[-1]

    yield open_one
    for each in opened:
        each.close()


def test_a_second_writer_is_refused_and_a_reader_is_not(open_rocks: Callable[..., RocksStore]) -> None:
    open_rocks().write([("urls", b"k", b"v")])
    with pytest.raises(StoreBusy, match="another crawl"):
        open_rocks()
    assert open_rocks(read_only=True).get("urls", b"k") == b"v"


def test_a_directory_that_is_no_store_is_refused_with_a_sentence(tmp_path: Path) -> None:
    place = tmp_path / "store"
    RocksStore(place).close()
    (place / "CURRENT").write_bytes(b"MANIFEST-of-nothing\n")
    with pytest.raises(StoreBroken, match="cannot be opened"):
        RocksStore(place)
