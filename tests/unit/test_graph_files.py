"""From tables to a link graph: which URLs are one page, which links count, whichever shard or file they are in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from lycosa.backends.graph_files import GRAPH, LinkGraph, link_graph
from lycosa.backends.graph_links import LinkSorter, sum_up
from lycosa.backends.graph_pages import NONE, UrlReader
from lycosa.backends.graph_rows import Shard, keys_of, link_batches, page_batches
from lycosa.backends.parquet import TableTrouble, write_table
from lycosa.crawl.feed import PageRow, RequestRow
from lycosa.search.graph import CARRIES, NOFOLLOW, OTHER, OWN
from lycosa.web.url import cut

DAY = "2026-01-31"
A, B, C, D = "https://a.org/", "https://b.org/", "https://c.org/", "https://www.a.org/d"


def page(url: str, at: float = 1.0, outcome: str = "fetched", **more: Any) -> dict[str, Any]:
    status = {"fetched": 200, "redirected": 301, "unchanged": 304}.get(outcome, 404)
    return {"url": url, "host": url.split("/")[2], "fetched_at": at, "status": status, "outcome": outcome, **more}


def link(source: str, target: str, at: float = 1.0, **more: Any) -> dict[str, Any]:
    return {"source": source, "target": target, "kind": "a", "rel": "", "text": "", "discovered_at": at, **more}


def graph_of(place: Path, pages: list[dict], links: list[dict], shards: tuple[Shard, ...] = ()) -> LinkGraph:
    write_table(place, "pages", pages, 1, 9, DAY, name="shard-00")
    write_table(place, "links", links, 1, 9, DAY, name="shard-00")
    return link_graph(place / "ranks", place, shards or (Shard("shard-00", 9, ()),), lambda _: None)


def number(graph: LinkGraph, url: str) -> int:
    places = np.flatnonzero(graph.keys == keys_of([url])[0])
    return int(graph.pages[places[0]]) if len(places) else NONE


def links_of(graph: LinkGraph, *urls: str) -> set[tuple[str, str, float]]:
    """Every link between these, and what it carries."""
    names = {number(graph, url): url for url in urls}
    found = set()
    for target, url in names.items():
        part = slice(*graph.links.starts[target : target + 2])
        for source, weight in zip(graph.links.sources[part].tolist(), graph.links.weights[part].tolist(), strict=True):
            if source in names:
                found.add((names[source], url, weight))
    return found


def test_links_have_the_weight_of_their_kind(tmp_path: Path) -> None:
    hints = ("nofollow", "x UGC", "sponsored noopener")
    pages = [page(url) for url in (A, B, C, D, *(f"https://n{n}.org/" for n in range(3)))]
    links = [link(A, B), link(A, D), link(A, C, refused="nofollow")]
    links += [link(B, f"https://n{n}.org/", rel=rel) for n, rel in enumerate(hints)]
    graph = graph_of(tmp_path, pages, links)
    assert links_of(graph, A, B, C, D) == {
        (A, B, CARRIES[OTHER]), (A, D, CARRIES[OWN]), (A, C, CARRIES[NOFOLLOW]),
    }  # fmt: skip
    for n in range(3):
        assert links_of(graph, B, f"https://n{n}.org/") == {(B, f"https://n{n}.org/", CARRIES[NOFOLLOW])}


def test_images_self_links_repeats_and_pages_never_fetched_do_not_count(tmp_path: Path) -> None:
    links = [link(A, B), link(A, B, rel="nofollow"), link(A, A), link(A, C, kind="img"), link(B, "https://x.org/")]
    graph = graph_of(tmp_path, [page(A), page(B), page(C), page(D, outcome="gone")], [*links, link(A, D)])
    assert links_of(graph, A, B, C) == {(A, B, 1.0)}
    assert len(graph.page_keys) == 3
    assert number(graph, D) == NONE


def test_redirects_canonicals_and_copies_of_one_domain_stand_for_their_page(tmp_path: Path) -> None:
    moved, old, copy = "https://r.org/", "https://a.org/?print", "https://www.a.org/"
    pages = [
        page(A), page(B), page(moved, outcome="redirected", redirect_to=old), page(old, canonical=A),
        page(copy, alias_of=A),
    ]  # fmt: skip
    graph = graph_of(tmp_path, pages, [link(B, moved), link(old, B), link(copy, B)])
    assert {number(graph, url) for url in (moved, old, copy)} == {number(graph, A)}
    assert links_of(graph, A, B) == {(B, A, 1.0)}, "and their own links are not A's"


def test_a_copy_of_another_domain_and_a_canonical_that_was_not_fetched_stand_for_themselves(tmp_path: Path) -> None:
    pages = [page(A), page(B, alias_of=A), page(C, canonical="https://nowhere.org/")]
    pages += [page(D, canonical=f"{D}2"), page(f"{D}2", outcome="redirected", redirect_to=D)]
    graph = graph_of(tmp_path, pages, [])
    assert len({number(graph, url) for url in (A, B, C, D)} - {NONE}) == 4
    assert number(graph, f"{D}2") == number(graph, D)


def test_only_the_links_of_the_last_visit_count(tmp_path: Path) -> None:
    pages = [page(A, 1.0), page(B), page(C), page(A, 2.5), page(A, 3.0, "unchanged")]
    graph = graph_of(tmp_path, pages, [link(A, B, 1.0), link(A, C, 2.5)])
    assert links_of(graph, A, B, C) == {(A, C, 1.0)}


def entry(number: int, row: dict[str, Any], links: list[dict[str, Any]]) -> tuple[int, bytes]:
    request = RequestRow(row["host"], row["url"], None, row["fetched_at"], None, 200, "page", "fetched", 0, None)
    told = [(each["target"], each["kind"], each["rel"], each["text"], each.get("refused")) for each in links]
    return number, msgspec.msgpack.encode((request, PageRow(**row), told))


def test_every_shard_is_read_from_its_files_and_its_journal(tmp_path: Path) -> None:
    write_table(tmp_path, "pages", [page(B)], 1, 5, DAY, name="shard-01")
    write_table(tmp_path, "links", [link(B, C)], 1, 5, DAY, name="shard-01")
    write_table(tmp_path, "pages", [page("https://later.org/")], 6, 9, DAY, name="shard-01")
    at = 1769817600.123456
    shards = (
        Shard("shard-00", 9, (entry(10, page(C, at), [link(C, A, at), link(C, B, at, rel="ugc")]),)),
        Shard("shard-01", 5, ()),
    )
    graph = graph_of(tmp_path, [page(A)], [link(A, B)], shards)
    assert links_of(graph, A, B, C) == {(A, B, 1.0), (B, C, 1.0), (C, A, 1.0), (C, B, CARRIES[NOFOLLOW])}
    assert number(graph, "https://later.org/") == NONE, "a file beyond what its shard has noted"


def test_hosts_vote_for_hosts_and_copied_hosts_are_one_owner(tmp_path: Path) -> None:
    copies = [page(f"https://b.org/{n}", near_of=f"https://a.org/{n}") for n in range(4)]
    pages = [page(A), page(C), *copies]
    graph = graph_of(tmp_path, pages, [link(f"https://b.org/{n}", A) for n in range(4)] + [link(C, A)])
    assert {weight for _, _, weight in links_of(graph, A, *(each["url"] for each in copies))} == {CARRIES[OWN]}
    assert graph.is_copied.sum() == 1
    assert sorted(graph.hosts.weights.tolist()) == [0.25 * 3.0, 1.0], "four pages are 1 + log2(4) voices"


def test_a_graph_is_made_again_only_when_the_tables_changed(tmp_path: Path) -> None:
    first = graph_of(tmp_path, [page(A), page(B)], [link(A, B)])
    path, shards = tmp_path / "ranks" / GRAPH, (Shard("shard-00", 9, ()),)
    made = path.stat().st_ino, path.stat().st_mtime_ns
    link_graph(tmp_path / "ranks", tmp_path, shards, lambda _: None)
    assert made == (path.stat().st_ino, path.stat().st_mtime_ns)
    path.write_bytes(path.read_bytes()[:-1])
    assert link_graph(tmp_path / "ranks", tmp_path, shards, lambda _: None).inputs == first.inputs
    write_table(tmp_path, "pages", [page(C)], 10, 11, DAY, name="shard-00")
    more = link_graph(tmp_path / "ranks", tmp_path, (Shard("shard-00", 11, ()),), lambda _: None)
    assert len(more.page_keys) == 3
    assert not list((tmp_path / "ranks").glob(".*")), "nothing is left over"


def test_many_small_buckets_give_the_same_graph_as_one(tmp_path: Path) -> None:
    dice = np.random.default_rng(4)
    urls = [f"https://h{n % 7}.org/{n}" for n in range(60)]
    links = [link(urls[one], urls[other]) for one, other in dice.integers(0, 60, (900, 2)).tolist()]
    write_table(tmp_path, "pages", [page(url) for url in urls], 1, 9, DAY)
    write_table(tmp_path, "links", links, 1, 9, DAY)
    reader = UrlReader()
    for batch in page_batches(tmp_path, ()):
        reader.add(batch)
    known, found = reader.finish(), []
    for bucket_links in (10_000, 50):
        place = tmp_path / f"by-{bucket_links}"
        place.mkdir()
        sorter = LinkSorter(known, place, len(links), bucket_links)
        for batch in link_batches(tmp_path, ()):
            sorter.add(batch)
        sorter.finish()
        totals = sum_up(known, sorter)
        parts = [np.concatenate([part[at] for part in sorter.buckets()]).tolist() for at in range(3)]
        found.append((parts, totals.starts.tolist(), totals.taken.tolist(), totals.hosts.weights.tolist()))
        assert len(list(place.iterdir())) == (1 if bucket_links > 900 else 19)
    assert found[0] == found[1]


def test_keys_are_those_of_the_store() -> None:
    urls = [
        A, "http://a.org:8080/x?y=/z://@", "https://[::1]:99/", "https://[::1]/p", "http://1.2.3.4/a:b@c", "https://é.org/ü",
    ]  # fmt: skip
    assert [bytes(key) for key in keys_of(urls)] == [cut(url).key() for url in urls]
    assert [bytes(key) for key in keys_of([None, "", "nonsense", "https://x", "a://"])] == [b""] * 5


def test_no_tables_are_an_empty_graph_and_damaged_ones_are_named(tmp_path: Path) -> None:
    graph = link_graph(tmp_path / "ranks", tmp_path / "tables", (), lambda _: None)
    assert (len(graph.page_keys), graph.links.size, graph.hosts.size) == (0, 0, 0)
    path = write_table(tmp_path, "pages", [page(A)], 1, 9, DAY)
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(TableTrouble, match="not a whole Parquet file"):
        link_graph(tmp_path / "ranks", tmp_path, (), lambda _: None)
