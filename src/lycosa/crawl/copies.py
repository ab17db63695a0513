"""Copies across shards: the shard whose range holds a body's hash knows who was first with it, and likewise for bands.

Asking never stalls a visit: whoever does not answer within a second is not waited for, and then the page counts as the
first of its kind. It is stored, perhaps twice. A body is *pending* from the first question for it until its claim
arrives with the place where it lies; meanwhile others who ask for it wait a little. They refer to it only if the claim
has come: a record that refers to another is never written before that one is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from lycosa.crawl.claims import Claims, names_of, read_claim
from lycosa.crawl.ingest import Known, Read
from lycosa.crawl.lease import Lease
from lycosa.crawl.messages import FirstWith, Near, UrlAt
from lycosa.kit.keys import owner_of, text_key
from lycosa.ports import Exchange, PeerAway, Store

PATIENCE_S = 1.0
_MOST_PENDING = 100_000
_Nearest = tuple[int, bytes] | None


class Copies:
    """Asks the owners, and answers for what is ours."""

    def __init__(self, store: Store, exchange: Exchange, own: int, shards: int) -> None:
        self._store = store
        self._exchange = exchange
        self._own = own
        self._shards = shards
        self._claims = Claims(store)
        self._pending: dict[bytes, _Pending] = {}
        self._unwritten: dict[bytes, bytes] = {}  # bands: what is added in one turn of the event loop is one batch
        self.failed: Callable[[Exception], None] = _raise  # told if that cannot be written

    # -- asking --------------------------------------------------------------------------------------------------------

    async def know(self, lease: Lease, read: Read) -> None:
        """Fill in what is known of a page's copies."""
        row, known = lease.row, Known()
        assert row is not None
        read.known = known
        known.first = await self._first_with(read.content_hash, not read.directives.noarchive)
        if known.first is not None and (known.first.page or known.first.url) != row.url:
            return  # a copy: its text was compared before
        fingerprint = read.fingerprint() if read.page is not None else None
        if fingerprint is None:
            return
        known.near = await self._near(fingerprint, lease.key)
        if known.near is not None:
            told = await self._url_at(known.near)
            known.near_url = told[0] if told is not None else None

    async def _first_with(self, content_hash: bytes, keeps: bool) -> Any:
        owner = owner_of(int.from_bytes(content_hash[:8], "big"), self._shards)
        if owner == self._own:
            waiting = self.pending(content_hash)
            if waiting is not None:
                await waiting.wait()
            first = self._claims.first_with(content_hash)
            if first is None:
                self._begin(content_hash, keeps, owner)
            return first
        return read_claim(await _soon(self._ask(owner, FirstWith(content_hash, keeps))))

    async def _near(self, fingerprint: int, key: bytes) -> bytes | None:
        """The key of the nearest page."""
        parts: dict[int, list[bytes]] = {}
        for name in names_of(fingerprint):
            parts.setdefault(owner_of(text_key(name), self._shards), []).append(name)
        asked = [
            self._ask(owner, Near(fingerprint, key, names)) for owner, names in parts.items() if owner != self._own
        ]
        best = self._near_here(parts[self._own], fingerprint, key) if self._own in parts else None
        for answer in asked:
            told = await _soon(answer)
            if told is not None and (best is None or told[0] < best[0]):
                best = told[0], told[1]
        return best[1] if best is not None else None

    async def _url_at(self, key: bytes) -> Any:
        owner = owner_of(int.from_bytes(key[:8], "big"), self._shards)
        return self.url_at(key) if owner == self._own else await _soon(self._ask(owner, UrlAt(key)))

    def _ask(self, owner: int, message: Any) -> Awaitable[Any]:
        return self._exchange.ask(owner, message, PATIENCE_S)

    # -- answering -----------------------------------------------------------------------------------------------------

    def first_with(self, sender: int, asked: FirstWith, answer: Callable[[bytes | None], None]) -> None:
        """Answer a question of another shard, perhaps a little later."""
        stored = self._store.get("content", asked.content_hash)
        waiting = self.pending(asked.content_hash) if stored is None else None
        if waiting is None:
            if stored is None:
                self._begin(asked.content_hash, asked.keeps, sender)
            answer(stored)
            return
        waiting.tell(lambda: self.first_with(sender, asked, answer))

    def near(self, asked: Near) -> _Nearest:
        """Answer a question of another shard."""
        return self._near_here(asked.bands, asked.fingerprint, asked.key)

    def _near_here(self, names: list[bytes], fingerprint: int, key: bytes) -> _Nearest:
        """The nearest page in some bands of ours, with its distance. From now on this one is in them too."""
        best, changes = self._claims.near_in(names, fingerprint, key, self._unwritten)
        if changes and not self._unwritten:
            asyncio.get_running_loop().call_soon(self.write_bands)
        self._unwritten.update((name, bucket) for _, name, bucket in changes if bucket is not None)
        return best

    def write_bands(self) -> None:
        """Write what was added to bands of ours, if it is not written yet."""
        bands, self._unwritten = self._unwritten, {}
        try:
            if bands:
                self._store.write([("near", name, bucket) for name, bucket in bands.items()])
        except Exception as error:  # nothing to go on with
            self.failed(error)

    def url_at(self, key: bytes) -> tuple[str, bytes] | None:
        row = self._claims.row_at(key)
        return (row.url, row.found_on) if row is not None else None

    def pending(self, content_hash: bytes) -> _Pending | None:
        return self._pending.get(content_hash)

    def settle(self, content_hash: bytes) -> None:
        """The claim is in the store, or will never be: whoever waited may look again."""
        waiting = self._pending.pop(content_hash, None)
        if waiting is not None:
            waiting.end()

    def lost(self, shard: int) -> None:
        """What a shard was about to store when it died is not waited for."""
        for content_hash in [key for key, each in self._pending.items() if each.shard == shard]:
            self.settle(content_hash)

    def _begin(self, content_hash: bytes, keeps: bool, shard: int) -> None:
        if not keeps or len(self._pending) >= _MOST_PENDING or content_hash in self._pending:
            return  # others may wait for the one that is there
        waiting = self._pending[content_hash] = _Pending(shard)
        loop = asyncio.get_running_loop()
        waiting.timer = loop.call_later(PATIENCE_S, self._expire, content_hash, waiting)

    def _expire(self, content_hash: bytes, waiting: _Pending) -> None:
        if self._pending.get(content_hash) is waiting:
            self.settle(content_hash)


class _Pending:
    """A body that one shard is about to store, and who waits to hear of it."""

    def __init__(self, shard: int) -> None:
        self.shard = shard
        self.timer: asyncio.TimerHandle | None = None
        self._told: list[Callable[[], None]] = []

    def tell(self, then: Callable[[], None]) -> None:
        self._told.append(then)

    async def wait(self) -> None:
        ended = asyncio.get_running_loop().create_future()
        self.tell(lambda: None if ended.done() else ended.set_result(None))
        await ended

    def end(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
        told, self._told = self._told, []
        for then in told:
            then()


def _raise(error: Exception) -> None:
    raise error


async def _soon(answer: Awaitable[Any]) -> Any:
    """An answer, or None if it does not come soon: then we go on without it."""
    try:
        return await answer
    except PeerAway:
        return None
