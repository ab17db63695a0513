"""Notes of known URLs: whatever becomes of them, they never claim a URL that has no row."""

from __future__ import annotations

import copy
import os
import resource
import shutil
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from lycosa.backends import notes
from lycosa.backends.memory import MemoryStore
from lycosa.backends.notes import NoteFiles
from lycosa.crawl.budget import PageBudget
from lycosa.crawl.frontier import Frontier
from lycosa.crawl.lease import Candidate
from lycosa.crawl.rows import UrlRow, unpack
from lycosa.crawl.rules import Rules
from lycosa.crawl.seen import EPOCH, Seen, added_to_log
from lycosa.kit.recent import Recent
from lycosa.ports import Place

is_compiled = pytest.mark.skipif(notes.native is None, reason="lycosa.native was not compiled here")
PLACE = Place(0, 20_000)  # its buffer holds 1,250
MANY = 20_000


def made(first: int, end: int) -> list[str]:
    return [f"https://host{number // 3}.example/page-{number}" for number in range(first, end)]


def epoch_of(directory: Path) -> bytes:
    """What the store would remember."""
    heads = directory / "heads"
    return heads.read_bytes()[8:24] if heads.exists() else b""


def opened(directory: Path, total: int = 1 << 40) -> NoteFiles:
    found = NoteFiles(directory)
    found.open(total, epoch_of(directory))
    return found


def add(some: NoteFiles, first: int, end: int, place: Place = PLACE) -> None:
    """Fifty at a time, as links come."""
    urls = made(first, end)
    for at in range(0, len(urls), 50):
        some.add(urls[at : at + 50], place, first + at + 50)


def count(some: NoteFiles, first: int, end: int, places: int = 1) -> int:
    urls = made(first, end)
    return sum(some.find(urls, [places] * len(urls)))


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "notes"


@is_compiled
def test_what_is_noted_is_found_and_nothing_else(directory: Path) -> None:
    some = opened(directory)
    for end in range(2_000, MANY + 1, 2_000):
        add(some, end - 2_000, end)
        assert count(some, 0, end) >= 0.995 * end
        assert count(some, MANY, 2 * MANY) == 0
    some.close()


@is_compiled
def test_only_what_was_in_memory_is_forgotten_when_it_is_closed(directory: Path) -> None:
    some = opened(directory)
    add(some, 0, MANY)
    some.close()
    again = opened(directory)
    assert 0.995 * MANY - 2 * 1_250 <= count(again, 0, MANY) <= MANY
    assert count(again, MANY, 2 * MANY) == 0
    add(again, MANY - 3_000, MANY)  # as its URLs are met
    assert count(again, 0, MANY) >= 0.995 * MANY
    again.close()


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.glob("*.notes"))


@is_compiled
def test_each_filter_has_its_file_and_is_looked_for_there_and_in_the_newest(directory: Path) -> None:
    some = opened(directory)
    for number in range(3):
        add(some, number * MANY, (number + 1) * MANY, Place(number, MANY))
    add(some, 100_000, 110_000, Place(3, MANY))
    add(some, 0, 1, Place(4, MANY))  # all that belongs elsewhere is on its way
    add(some, 200_000, 200_000 + 2_000, Place(4, MANY))
    assert names(directory) == [f"{number:02d}.notes" for number in range(5)]
    for number in range(3):
        assert count(some, number * MANY, (number + 1) * MANY, 1 << number) >= 0.995 * MANY
        assert count(some, number * MANY, (number + 1) * MANY, 0b111) >= 0.995 * MANY
        assert count(some, number * MANY + 100, (number + 1) * MANY, 1 << (number + 1) % 3) == 0
    assert count(some, 100_000, 110_000, 1 << 3) >= 9_950
    assert count(some, 200_000, 201_000, 1) >= 995  # met again, whatever filter has them
    some.close()


