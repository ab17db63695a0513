"""A crawl divided anew: every row is where it belongs, once, whenever it is interrupted."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from lycosa.backends.directory_lock import locked
from lycosa.backends.layout import check_whole, note_shards, shard_name, shards_of, stores_of
from lycosa.backends.rocks import RocksStore, StoreBusy
from lycosa.backends.sharded import ShardedStore
from lycosa.crawl.budget import PageBudget
from lycosa.crawl.frontier import Frontier
from lycosa.crawl.lease import Candidate
from lycosa.crawl.messages import Parcel
from lycosa.crawl.outbox import own_parcels
from lycosa.crawl.places import owner_of_row
from lycosa.crawl.reopen import least_of
from lycosa.crawl.rows import read_counts
from lycosa.crawl.rules import Rules
from lycosa.crawl.seen import Seen
from lycosa.errors import BadInput
from lycosa.kit.keys import host_key, owner_of
from lycosa.repartition import complete, repartition
from lycosa.web.url import host_of

HOSTS = [f"host{number}.example" for number in range(12)]
URLS = [f"http://{host}/{number}" for host in HOSTS for number in range(5)]
WAY = [Candidate(f"http://{host}/on-its-way", 2, "", b"k" * 16, 1) for host in HOSTS]


def quiet(_: str) -> None: ...


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A crawl with queued URLs, rules, claims, bands, budgets and a parcel that waits."""
    store = RocksStore(tmp_path / shard_name(0))
    frontier = Frontier(
        store, Rules(store, "lycosa"), Seen(store), PageBudget(store, 100), capacity=10, delay_of=lambda _: 0.0
    )
    frontier.offer([Candidate(url, 0) for url in URLS], 1.0)
    rows = [("robots", f"http://{host}".encode(), b"rules") for host in HOSTS]
    rows += [("content", bytes([number]) * 32, b"claim") for number in range(0, 250, 10)]
    rows += [("near", number.to_bytes(5, "big"), b"bucket") for number in range(20)]
    rows += [("meta", f"domain:d{number}.example".encode(), b"7") for number in range(5)]
    rows += [("meta", b"override:" + HOSTS[0].encode(), b"o"), ("meta", b"seeds", b"http://a/\nhttp://b/")]
    rows += [("outbox", b"\0\5" + bytes(8), msgspec.msgpack.encode(Parcel(WAY)))]
    store.write(rows)
    store.close()
    return tmp_path


def contents(directory: Path) -> dict[str, list[tuple[bytes, bytes]]]:
    """All rows, as one store has them."""
    stores = [RocksStore(path, read_only=True) for path in stores_of(directory)]
    try:
        whole = ShardedStore(stores)
        families = ("urls", "queue", "hosts", "waiting", "due", "robots", "content", "near")
        for number, store in enumerate(stores):
            for family in families:
                assert all(owner_of_row(family, key, len(stores)) == number for key, _ in store.scan(family))
        found = {family: list(whole.scan(family)) for family in families}
        found["meta"] = [(b"stats", str(sorted(read_counts(whole.get("meta", b"stats")).items())).encode())]
        found["meta"] += [(b"override", whole.get("meta", b"override:" + HOSTS[0].encode()) or b"")]
        found["meta"] += [(b"seeds", whole.get("meta", b"seeds") or b"")]
        used = [dict(store.scan("meta", b"domain:", b"domain;")) for store in stores]
        found["meta"] += sorted((key, value) for each in used for key, value in each.items())
        return found
    finally:
        for store in stores:
            store.close()


def on_the_way(directory: Path) -> Iterator[Candidate]:
    for number, path in enumerate(stores_of(directory)):
        store = RocksStore(path, read_only=True)
        for _, parcel in own_parcels(store, number):
            for candidate in parcel.urls:
                assert owner_of(host_key(host_of(candidate.url)), shards_of(directory)) == number
                yield candidate
        store.close()


def test_every_row_is_where_it_belongs_after_any_number_of_divisions(directory: Path) -> None:
    before = contents(directory)
    for shards in (2, 3, 5, 1, 4, 1):
        repartition(directory, shards, quiet)
        assert shards_of(directory) == shards
        assert [path.name for path in sorted(directory.glob("shard-*[0-9]"))] == list(map(shard_name, range(shards)))
        assert contents(directory) == before
        assert sorted(candidate.url for candidate in on_the_way(directory)) == sorted(each.url for each in WAY)
    assert not (directory / ".repartition").exists()


