"""The set of URLs seen: never a wrong skip, a bounded share of needless looks, and nothing lost by a restart."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from lycosa.backends.memory import MemoryStore
from lycosa.crawl.seen import Seen, added_to_log


def open_seen(store: MemoryStore, first_capacity: int = 1_000) -> Seen:
    """With segments so small that rounds of saving end within a test."""
    return Seen(store, first_capacity=first_capacity, segment_bytes=512)


def make_keys(first: int, last: int) -> list[bytes]:
    return [hashlib.blake2b(b"%d" % number, digest_size=16).digest() for number in range(first, last)]


def take_in(store: MemoryStore, seen: Seen, keys: Iterable[bytes], batch: int = 50) -> None:
    """Add keys with their rows, as the frontier does."""
    wanted = list(keys)
    for at in range(0, len(wanted), batch):
        some = wanted[at : at + batch]
        store.write([*seen.add(some), *(("urls", key, b"row") for key in some)])


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


def test_what_was_added_is_never_denied(store: MemoryStore) -> None:
    seen = open_seen(store, 1_000)
    take_in(store, seen, make_keys(0, 20_000))
    assert seen.perhaps_known(make_keys(0, 20_000)) == make_keys(0, 20_000)


def test_filters_that_were_outgrown_stay_under_one_percent_together(store: MemoryStore) -> None:
    seen = open_seen(store, 500)
    take_in(store, seen, make_keys(0, 50_000))
    assert seen.filters == 5
    wrong = len(seen.perhaps_known(make_keys(1_000_000, 1_050_000)))
    assert wrong / 50_000 < 0.01


@pytest.mark.parametrize("keys", [10, 999, 1_000, 5_001, 30_000])
def test_a_restart_forgets_nothing_and_counts_on(store: MemoryStore, keys: int) -> None:
    take_in(store, open_seen(store, 1_000), make_keys(0, keys))
    again = open_seen(store, 7)  # the store knows better
    assert again.perhaps_known(make_keys(0, keys)) == make_keys(0, keys)
    take_in(store, again, make_keys(keys, keys + 8_000))
    third = open_seen(store)
    assert third.perhaps_known(make_keys(0, keys + 8_000)) == make_keys(0, keys + 8_000)
    assert len(third.perhaps_known(make_keys(1_000_000, 1_020_000))) / 20_000 < 0.01


def test_saving_writes_no_more_than_twice_what_the_log_does(store: MemoryStore) -> None:
    seen, written, most = open_seen(store, 20_000), 0, 0
    for at in range(0, 60_000, 50):
        changes = seen.add(make_keys(at, at + 50))
        size = sum(len(value or b"") for _, _, value in changes)
        written, most = written + size, max(most, size)
        store.write(changes)
    assert written <= 3 * 16 * 60_000 + 50_000
    assert most < 5_000


def test_the_log_is_cleared_of_what_the_segments_hold(store: MemoryStore) -> None:
    seen = open_seen(store, 2_000)
    longest = 0
    for at in range(0, 40_000, 1_000):
        take_in(store, seen, make_keys(at, at + 1_000))
        longest = max(longest, sum(1 for _ in store.scan("seen", b"keys", b"keyt")))
    assert longest * 50 < 20_000


def test_lost_filters_are_made_again_from_the_rows(store: MemoryStore) -> None:
    take_in(store, open_seen(store, 1_000), make_keys(0, 30_000))
    store.write([("seen", key, None) for key, _ in store.scan("seen")])
    seen = open_seen(store, 1_000)
    assert seen.perhaps_known(make_keys(0, 30_000)) == make_keys(0, 30_000)
    assert store.get("seen", b"blocks") == b"1000"  # saved at once
    again = open_seen(store, 7)
    assert again.perhaps_known(make_keys(0, 30_000)) == make_keys(0, 30_000)
    take_in(store, again, make_keys(30_000, 60_000))
    third = open_seen(store)
    assert third.perhaps_known(make_keys(0, 60_000)) == make_keys(0, 60_000)
    assert len(third.perhaps_known(make_keys(1_000_000, 1_020_000))) / 20_000 < 0.01


def test_killed_while_filters_are_made_anew_it_begins_again(store: MemoryStore) -> None:
    take_in(store, open_seen(store, 1_000), make_keys(0, 5_000))
    store.write([("seen", b"blocks", None), *(("urls", key, b"row") for key in make_keys(5_000, 6_000))])
    assert open_seen(store, 1_000).perhaps_known(make_keys(0, 6_000)) == make_keys(0, 6_000)
    assert open_seen(store).perhaps_known(make_keys(0, 6_000)) == make_keys(0, 6_000)


@pytest.mark.parametrize("keys", [0, 1, 400, 1_000, 9_000])
def test_a_store_that_nobody_has_open_can_be_told_of_keys(store: MemoryStore, keys: int) -> None:
    take_in(store, open_seen(store, 1_000), make_keys(0, keys))
    for key in (b"x" * 16, b"y" * 16):
        store.write([*added_to_log(store, [key]), ("urls", key, b"grave")])
    seen = open_seen(store, 1_000)
    assert seen.perhaps_known([b"x" * 16, b"y" * 16]) == [b"x" * 16, b"y" * 16]
    take_in(store, seen, make_keys(keys, keys + 9_000))
    again = open_seen(store)
    assert again.perhaps_known([b"x" * 16, *make_keys(0, keys + 9_000)]) == [b"x" * 16, *make_keys(0, keys + 9_000)]


def test_filters_of_an_older_version_are_made_anew_and_nothing_of_them_stays(store: MemoryStore) -> None:
    old = [("seen", b"about", b"1000000"), ("seen", b"bits\0\0" + bytes(8), b"\xff" * 512)]
    store.write(
        [*old, ("seen", b"keys\0\0" + bytes(8), b"k" * 32), *(("urls", key, b"row") for key in make_keys(0, 900))]
    )
    seen = open_seen(store, 1_000)
    assert seen.perhaps_known(make_keys(0, 900)) == make_keys(0, 900)
    assert store.get("seen", b"about") is None
    assert not list(store.scan("seen", b"keys", b"keyt"))
    take_in(store, seen, make_keys(900, 2_000))
    again = open_seen(store)
    assert again.perhaps_known(make_keys(0, 2_000)) == make_keys(0, 2_000)
    assert len(again.perhaps_known(make_keys(1_000_000, 1_020_000))) / 20_000 < 0.01


def test_an_audit_finds_nothing_amiss_in_a_sound_store(store: MemoryStore) -> None:
    seen = open_seen(store, 1_000)
    take_in(store, seen, make_keys(0, 5_000))
    audit = seen.audit(1_000)
    assert audit.checked == pytest.approx(1_000, abs=20)
    assert audit.missed == 0


def test_an_audit_finds_rows_that_the_filter_denies(store: MemoryStore) -> None:
    seen = open_seen(store, 1_000)
    take_in(store, seen, make_keys(0, 1_000))
    store.write([("urls", key, b"row") for key in make_keys(1_000, 2_000)])
    audit = seen.audit(1_000)
    assert audit.missed == pytest.approx(audit.checked / 2, rel=0.2)


class Restarts(RuleBasedStateMachine):
    """Any order of adding and dying: what has a row is known."""

    def __init__(self) -> None:
        super().__init__()
        self.store = MemoryStore()
        self.seen = open_seen(self.store, 64)
        self.count = 0

    @rule(count=st.integers(1, 400))
    def add(self, count: int) -> None:
        keys = make_keys(self.count, self.count + count)
        self.store.write([*self.seen.add(keys), *(("urls", key, b"") for key in keys)])
        self.count += count

    @rule()
    def add_what_is_lost_with_the_process(self) -> None:
        self.seen.add(make_keys(10**9, 10**9 + 300))
        self.seen = open_seen(self.store, 64)

    @rule()
    def die(self) -> None:
        self.seen = open_seen(self.store, 64)

    @rule()
    def lose_the_filters(self) -> None:
        self.store.write([("seen", key, None) for key, _ in self.store.scan("seen")])
        self.seen = open_seen(self.store, 64)

    @invariant()
    def nothing_is_denied(self) -> None:
        assert self.seen.perhaps_known(make_keys(0, self.count)) == make_keys(0, self.count)


TestRestarts = Restarts.TestCase
TestRestarts.settings = settings(max_examples=30, stateful_step_count=30, deadline=None)
