"""Forgetting a URL or a host: what changes in the store, and that it does not come back.

The row of a forgotten URL stays as a tombstone with nothing but the URL: the frontier takes no URL that has a row, so
it is never fetched again. A host is also kept in `meta` under `forgotten`, from which a crawl makes a rule, for URLs of
it that are not known yet. Files come before and after this: what still needs a forgotten body must have it elsewhere
when the batch is written, and the batch says which bytes are then to be erased (`Intention`), so that whoever comes
after a crash can do that without looking for them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import msgspec

from lycosa.crawl.claims import Claim, Claims, read_claim
from lycosa.crawl.messages import Parcel
from lycosa.crawl.rows import FORMAT, HostRow, UrlRow, pack, unpack
from lycosa.kit.keys import KeyRange, host_key
from lycosa.ports import Change, Store
from lycosa.web.url import cut, host_of

FORGOTTEN = "forgotten"
HOSTS = b"forgotten"  # in `meta`: the hosts, one a line
_INTENTION = b"forgetting"  # in `meta`: what is under way


class Target(msgspec.Struct, frozen=True):
    """What is to be forgotten: a URL in its normal form, or a whole host."""

    url: str = ""
    host: str = ""

    def covers(self, url: str) -> bool:
        """`url` is in its normal form; an empty one is nobody's."""
        return bool(url) and (host_of(url) == self.host if self.host else url == self.url)

    @property
    def name(self) -> str:
        return self.host or self.url


class Span(msgspec.Struct, frozen=True, array_like=True):
    """The bytes of one visit in a WARC file: where it begins, and how long its three records are."""

    file: str
    start: int
    lengths: tuple[int, int, int]


class Moved(msgspec.Struct, frozen=True, array_like=True):
    """A page that keeps its body although the first to have it is forgotten: where its record is now."""

    url: str
    old_file: str
    old_offset: int
    file: str
    offset: int
    length: int
    alias_of: str  # whose body it has; empty if it is the first itself


class Intention(msgspec.Struct, frozen=True):
    """What remains to be done in files once the store has been changed."""

    target: Target
    spans: list[Span]
    moved: list[Moved]


def unfinished(store: Store) -> Intention | None:
    """What an earlier run did not come to the end of."""
    stored = store.get("meta", _INTENTION)
    return msgspec.msgpack.decode(stored, type=Intention) if stored else None


def finished() -> Change:
    return ("meta", _INTENTION, None)


def blocked_hosts(store: Store) -> list[str]:
    return (store.get("meta", HOSTS) or b"").decode().split()


def without(target: Target, parcel: Parcel, is_doomed: Callable[[Claim], bool]) -> Parcel:
    """What is on its way between shards, without what is forgotten and claims on bodies that go with it."""

    def is_kept(change: Change) -> bool:
        claim = read_claim(change[2]) if change[0] == "content" else None
        return claim is None or not (is_doomed(claim) or target.covers(claim.page or claim.url))

    return Parcel(
        [each for each in parcel.urls if not target.covers(each.url)],
        [each for each in parcel.rows if is_kept(each)],
        [each for each in parcel.answers if not target.host or host_of(f"{each.origin}/") != target.host],
        parcel.lost,
    )


