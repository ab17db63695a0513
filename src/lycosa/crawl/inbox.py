"""What other shards have for us, written in one batch before it is acknowledged. Taking it twice does no harm."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice

from lycosa.crawl.claims import Claim, Claims, read_claim
from lycosa.crawl.lease import JOINED, Candidate, Effect
from lycosa.crawl.messages import Parcel
from lycosa.crawl.outbox import own_parcels
from lycosa.model import Reply
from lycosa.ports import Change, Store
from lycosa.web.url import host_of

_OWN_AT_ONCE = 100  # parcels

Offer = Callable[[Iterable[Candidate], float, Iterable[Change]], int]
JudgeRules = Callable[[str, Reply, float], Effect]


class Inbox:
    def __init__(self, store: Store, offer: Offer, judge_rules: JudgeRules, join: Callable[[str], None]) -> None:
        self._store = store
        self._claims = Claims(store)
        self._offer = offer
        self._judge_rules = judge_rules
        self._join = join
        self.received = 0  # parcels

    def take(self, parcels: Iterable[Parcel], now: float, noted: Iterable[Change] = ()) -> list[bytes]:
        """Write parcels, with what else is `noted`; the hashes of the bodies that are claimed now."""
        urls: list[Candidate] = []
        changes: list[Change] = [*noted]
        claimed: list[bytes] = []
        for parcel in parcels:
            self.received += 1
            for change in parcel.rows:
                self._take_row(change, changes, claimed)
            for lost in parcel.lost:
                claim = self._claim_on(lost.content_hash, changes)
                if claim is not None and (claim.file, claim.offset) == (lost.file, lost.offset):
                    changes.append(("content", lost.content_hash, None))
            for answer in parcel.answers:
                effect = self._judge_rules(answer.origin, answer.reply(), now)
                changes += effect.changes
                urls += effect.found
            for candidate in parcel.urls:
                if candidate.depth == 0 and candidate.hops and candidate.kind == "page":
                    self._join(host_of(candidate.url))  # where a seed leads belongs to the scope
            urls += parcel.urls
        self._offer(urls, now, changes)
        return claimed

    def take_own(self, own: int, now: float) -> None:
        """Take in what a new division of the hosts has left for this shard, addressed to itself."""
        while some := list(islice(own_parcels(self._store, own), _OWN_AT_ONCE)):
            for key, parcel in some:
                self.take([parcel], now, [("outbox", key, None)])

    def _claim_on(self, content_hash: bytes, changes: list[Change]) -> Claim | None:
        """Who was first with a body, as it will be after these changes."""
        for family, key, value in reversed(changes):
            if family == "content" and key == content_hash:
                return read_claim(value)
        return self._claims.first_with(content_hash)

    def _take_row(self, change: Change, changes: list[Change], claimed: list[bytes]) -> None:
        family, key, value = change
        if family == "meta" and key.startswith(JOINED):
            self._join(key.removeprefix(JOINED).decode())
            changes.append(change)
        elif family == "content" and value is not None:
            if key not in claimed and self._store.get("content", key) is None:  # the first claim stays
                changes.append(change)
            claimed.append(key)
