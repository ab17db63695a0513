"""PageRank by power iteration, with a choice of pages to start from (Brin and Page 1998; Haveliwala 2002).

    ranks' = d · flow(ranks) + (1 - what flowed) · starts           d = 0.85

What does not flow on, because one gets bored (1 - d), because a page has no links or because a link does not carry all
it takes, begins anew at the pages one starts from. So ranks add up to one after every step, whatever the graph is.
Sums are in double precision: in single precision one rounding is a tenth of the error that is allowed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from lycosa.search.graph import Floats, Flow, Ints

DAMPING = 0.85
TOLERANCE = 1e-7  # no page changes by more than this part of itself
MOST_STEPS = 200
_FAINT = 1e-3  # below this part of the mean a page's own change is not waited for


class Step(NamedTuple):
    """Ranks after so many iterations, and how much the last of them changed."""

    number: int
    ranks: Floats  # one column for each choice of starts
    change: float  # of the page that changed most, as a part of its rank
    moved: float  # of the whole


def iterate(
    flow: Flow, starts: Floats, begin: Floats | None = None, carry: Floats | None = None, damping: float = DAMPING
) -> Iterator[Step]:
    """Step after step, without end. `starts` adds up to one, and may have several columns that are ranked at once;
    `begin` are ranks to go on from; `carry` is what each page's links are allowed to carry.
    """
    ranks = starts if begin is None else begin
    voice = flow.shares * damping if carry is None else flow.shares * carry * damping
    voice = voice if starts.ndim == 1 else voice[:, np.newaxis]
    number = 0
    while True:
        number += 1
        after = flow(ranks * voice)
        after += (1.0 - after.sum(axis=0)) * starts
        difference = np.abs(after - ranks)
        moved = float(difference.sum(axis=0).max(initial=0.0))
        np.divide(difference, np.maximum(after, _FAINT / max(1, flow.size)), out=difference)
        yield Step(number, after, float(difference.max(initial=0.0)), moved)
        ranks = after


def rank(
    flow: Flow,
    starts: Floats,
    begin: Floats | None = None,
    carry: Floats | None = None,
    tolerance: float = TOLERANCE,
) -> Step:
    """The last step, when nothing changes any more."""
    for step in iterate(flow, starts, begin, carry):
        if step.change <= tolerance or step.number >= MOST_STEPS:
            return step
    raise AssertionError("iterations have no end")


def even_starts(size: int) -> Floats:
    """Every page alike."""
    return np.full(size, 1.0 / max(1, size))


def trusted_starts(size: int, trusted: list[Ints]) -> Floats:
    """Each group of pages alike, and in it each page; every page alike if there are none."""
    groups = [np.unique(group) for group in trusted if len(group)]
    if not groups:
        return even_starts(size)
    starts = np.zeros(size)
    for group in groups:
        starts[group] += 1.0 / (len(groups) * len(group))
    return starts