class Forgetting:
    """The changes of the store, to be written in one batch."""

    def __init__(self, store: Store, target: Target) -> None:
        self._store = store
        self._target = target
        self._claims = Claims(store)
        self.changes: list[Change] = []
        self.keys: set[bytes] = set()
        self.unmet: list[bytes] = []  # keys that had no row: the filters of their store are to know them first
        self._hosts: dict[bytes, HostRow] = {}
        stats = store.get("meta", b"stats")
        self._stats = Counter(msgspec.msgpack.decode(stats, type=dict[str, int]) if stats else {})

    def rows(self) -> Iterator[tuple[bytes, UrlRow]]:
        """The rows of what is to be forgotten."""
        target = self._target
        key = cut(target.url).key() if target.url else b""
        start, end = (key, None) if key else KeyRange(host_key(target.host), host_key(target.host) + 1).bounds()
        for at, value in self._store.scan("urls", start, end):
            row = unpack(value, UrlRow)
            if target.covers(row.url):
                yield at, row
            elif key:
                return  # a URL is at its key, or right behind those that share it

    def drop_rows(self) -> None:
        """Leave tombstones."""
        for key, row in self.rows():
            self.keys.add(key)
            if row.outcome != FORGOTTEN:
                self._unqueue(key, row)
            grave = UrlRow(FORMAT, row.url, "", "dropped", row.depth, row.lane, 0.0, kind=row.kind, purpose=row.purpose)
            grave.outcome = grave.reason = FORGOTTEN
            self.changes.append(("urls", key, pack(grave)))
        if self._target.url and not self.keys:  # never met: then it is to stay so
            key = cut(self._target.url).key()
            if self._store.get("urls", key) is None:
                self.unmet.append(key)
                grave = UrlRow(FORMAT, self._target.url, "", "dropped", 0, 0, 0.0)
                grave.outcome = grave.reason = FORGOTTEN
                self.changes.append(("urls", key, pack(grave)))
        if self._target.host:
            hosts = dict.fromkeys([*blocked_hosts(self._store), self._target.host])
            self.changes.append(("meta", HOSTS, "\n".join(hosts).encode()))
            for scheme in ("http", "https"):
                origin = f"{scheme}://{self._target.host}"
                for robots_key, _ in self._store.scan("robots", origin.encode(), f"{origin};".encode()):
                    if host_of(f"{robots_key.decode()}/") == self._target.host:
                        self.changes.append(("robots", robots_key, None))
        self.changes += [("hosts", key, pack(host)) for key, host in self._hosts.items()]
        self.changes.append(("meta", b"stats", msgspec.msgpack.encode(dict(self._stats))))

    def _unqueue(self, key: bytes, row: UrlRow) -> None:
        if row.queue_key and row.state == "queued":
            self.changes.append(("queue", row.queue_key, None))
            self._stats["queued"] -= 1
            host_at = key[:8]
            stored = self._store.get("hosts", host_at)
            host = self._hosts.get(host_at) or (unpack(stored, HostRow) if stored else None)
            if host is not None:
                self._hosts[host_at] = host
                host.queued -= 1
        elif row.state == "parked":
            self._stats["parked"] -= 1
        due = int(row.next_at * 1000).to_bytes(8, "big") + key
        if row.next_at and self._store.get("due", due) is not None:
            self.changes.append(("due", due, None))
            self._stats["delayed"] -= 1

    def drop_fingerprints(self, entry_bytes: int = 24) -> None:
        """Take the pages out of the buckets in which near copies are looked for."""
        if not self.keys:
            return
        for name, bucket in self._store.scan("near"):
            entries = [bucket[at : at + entry_bytes] for at in range(0, len(bucket), entry_bytes)]
            kept = [entry for entry in entries if entry[8:] not in self.keys]
            if len(kept) < len(entries):
                self.changes.append(("near", name, b"".join(kept) or None))

    def drop_claims(self, heirs: dict[tuple[str, int], Claim | None]) -> None:
        """The bodies at these places are to go, or belong to another URL now.

        They are found by their place: the hash of a body that was cut off while it was decoded cannot be made again.
        """
        for content_hash, claim in self._claims.all() if heirs else ():
            place = (claim.file, claim.offset)
            if place in heirs:
                heir = heirs[place]
                change = self._claims.claim(content_hash, heir) if heir is not None else ("content", content_hash, None)
                self.changes.append(change)

    def point_anew(self, moved: list[Moved], heirs: dict[str, str]) -> None:
        """Rows of others: where their records are now, and whose copies they are. `heirs` are by forgotten URL."""
        places = {(each.old_file, each.old_offset): each for each in moved}
        for key, value in self._store.scan("urls"):
            row = unpack(value, UrlRow)
            if key in self.keys or not (row.warc_file or row.alias_of):
                continue
            now = places.get((row.warc_file, row.warc_offset))
            was_alias = bool(row.alias_of) and self._target.covers(row.alias_of)
            if now is None and not was_alias:
                continue
            if now is not None:
                row.warc_file, row.warc_offset, row.warc_length = now.file, now.offset, now.length
            if was_alias:
                heir = now.alias_of if now is not None else heirs.get(row.alias_of, "")
                row.alias_of = "" if heir == row.url else heir
            self.changes.append(("urls", key, pack(row)))

    def write(self, intention: Intention, sync: Callable[[], None]) -> None:
        self._store.write([*self.changes, ("meta", _INTENTION, msgspec.msgpack.encode(intention))])
        sync()
