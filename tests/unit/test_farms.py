"""Farms gain nothing: their head is found, its links are damped, and honest pages are left alone."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np
import pytest

from lycosa.search.farms import FARM_CARRIES, Reason, copied_hosts, judge, owners_of, reasons_of, told
from lycosa.search.graph import NOFOLLOW, OTHER, OWN, Flow, make_graph
from lycosa.search.pagerank import even_starts, rank, trusted_starts
from lycosa.search.ranking import PAGES, SURVEY, Progress, beginning, proceed

HONEST = 20_000


class Farmed(NamedTuple):
    flow: Flow
    starts: np.ndarray
    target: int

    def last(self) -> Progress:
        steps = proceed(self.flow, self.starts, beginning(self.starts, is_trusted=True))
        return deque(steps, maxlen=1)[0]


def farmed(hosts: int, pages: int, links_in: int = 5) -> Farmed:
    """An honest web with power-law popularity, and a farm that pushes one page."""
    dice = np.random.default_rng(hosts)
    target, size = HONEST, HONEST + 1 + pages
    farm = np.arange(target + 1, size)
    host = np.concatenate([np.zeros(HONEST, int), [1], 1 + np.arange(pages) % hosts])
    sources = [dice.integers(0, HONEST, 8 * HONEST), farm, np.repeat(farm, 3), np.full(100, target)]
    targets = [(HONEST * dice.random(8 * HONEST) ** 4).astype(int), np.full(pages, target)]
    targets += [dice.choice(farm, 3 * pages), farm[:100]]
    sources.append(dice.integers(HONEST // 10, HONEST, links_in))
    targets.append(np.full(links_in, target))
    one, other = np.concatenate(sources), np.concatenate(targets)
    own = (host[one] == host[other]) & (one >= HONEST)
    flow = Flow(make_graph(size, one, other, np.where(own, OWN, OTHER)))
    return Farmed(flow, trusted_starts(size, [np.array([page]) for page in range(5)]), target)


def place(ranks: np.ndarray, page: int) -> int:
    return int(np.count_nonzero(ranks > ranks[page])) + 1


@pytest.mark.parametrize("hosts", [1, 200])
def test_a_farm_does_not_lift_its_page(hosts: int) -> None:
    web = farmed(hosts, 3_000)
    assert place(rank(web.flow, even_starts(web.flow.size)).ranks, web.target) <= 20, "it would without trust"
    last = web.last()
    assert place(last.ranks, web.target) > 1_000
    assert last.verdict.farm[web.target]
    assert last.verdict.farm[:HONEST].sum() == 0
    assert last.ranks.sum() == pytest.approx(1.0)


def test_what_comes_into_a_farm_does_not_go_round_in_it() -> None:
    web = farmed(200, 3_000, links_in=2)
    damped, bare = web.last().ranks, rank(web.flow, web.starts).ranks
    assert damped[web.target] < bare[web.target]
    assert damped[HONEST:].sum() < 0.6 * bare[HONEST:].sum()


def test_mass_is_what_trust_does_not_account_for() -> None:
    even = np.array([0.5, 0.3, 0.1, 0.1] + [0.0] * 96)
    verdict = judge(np.array([0.5, 0.003, 0.0, 0.2] + [0.0] * 96), even)
    np.testing.assert_allclose(verdict.mass[:5], [0.0, 0.99, 1.0, 0.0, 0.0], atol=1e-6)
    assert np.flatnonzero(verdict.farm).tolist() == [1, 2]
    assert verdict.carry()[[0, 1]].tolist() == [1.0, FARM_CARRIES]


def test_without_trust_nothing_is_called_a_farm() -> None:
    starts = even_starts(10)
    steps = list(
        proceed(Flow(make_graph(10, np.arange(9), np.full(9, 9))), starts, beginning(starts, is_trusted=False))
    )
    assert {step.stage for step in steps} == {PAGES}
    assert not steps[-1].verdict.farm.any()


@pytest.mark.parametrize("kill_after", [1, 4, 9, 14])
def test_a_ranking_goes_on_from_any_step_to_the_same_end(kill_after: int) -> None:
    web = farmed(3, 300)
    steps = list(proceed(web.flow, web.starts, beginning(web.starts, is_trusted=True)))
    kept = steps[kill_after]
    rest = list(proceed(web.flow, web.starts, kept))
    assert [(step.stage, step.number) for step in rest] == [
        (step.stage, step.number) for step in steps[kill_after + 1 :]
    ] or kept.is_last
    np.testing.assert_allclose(rest[-1].ranks, steps[-1].ranks, rtol=1e-6, atol=1e-15)
    assert steps[0].stage == SURVEY


def test_hosts_of_one_domain_have_one_owner_and_so_have_copies() -> None:
    domains = {1: "a.org", 2: "b.org", 3: "a.org", 4: "c.org", 5: "d.org"}
    owners = owners_of(domains, [(4, 2), (5, 4), (9, 1)])
    assert owners[1] == owners[3] != owners[2]
    assert owners[2] == owners[4] == owners[5]


def test_a_host_is_copied_if_half_of_it_is() -> None:
    pages = {1: 10, 2: 10, 3: 4}
    assert copied_hosts(pages, {(1, 2): 5, (2, 1): 4, (3, 2): 2}) == [(1, 2)]


def test_every_reason_can_be_told() -> None:
    farm, copied = np.array([True, False, False, False]), np.array([False, True, False, False])
    led_by = np.array([1 << OTHER | 1 << OWN, 1 << OTHER, 1 << NOFOLLOW, 1 << OWN | 1 << NOFOLLOW])
    reasons = reasons_of(farm, copied, led_by)
    expected = [Reason.FARM, Reason.COPIED_HOST, Reason.ONLY_NOFOLLOW, Reason.ONLY_OWN]
    assert reasons.tolist() == [int(reason) for reason in expected]
    assert [told(each)[0].partition(":")[0] for each in reasons.tolist()] == [
        "farm", "copied host", "nofollow", "own links",
    ]  # fmt: skip
    assert told(0) == []
