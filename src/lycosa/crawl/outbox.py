"""What other shards are to have: on disk with the settlement it comes from, until they have written it.

A settlement puts at most one parcel for each shard into its own batch, so it never waits for anybody. Parcels are
numbered for each receiver and sent in that order, some at a time; those that were acknowledged are deleted, and after
a connection was lost those that were not are sent again. So each arrives at least once, and arriving twice does no
harm: URLs pass the receiver's set of known ones, and the first claim stays.

Parcels stay for a minute after they have arrived. So whoever copies the stores of a running crawl, one after the other,
has every parcel with its sender or with its receiver.

A URL that was sent lately is not sent again: what thousands of pages link to would be most of the traffic.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence

import msgspec

from lycosa.crawl.lease import JOINED, Candidate, RobotsAnswer
from lycosa.crawl.messages import Links, Lost, Parcel
from lycosa.kit.keys import host_key, owner_of, ranges
from lycosa.ports import Change, Store
from lycosa.web.url import host_of

Away = tuple[bytes, Candidate]  # a URL of another shard, with its key
_KEPT_S = 60.0  # how long a parcel that has arrived is kept: see above
_DROPPED_AT_ONCE = 100
_IN_MEMORY, _IN_MEMORY_BYTES = 2_000, 8 << 20  # parcels of a receiver; the others are read again from disk
_BATCH_BYTES = 256 << 10
_BATCH_PARCELS = 500
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Parcel).decode


def read_parcel(data: bytes | msgspec.Raw) -> Parcel:
    return _decode(data)


class _Pile:
    """The parcels for one shard."""

    def __init__(self, store: Store, shard: int) -> None:
        self._store = store
        self._prefix = shard.to_bytes(2, "big")
        first = next(self._on_disk(0), None)
        self.acked = first[0] - 1 if first is not None else 0
        self.last = max((number for number, _ in self._on_disk(self.acked)), default=self.acked)  # the newest
        self.sent = self._dropped = self._droppable = self.acked
        self._arrived: deque[tuple[float, int]] = deque()  # when, and up to which number
        self._fresh: deque[tuple[int, bytes]] = deque()  # those after `sent`; the last of them may be only on disk
        self._fresh_bytes = 0

    def _on_disk(self, after: int) -> Iterator[tuple[int, bytes]]:
        start, end = self._key(after + 1), self._prefix + b"\xff" * 9
        return ((int.from_bytes(key[2:], "big"), value) for key, value in self._store.scan("outbox", start, end))

    def _key(self, number: int) -> bytes:
        return self._prefix + number.to_bytes(8, "big")

    def add(self, parcel: Parcel) -> Change:
        self.last += 1
        value = _encode(parcel)
        if self.last - self.sent - 1 == len(self._fresh) and self._has_room:
            self._keep(self.last, value)
        return ("outbox", self._key(self.last), value)

    @property
    def _has_room(self) -> bool:
        return len(self._fresh) < _IN_MEMORY and self._fresh_bytes < _IN_MEMORY_BYTES

    def _keep(self, number: int, value: bytes) -> None:
        self._fresh.append((number, value))
        self._fresh_bytes += len(value)

    def _read(self) -> None:
        """Bring what follows `sent` into memory, as much as there is room for."""
        self._fresh.clear()
        self._fresh_bytes = 0
        for number, value in self._on_disk(self.sent):
            self._keep(number, value)
            if not self._has_room:
                break

    def take(self) -> Links | None:
        """The next parcels to send, if there are any."""
        if self.sent >= self.last:
            return None
        if not self._fresh or self._fresh[0][0] != self.sent + 1:
            self._read()
            if not self._fresh:  # in the batch that is about to be written
                return None
        values: list[msgspec.Raw] = []
        size = 0
        while self._fresh and size < _BATCH_BYTES and len(values) < _BATCH_PARCELS:
            self.sent, value = self._fresh.popleft()
            self._fresh_bytes -= len(value)
            values.append(msgspec.Raw(value))
            size += len(value)
        return Links(self.sent, values)

    def acknowledge(self, last: int, now: float) -> list[Change]:
        """Note what has arrived; the changes delete what has for a while."""
        self.acked = max(self.acked, min(last, self.sent))
        self._arrived.append((now, self.acked))
        while self._arrived and self._arrived[0][0] <= now - _KEPT_S:
            _, self._droppable = self._arrived.popleft()
        return self._drop() if self._droppable - self._dropped >= _DROPPED_AT_ONCE else []

    def tidy(self) -> list[Change]:
        """The changes that delete all that has arrived."""
        self._droppable = self.acked
        self._arrived.clear()
        return self._drop()

    def _drop(self) -> list[Change]:
        done = range(self._dropped + 1, self._droppable + 1)
        self._dropped = self._droppable
        return [("outbox", self._key(number), None) for number in done]

    def send_again(self) -> None:
        self.sent = self.acked
        self._fresh.clear()
        self._fresh_bytes = 0


class Outbox:
    """Of shard `own` among so many `shards`."""

    def __init__(self, store: Store, own: int, shards: int) -> None:
        self._store = store
        self._own = own
        self._shards = shards
        self._piles = {shard: _Pile(store, shard) for shard in range(shards) if shard != own}
        first, end = ranges(shards)[own].bounds()
        self._first, self._end = first, end or b"\xff" * 17
        self.on_claim: Callable[[bytes], None] = lambda _: None  # told of claims of our own range, before they hold

    def owns(self, host: str) -> bool:
        return owner_of(host_key(host), self._shards) == self._own

    def owner_of_content(self, content_hash: bytes) -> int:
        return owner_of(int.from_bytes(content_hash[:8], "big"), self._shards)

    # -- putting in ----------------------------------------------------------------------------------------------------

    def is_own(self, key: bytes) -> bool:
        """Does a URL's key lie in our range?"""
        return self._first <= key < self._end

    def route(
        self,
        away: Sequence[Away],
        changes: Sequence[Change],
        answers: Sequence[RobotsAnswer] = (),
        lost: Sequence[Lost] = (),
    ) -> list[Change]:
        """The changes of a settlement that stay here, and as parcels what it has for others."""
        parcels: dict[int, Parcel] = {}
        for key, candidate in away:
            owner = int.from_bytes(key[:8], "big") * self._shards >> 64
            self._parcel(parcels, owner).urls.append(candidate)
        kept = self._keep_own(changes, parcels)
        for answer in answers:
            self._parcel(parcels, self._owner(host_of(f"{answer.origin}/"))).answers.append(answer)
        for each in lost:
            if self.owner_of_content(each.content_hash) != self._own:
                self._parcel(parcels, self.owner_of_content(each.content_hash)).lost.append(each)
        kept += [self._piles[shard].add(parcel) for shard, parcel in parcels.items()]
        return kept

    def _keep_own(self, changes: Sequence[Change], parcels: dict[int, Parcel]) -> list[Change]:
        kept: list[Change] = []
        for change in changes:
            family, key, _ = change
            if family == "content" and self.owner_of_content(key) != self._own:
                self._parcel(parcels, self.owner_of_content(key)).rows.append(change)
                continue
            kept.append(change)
            if family == "content":
                self.on_claim(key)
            elif family == "meta" and key.startswith(JOINED):
                for shard in self._piles:  # a host that joined the scope is in scope wherever it is linked to
                    self._parcel(parcels, shard).rows.append(change)
        return kept

    def _owner(self, host: str) -> int:
        return owner_of(host_key(host), self._shards)

    @staticmethod
    def _parcel(parcels: dict[int, Parcel], shard: int) -> Parcel:
        parcel = parcels.get(shard)
        if parcel is None:
            parcel = parcels[shard] = Parcel([], [], [], [])
        return parcel

    # -- taking out ----------------------------------------------------------------------------------------------------

    def take(self, shard: int) -> Links | None:
        return self._piles[shard].take()

    def acknowledge(self, shard: int, last: int, now: float) -> None:
        changes = self._piles[shard].acknowledge(last, now)
        if changes:
            self._store.write(changes)

    def tidy(self) -> None:
        """At the end: delete all that has arrived."""
        self._store.write([change for pile in self._piles.values() for change in pile.tidy()])

    def send_again(self, shard: int) -> None:
        """The connection was lost: what was not acknowledged may not have arrived."""
        self._piles[shard].send_again()

    def waits_for(self, shard: int) -> int:
        """How many parcels were sent and not acknowledged."""
        pile = self._piles[shard]
        return pile.sent - pile.acked

    @property
    def unwritten(self) -> int:
        """How many parcels others have not written yet, as far as is known here."""
        return sum(pile.last - pile.acked for pile in self._piles.values())

    @property
    def posted(self) -> int:
        return sum(pile.last for pile in self._piles.values())


def rewritten(store: Store, change: Callable[[Parcel], Parcel]) -> list[Change]:
    """The changes that make every parcel in a store's outbox, arrived or not, what `change` makes of it."""
    changes: list[Change] = []
    for key, value in store.scan("outbox"):
        before = _decode(value)
        after = change(before)
        if after != before:
            changes.append(("outbox", key, _encode(after)))
    return changes


def own_parcels(store: Store, own: int) -> Iterator[tuple[bytes, Parcel]]:
    """Parcels that are addressed to this shard itself: a change of the number of shards has left them."""
    prefix = own.to_bytes(2, "big")
    for key, value in store.scan("outbox", prefix, prefix + b"\xff" * 9):
        yield key, _decode(value)
