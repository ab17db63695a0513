"""PageRank: it adds up, it does not depend on names, and it is what networkx says."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.search.graph import CARRIES, NOFOLLOW, OTHER, OWN, Flow, Graph, fold, make_graph, pack, strongest, unpack
from lycosa.search.pagerank import even_starts, iterate, rank, trusted_starts

SIZE = 12
LINKS = st.lists(st.tuples(st.integers(0, SIZE - 1), st.integers(0, SIZE - 1), st.integers(0, 2)), max_size=60)


def graph_of(links: list[tuple[int, int, int]], size: int = SIZE) -> Graph:
    columns = np.array(links, np.int64).reshape(-1, 3)
    return make_graph(size, columns[:, 0], columns[:, 1], columns[:, 2])


def ranks_of(links: list[tuple[int, int, int]], size: int = SIZE) -> np.ndarray:
    return rank(Flow(graph_of(links, size)), even_starts(size), tolerance=1e-12).ranks


def exact(graph: Graph, starts: np.ndarray, carry: np.ndarray | None = None) -> np.ndarray:
    """By solving the equation, without any iteration."""
    size = graph.size
    flow = np.zeros((size, size))
    targets = np.repeat(np.arange(size), np.diff(graph.starts))
    flow[targets, graph.sources] = graph.weights * graph.shares[graph.sources]
    flow *= 0.85 * (np.ones(size) if carry is None else carry)
    lost = 1.0 - flow.sum(axis=0)
    return np.linalg.solve(np.eye(size) - flow - np.outer(starts, lost) + np.ones((size, size)), np.ones(size))


@given(LINKS)
def test_ranks_add_up_to_one_and_none_is_negative(links: list[tuple[int, int, int]]) -> None:
    ranks = ranks_of(links)
    assert ranks.sum() == pytest.approx(1.0, abs=1e-12)
    assert (ranks > 0).all()


@given(LINKS, st.lists(st.integers(0, SIZE - 1), min_size=1, max_size=3), st.integers(0, SIZE - 1))
def test_ranks_solve_the_equation_also_with_losses_and_damped_pages(
    links: list[tuple[int, int, int]], trusted: list[int], farm: int
) -> None:
    graph, carry = graph_of(links), np.ones(SIZE)
    carry[farm] = 0.1
    starts = trusted_starts(SIZE, [np.array([page]) for page in trusted])
    ranks = rank(Flow(graph), starts, carry=carry, tolerance=1e-13).ranks
    np.testing.assert_allclose(ranks, exact(graph, starts, carry), atol=1e-11)


@given(LINKS, st.permutations(range(SIZE)), st.randoms())
def test_neither_the_names_of_pages_nor_the_order_of_links_matter(
    links: list[tuple[int, int, int]], names: list[int], dice: object
) -> None:
    renamed = [(names[source], names[target], kind) for source, target, kind in links]
    dice.shuffle(renamed)  # type: ignore[attr-defined]
    np.testing.assert_allclose(ranks_of(renamed)[names], ranks_of(links), atol=1e-11)


@given(LINKS)
def test_a_link_to_oneself_and_a_repeated_link_change_nothing(links: list[tuple[int, int, int]]) -> None:
    more = [*links, *links, *((page, page, OTHER) for page in range(SIZE))]
    np.testing.assert_array_equal(ranks_of(more), ranks_of(links))


@given(LINKS, st.integers(1, 5))
def test_blocks_make_no_difference(links: list[tuple[int, int, int]], blocks: int) -> None:
    graph = graph_of(links)
    np.testing.assert_array_equal(
        rank(Flow(graph, blocks), even_starts(SIZE)).ranks, rank(Flow(graph), even_starts(SIZE)).ranks
    )


def test_of_several_links_between_two_pages_the_strongest_counts() -> None:
    kinds = unpack(strongest(pack(np.array([1, 1, 1]), np.array([2, 2, 2]), np.array([NOFOLLOW, OTHER, OWN])))).kinds
    assert kinds.tolist() == [OTHER]


def test_a_page_without_links_passes_its_rank_to_the_starts() -> None:
    ranks = rank(Flow(graph_of([(0, 1, OTHER)], 2)), trusted_starts(2, [np.array([0])]), tolerance=1e-13).ranks
    assert ranks[1] == pytest.approx(0.85 * ranks[0])


def test_pages_nobody_links_to_share_alike() -> None:
    assert ranks_of([], 4).tolist() == [0.25] * 4


def test_an_empty_graph_has_no_ranks() -> None:
    step = rank(Flow(graph_of([], 0)), even_starts(0))
    assert (len(step.ranks), step.change) == (0, 0.0)


def test_an_own_link_takes_a_quarter_of_a_voice() -> None:
    ranks = ranks_of([(0, 1, OTHER), (0, 2, OWN)], 3)
    base = 1.0 - ranks[1:].sum() - ranks[0]
    assert base == pytest.approx(0.0)
    gained = ranks - ranks[0]
    assert gained[1] == pytest.approx(4 * gained[2])


def test_a_nofollow_link_loses_most_on_the_way_and_gives_nothing_to_the_others() -> None:
    ranks = ranks_of([(0, 1, OTHER), (0, 2, NOFOLLOW)], 3)
    gained = ranks - ranks[0]
    assert gained[1] == pytest.approx(8 * gained[2])
    assert gained[1] == pytest.approx(0.85 * ranks[0] / 2)


def test_trusted_groups_share_alike_whatever_their_size() -> None:
    starts = trusted_starts(4, [np.array([0]), np.array([1, 2, 2])])
    assert starts.tolist() == [0.5, 0.25, 0.25, 0.0]
    assert trusted_starts(4, []).tolist() == [0.25] * 4


def test_several_starts_at_once_are_each_alone() -> None:
    dice = np.random.default_rng(1)
    graph = make_graph(50, dice.integers(0, 50, 300), dice.integers(0, 50, 300))
    both = np.column_stack([even_starts(50), trusted_starts(50, [np.array([7])])])
    steps = iterate(Flow(graph), both)
    together = [next(steps) for _ in range(60)][-1].ranks
    for column in range(2):
        alone = rank(Flow(graph), both[:, column].copy(), tolerance=1e-10).ranks
        np.testing.assert_allclose(together[:, column], alone, rtol=1e-6)


def test_old_ranks_settle_sooner() -> None:
    dice = np.random.default_rng(2)
    flow = Flow(make_graph(500, dice.integers(0, 500, 3_000), dice.integers(0, 500, 3_000)))
    first = rank(flow, even_starts(500))
    assert rank(flow, even_starts(500), first.ranks).number < first.number / 3


@pytest.mark.parametrize("own_share", [0.0, 0.7])
def test_the_largest_error_against_networkx_is_below_a_millionth(own_share: float) -> None:
    dice, size, count = np.random.default_rng(3), 4_000, 40_000
    sources, targets = dice.integers(0, size, count), (size * dice.random(count) ** 3).astype(np.int64)
    graph = make_graph(size, sources, targets, (dice.random(count) < own_share).astype(np.int64) * OWN)
    ours = rank(Flow(graph), even_starts(size)).ranks  # with the tolerance that users get
    theirs = networkx.DiGraph()
    theirs.add_nodes_from(range(size))
    ends = np.repeat(np.arange(size), np.diff(graph.starts))
    theirs.add_weighted_edges_from(zip(graph.sources.tolist(), ends.tolist(), graph.weights.tolist(), strict=True))
    told = networkx.pagerank(theirs, tol=1e-16, max_iter=1_000)
    expected = np.array([told[page] for page in range(size)])
    assert np.max(np.abs(ours - expected) / expected) <= 1e-6
    assert set(graph.weights.tolist()) <= set(CARRIES.tolist())


@given(st.lists(st.integers(0, 19), min_size=20, max_size=20))
def test_folding_ends_where_following_ends(leads_to: list[int]) -> None:
    for page, end in enumerate(fold(np.array(leads_to)).tolist()):
        met, at = set[int](), page
        while at not in met:
            met.add(at)
            at = leads_to[at]
        circle = [at]
        while leads_to[circle[-1]] != at:
            circle.append(leads_to[circle[-1]])
        assert end == min(circle)
