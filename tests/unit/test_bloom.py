"""How large a Bloom filter must be, and what it promises."""

from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.kit.bloom import expected_false_rate, size_bloom


def test_ten_bits_a_key_give_less_than_one_percent_false_positives() -> None:
    size = size_bloom(1_000_000)
    assert size.hashes == 7
    assert size.memory_bytes == 1_250_000
    assert 0.007 < expected_false_rate(size, 1_000_000) < 0.009


def test_an_empty_filter_is_never_wrong() -> None:
    assert expected_false_rate(size_bloom(1000), 0) == 0.0


def test_a_filter_past_its_capacity_is_wrong_ever_more_often() -> None:
    size = size_bloom(1000)
    rates = [expected_false_rate(size, keys) for keys in (500, 1000, 2000, 4000, 100_000)]
    assert rates == sorted(rates)
    assert rates[-1] > 0.99


def test_a_real_filter_of_that_size_is_wrong_as_often_as_foretold() -> None:
    size = size_bloom(2_000)
    bits = bytearray(size.bits)

    def places(key: int) -> list[int]:
        numbers = memoryview(blake2b(b"%d" % key, digest_size=8 * size.hashes).digest()).cast("Q")
        return [number % size.bits for number in numbers]

    for key in range(2_000):
        for place in places(key):
            bits[place] = 1
    absent = range(10_000, 30_000)
    wrong = sum(all(bits[place] for place in places(key)) for key in absent)
    assert wrong / len(absent) == pytest.approx(expected_false_rate(size, 2_000), rel=0.5)


@given(st.integers(1, 10**9), st.floats(0.1, 64))
def test_filters_are_whole_words_with_at_least_one_hash_and_enough_bits(capacity: int, bits_per_key: float) -> None:
    size = size_bloom(capacity, bits_per_key)
    assert size.bits % 64 == 0
    assert size.bits >= capacity * bits_per_key * 0.999
    assert size.hashes >= 1
    assert 0.0 <= expected_false_rate(size, capacity) <= 1.0


@pytest.mark.parametrize(("capacity", "bits"), [(0, 10.0), (-1, 10.0), (5, 0.0), (5, -1.0)])
def test_no_filter_without_keys_or_bits(capacity: int, bits: float) -> None:
    with pytest.raises(ValueError, match="at least one key"):
        size_bloom(capacity, bits)
