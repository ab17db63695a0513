"""What every store does, in memory or on disk."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rocksdict import Rdict

from lycosa.backends import rocks
from lycosa.backends.memory import MemoryStore
from lycosa.backends.rocks import RocksStore, StoreBroken, StoreBusy, StoreDenied
from lycosa.crawl.together import TogetherStore
from lycosa.errors import DiskFull
from lycosa.ports import Change, Store


@pytest.fixture(params=["memory", "rocks", "together"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made: Store = RocksStore(tmp_path / "store") if request.param == "rocks" else MemoryStore()
    if request.param == "together":
        made = together = TogetherStore(made)
        with together.together():
            yield made
    else:
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


def test_a_second_writer_in_another_process_is_refused(tmp_path: Path, open_rocks: Callable[..., RocksStore]) -> None:
    open_rocks()
    code = "import sys, pathlib, lycosa.backends.rocks as rocks; rocks.RocksStore(pathlib.Path(sys.argv[1]))"
    command = [sys.executable, "-c", code, str(tmp_path / "store")]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "StoreBusy" in ended.stderr


def test_a_directory_that_is_no_store_is_refused_with_a_sentence(tmp_path: Path) -> None:
    place = tmp_path / "store"
    RocksStore(place).close()
    (place / "CURRENT").write_bytes(b"MANIFEST-of-nothing\n")
    with pytest.raises(StoreBroken, match=r"damaged|cannot be opened"):
        RocksStore(place)


def test_a_reader_of_nothing_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(StoreBroken, match="name the directory of a crawl"):
        RocksStore(tmp_path / "empty", read_only=True)


def test_a_file_in_the_way_is_refused_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "store").write_bytes(b"")
    with pytest.raises(StoreBroken, match="cannot be opened"):
        RocksStore(tmp_path / "store")


def fill(store: RocksStore, rows: int, size: int = 1_000) -> None:
    for number in range(rows):
        store.write([("urls", number.to_bytes(8, "big"), os.urandom(size))])


def test_a_damaged_table_is_told_by_every_way_of_reading_and_never_taken_for_the_end(tmp_path: Path) -> None:
    place = tmp_path / "store"
    store = RocksStore(place)
    fill(store, 20_000)  # more than a write buffer holds
    store.close()
    for table in place.glob("*.sst"):
        with table.open("r+b") as file:
            file.seek(300)
            file.write(bytes(500))
    store = RocksStore(place)
    first = (0).to_bytes(8, "big")
    try:
        with pytest.raises(StoreBroken, match="restore a backup"):
            list(store.scan("urls"))
        with pytest.raises(StoreBroken, match="restore a backup"):
            store.get("urls", first)
        with pytest.raises(StoreBroken, match="restore a backup"):
            store.get_many("urls", [first])
    finally:
        store.close()


def test_a_missing_table_is_refused_with_a_sentence(tmp_path: Path) -> None:
    place = tmp_path / "store"
    store = RocksStore(place)
    fill(store, 20_000)
    store.close()
    max(place.glob("*.sst"), key=lambda table: table.stat().st_size).unlink()
    with pytest.raises(StoreBroken, match="restore a backup"):
        RocksStore(place)


@pytest.mark.parametrize("read_only", [False, True])
def test_a_copy_holds_all_that_was_written_and_lives_on_its_own(tmp_path: Path, read_only: bool) -> None:
    store = RocksStore(tmp_path / "store")
    fill(store, 20_000)  # some in tables, some in the log only
    store.write([("meta", b"k", b"v")])
    reader = RocksStore(tmp_path / "store", read_only=True) if read_only else store
    reader.checkpoint(tmp_path / "backups" / "first")
    store.write([("meta", b"k", b"later"), ("urls", bytes(8), None)])
    copy = RocksStore(tmp_path / "backups" / "first")
    try:
        assert sum(1 for _ in copy.scan("urls")) == 20_000
        assert copy.get("meta", b"k") == b"v"
        copy.write([("meta", b"k", b"of the copy")])
        assert store.get("meta", b"k") == b"later"
        with pytest.raises(StoreDenied, match="name a new directory"):
            reader.checkpoint(tmp_path / "backups" / "first")
    finally:
        copy.close()
        reader.close()
        store.close()


def test_a_reader_keeps_reading_what_the_writer_has_since_replaced(tmp_path: Path) -> None:
    store = RocksStore(tmp_path / "store")
    fill(store, 20_000)
    reader = RocksStore(tmp_path / "store", read_only=True)
    try:
        fill(store, 60_000)  # compaction removes the files the reader began with
        assert sum(1 for _ in reader.scan("urls")) == 20_000
    finally:
        reader.close()
        store.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    mount, umount = shutil.which("mount"), shutil.which("umount")
    if mount is None or umount is None or os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    made = [mount, "-t", "tmpfs", "-o", "size=20m", "tmpfs", str(place)]
    if subprocess.run(made, capture_output=True, check=False).returncode != 0:
        pytest.skip("this system does not let us mount a small disk")
    yield place
    subprocess.run([umount, "-l", str(place)], check=True)


def remount(place: Path, options: str) -> None:
    subprocess.run([shutil.which("mount") or "", "-o", f"remount,{options}", str(place)], check=True)


def flood(store: RocksStore) -> int:
    """Write until it is refused; how many rows were taken."""
    for taken in range(100_000):
        try:
            store.write([("urls", taken.to_bytes(8, "big"), os.urandom(10_000))])
        except DiskFull:
            return taken
    raise AssertionError("the disk never became full")


def test_a_full_disk_loses_nothing_and_with_room_made_the_same_write_succeeds(small_disk: Path) -> None:
    store = RocksStore(small_disk / "store")
    taken = flood(store)
    refused = [("urls", taken.to_bytes(8, "big"), b"refused at first")]
    with pytest.raises(DiskFull, match="free some space"):
        store.write(refused)
    with pytest.raises(DiskFull):
        store.sync()
    assert len(store.get("urls", bytes(8)) or b"") == 10_000  # reading goes on
    remount(small_disk, "size=200m")
    store.write(refused)
    store.sync()
    assert sum(1 for _ in store.scan("urls")) == taken + 1
    store.close()


def test_after_a_full_disk_a_new_process_finds_all_that_was_acknowledged(small_disk: Path) -> None:
    store = RocksStore(small_disk / "store")
    taken = flood(store)
    store.close()
    remount(small_disk, "size=200m")
    store = RocksStore(small_disk / "store")
    assert sum(1 for _ in store.scan("urls")) == taken
    store.write([("urls", b"k", b"v")])
    store.close()


def test_a_disk_that_may_not_be_written_is_refused_with_a_sentence(small_disk: Path) -> None:
    RocksStore(small_disk / "store").close()
    remount(small_disk, "ro")
    with pytest.raises(StoreDenied, match="change its permissions"):
        RocksStore(small_disk / "store")


def test_a_store_of_an_older_version_has_other_families_and_is_read_and_then_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as then:
        then.setattr(rocks, "_FORMER", ())
        then.setattr(rocks, "FAMILIES", ("known", *(name for name in rocks.FAMILIES if name not in ("near", "outbox"))))
        old = RocksStore(tmp_path / "store")
        old.write([("urls", b"a", b"1"), ("known", b"a", b"note")])
        old.close()
    reader = RocksStore(tmp_path / "store", read_only=True)
    assert reader.get("urls", b"a") == b"1"
    assert list(reader.scan("outbox")) == []
    reader.checkpoint(tmp_path / "copy")
    reader.close()
    for path in (tmp_path / "store", tmp_path / "copy"):
        writer = RocksStore(path)
        assert "known" not in Rdict.list_cf(str(path))
        assert writer.get_many("outbox", [b"a"]) == [None]
        writer.write([("outbox", b"a", b"parcel")])
        assert writer.get("outbox", b"a") == b"parcel"
        assert writer.get("urls", b"a") == b"1"
        writer.close()
