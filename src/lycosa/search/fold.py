"""Folding: near copies of a better result are counted with it, and no host takes the whole page.

A page of results is filled with at most so many of a host, in order of rank. Only if that leaves places free do more of
the same hosts follow: a search within one site loses nothing. What one page left out comes on the next.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lycosa.kit.simhash import RADIUS
from lycosa.search.index import Integers


class Folded(NamedTuple):
    places: list[int]  # of the candidates, as they are shown
    also: dict[int, int]  # how many more of the same there are


def fold(order: list[int], hosts: Integers, simhash: Integers, per_host: int, limit: int) -> Folded:
    """`order` is the candidates by rank; `limit` is the length of a page of results."""
    if per_host <= 0:
        return Folded(order, {})
    kept, also = _without_copies(order, simhash)
    shown: list[int] = []
    left = kept
    while left:
        page, left = _fill(left, hosts, per_host, limit)
        of_host = {int(hosts[place]): place for place in reversed(page)}
        for place in left:
            first = of_host.get(int(hosts[place]))
            if first is not None:
                also[first] = also.get(first, 0) + 1
        shown += page
    return Folded(shown, also)


def _fill(left: list[int], hosts: Integers, per_host: int, limit: int) -> tuple[list[int], list[int]]:
    counts: dict[int, int] = {}
    page, over = [], []
    for at, place in enumerate(left):
        host = int(hosts[place])
        if counts.get(host, 0) < per_host:
            counts[host] = counts.get(host, 0) + 1
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
    kept: list[int] = []
    also: dict[int, int] = {}
    known = np.zeros(len(order), np.uint64)
    for at, place in enumerate(order):
        near = np.flatnonzero(np.bitwise_count(known[: len(kept)] ^ prints[at]) <= RADIUS) if prints[at] else ()
        first = next((kept[each] for each in near if known[each]), None)
        if first is None:
            known[len(kept)] = prints[at]
            kept.append(place)
        else:
            also[first] = also.get(first, 0) + 1
    return kept, also
