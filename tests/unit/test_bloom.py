"""Bloom filters of blocks: how large they must be, what they promise, and the same in C as in Python."""

from __future__ import annotations

import math
from collections.abc import Callable
from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.kit import bloom
from lycosa.kit.bloom import BLOCK_BYTES, add_keys, bits_of_next, capacity_of_next, find_keys, make_bloom

is_compiled = pytest.mark.skipif(bloom.native is None, reason="lycosa.native was not compiled here")
keys_of_any_kind = st.lists(st.binary(min_size=16, max_size=16), max_size=200)


def make_keys(first: int, last: int, host: bytes = b"") -> list[bytes]:
    return [host + blake2b(b"%d" % number, digest_size=16 - len(host)).digest() for number in range(first, last)]


def in_python(work: Callable[[], object]) -> object:
    """What the twin says."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bloom, "native", None)
        return work()


def false_rate(bits_per_key: int) -> float:
    """By theory: blocks have more keys and fewer, as chance has it, and each lane has one bit of each key."""
    mean = 512 / bits_per_key
    chances = [math.exp(keys * math.log(mean) - mean - math.lgamma(keys + 1)) for keys in range(1_000)]
    return sum(chance * (1 - (63 / 64) ** keys) ** 8 for keys, chance in enumerate(chances))


@pytest.mark.parametrize("bits", [8, 13, 18])
@pytest.mark.parametrize("host", [b"", b"one host"])
def test_a_filter_is_wrong_as_often_as_theory_foretells(bits: int, host: bytes) -> None:
    kept = make_bloom(50_000, bits)
    add_keys(kept, make_keys(0, 50_000, host))
    wrong = sum(find_keys([kept], make_keys(100_000, 300_000, host)))
    assert wrong / 200_000 == pytest.approx(false_rate(bits), rel=0.25)


def test_any_number_of_filters_together_is_wrong_less_than_once_in_a_hundred() -> None:
    assert false_rate(bits_of_next(0)) < 1 / 350
    assert sum(false_rate(bits_of_next(number)) for number in range(200)) < 0.01


def test_filters_grow_fourfold_up_to_a_size_that_can_be_saved() -> None:
    assert [capacity_of_next(number, 1, 32) for number in range(5)] == [1, 4, 16, 32, 32]
    assert capacity_of_next(1_000, 1_000_000, 32_000_000) == 32_000_000


def test_a_filter_has_the_bits_that_were_asked_for_in_whole_blocks() -> None:
    assert len(make_bloom(1, 1)) == BLOCK_BYTES
    assert len(make_bloom(512, 13)) == 13 * BLOCK_BYTES
    assert len(make_bloom(513, 13)) == 14 * BLOCK_BYTES


def test_an_empty_filter_has_nothing() -> None:
    assert find_keys([make_bloom(10)], make_keys(0, 1_000)) == [0] * 1_000
    assert find_keys([], make_keys(0, 10)) == [0] * 10
    assert find_keys([], []) == []


@given(st.lists(keys_of_any_kind, min_size=1, max_size=4), keys_of_any_kind)
def test_what_was_added_to_a_filter_is_found_there(added: list[list[bytes]], absent: list[bytes]) -> None:
    filters = [make_bloom(max(1, len(keys))) for keys in added]
    for bits, keys in zip(filters, added, strict=True):
        add_keys(bits, keys)
    places = [number for number, keys in enumerate(added) for _ in keys]
    found = find_keys(filters, [*(key for keys in added for key in keys), *absent])
    assert all(bits >> number & 1 for bits, number in zip(found, places, strict=False))
    assert found[len(places) :] == find_keys(filters, absent)
    for number, bits in enumerate(filters):
        assert [each >> number & 1 for each in found[len(places) :]] == find_keys([bits], absent)


@pytest.mark.parametrize("is_native", [True, False])
def test_the_last_bit_stands_for_all_filters_from_the_64th_on(is_native: bool) -> None:
    if is_native and bloom.native is None:
        pytest.skip("lycosa.native was not compiled here")
    keys, filters = make_keys(0, 70), [make_bloom(10, 20) for _ in range(70)]
    for bits, key in zip(filters, keys, strict=True):
        add_keys(bits, [key])
    expected = [1 << min(number, 63) for number in range(70)]
    assert (find_keys(filters, keys) if is_native else in_python(lambda: find_keys(filters, keys))) == expected


@is_compiled
@given(st.lists(keys_of_any_kind, min_size=1, max_size=3), keys_of_any_kind, st.integers(1, 300))
def test_c_and_python_set_the_same_bits_and_find_the_same(
    added: list[list[bytes]], absent: list[bytes], blocks: int
) -> None:
    ours = [bytearray(blocks * BLOCK_BYTES) for _ in added]
    twins = [bytearray(blocks * BLOCK_BYTES) for _ in added]
    for bits, twin, keys in zip(ours, twins, added, strict=True):
        add_keys(bits, keys)
        in_python(lambda twin=twin, keys=keys: add_keys(twin, keys))
    assert ours == twins
    asked = [*added[-1], *absent]
    assert find_keys(ours, asked) == in_python(lambda: find_keys(ours, asked))


@is_compiled
def test_what_is_no_filter_and_no_key_is_refused() -> None:
    bits = make_bloom(10)
    for wrong in (bytearray(), bytearray(63), b"\0" * 64, None):
        with pytest.raises(ValueError, match="whole blocks"):
            bloom.native.add_keys(wrong, [])
        with pytest.raises(ValueError, match="whole blocks"):
            bloom.native.find_keys([wrong], [])
    for key in (b"short", b"x" * 17, "x" * 16, None):
        with pytest.raises(ValueError, match="16 bytes"):
            bloom.native.add_keys(bits, [key])
        with pytest.raises(ValueError, match="16 bytes"):
            bloom.native.find_keys([bits], [b"x" * 16, key])


@pytest.mark.parametrize(("capacity", "bits"), [(0, 10), (-1, 10), (5, 0), (5, -1)])
def test_no_filter_without_keys_or_bits(capacity: int, bits: int) -> None:
    with pytest.raises(ValueError, match="at least one key"):
        make_bloom(capacity, bits)
