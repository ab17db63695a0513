"""The ranks of a crawl: looked up by key, renewed in place, forgotten on demand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lycosa.backends.array_file import ArraysBroken
from lycosa.backends.graph_files import link_graph
from lycosa.backends.parquet import write_table
from lycosa.backends.rank_progress import alone, drop_progress, keep_progress, kept_progress
from lycosa.backends.ranks import RANKS, Ranks, forget_ranks, write_ranks
from lycosa.errors import BadInput
from lycosa.kit.keys import host_key
from lycosa.search.farms import Reason, Verdict
from lycosa.search.ranking import PAGES, SURVEY, Progress
from lycosa.web.url import cut

A, B, B2, MOVED = "https://a.org/", "https://b.org/1", "https://b.org/2", "https://m.org/"


def key(url: str) -> bytes:
    return cut(url).key()


def ranked(place: Path, ranks: dict[str, float], hosts: dict[str, float]) -> Ranks:
    if not (place / "pages").exists():
        row = {"fetched_at": 1.0, "status": 200, "outcome": "fetched"}
        rows = [{"url": url, "host": cut(url).host, **row} for url in (A, B, B2)]
        rows.append({"url": MOVED, "host": "m.org", "fetched_at": 1.0, "outcome": "redirected", "redirect_to": B})
        write_table(place, "pages", rows, 1, 9, "2026-01-31")
    graph = link_graph(place / "ranks", place, (), lambda _: None)
    order = {each: url for url in ranks for each in [key(url)]}
    by_page = np.array([ranks[order[bytes(each)]] for each in graph.page_keys])
    names = {host_key(host): rank for host, rank in hosts.items()}
    by_host = np.array([names[each] for each in graph.host_keys.tolist()])
    farm = np.array([bytes(each) == key(B2) for each in graph.page_keys])
    last = Progress(PAGES, 7, by_page, Verdict(np.where(farm, 0.99, 0.1).astype(np.float32), farm))
    write_ranks(place / "ranks", graph, last, by_host, {"steps": 7})
    return Ranks(place / "ranks")


@pytest.fixture
def ranks(tmp_path: Path) -> Ranks:
    return ranked(tmp_path, {A: 0.5, B: 0.375, B2: 0.125}, {"a.org": 0.75, "b.org": 0.25})


def test_known_pages_have_their_rank_new_ones_their_hosts_mean_and_strangers_none(ranks: Ranks) -> None:
    pages, hosts = ranks.of([key(url) for url in (B, A, "https://b.org/new", "https://stranger.org/", MOVED)])
    assert pages.tolist() == [0.375, 0.5, 0.25, 0.0, 0.375]
    assert hosts.tolist() == [0.25, 0.75, 0.25, 0.0, 0.0]
    assert [len(each) for each in ranks.of([])] == [0, 0]
    assert ranks.about["steps"] == 7


def test_new_ranks_are_seen_at_the_next_question(ranks: Ranks, tmp_path: Path) -> None:
    ranked(tmp_path, {A: 0.25, B: 0.5, B2: 0.25}, {"a.org": 0.5, "b.org": 0.5})
    assert ranks.of([key(A)])[0].tolist() == [0.25]
    (tmp_path / "ranks" / RANKS).unlink()
    assert ranks.of([key(A)])[0].tolist() == [0.0]
    assert ranks.about == {}


def test_one_page_is_explained(ranks: Ranks) -> None:
    found = ranks.page(key(B2))
    assert found is not None
    assert (found.rank, found.place, found.of, found.host_rank) == (0.125, 3, 3, 0.25)
    assert found.mass == pytest.approx(0.99)
    assert found.reasons & Reason.FARM
    assert ranks.page(key("https://b.org/new")) is None
    assert len(ranks.table()["ranks"]) == 3


def test_a_damaged_file_is_refused_at_first_and_later_the_old_ranks_stay(ranks: Ranks, tmp_path: Path) -> None:
    path = tmp_path / "ranks" / RANKS
    whole = path.read_bytes()
    path.with_suffix(".new").write_bytes(whole[:-30])
    path.with_suffix(".new").replace(path)
    assert ranks.of([key(A)])[0].tolist() == [0.5]
    with pytest.raises(ArraysBroken, match=r"ranks\.bin is not whole: remove it and run lycosa rank again"):
        Ranks(tmp_path / "ranks")


def test_without_ranks_everything_is_zero(tmp_path: Path) -> None:
    assert [each.tolist() for each in Ranks(tmp_path).of([key(A)])] == [[0.0], [0.0]]
    assert Ranks(tmp_path).page(key(A)) is None
    assert forget_ranks(tmp_path, key(A)) == 0


def test_a_page_or_a_host_is_forgotten_and_what_ranks_are_made_from_goes(ranks: Ranks, tmp_path: Path) -> None:
    place = tmp_path / "ranks"
    assert forget_ranks(place, key(B)) == 1
    assert sorted(path.name for path in place.iterdir()) == [RANKS]
    assert key(B) not in (place / RANKS).read_bytes()
    assert ranks.of([key(B)])[0].tolist() == [0.25], "as any page of that host that was never met"
    assert forget_ranks(place, key(B)) == 0
    assert forget_ranks(place, host=host_key("b.org")) == 1
    assert [each.tolist() for each in ranks.of([key(B2)])] == [[0.0], [0.0]]
    assert host_key("b.org").to_bytes(8, "big") not in (place / RANKS).read_bytes()
    assert host_key("b.org").to_bytes(8, "little") not in (place / RANKS).read_bytes()
    assert ranks.of([key(A)])[0].tolist() == [0.5]
    (place / RANKS).write_bytes(b"damaged")
    assert forget_ranks(place, key(A)) == 0
    assert not (place / RANKS).exists(), "what is in it cannot be told"


def test_progress_counts_for_the_same_inputs_only(tmp_path: Path) -> None:
    verdict = Verdict(np.array([0.5, 0.25], np.float32), np.array([True, False]))
    progress = Progress(SURVEY, 5, np.array([[0.5, 0.5], [0.5, 0.5]]), verdict)
    keep_progress(tmp_path, "these", progress)
    found = kept_progress(tmp_path, "these", 2)
    assert found is not None
    assert (found.stage, found.number, found.ranks.tolist()) == (SURVEY, 5, progress.ranks.tolist())
    assert found.verdict.farm.tolist() == [True, False]
    assert kept_progress(tmp_path, "others", 2) is None
    assert kept_progress(tmp_path, "these", 3) is None
    whole = (tmp_path / "progress.bin").read_bytes()
    (tmp_path / "progress.bin").write_bytes(whole[:-1])
    assert kept_progress(tmp_path, "these", 2) is None
    drop_progress(tmp_path)
    drop_progress(tmp_path)


def test_one_ranks_at_a_time(tmp_path: Path) -> None:
    with alone(tmp_path), pytest.raises(BadInput, match="wait for its end"), alone(tmp_path):
        pass
    with alone(tmp_path):
        pass
