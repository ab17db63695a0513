"""Keys of hosts and URLs, and the ranges that share them out."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.kit.keys import KEY_BYTES, SPACE, KeyRange, host_key, merge, owner_of, ranges, url_key

_KEYS = st.integers(0, SPACE - 1)
_OWNERS = st.integers(1, 5000)


@given(st.text(max_size=20), st.text(max_size=20), st.text(max_size=20))
def test_urls_of_a_host_are_neighbours(host: str, one: str, other: str) -> None:
    prefix = host_key(host).to_bytes(8, "big")
    for rest in (one, other):
        key = url_key(host, rest)
        assert len(key) == KEY_BYTES
        assert key.startswith(prefix)
    assert (url_key(host, one) == url_key(host, other)) == (one == other)


def test_keys_never_change_from_one_version_to_the_next() -> None:
    assert f"{host_key('lycosa.example'):016x}" == "304502e97bc6039b"
    assert url_key("lycosa.example", "http:///").hex() == "304502e97bc6039b91aa3f56d087c18a"


@given(_KEYS, _OWNERS)
def test_every_key_has_exactly_one_owner_and_ranges_agree(key: int, owners: int) -> None:
    owner = owner_of(key, owners)
    parts = ranges(owners)
    assert key in parts[owner]
    assert parts[0].start == 0
    assert parts[-1].end == SPACE
    if owner:
        assert key not in parts[owner - 1]
    if owner + 1 < owners:
        assert key not in parts[owner + 1]


@given(_OWNERS)
def test_ranges_touch_and_are_of_equal_size(owners: int) -> None:
    parts = ranges(owners)
    assert len(parts) == owners
    assert all(one.end == other.start for one, other in itertools.pairwise(parts))
    assert max(part.size for part in parts) - min(part.size for part in parts) <= 1
    for index, part in enumerate(parts):
        assert owner_of(part.start, owners) == owner_of(part.end - 1, owners) == index


def test_a_space_needs_an_owner() -> None:
    with pytest.raises(ValueError, match="at least one owner"):
        ranges(0)


def test_the_end_of_a_range_is_outside_it_and_only_numbers_are_inside() -> None:
    part = KeyRange(10, 20)
    assert 10 in part
    assert 19 in part
    assert 20 not in part
    assert 9 not in part
    assert "10" not in part


@given(st.text(max_size=20), st.text(max_size=20), st.integers(1, 64))
def test_the_bounds_of_a_range_hold_the_urls_of_its_hosts_and_no_other(host: str, rest: str, owners: int) -> None:
    key = url_key(host, rest)
    for index, part in enumerate(ranges(owners)):
        first, past = part.bounds()
        inside = first <= key and (past is None or key < past)
        assert inside == (owner_of(host_key(host), owners) == index)


@given(st.integers(0, SPACE - 1), st.integers(0, SPACE))
def test_a_split_loses_no_key(one: int, other: int) -> None:
    part = KeyRange(min(one, other), max(one, other))
    left, right = part.split()
    assert (left.start, left.end, right.end) == (part.start, right.start, part.end)
    assert abs(left.size - right.size) <= 1


def test_ranges_that_touch_become_one() -> None:
    assert merge([KeyRange(5, 9), KeyRange(0, 5), KeyRange(7, 8), KeyRange(3, 3)]) == [KeyRange(0, 9)]
    assert merge(reversed(ranges(7))) == [KeyRange(0, SPACE)]
    assert merge([KeyRange(0, 4), KeyRange(5, 9)]) == [KeyRange(0, 4), KeyRange(5, 9)]


_PARTS = st.lists(st.builds(KeyRange, st.integers(0, 30), st.integers(0, 30)), max_size=8)


@given(_PARTS)
def test_merged_ranges_hold_the_same_keys_in_as_few_pieces_as_possible(parts: list[KeyRange]) -> None:
    merged = merge(parts)
    for key in range(32):
        assert any(key in part for part in merged) == any(key in part for part in parts)
    assert all(one.end < other.start for one, other in itertools.pairwise(merged))
    assert all(part.size > 0 for part in merged)
