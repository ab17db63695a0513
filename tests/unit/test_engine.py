"""Questions and answers, on an index of a few pages."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lycosa.backends.tantivy_index import IndexWriter
from lycosa.backends.tantivy_view import TantivyReader
from lycosa.search.answer import Request
from lycosa.search.engine import Search
from lycosa.search.intake import Intake, PageSeen, key_of

NOW = 1_800_000_000.0
OLD = NOW - 90 * 86_400
UNTIL = f"unavailable_after:{NOW + 100:.0f}"
FILLER = " ".join(["and so it went on in the old town for many years"] * 3)


def page(url: str, title: str, text: str, **more: Any) -> PageSeen:
    host = url.split("/")[2]
    return PageSeen(
        url, host, more.pop("fetched_at", NOW - 86_400), more.pop("outcome", "fetched"), title, text=text, **more
    )


PAGES = [
    page("https://spiders.example/wolf", "Wolf spiders", f"Wolf spiders hunt alone and build no web. {FILLER}"),
    page("https://spiders.example/web", "How a web is built", f"Most spiders build webs. Not all of them. {FILLER}"),
    page("https://zoo.example/wolf", "The grey wolf", f"A wolf lives in a pack. {FILLER}", fetched_at=OLD),
    page("https://spiders.example/", "Spiders of the world", f"All about eight legs. {FILLER}"),
    page("https://plays.example/hamlet", "Hamlet", f"To be or not to be, that is the question. {FILLER}"),
    page("https://laufen.example/", "Vom Laufen", "Die Läufer liefen und sie sind nicht müde. Wir laufen auch mit."),
    page("https://nihon.example/", "全文検索", "全文検索機能を使って文書を探します。"),
    page("https://secret.example/", "Secret wolf", "wolf wolf wolf", directives="noindex"),
    page("https://shy.example/", "Shy wolverine", f"A wolverine hides here. {FILLER}", directives="nosnippet"),
    page("https://late.example/", "Late badger", f"A badger was here. {FILLER}", directives=UNTIL),
]  # fmt: skip


def build(directory: Path, pages: Sequence[PageSeen], links: Sequence[Any] = ()) -> None:
    index = IndexWriter(directory)
    intake = Intake(index, NOW)
    for each in pages:
        intake.page(each)
    intake.links("https://elsewhere.example/", links)
    intake.commit({"shard-00": len(pages)})
    index.close()


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("index")
    links = [
        ("https://zoo.example/wolf", "a", "", "isegrim", None),
        ("https://zoo.example/wolf", "a", "", "next", None),
    ]
    build(made, PAGES, links)
    return made


@pytest.fixture
def search(directory: Path) -> Search:
    return Search(TantivyReader(directory), now=lambda: NOW)


def urls(search: Search, query: str, **more: Any) -> list[str]:
    return [result.url for result in search.search(Request(query=query, **more)).results]


def test_words_are_found_in_their_forms(search: Search) -> None:
    assert urls(search, "hunting wolf spider")[0] == "https://spiders.example/wolf"


def test_the_snippet_shows_the_words(search: Search) -> None:
    result = search.search(Request(query="hunting")).results[0]
    assert [result.snippet[start:end] for start, end in result.highlights] == ["hunt"]


def test_stop_words_count_in_phrases_and_nowhere_else(search: Search) -> None:
    assert urls(search, '"to be or not to be"') == ["https://plays.example/hamlet"]
    assert urls(search, '"to be or to be"') == []
    assert "https://plays.example/hamlet" not in urls(search, "the wolf is not to be")[:2]


def test_a_query_of_stop_words_alone_is_still_a_query(search: Search) -> None:
    assert "https://plays.example/hamlet" in urls(search, "to be or not to be")


def test_unwanted_words_exclude(search: Search) -> None:
    assert urls(search, "wolf -spiders") == ["https://zoo.example/wolf"]


def test_either_of_two_words(search: Search) -> None:
    assert set(urls(search, "hamlet OR badger")) == {"https://plays.example/hamlet", "https://late.example/"}


def test_sites_titles_urls_languages_and_dates_narrow(search: Search) -> None:
    assert urls(search, "wolf site:zoo.example") == ["https://zoo.example/wolf"]
    assert set(urls(search, "site:example web -site:zoo.example")) <= set(urls(search, "web", fold=0))
    assert urls(search, "intitle:grey") == ["https://zoo.example/wolf"]
    assert set(urls(search, "inurl:wolf")) == {"https://zoo.example/wolf", "https://spiders.example/wolf"}
    assert urls(search, "lang:de") == ["https://laufen.example/"]
    assert urls(search, "wolf before:2026-12-31") == ["https://zoo.example/wolf"]
    assert urls(search, "wolf after:2027-01-01", site="spiders.example") == ["https://spiders.example/wolf"]


def test_every_language_has_its_own_forms(search: Search) -> None:
    assert urls(search, "läufern")[:1] == ["https://laufen.example/"]


def test_text_without_spaces_is_found_by_any_part(search: Search) -> None:
    assert urls(search, "検索機能") == ["https://nihon.example/"]
    assert urls(search, '"文検索"') == ["https://nihon.example/"]


def test_what_asks_not_to_be_indexed_is_not(search: Search) -> None:
    assert "https://secret.example/" not in urls(search, "secret wolf", fold=0)


def test_what_asks_for_no_snippet_has_none(search: Search) -> None:
    assert [result.snippet for result in search.search(Request(query="wolverine")).results] == [""]


def test_what_is_no_longer_available_is_no_longer_shown(directory: Path) -> None:
    assert urls(Search(TantivyReader(directory), now=lambda: NOW), "badger")
    assert not urls(Search(TantivyReader(directory), now=lambda: NOW + 200), "badger")


def test_words_of_links_lead_to_their_target(search: Search) -> None:
    assert urls(search, "isegrim") == ["https://zoo.example/wolf"]


def test_links_that_say_nothing_do_not_count(search: Search) -> None:
    assert urls(search, "next") == []


def test_a_word_that_is_asked_twice_weighs_twice(search: Search) -> None:
    once, twice = (search.search(Request(query=query)).results[0].score for query in ("badger", "badger badger"))
    assert twice > 1.5 * once


def test_a_misspelt_word_is_put_right(tmp_path: Path) -> None:
    build(tmp_path, [*PAGES, page("https://b.example/", "Wolverine and badger", "Wolverine.")])
    assert Search(TantivyReader(tmp_path)).search(Request(query="wolvernie site:b.example")).suggestion == (
        "wolverine site:b.example"
    )


def test_completion_knows_titles_and_words(search: Search) -> None:
    assert search.complete("wol")[0] == "wolf spiders"
    assert "the grey wolf" in search.complete("the gr")
    assert search.complete("") == []


def test_facets_count_what_was_ranked(search: Search) -> None:
    facets = search.search(Request(query="wolf")).facets
    assert {facet.value: facet.count for facet in facets.hosts} == {"spiders.example": 1, "zoo.example": 1}
    assert [facet.count for facet in facets.dates] == [1, 1, 1, 2]


def test_an_explanation_adds_up(search: Search) -> None:
    result = search.search(Request(query="wolf", explain=True)).results[0]
    assert result.explain is not None
    parts = {signal.name: signal for signal in result.explain}
    signals = [
        signal.contribution
        for name, signal in parts.items()
        if name not in ("body", "title", "headings", "url", "pair")
    ]
    assert sum(signals) == pytest.approx(result.score, rel=1e-4)
    assert parts["title"].value > 0


class Favour:
    def __init__(self, url: str) -> None:
        self._key = key_of(url)

    def of(self, url_keys: Sequence[bytes]) -> tuple[Any, Any]:
        ranks = np.array([1.0 if key == self._key else 0.001 for key in url_keys])
        return ranks, np.zeros(len(url_keys))


def test_ranks_move_pages_without_indexing_again(directory: Path) -> None:
    two = ["https://spiders.example/wolf", "https://zoo.example/wolf"]
    for url in two:
        chosen = Favour(url)
        search = Search(TantivyReader(directory), lambda chosen=chosen: chosen, now=lambda: NOW)
        assert search.search(Request(query="wolf")).results[0].url in two
        scores = {result.url: result.score for result in search.search(Request(query="wolf")).results}
        plain = Search(TantivyReader(directory), now=lambda: NOW).search(Request(query="wolf"))
        assert scores[url] > {result.url: result.score for result in plain.results}[url]


def test_answers_are_kept_until_the_index_changes(tmp_path: Path) -> None:
    build(tmp_path, PAGES)
    search = Search(TantivyReader(tmp_path), now=lambda: NOW)
    before = search.search(Request(query="aardvark"))
    assert before.total == 0
    build(tmp_path, [page("https://a.example/", "Aardvark", "The aardvark.")])
    after = search.search(Request(query="aardvark"))
    assert after.total == 1
    assert after.generation > before.generation


def test_many_threads_may_ask(search: Search) -> None:
    found: list[list[str]] = []
    threads = [threading.Thread(target=lambda: found.append(urls(search, "wolf spider"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({tuple(each) for each in found}) == 1


PARTS = """wolf the OR " - site: zoo.example intitle: 検索 -wolf lang:de after:2026 before:0001 web, x:y""".split()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=150)
@given(
    st.text(max_size=60)
    | st.lists(st.sampled_from(PARTS)).map(" ".join),
    st.integers(-5, 400),
    st.integers(-5, 200),
)  # fmt: skip
def test_no_query_is_an_error(search: Search, query: str, offset: int, limit: int) -> None:
    answer = search.search(Request(query=query, offset=offset, limit=limit, explain=True))
    assert answer.query == query
    assert answer.total >= 0
    assert len(answer.results) <= 100
