"""The index of near-duplicates finds what a scan would find, at a bounded cost."""

import random

from hypothesis import given
from hypothesis import strategies as st

from lycosa.kit.near import BUCKET_CAP, NearIndex
from lycosa.kit.simhash import BANDS, RADIUS, distance

# Few distinct fingerprints around two centres, so that neighbours are frequent.
CLOSE = st.builds(
    lambda centre, bits: centre ^ sum(1 << bit for bit in bits),
    st.sampled_from([0, 0x5DEECE66D1234567]),
    st.sets(st.integers(0, 63), max_size=5),
)


@given(st.lists(CLOSE, max_size=30), CLOSE)
def test_the_index_finds_exactly_what_a_scan_finds(known: list[int], asked: int) -> None:
    index: NearIndex[int] = NearIndex()
    for name, fingerprint in enumerate(known):
        index.add(fingerprint, name)
    near = [(distance(asked, other), name) for name, other in enumerate(known) if distance(asked, other) <= RADIUS]
    found = index.find(asked)
    if not near:
        assert found is None
    else:
        assert found is not None
        assert distance(asked, known[found]) == min(near)[0]


def test_an_empty_index_finds_nothing() -> None:
    assert NearIndex[str]().find(0) is None


def test_the_radius_is_three_bits_and_no_more() -> None:
    index: NearIndex[str] = NearIndex()
    index.add(0, "a")
    assert index.find(0b111) == "a"
    assert index.find(0b1111) is None


def test_the_nearest_wins() -> None:
    index: NearIndex[str] = NearIndex()
    index.add(0b110, "farther")
    index.add(0b001, "nearer")
    assert index.find(0) == "nearer"


def test_of_equals_the_earliest_wins() -> None:
    index: NearIndex[str] = NearIndex()
    index.add(42, "first")
    index.add(42, "second")
    assert index.find(42) == "first"


def test_a_page_is_never_its_own_duplicate() -> None:
    index: NearIndex[str] = NearIndex()
    index.add(7, "me")
    assert index.find(7, besides="me") is None
    index.add(7, "twin")
    assert index.find(7, besides="me") == "twin"


def test_a_full_bucket_keeps_the_oldest_and_counts_what_it_turned_away() -> None:
    index: NearIndex[int] = NearIndex(bucket_cap=5)
    for name in range(8):
        index.add(1, name)
    assert index.find(1) == 0
    assert index.turned_away == 3 * BANDS


def test_a_flood_of_one_template_costs_a_bounded_look_up() -> None:
    index: NearIndex[int] = NearIndex()
    for name in range(5_000):
        index.add(99, name)
    assert max(map(len, index._buckets.values())) == BUCKET_CAP
    assert index.turned_away == (5_000 - BUCKET_CAP) * BANDS


def test_random_fingerprints_are_not_near_each_other() -> None:
    dice, index = random.Random(1), NearIndex[int]()
    found = 0
    for name in range(5_000):
        fingerprint = dice.getrandbits(64)
        found += index.find(fingerprint) is not None
        index.add(fingerprint, name)
    assert found == 0
