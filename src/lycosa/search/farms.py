"""Link farms: pages that were made to link to each other, and how their links are kept from counting.

*Owners.* Hosts of one registered domain have one owner, and so have two hosts of which one is a copy of the other;
links among the pages of an owner are weaker (`graph.OWN`).

*Spam mass* (Gyöngyi, Berkhin, Garcia-Molina, Pedersen 2006). Every page is ranked twice: starting from all pages alike,
and from those that are trusted. A farm lives from the first: each of its pages brings a little of its own. The part of
a page's even rank that trust does not account for is its spam mass. A page that has far more than an even share, nearly
all of it mass, is taken for the head of a farm: its links carry a tenth, so what comes in by the few links a farm gets
from others cannot go round in it.

A page without trust and without much rank is left alone: most of the web is like that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntFlag
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lycosa.search.graph import NOFOLLOW, OTHER, OWN, Floats, Nodes

BOOSTED = 5.0  # times an even share
MOST_MASS = 0.95
FARM_CARRIES = 0.1
_LEAST_COPIES, _COPIED_SHARE = 3, 0.5


class Reason(IntFlag):
    """Why a page has less than the mere number of its links would give it."""

    FARM = 1
    COPIED_HOST = 2
    ONLY_NOFOLLOW = 4
    ONLY_OWN = 8


TEXTS = {
    Reason.FARM: "farm: nearly all of its rank comes from pages that trusted pages do not lead to,"
    " so its links carry a tenth",
    Reason.COPIED_HOST: "copied host: half of its host or more are copies of another host,"
    " so links between the two count as those of one owner",
    Reason.ONLY_NOFOLLOW: "nofollow: all links to it are nofollow, ugc or sponsored, which carry an eighth",
    Reason.ONLY_OWN: "own links: nobody but its owner links to it, and such links take a quarter of a voice",
}


class Verdict(NamedTuple):
    mass: NDArray[np.float32]  # by page, from 0 to 1
    farm: NDArray[np.bool_]

    def carry(self) -> Floats:
        """What each page's links may carry."""
        return np.where(self.farm, FARM_CARRIES, 1.0)


def judge(trusted: Floats, even: Floats) -> Verdict:
    """Compare the rank that comes from trusted pages with the one that comes from all alike."""
    known = np.divide(trusted, even, out=np.ones(len(even)), where=even > 0)
    mass = np.clip(1.0 - known, 0.0, 1.0)
    return Verdict(mass.astype(np.float32), (mass >= MOST_MASS) & (even * len(even) >= BOOSTED))


def no_verdict(size: int) -> Verdict:
    """When nobody is trusted more than others, mass means nothing."""
    return Verdict(np.zeros(size, np.float32), np.zeros(size, bool))


def copied_hosts(pages: Mapping[int, int], copies: Mapping[tuple[int, int], int]) -> list[tuple[int, int]]:
    """Hosts that are copies of others, as pairs. `copies` counts the pages of the first that copy one of the second."""
    return [
        pair for pair, count in sorted(copies.items())
        if count >= _LEAST_COPIES and count >= _COPIED_SHARE * pages.get(pair[0], 0)
    ]  # fmt: skip


def owners_of(domains: Mapping[int, str], copied: Iterable[tuple[int, int]]) -> dict[int, int]:
    """The owner of each host, named by one of its hosts."""
    owner: dict[int, int] = {}
    first_of: dict[str, int] = {}
    for host in sorted(domains):
        owner[host] = first_of.setdefault(domains[host], host)

    def find(host: int) -> int:
        while owner[host] != host:
            owner[host] = owner[owner[host]]
            host = owner[host]
        return host

    for one, other in copied:
        if one in owner and other in owner:
            least, most = sorted((find(one), find(other)))
            owner[most] = least
    return {host: find(host) for host in owner}


def reasons_of(farm: NDArray[np.bool_], is_copied: NDArray[np.bool_], led_by: NDArray[Any]) -> NDArray[np.uint8]:
    """The reasons of each page; `led_by` has a bit for each kind of link that leads to it."""
    other, own, nofollow = (1 << kind for kind in (OTHER, OWN, NOFOLLOW))
    reasons = np.zeros(len(farm), np.uint8)
    reasons[farm] |= int(Reason.FARM)
    reasons[is_copied] |= int(Reason.COPIED_HOST)
    reasons[led_by == nofollow] |= int(Reason.ONLY_NOFOLLOW)
    reasons[((led_by & own) > 0) & ((led_by & other) == 0)] |= int(Reason.ONLY_OWN)
    return reasons


def told(reasons: int) -> list[str]:
    """The reasons as sentences."""
    return [text for reason, text in TEXTS.items() if reasons & reason]


def mean_of_hosts(ranks: Floats, host_of: Nodes, hosts: int) -> Floats:
    """What a page of each host has on the average: what a new one starts with."""
    return np.bincount(host_of, ranks, minlength=hosts) / np.maximum(1, np.bincount(host_of, minlength=hosts))
