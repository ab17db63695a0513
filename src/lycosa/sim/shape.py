"""Power laws, the shape of the web: a few hosts and pages have nearly everything.

Sizes follow rank (the n-th host has C / n^s pages) so totals are known without adding up a million hosts;
popularity is drawn by inverting the same law. Both are O(1) per question.
"""

from math import log

_EXACT_TERMS = 512


def scale_sizes(hosts: int, pages: int, exponent: float) -> float:
    """The C for which the sizes of all hosts sum to about `pages`, at least one each."""
    low, high = 0.0, float(pages)
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if _total(middle, hosts, exponent) < pages else (low, middle)
    return high


def size_of(rank: int, scale: float, exponent: float) -> int:
    """Pages of the host with this rank, 0 being the largest."""
    size: float = scale * (rank + 1) ** -exponent
    return max(1, round(size))


def pick_rank(share: float, ranks: int, exponent: float) -> int:
    """The rank that a uniform share in [0, 1) falls on when rank n weighs about (n + 1)^-exponent."""
    if exponent == 1.0:
        return min(ranks - 1, int((ranks + 1) ** share) - 1)
    power = 1 - exponent
    place: float = (1 + share * ((ranks + 1) ** power - 1)) ** (1 / power)
    return min(ranks - 1, int(place) - 1)


def _total(scale: float, hosts: int, exponent: float) -> float:
    exact = min(hosts, _EXACT_TERMS)
    total = float(sum(size_of(rank, scale, exponent) for rank in range(exact)))
    if hosts > exact:  # the rest by the integral of the law, up to where a host has a single page
        turn = min(float(hosts), max(float(exact), scale ** (1 / exponent))) if exponent else float(hosts)
        total += scale * _area(exact + 0.5, turn + 0.5, exponent) + (hosts - turn)
    return total


def _area(start: float, end: float, exponent: float) -> float:
    if end <= start:
        return 0.0
    if exponent == 1.0:  # where the general formula divides by zero
        return log(end / start)
    power = 1 - exponent
    return float((end**power - start**power) / power)
