"""What becomes of an answer: kept or not, followed or not, an original or a copy."""

from __future__ import annotations

from pathlib import Path

import pytest

from lycosa.backends.bodies import WarcBodies
from lycosa.backends.memory import MemoryStore
from lycosa.crawl.claims import Claims
from lycosa.crawl.ingest import Ingest, Judges
from lycosa.crawl.lease import Effect, Lease
from lycosa.crawl.outcome import Failed, Fetched, judge
from lycosa.crawl.rows import FORMAT, UrlRow
from lycosa.model import Response, Timings
from lycosa.web.headers import Headers
from lycosa.web.scope import make_scope
from lycosa.web.traps import Patterns, TrapRules
from lycosa.web.url import Normaliser, cut

LINKS = '<a href="/x">x</a><a href="/y" rel="nofollow">y</a><a href="http://b/">b</a><a href="/p.png">p</a>'


class Desk:
    """An ingest with a store in memory and WARC files in a scratch directory."""

    def __init__(self, directory: Path) -> None:
        self.store = MemoryStore()
        self.scope = make_scope("host", ["http://a/"])
        judges = Judges("Lycosa", Normaliser(), self.scope, TrapRules(), Patterns(), 2026, set)
        self.ingest = Ingest(judges, Claims(self.store), WarcBodies(directory, "t", {"software": "t"}))

    def take(self, url: str, body: str, *headers: tuple[str, str], status: int = 200, depth: int = 1) -> Effect:
        fields = Headers([("Content-Type", "text/html; charset=utf-8"), *headers])
        head, ask = b"HTTP/1.1 200 OK\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
        data = body.encode()
        response = Response(url, status, "OK", "1.1", fields, ask, head, data, data, "", "192.0.2.1", 1.0, Timings())
        row = UrlRow(FORMAT, url, "", "queued", depth, 1, 0.0)
        lease = Lease("a", url, "page", "http://a", cut(url).key(), 0.0, row)
        outcome = judge(response, False)
        read = self.ingest.read(row, response) if isinstance(outcome, Fetched) else None
        effect = self.ingest.effect(lease, outcome, read, 10.0)
        self.store.write(effect.changes)
        return effect


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def row_of(effect: Effect) -> UrlRow:
    assert effect.row is not None
    return effect.row


def test_a_page_is_kept_and_its_links_in_scope_are_followed(desk: Desk) -> None:
    effect = desk.take("http://a/1", LINKS)
    assert [candidate.url for candidate in effect.found] == ["http://a/x"]
    assert row_of(effect).warc_file
    assert effect.counts["refused:scope.host"] == effect.counts["refused:scope.media"] == 1


def test_the_links_that_are_kept_of_a_page_are_bounded_by_what_their_addresses_become(desk: Desk) -> None:
    letters = "漢" * 8_000  # nine characters each, once they are escaped
    effect = desk.take("http://a/1", "".join(f"<a href='/{number}{letters}'>x</a>" for number in range(100)))
    assert 40 < len(effect.links) < 60
    assert sum(len(link[0]) for link in effect.links) <= 4_000_000


def test_noarchive_keeps_the_body_out_of_the_store_and_nofollow_the_links_out_of_the_queue(desk: Desk) -> None:
    kept_out = desk.take("http://a/1", f'<meta name="robots" content="noarchive">{LINKS}')
    assert row_of(kept_out).warc_file == ""
    assert [candidate.url for candidate in kept_out.found] == ["http://a/x"]
    unfollowed = desk.take("http://a/2", LINKS, ("X-Robots-Tag", "lycosa: nofollow"))
    assert row_of(unfollowed).warc_file
    assert not unfollowed.found


def test_the_same_body_elsewhere_is_an_alias_and_nearly_the_same_text_is_near(desk: Desk) -> None:
    words = " ".join(f"word{number}" for number in range(400))
    desk.take("http://a/1", f"<p>{words}</p>")
    assert row_of(desk.take("http://a/2", f"<p>{words}</p>")).alias_of == "http://a/1"
    near = row_of(desk.take("http://a/3", f"<p>{words} and</p>"))
    assert near.alias_of == ""
    assert near.near_of == cut("http://a/1").key().hex()


def test_short_texts_are_never_near_copies(desk: Desk) -> None:
    desk.take("http://a/1", "<p>Page not found here</p>")
    assert row_of(desk.take("http://a/2", "<p>Page  not found here</p>")).near_of == ""


def test_a_failure_is_tried_three_times_and_then_parked(desk: Desk) -> None:
    row = UrlRow(FORMAT, "http://a/1", "", "queued", 1, 1, 0.0)
    lease = Lease("a", "http://a/1", "page", "http://a", cut("http://a/1").key(), 0.0, row)
    waits = [desk.ingest.effect(lease, Failed("timeout.total"), None, 100.0).retry_at for _ in range(3)]
    assert waits == [110.0, 120.0, None]
    assert row.state == "parked"


def test_the_sixth_redirect_in_a_row_is_not_followed(desk: Desk) -> None:
    effect = desk.take("http://a/1", "", ("Location", "/2"), status=302)
    assert [(candidate.url, candidate.hops) for candidate in effect.found] == [("http://a/2", 1)]
    row = UrlRow(FORMAT, "http://a/9", "", "queued", 1, 1, 0.0, hops=5)
    lease = Lease("a", "http://a/9", "page", "http://a", cut("http://a/9").key(), 0.0, row)
    fields = Headers([("Location", "/10")])
    moved = Response("http://a/9", 302, "", "1.1", fields, b"", b"", b"", b"", "", "", 1.0, Timings())
    assert not desk.ingest.effect(lease, judge(moved, False), None, 10.0).found
    assert row.reason == "redirect.too_many"


def test_where_a_seed_redirects_to_belongs_to_the_crawl_from_then_on(desk: Desk) -> None:
    moved = desk.take("http://a/", "", ("Location", "https://www.a/"), status=301, depth=0)
    assert [candidate.url for candidate in moved.found] == ["https://www.a/"]
    after = desk.take("https://www.a/", '<a href="/x">x</a>', depth=0)
    assert [candidate.url for candidate in after.found] == ["https://www.a/x"]
    elsewhere = desk.take("http://a/1", "", ("Location", "https://b/"), status=301)
    assert (list(elsewhere.found), row_of(elsewhere).reason) == ([], "scope.host")


def test_a_link_that_was_out_of_scope_is_in_it_once_its_host_has_joined(desk: Desk) -> None:
    for page in (1, 2):
        effect = desk.take(f"http://a/{page}", f'{page}<a href="http://b/">b</a>')
        assert (list(effect.found), effect.counts["refused:scope.host"]) == ([], 1)
    desk.take("http://a/", "", ("Location", "http://b/"), status=301, depth=0)
    assert [candidate.url for candidate in desk.take("http://a/3", '3<a href="http://b/">b</a>').found] == ["http://b/"]


def test_a_link_out_of_scope_is_too_deep_where_all_are(desk: Desk) -> None:
    desk.scope.max_depth = 2
    for depth, why in ((1, "scope.host"), (2, "scope.depth"), (1, "scope.host")):
        effect = desk.take(f"http://a/{depth}", f'{depth}<a href="http://b/">b</a>', depth=depth)
        assert effect.counts[f"refused:{why}"] == 1
