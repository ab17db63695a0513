"""Which of the URLs that are offered have no row yet.

The filters of `Seen` answer for most that are new. For the others there is a note of each URL (family `known`): its key
and four bytes of another hash, which together tell it from all others. To read one of many millions of notes costs two
thirds of what reading a row does. Whatever the notes do not know the rows decide, so a store without notes is only
slower, and gets them as its URLs are met again.

Two URLs may share a key, once in many crawls. The second has the next free one.
"""

from __future__ import annotations

from collections.abc import Sequence

from lycosa.crawl.lease import Candidate
from lycosa.crawl.rows import UrlRow, is_row_of, unpack
from lycosa.crawl.seen import Seen
from lycosa.kit.keys import check_of
from lycosa.ports import Change, Store

Entry = tuple[Candidate, str]  # with its host
Offered = dict[bytes, Entry]  # by key


class Known:
    def __init__(self, store: Store, seen: Seen) -> None:
        self._store = store
        self._seen = seen

    def note(self, key: bytes, url: str) -> Change:
        """For the batch that writes the row of a page."""
        return ("known", key, check_of(url))

    def without_row(self, offered: Offered, crowded: Sequence[tuple[bytes, Entry]], changes: list[Change]) -> Offered:
        """Those that are new, by the keys of the rows they are to have. Those `crowded` share the key of another."""
        perhaps, unsure = self._seen.perhaps_known(list(offered)), list[bytes]()
        for key, check in zip(perhaps, self._store.get_many("known", perhaps), strict=True):
            if check is not None and check == check_of(offered[key][0].url):
                del offered[key]
            else:
                unsure.append(key)
        for key, found in zip(unsure, self._store.get_many("urls", unsure), strict=True):
            if found is None:
                continue
            entry = offered.pop(key)
            if not entry[0].purpose and is_row_of(entry[0].url, found):
                changes.append(self.note(key, entry[0].url))
            else:
                self._place(offered, key, entry)
        for key, entry in crowded:
            self._place(offered, key, entry)
        return offered

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
