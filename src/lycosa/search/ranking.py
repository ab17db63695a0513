"""Ranking a crawl: a survey that finds farms, then the ranks of pages. Steps can be kept and gone on from.

The survey ranks every page twice in one go, from the trusted pages and from all alike, until it is good enough to
judge by. The ranks of pages go on from there, with the links of farms damped. Without trusted pages there is no survey.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from lycosa.search.farms import Verdict, judge, no_verdict
from lycosa.search.graph import Floats, Flow
from lycosa.search.pagerank import MOST_STEPS, TOLERANCE, even_starts, iterate

SURVEY, PAGES = "survey", "pages"
_GOOD_ENOUGH = 1e-4  # of the whole, moved by a step of the survey: a mass of 0.95 is not a matter of the fourth digit


class Progress(NamedTuple):
    """Where the ranking is. All that is needed to go on from here."""

    stage: str
    number: int  # of the step, in its stage
    ranks: Floats  # in the survey two columns: trusted, even
    verdict: Verdict
    change: float = float("inf")
    moved: float = float("inf")
    is_last: bool = False  # of its stage


def proceed(flow: Flow, starts: Floats, before: Progress) -> Iterator[Progress]:
    """Every step from there to the end; the last one has the ranks of pages."""
    ranks, verdict, number = before.ranks, before.verdict, before.number
    if before.stage == SURVEY:
        for progress in _survey(flow, starts, before):
            yield progress
            ranks, number = progress.ranks[:, 0], 0
        verdict = judge(progress.ranks[:, 0], progress.ranks[:, 1])
    for step in iterate(flow, starts, ranks, verdict.carry()):
        at = number + step.number
        is_last = step.change <= TOLERANCE or at >= MOST_STEPS
        yield Progress(PAGES, at, step.ranks, verdict, step.change, step.moved, is_last)
        if is_last:
            return


def _survey(flow: Flow, starts: Floats, before: Progress) -> Iterator[Progress]:
    both = np.column_stack([starts, even_starts(flow.size)])
    for step in iterate(flow, both, before.ranks):
        at = before.number + step.number
        is_last = step.moved <= _GOOD_ENOUGH or at >= MOST_STEPS
        yield Progress(SURVEY, at, step.ranks, before.verdict, step.change, step.moved, is_last)
        if is_last:
            return


def beginning(starts: Floats, old: Floats | None = None, *, is_trusted: bool) -> Progress:
    """The first state: from old ranks, if there are any."""
    size = len(starts)
    begin = starts if old is None else old
    if not is_trusted:
        return Progress(PAGES, 0, begin, no_verdict(size))
    return Progress(SURVEY, 0, np.column_stack([begin, even_starts(size)]), no_verdict(size))
