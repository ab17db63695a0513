"""Ways in which parts broke when somebody tried: each was seen to fail once."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lycosa.backends import journal as journals
from lycosa.backends.journal import Journal, JournalTrouble
from lycosa.backends.memory import MemoryStore
from lycosa.backends.parquet import ParquetTables, read_tables, write_table
from lycosa.backends.rocks import RocksStore, is_in_use
from lycosa.crawl.manners import Manners
from lycosa.errors import BadInput, BadSetting
from lycosa.web.addresses import OwnHosts
from lycosa.web.hours import Hours
from lycosa.web.politeness import Override
from lycosa.web.scope import make_scope
from lycosa.web.url import Normaliser, host_of

NOON_S = 12 * 3600.0


def manners(store: MemoryStore, delay_s: float = 2.0, own: tuple[str, ...] = ()) -> Manners:
    return Manners(store, delay_s, OwnHosts(own), Hours(), lambda: 0.0)


# -- journal -----------------------------------------------------------------------------------------------------------


def test_a_segment_that_is_just_begun_is_not_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when `drop_to`, in the thread of a flush, looks between the making of a file and its first entry."""
    journal = Journal(tmp_path, "s", 0)
    journal.append(b"one")
    last = journal.seal()
    really_open = os.open

    def open_slowly(path: Path, *more: int) -> int:
        fd = really_open(path, *more)
        journal.drop_to(last)
        return fd

    monkeypatch.setattr(journals.os, "open", open_slowly)
    journal.append(b"two")
    assert list(journal.read(last, last + 1)) == [(2, b"two")]


def test_a_disk_that_is_full_when_a_segment_begins_costs_only_that_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(tmp_path, "s", 0)

    def write(fd: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(journals.os, "write", write)
        with pytest.raises(JournalTrouble):
            journal.append(b"one")
    assert journal.append(b"a longer one, now that there is room") == 1
    journal.close()
    assert list(Journal(tmp_path, "s", 1).read(0, 1)) == [(1, b"a longer one, now that there is room")]


def test_a_segment_of_which_a_power_cut_left_zeros_is_removed(tmp_path: Path) -> None:
    (tmp_path / "s-000000000001.log").write_bytes(bytes(4096))
    assert Journal(tmp_path, "s", 5).found == 0


# -- tables ------------------------------------------------------------------------------------------------------------


def test_a_number_that_no_column_holds_keeps_nothing_from_being_written(tmp_path: Path) -> None:
    rows = [{"host": "a", "url": f"http://a/{status}", "started_at": 1.0, "status": status} for status in (200, 40400)]
    write_table(tmp_path, "requests", rows, 1, 2, "2026-01-01")
    assert [row["status"] for row in read_tables(tmp_path, "requests")] == [200, None]


def test_what_a_killed_writer_left_half_written_goes_when_its_tables_are_opened(tmp_path: Path) -> None:
    folder = tmp_path / "pages" / "date=2026-01-01"
    folder.mkdir(parents=True)
    mine, other = folder / ".s-000000000001-000000000002.parquet.part", folder / ".t-1-2.parquet.part"
    for left in (mine, other):
        left.write_bytes(b"PAR1 half of a page")
    ParquetTables(tmp_path, "s").drop_after(0)
    assert not mine.exists()
    assert other.exists()


# -- the store's lock --------------------------------------------------------------------------------------------------

_OPEN = """
import sys; from pathlib import Path
from lycosa.backends.rocks import RocksStore, StoreBusy, is_in_use
path = Path(sys.argv[1])
print(is_in_use(path))
try: RocksStore(path).close(); print("opened")
except StoreBusy: print("busy")
"""


def test_asking_whether_a_store_is_in_use_gives_nobody_else_the_right_to_write(tmp_path: Path) -> None:
    store = RocksStore(tmp_path / "s")
    try:
        assert is_in_use(tmp_path / "s")
        told = subprocess.run([sys.executable, "-c", _OPEN, tmp_path / "s"], capture_output=True, text=True, check=True)
        assert told.stdout.split() == ["True", "busy"]
    finally:
        store.close()
    assert not is_in_use(tmp_path / "s")
    told = subprocess.run([sys.executable, "-c", _OPEN, tmp_path / "s"], capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["False", "opened"]


# -- manners -----------------------------------------------------------------------------------------------------------


def test_an_override_does_not_outlive_what_allowed_it() -> None:
    store = MemoryStore()
    manners(store, own=("h",)).override("h", Override(crawl_delay_s=0.1))
    assert manners(store, own=("h",)).delay_of("h") == 0.1
    assert manners(store).delay_of("h") == 2.0
    store = MemoryStore()
    manners(store).override("h", Override(crawl_delay_s=5.0))
    assert manners(store, 60.0).delay_of("h") == 60.0


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -1.0])
def test_an_override_is_a_time(number: float) -> None:
    for override in (Override(crawl_delay_s=number), Override(max_rps=1 / number)):
        if override.gap_s() is not None:
            with pytest.raises(BadInput):
                manners(MemoryStore(), own=("h",)).override("h", override)


def test_hours_hold_for_names_in_any_script() -> None:
    assert Hours(["müller.example 22:00-06:00"]).open_at("xn--mller-kva.example", NOON_S) > NOON_S
    assert Hours(["*.MÜLLER.example. 22:00-06:00"]).open_at("www.xn--mller-kva.example", NOON_S) > NOON_S


def test_hours_of_what_is_no_host_are_refused() -> None:
    with pytest.raises(BadSetting):
        Hours(["https://example.org/ 22:00-06:00"])


# -- scope -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "url"),
    [
        ("/%7Euser/", "https://h.example/%7euser/x"),
        ("https://h.example/%7Euser/", "https://h.example/~user/"),
        ("/%61dmin/", "https://h.example/admin/"),
        ("/caf%c3%a9/", "https://h.example/café/"),
        ("/[x]/", "https://h.example/[x]/y"),
        ("/x?b=1&a=2", "https://h.example/x?b=1&a=2"),
        ("https://me@h.example./x", "https://h.example/x"),
    ],
)
def test_a_rule_matches_in_whatever_spelling_it_is_written(rule: str, url: str) -> None:
    normal = Normaliser()(url)
    scope = make_scope("host", ["https://h.example/"], exclude=[rule])
    assert scope.refusal(normal, host_of(normal), 1) == "scope.exclude"