@is_compiled
def test_a_file_takes_what_it_has_room_for_and_drops_the_rest(directory: Path) -> None:
    some = opened(directory)
    add(some, 0, 3 * MANY)
    assert 64 * MANY // 48 <= count(some, 0, 3 * MANY) < 2 * MANY
    assert count(some, 3 * MANY, 4 * MANY) == 0
    some.close()


@is_compiled
def test_many_at_once_are_noted_as_fast_as_few(directory: Path) -> None:
    some = opened(directory)
    some.add(made(0, MANY), PLACE, MANY)
    assert count(some, 0, MANY) >= 0.995 * MANY
    assert count(some, MANY, 2 * MANY) == 0
    assert len(some._young.held[0]) == 16 * 1_250  # type: ignore[union-attr]
    some.close()


@is_compiled
def test_a_url_that_cannot_be_written_as_utf_8_is_never_noted(directory: Path) -> None:
    some = opened(directory)
    odd, far = "http://a/\ud800", "http://a/\N{SNOWMAN}"
    some.add([odd, far], PLACE, 2)
    assert some.find([odd, far, far[:-1]], [1, 1, 1]) == [False, True, False]
    some.close()


def siphash(text: bytes, secret: bytes) -> int:
    """SipHash-1-3 as its paper tells it."""
    mask, k = (1 << 64) - 1, struct.unpack("<2Q", secret)
    v = [k[0] ^ 0x736F6D6570736575, k[1] ^ 0x646F72616E646F6D, k[0] ^ 0x6C7967656E657261, k[1] ^ 0x7465646279746573]

    def stir() -> None:
        for one, other, left, half in ((0, 1, 13, True), (2, 3, 16, False), (0, 3, 21, False), (2, 1, 17, True)):
            v[one] = v[one] + v[other] & mask
            v[other] = (v[other] << left | v[other] >> 64 - left) & mask ^ v[one]
            if half:
                v[one] = (v[one] << 32 | v[one] >> 32) & mask

    padded = text + bytes(-(len(text) + 1) % 8) + bytes([len(text) & 255])
    for (word,) in struct.iter_unpack("<Q", padded):
        v[3] ^= word
        stir()
        v[0] ^= word
    v[2] ^= 255
    for _ in range(3):
        stir()
    return v[0] ^ v[1] ^ v[2] ^ v[3]


@is_compiled
@given(st.text(max_size=300), st.binary(min_size=16, max_size=16))
@example("", bytes(range(16)))
@example("x" * 255 + "y", bytes(16))
def test_a_note_is_the_siphash_of_its_url(url: str, secret: bytes) -> None:
    slots = bytearray(8 * 64)
    assert notes.native.add_notes((slots, secret), [url]) == 1
    assert list(words(bytes(slots))) == [siphash(url.encode(), secret).to_bytes(8, "little")]


def test_the_hash_is_that_of_the_reference() -> None:
    """Of nothing, and of one byte of 0, under the key 00 01 … 0f."""
    assert siphash(b"", bytes(range(16))) == 0xABAC0158050FC4DC
    assert siphash(b"\0", bytes(range(16))) == 0xC9F49BF37D57CA93


@is_compiled
def test_notes_of_another_directory_are_of_no_use(tmp_path: Path) -> None:
    one, other = opened(tmp_path / "one"), opened(tmp_path / "other")
    add(one, 0, MANY)
    add(other, 0, MANY)
    first, second = ((tmp_path / name / "00.notes").read_bytes() for name in ("one", "other"))
    assert len(first) == len(second)
    assert not ({*words(first)} & {*words(second)})
    one.close()
    other.close()


def words(file: bytes) -> Iterator[bytes]:
    return (file[at : at + 8] for at in range(0, len(file), 8) if any(file[at : at + 8]))


