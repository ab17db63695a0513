"""The index of a directory that is served: brought up to date when nobody else does, and watched."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lycosa.backends import tantivy_index
from lycosa.backends.rocks import RocksStore
from lycosa.indexing import INDEX, is_behind, open_search
from lycosa.serving import FRESH_S, Upkeep, make_index
from lycosa.wiring import SHARD
from tests.system.little_site import QUOTES, site
from tests.system.small_crawl import OWN, lycosa


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def crawled(tmp_path: Path) -> Path:
    """A crawl that nobody has indexed."""
    directory = tmp_path / "crawl"
    with site(QUOTES) as address:
        lycosa("crawl", address, "--delay", "0s", "-s", OWN, "-s", "search.index=false", "--dir", directory)
    return directory


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def upkeep(crawled: Path, clock: Clock) -> Iterator[Upkeep]:
    upkeep = Upkeep(crawled, clock)
    yield upkeep
    upkeep.close()


def test_an_index_that_is_behind_is_brought_up_to_date(crawled: Path, upkeep: Upkeep, clock: Clock) -> None:
    assert (upkeep.lag_s(), upkeep.is_healthy()) == (None, False)  # nobody has looked yet
    upkeep.look()
    assert upkeep.indexer is None  # somebody else may be about to do it
    clock.now += 1
    upkeep.look()
    assert (upkeep.lag_s(), upkeep.is_healthy()) == (None, False)
    assert upkeep.indexer is not None
    assert upkeep.indexer.wait(60) == 0
    clock.now += 1
    upkeep.look()
    assert (upkeep.lag_s(), upkeep.is_healthy()) == (0.0, True)
    assert not is_behind(crawled)
    assert open_search(crawled).pages == 3


def look_twice(upkeep: Upkeep, clock: Clock) -> None:
    upkeep.look()
    clock.now += 1
    upkeep.look()


def test_nobody_is_disturbed_who_writes_the_index_already(crawled: Path, upkeep: Upkeep, clock: Clock) -> None:
    with tantivy_index.writing(crawled / INDEX):
        look_twice(upkeep, clock)
        assert upkeep.indexer is None
    assert not upkeep.is_healthy()


def test_an_index_that_was_taken_away_is_left_to_whoever_holds_the_crawl(
    crawled: Path, upkeep: Upkeep, clock: Clock
) -> None:
    store = RocksStore(crawled / SHARD)
    look_twice(upkeep, clock)
    assert upkeep.indexer is None
    store.close()
    look_twice(upkeep, clock)
    assert upkeep.indexer is not None


def test_how_long_it_is_behind_is_known_and_is_no_excuse_without_a_crawl(
    crawled: Path, upkeep: Upkeep, clock: Clock
) -> None:
    make_index(crawled, print, lambda done, total: None)
    upkeep.look()
    assert upkeep.is_healthy()
    with tantivy_index.writing(crawled / INDEX):
        with site({"/": "<title>New</title><p>new"}) as address:
            lycosa("crawl", address, "-s", "search.index=false", "--dir", crawled)
        clock.now = 100.0
        upkeep.look()
        clock.now += FRESH_S / 2
        upkeep.look()
        assert (upkeep.lag_s(), upkeep.is_healthy()) == (FRESH_S / 2, False)


def test_what_has_an_index_is_left_as_it_is(crawled: Path) -> None:
    make_index(crawled, print, lambda done, total: None)
    before = open_search(crawled).generation
    make_index(crawled, print, lambda done, total: None)
    assert open_search(crawled).generation == before
