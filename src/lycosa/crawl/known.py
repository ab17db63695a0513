"""Which of the URLs that are offered have no row yet.

The filters of `Seen` answer for most that are new. For the others there are notes: to look at one costs a quarter of
what reading a row does, and less where there are many. Whatever the notes do not know the rows decide, so without notes
this is only slower, and URLs are noted as they are met again. A URL is noted once its row is written, never before.

Two URLs may share a key, once in many crawls. The second has the next free one.
"""

from __future__ import annotations

from collections.abc import Sequence

from lycosa.crawl.lease import Candidate
from lycosa.crawl.rows import UrlRow, is_row_of, unpack
from lycosa.crawl.seen import EPOCH, Seen
from lycosa.ports import Notes, Store

Entry = tuple[Candidate, str]  # with its host
Offered = dict[bytes, Entry]  # by key


class Known:
    def __init__(self, store: Store, seen: Seen, notes: Notes | None) -> None:
        self._store = store
        self._seen = seen
        self._notes = notes
        self._to_note: list[str] = []
        if notes is not None:
            store.write([("meta", EPOCH, notes.open(seen.total, store.get("meta", EPOCH) or b""))])

    def note(self, url: str) -> None:
        """The row of a page is there, or in the batch that is to be written."""
        self._to_note.append(url)

    def written(self) -> None:
        """The batch was written."""
        if self._notes is not None and self._to_note:
            self._notes.add(self._to_note, self._seen.newest, self._seen.total)
        self._to_note = []

    def without_row(self, offered: Offered, crowded: Sequence[tuple[bytes, Entry]]) -> Offered:
        """Those that are new, by the keys of the rows they are to have. Those `crowded` share the key of another."""
        self._to_note = []  # of a batch that could not be written, if there is anything
        unsure = self._not_noted(offered)
        for key, found in zip(unsure, self._store.get_many("urls", unsure), strict=True):
            if found is None:
                continue
            entry = offered.pop(key)
            if not entry[0].purpose and is_row_of(entry[0].url, found):
                self.note(entry[0].url)
            else:
                self._place(offered, key, entry)
        for key, entry in crowded:
            self._place(offered, key, entry)
        return offered

    def _not_noted(self, offered: Offered) -> list[bytes]:
        """The keys that are perhaps known. What is known for certain is taken from those offered."""
        keys = list(offered)
        found_in = self._seen.places(keys)
        perhaps = [key for key, places in zip(keys, found_in, strict=True) if places]
        if self._notes is None or not perhaps:
            return perhaps
        names = [name_of(offered[key][0]) for key in perhaps]
        noted = self._notes.find(names, [places for places in found_in if places])
        for key, is_noted in zip(perhaps, noted, strict=True):
            if is_noted:
                del offered[key]
        return [key for key, is_noted in zip(perhaps, noted, strict=True) if not is_noted]

    def _place(self, offered: Offered, key: bytes, entry: Entry) -> None:
        """Put a URL to the next free key, unless it has a row already."""
        wanted = entry[0]
        while (stored := self._store.get("urls", key)) is not None or key in offered:
            other = unpack(stored, UrlRow) if stored is not None else offered[key][0]
            if other.url == wanted.url and other.purpose == wanted.purpose:
                if not (isinstance(other, UrlRow) and other.kind == "robots" and other.state != "queued"):
                    return
                break  # rules that lie elsewhere are asked for every day
            key = _next_key(key)
        offered[key] = entry


def _next_key(key: bytes) -> bytes:
    return key[:8] + ((int.from_bytes(key[8:], "big") + 1) & (1 << 64) - 1).to_bytes(8, "big")


def name_of(candidate: Candidate) -> str:
    """A URL may be wanted as a page, and as the rules of an origin."""
    return candidate.url if not candidate.purpose else f"{candidate.url}\n{candidate.purpose}"
