"""Folding: near copies of a better result are counted with it, and no host takes the whole page.

A page of results is filled with at most so many of a host, in order of rank. Only if that leaves places free do more of
the same hosts follow: a search within one site loses nothing. What one page left out comes on the next.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from lycosa.kit.simhash import RADIUS
from lycosa.search.index import Integers

_WINDOW = 80  # results beyond those that are shown
_NOBODY = np.zeros(0, np.intp)


class Folded(NamedTuple):
    places: list[int]  # of the candidates, as they are shown on this page
    also: dict[int, int]  # how many more of the same there are
    more: bool  # is there another page?


class Page(NamedTuple):
    offset: int
    limit: int


def fold(order: list[int], hosts: Integers, simhash: Integers, per_host: int, page: Page) -> Folded:
    """One page of results; `order` is the candidates by rank."""
    end = page.offset + page.limit
    if per_host <= 0:
        return Folded(order[page.offset : end], {}, len(order) > end)
    # Copies are looked for as far down as this page may reach; comparing all with all would cost more than searching.
    window = end + _WINDOW
    left, also = _without_copies(order[:window], simhash)
    left += order[window:]
    names = hosts.tolist()
    shown: list[int] = []
    while left and len(shown) < end:
        # An offset within a page is as good as any: what comes before it fills pages of its own.
        limit = page.limit if len(shown) >= page.offset else min(page.limit, page.offset - len(shown))
        filled, left = _fill(left, names, per_host, limit)
        shown += filled
    result = shown[page.offset : end]
    waiting = Counter([names[place] for place in left])
    for place in result:
        also[place] = also.get(place, 0) + waiting.pop(names[place], 0)
    return Folded(result, also, bool(left))


def _fill(left: list[int], names: list[int], per_host: int, limit: int) -> tuple[list[int], list[int]]:
    counts: dict[int, int] = {}
    page, over = [], []
    for at, place in enumerate(left):
        count = counts.get(names[place], 0)
        if count < per_host:
            counts[names[place]] = count + 1
            page.append(at)
            if len(page) == limit:
                break
        else:
            over.append(at)
    page += over[: limit - len(page)]
    taken = set(page)
    return [left[at] for at in sorted(page)], [place for at, place in enumerate(left) if at not in taken]


def _without_copies(order: list[int], simhash: Integers) -> tuple[list[int], dict[int, int]]:
    """Every candidate that is not nearly the same as a better one, and how many are nearly the same as it."""
    prints = simhash[order]
    near = np.bitwise_count(prints[:, None] ^ prints[None, :]) <= RADIUS
    near &= (prints != 0)[:, None] & (prints != 0)[None, :]
    has_better = np.tril(near, -1).any(axis=1)
    if not has_better.any():
        return list(order), {}
    kept: list[int] = []
    also: dict[int, int] = {}
    is_kept = np.zeros(len(order), np.bool_)
    for at, place in enumerate(order):
        better = np.flatnonzero(near[at, :at] & is_kept[:at]) if has_better[at] else _NOBODY
        if len(better):
            first = order[int(better[0])]
            also[first] = also.get(first, 0) + 1
        else:
            is_kept[at] = True
            kept.append(place)
    return kept, also
