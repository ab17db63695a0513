"""What other shards have for us: taken once, in their order, and acknowledged only when it is written."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import pytest

from lycosa.backends.memory import MemoryStore
from lycosa.crawl.claims import Claim, Claims
from lycosa.crawl.inbox import Inbox
from lycosa.crawl.lease import Candidate, Effect
from lycosa.crawl.messages import Lost, Parcel
from lycosa.crawl.outbox import own_parcels
from lycosa.model import Reply
from lycosa.ports import Change

HASH = b"h" * 32
CLAIM = Claim(1, "http://a/", "2026-01-31T00:00:00Z", "sha1:X", "", "a.warc.gz", 700, 100)
LOST = Lost(HASH, CLAIM.file, CLAIM.offset)


class Desk:
    """An inbox, and what it offers to the frontier."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.urls: list[str] = []
        self.inbox = Inbox(self.store, self._offer, self._judge, lambda host: None)

    def _offer(self, candidates: Iterable[Candidate], now: float, noted: Iterable[Change] = ()) -> int:
        self.urls += [candidate.url for candidate in candidates]
        self.store.write(noted)
        return 0

    @staticmethod
    def _judge(origin: str, reply: Reply, now: float) -> Effect:
        return Effect()


@pytest.mark.parametrize("together", [True, False])
def test_a_claim_on_a_body_that_was_lost_does_not_stay(together: bool) -> None:
    desk = Desk()
    claims = Claims(desk.store)
    parcels = [Parcel(rows=[claims.claim(HASH, CLAIM)]), Parcel(lost=[LOST])]
    for some in [parcels] if together else [[each] for each in parcels]:
        desk.inbox.take(some, 1.0)
    assert claims.first_with(HASH) is None


def test_a_claim_on_the_same_body_elsewhere_stays() -> None:
    desk = Desk()
    claims = Claims(desk.store)
    other = msgspec.structs.replace(CLAIM, offset=9_000)
    desk.inbox.take([Parcel(rows=[claims.claim(HASH, other)]), Parcel(lost=[LOST])], 1.0)
    assert claims.first_with(HASH) == other


def test_what_a_division_has_left_for_us_is_taken_in_bit_by_bit_and_then_gone() -> None:
    desk = Desk()
    urls = [f"http://a/{number}" for number in range(250)]
    for number, url in enumerate(urls, 1):
        key = (0).to_bytes(2, "big") + number.to_bytes(8, "big")
        desk.store.write([("outbox", key, msgspec.msgpack.encode(Parcel([Candidate(url, 1)])))])
    desk.inbox.take_own(0, 1.0)
    assert desk.urls == urls
    assert list(own_parcels(desk.store, 0)) == []