@is_compiled
@pytest.mark.parametrize(("total", "is_kept"), [(MANY, True), (10_000, False), (0, False)])
def test_a_file_that_knows_of_more_urls_than_its_store_is_thrown_away(
    directory: Path, total: int, is_kept: bool
) -> None:
    some = opened(directory)
    add(some, 0, MANY)
    some.close()
    again = opened(directory, total)
    assert (count(again, 0, MANY) > 0) == is_kept == (directory / "00.notes").exists()
    again.close()


@is_compiled
def test_files_of_another_epoch_are_thrown_away(directory: Path) -> None:
    some = opened(directory)
    add(some, 0, MANY)
    some.close()
    was = epoch_of(directory)
    again = opened(directory)
    assert count(again, 0, MANY) > 0
    again.close()
    assert epoch_of(directory) != was
    for epoch in (was, b""):
        other = NoteFiles(directory)
        assert other.open(1 << 40, epoch) == epoch_of(directory) != was
        assert count(other, 0, MANY) == 0
        assert names(directory) == []
        add(other, 0, MANY)
        other.close()


@is_compiled
def test_a_store_that_was_used_without_its_notes_trusts_them_no_more(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = opened(directory)
    add(some, 0, MANY)
    some.close()
    monkeypatch.setattr(notes, "native", None)
    epoch = NoteFiles(directory).open(1 << 40, epoch_of(directory))
    monkeypatch.undo()
    again = NoteFiles(directory)
    again.open(1 << 40, epoch)
    assert count(again, 0, MANY) == 0
    again.close()


def emptied(directory: Path) -> None:
    (directory / "00.notes").write_bytes(b"")


def cut_off(directory: Path) -> None:
    os.truncate(directory / "00.notes", 100_000)


def away(directory: Path) -> None:
    (directory / "00.notes").unlink()


def without_heads(directory: Path) -> None:
    (directory / "heads").unlink()


def other_heads(directory: Path) -> None:
    path = directory / "heads"
    path.write_bytes(b"otherwise" + path.read_bytes()[9:])


def too_many_buckets(directory: Path) -> None:
    path = directory / "heads"
    path.write_bytes(path.read_bytes()[:72] + (1 << 32).to_bytes(8, "little") + path.read_bytes()[80:])
    os.truncate(directory / "00.notes", 512 << 32)


def without_buckets(directory: Path) -> None:
    path = directory / "heads"
    path.write_bytes(path.read_bytes()[:72] + bytes(8) + path.read_bytes()[80:])
    emptied(directory)


@is_compiled
@pytest.mark.parametrize(
    "damage", [emptied, cut_off, away, without_heads, other_heads, too_many_buckets, without_buckets]
)
def test_what_is_not_whole_is_thrown_away(directory: Path, damage: object) -> None:
    some = opened(directory)
    add(some, 0, MANY)
    some.close()
    assert callable(damage)
    damage(directory)
    again = opened(directory)
    assert count(again, 0, MANY) == 0
    assert names(directory) == []
    add(again, 0, MANY)
    assert count(again, 0, MANY) >= 0.995 * MANY
    again.close()
    third = opened(directory)
    assert count(third, 0, MANY) > 0
    third.close()


@is_compiled
def test_what_cannot_be_read_does_not_keep_a_crawl_from_opening(directory: Path) -> None:
    (directory / "heads").mkdir(parents=True)
    some = NoteFiles(directory)
    some.open(1 << 40, b"")
    add(some, 0, MANY)
    assert count(some, MANY, 2 * MANY) == 0
    some.close()
    some.close()


@is_compiled
def test_where_no_file_can_be_made_the_newest_are_remembered(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("a file")
    some = opened(tmp_path / "notes")
    add(some, 0, 1_000)
    assert count(some, 0, 1_000) >= 995
    add(some, 1_000, MANY)
    assert count(some, 0, MANY) <= 1_250
    assert count(some, MANY, 2 * MANY) == 0
    some.close()


@is_compiled
def test_a_file_that_cannot_be_written_any_more_is_given_up(directory: Path) -> None:
    some = opened(directory)
    add(some, 0, 3_000)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        add(some, 3_000, MANY)
        assert names(directory) == []
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert count(some, MANY, 2 * MANY) == 0
    add(some, 0, MANY)
    assert count(some, 0, MANY) >= 0.995 * MANY
    some.close()


def test_without_the_compiled_part_nothing_is_noted(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notes, "native", None)
    some = opened(directory)
    add(some, 0, MANY)
    assert count(some, 0, MANY) == 0
    assert not directory.exists()
    some.close()


@is_compiled
def test_beyond_the_last_file_nothing_is_noted(directory: Path) -> None:
    some = opened(directory)
    add(some, 0, MANY, Place(63, MANY))
    assert count(some, 0, MANY, 1 << 63) == 0
    some.close()


@is_compiled
def test_what_is_no_note_is_refused() -> None:
    slots, secret = bytearray(80), bytes(16)
    buffer = (slots, secret)
    assert notes.native.add_notes(buffer, ["a"]) == 1
    for wrong in (None, (slots,), (bytearray(7), secret), (slots, bytes(15)), (b"x" * 80, secret)):
        with pytest.raises((ValueError, TypeError)):
            notes.native.add_notes(wrong, ["a"])
        with pytest.raises((ValueError, TypeError)):
            notes.native.find_notes([wrong], [], ["a"], [1])
    with pytest.raises(TypeError, match="str"):
        notes.native.add_notes(buffer, [b"a"])
    with pytest.raises(TypeError, match="str"):
        notes.native.find_notes([buffer], [], [None], [1])
    with pytest.raises(TypeError):
        notes.native.find_notes([buffer], [], ["a"], [None])
    with pytest.raises(ValueError, match="places"):
        notes.native.find_notes([buffer], [], ["a"], [])
    with pytest.raises(ValueError, match="64"):
        notes.native.find_notes([buffer], [(-1, 1, secret)] * 65, ["a"], [1])
    for file in (None, (1, 2), (-1, 0, secret), (-1, 1 << 32, secret), (-1, 1, b"")):
        with pytest.raises((ValueError, TypeError)):
            notes.native.find_notes([], [file], ["a"], [1])
        with pytest.raises((ValueError, TypeError)):
            notes.native.sweep_notes(buffer, file, 0, 1)
    for first, end in ((-1, 1), (1, 0), (0, 3)):
        with pytest.raises(ValueError, match="buckets"):
            notes.native.sweep_notes(buffer, (-1, 2, secret), first, end)
    with pytest.raises(OSError, match="descriptor"):
        notes.native.sweep_notes(buffer, (-1, 2, secret), 0, 2)


def open_frontier(store: MemoryStore, directory: Path) -> tuple[Frontier, NoteFiles]:
    seen = Seen(store, first_capacity=40, segment_bytes=64)
    noted = NoteFiles(directory)
    budget = PageBudget(store, 10_000)
    frontier = Frontier(store, Rules(store, "lycosa"), seen, budget, capacity=4, delay_of=lambda _: 1.0, notes=noted)
    return frontier, noted


class NotesUnderFire(RuleBasedStateMachine):
    """Any order of offers, crashes, power cuts and older copies of the store put back: no URL is hidden."""

    @initialize()
    def open(self) -> None:
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(notes, "_LEAST_BUFFERED", 8)
        self.patch.setattr(notes, "_CHUNK", 1)
        self.patch.setattr(Seen, "places", lambda _, keys: [0b111111] * len(keys))  # else filters hide what notes claim
        self.directory = Path(tempfile.mkdtemp())
        self.store = MemoryStore()
        self.older = copy.deepcopy(self.store)
        self.frontier, self.noted = open_frontier(self.store, self.directory)

    @rule(numbers=st.lists(st.integers(0, 300), min_size=1, max_size=40))
    def offer(self, numbers: list[int]) -> None:
        urls = {f"http://h{number % 7}/{number}" for number in numbers}
        self.frontier.offer([Candidate(url, 1) for url in urls], 0.0)
        rows = [unpack(value, UrlRow).url for _, value in self.store.scan("urls")]
        assert urls <= {*rows}
        assert len(rows) == len({*rows}) == self.frontier.stats["known"]

    @rule()
    def sync(self) -> None:
        self.older = copy.deepcopy(self.store)

    @rule(is_torn=st.booleans())
    def crash(self, is_torn: bool) -> None:
        """With power cut all since the last sync is gone from the store, and nothing from the notes."""
        if is_torn:
            self.store = copy.deepcopy(self.older)
        self.noted.close()
        self.frontier, self.noted = open_frontier(self.store, self.directory)

    def teardown(self) -> None:
        if hasattr(self, "noted"):
            self.noted.close()
            shutil.rmtree(self.directory)
            self.patch.undo()


TestNotesUnderFire = NotesUnderFire.TestCase
TestNotesUnderFire.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


class Refusing(MemoryStore):
    is_refusing = False

    def write(self, changes: object) -> None:
        if self.is_refusing:
            raise OSError("the disk is full")
        super().write(changes)  # type: ignore[arg-type]


@is_compiled
def test_a_url_whose_row_could_not_be_written_is_not_noted(directory: Path) -> None:
    store = Refusing()
    frontier, noted = open_frontier(store, directory)
    urls = [Candidate(f"http://a/{number}", 1) for number in range(10)]
    store.is_refusing = True
    with pytest.raises(OSError, match="full"):
        frontier.offer(urls, 0.0)
    store.is_refusing = False
    frontier._seen.recent = Recent(1_000)  # they were met lately: another day they are not
    assert frontier.offer(urls[5:], 0.0) == 5
    frontier._seen.recent = Recent(1_000)
    assert frontier.offer(urls, 0.0) == 5
    noted.close()


@is_compiled
def test_known_urls_are_told_by_notes_without_their_rows_and_noted_again_if_they_are_not(directory: Path) -> None:
    asked: list[bytes] = []

    class Telling(MemoryStore):
        def get_many(self, family: str, keys: object) -> list[bytes | None]:
            asked.extend(keys if family == "urls" else ())  # type: ignore[call-overload]
            return super().get_many(family, keys)  # type: ignore[arg-type]

    store = Telling()
    urls = [Candidate(f"http://a/{number}", 1) for number in range(10)]
    frontier, noted = open_frontier(store, directory)
    frontier.offer(urls, 0.0)
    for expected in (0, 10, 0):
        frontier._seen.recent = Recent(1_000)
        asked.clear()
        assert frontier.offer(urls, 0.0) == 0
        assert len(asked) == expected
        if expected == 0:  # the first time: then they are forgotten
            noted.close()
            frontier, noted = open_frontier(store, directory)
    assert frontier.stats["known"] == 10
    noted.close()


@is_compiled
@pytest.mark.parametrize(("state", "is_kept"), [(b"stopped", True), (b"running", False)])
def test_a_store_that_was_cut_off_and_added_to_since_trusts_its_notes_no_more(
    directory: Path, state: bytes, is_kept: bool
) -> None:
    store = MemoryStore()
    _, noted = open_frontier(store, directory)
    noted.close()
    store.write([("meta", b"state", state)])
    store.write(added_to_log(store, [b"k" * 16]))
    assert (store.get("meta", EPOCH) is not None) == is_kept


@is_compiled
def test_filters_that_are_made_anew_have_no_notes(directory: Path) -> None:
    store = MemoryStore()
    frontier, noted = open_frontier(store, directory)
    frontier.offer([Candidate(f"http://a/{number}", 1) for number in range(10)], 0.0)
    noted.close()
    store.write([("seen", key, None) for key, _ in list(store.scan("seen"))])
    assert store.get("meta", EPOCH) is not None
    assert Seen(store, first_capacity=40).total == 10
    assert store.get("meta", EPOCH) is None