def test_counts_of_rows_are_with_the_rows(directory: Path) -> None:
    repartition(directory, 3, quiet)
    for path in stores_of(directory):
        store = RocksStore(path, read_only=True)
        counts = read_counts(store.get("meta", b"stats"))
        assert counts["queued"] == len(list(store.scan("queue")))
        assert counts["hosts"] == len(list(store.scan("hosts")))
        store.close()


def test_killed_while_rows_are_copied_it_begins_again(directory: Path) -> None:
    before = contents(directory)
    half = RocksStore(directory / ".repartition" / shard_name(0))
    half.write([("urls", b"k" * 16, b"half a row")])
    half.close()
    repartition(directory, 3, quiet)
    assert contents(directory) == before


@pytest.mark.parametrize("moved", range(5))
def test_killed_while_stores_take_their_places_the_next_start_ends_it(directory: Path, moved: int) -> None:
    before = contents(directory)
    whole = directory.with_name(f"{directory.name}-whole")
    shutil.copytree(directory, whole)
    repartition(whole, 3, quiet)
    place = directory / ".repartition"
    for path in whole.glob("shard-*[0-9]"):
        shutil.move(path, place / path.name)
    (place / "ready").write_text("3")
    steps = [(directory / shard_name(0), place / f"old-{shard_name(0)}")]
    steps += [(place / shard_name(number), directory / shard_name(number)) for number in range(3)]
    for source, target in steps[:moved]:
        source.rename(target)
    repartition(directory, 3, quiet)
    assert shards_of(directory) == 3
    assert contents(directory) == before
    assert not place.exists()


def test_a_directory_without_a_crawl_is_left_alone(tmp_path: Path) -> None:
    repartition(tmp_path, 3, quiet)
    assert list(tmp_path.iterdir()) == []
    note_shards(tmp_path, 2)
    assert shards_of(tmp_path) == 2
    repartition(tmp_path, 1, quiet)
    assert shards_of(tmp_path) in (0, 1)


def test_while_somebody_works_in_a_directory_nobody_else_divides_it(directory: Path) -> None:
    place = directory / ".repartition"
    place.mkdir()
    (place / "half").write_text("of what another process is copying")
    with locked(directory):
        for divide in (lambda: repartition(directory, 3, quiet), lambda: complete(directory)):
            with pytest.raises(StoreBusy, match="in use"):
                divide()
    assert (place / "half").exists()
    assert shards_of(directory) == 1
    repartition(directory, 3, quiet)
    assert shards_of(directory) == 3


def test_a_division_that_was_killed_in_its_last_step_is_ended_whatever_number_is_wanted(directory: Path) -> None:
    before = contents(directory)
    whole = directory.with_name(f"{directory.name}-whole")
    shutil.copytree(directory, whole)
    repartition(whole, 3, quiet)
    place = directory / ".repartition"
    place.mkdir()
    for path in whole.glob("shard-*[0-9]"):
        shutil.move(path, place / path.name)
    (place / "ready").write_text("3")
    (directory / shard_name(0)).rename(place / f"old-{shard_name(0)}")
    with pytest.raises(BadInput, match="divided anew"):
        check_whole(directory)
    complete(directory)
    check_whole(directory)
    assert shards_of(directory) == 3
    assert contents(directory) == before


def test_a_crawl_that_was_killed_before_its_first_store_was_made_can_have_another_number(tmp_path: Path) -> None:
    note_shards(tmp_path, 4)
    repartition(tmp_path, 3, quiet)
    assert shards_of(tmp_path) == 3
    assert not list(tmp_path.glob("shard-*"))


@pytest.mark.parametrize(("state", "mend"), [(b"stopped", b"1700000000.5"), (b"running", b"1700000000.5")])
def test_budgets_and_what_is_to_be_mended_are_told_to_all(directory: Path, state: bytes, mend: bytes) -> None:
    store = RocksStore(directory / shard_name(0))
    store.write([("meta", b"budgets", b'{"budget.domain":5}'), ("meta", b"mend", mend), ("meta", b"state", state)])
    store.close()
    for shards in (3, 2):
        repartition(directory, shards, quiet)
        for path in stores_of(directory):
            store = RocksStore(path, read_only=True)
            assert store.get("meta", b"budgets") == b'{"budget.domain":5}'
            assert store.get("meta", b"mend") == mend
            store.close()


def test_of_budgets_that_differ_the_smaller_are_kept() -> None:
    noted = [b'{"a":5,"b":null,"c":null}', b'{"a":7,"b":3,"c":null}']
    assert msgspec.json.decode(least_of(noted)) == {"a": 5, "b": 3, "c": None}
    assert least_of(noted) == least_of(noted[::-1])
