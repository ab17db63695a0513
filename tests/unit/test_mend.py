"""What a power cut took with it is fetched again, and nothing else is."""

from __future__ import annotations

from lycosa.backends.memory import MemoryStore
from lycosa.crawl.budget import PageBudget
from lycosa.crawl.claims import Claim, Claims
from lycosa.crawl.frontier import Frontier
from lycosa.crawl.mend import Mend
from lycosa.crawl.rows import FORMAT, UrlRow, pack, unpack
from lycosa.crawl.rules import Rules
from lycosa.crawl.seen import Seen
from lycosa.ports import Change
from lycosa.web.url import cut


class Desk:
    def __init__(self) -> None:
        self.store = MemoryStore()
        rules = Rules(self.store, "Lycosa")
        budget = PageBudget(self.store, 1000)
        self.frontier = Frontier(self.store, rules, Seen(self.store), budget, capacity=4, delay_of=lambda _: 1.0)
        self.mend = Mend(self.store, self.frontier, {"w.warc.gz": 1000}.__getitem__)

    def done(self, url: str, offset: int, fetched_at: float = 10.0) -> None:
        row = UrlRow(FORMAT, url, "", "done", 1, 1, 0.0)
        row.outcome, row.status, row.fetched_at, row.content_hash = "fetched", 200, fetched_at, url.encode()
        row.warc_file, row.warc_offset, row.warc_length = "w.warc.gz", offset, 100
        claim = Claim(1, url, "", "", "", "w.warc.gz", offset, 100)
        changes: list[Change] = [("urls", cut(url).key(), pack(row))]
        self.store.write([*changes, Claims(self.store).claim(row.content_hash, claim)])

    def state(self, url: str) -> str:
        stored = self.store.get("urls", cut(url).key())
        assert stored is not None
        return unpack(stored, UrlRow).state

    def has_claim(self, url: str) -> bool:
        return Claims(self.store).first_with(url.encode()) is not None


def test_a_page_whose_body_lies_past_the_end_of_its_file_is_queued_again_and_its_claim_taken_back() -> None:
    desk = Desk()
    desk.done("http://a/kept", 900)
    desk.done("http://a/lost", 901)
    assert desk.mend.urls(["http://a/kept", "http://a/lost", "http://a/unknown"]) == 1
    assert (desk.state("http://a/kept"), desk.has_claim("http://a/kept")) == ("done", True)
    assert (desk.state("http://a/lost"), desk.has_claim("http://a/lost")) == ("queued", False)
    assert desk.frontier.stats["queued"] == 1
    lease = desk.frontier.lease(100.0)
    assert lease is not None  # for the rules first, as always
    assert lease.url == "http://a/robots.txt"


def test_when_rows_are_lost_too_all_that_was_settled_since_the_last_sync_is_fetched_again() -> None:
    desk = Desk()
    desk.done("http://a/before", 100, fetched_at=1000.0)
    desk.done("http://a/after", 200, fetched_at=5000.0)
    assert desk.mend.all(synced_at=5000.0) == 1
    assert desk.state("http://a/before") == "done"
    assert desk.state("http://a/after") == "queued"
