"""Folding of near copies and of hosts."""

from __future__ import annotations

import numpy as np

from lycosa.search.fold import Page, fold


def folded(hosts: list[int], prints: list[int], per_host: int = 2, offset: int = 0, limit: int = 4):  # type: ignore[no-untyped-def]
    columns = np.array(hosts, np.uint64), np.array(prints, np.uint64)
    return fold(list(range(len(hosts))), *columns, per_host, Page(offset, limit))


def test_no_host_takes_the_page_while_others_can_fill_it() -> None:
    first = folded([1, 1, 1, 1, 2, 3, 1], [0] * 7)
    assert first.places == [0, 1, 4, 5]
    assert first.also[0] == 3
    assert first.more


def test_what_one_page_left_out_comes_on_the_next() -> None:
    assert folded([1, 1, 1, 1, 2, 3, 1], [0] * 7, offset=4).places == [2, 3, 6]


def test_one_host_alone_fills_the_page_in_order() -> None:
    assert folded([1] * 6, [0] * 6).places == [0, 1, 2, 3]


def test_near_copies_are_counted_with_the_best() -> None:
    found = folded([1, 2, 3, 4], [0b1111, 0b1110, 0xFFFF0000, 0b1000])
    assert found.places == [0, 2]
    assert found.also[0] == 2


def test_pages_without_a_fingerprint_are_never_copies() -> None:
    assert folded([1, 2, 3], [0, 0, 0]).places == [0, 1, 2]


def test_folding_can_be_turned_off() -> None:
    assert folded([1] * 5, [7] * 5, per_host=0).places == [0, 1, 2, 3]


def test_every_result_comes_on_exactly_one_page() -> None:
    hosts = [1, 1, 1, 2, 2, 3, 1, 1, 4, 2, 2, 2, 1]
    pages = [folded(hosts, [0] * 13, offset=offset).places for offset in (0, 4, 8, 12)]
    assert sorted(place for page in pages for place in page) == list(range(13))
