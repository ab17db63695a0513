"""The pages of the link graph: which URLs are one page, and which hosts are one owner's.

A page is a URL whose last answer was 200 or 304. Others stand for a page: a redirect for where it leads; a page that
names another one as canonical for that, if it was fetched; a copy for the first with this body, if both are of one
domain, or whoever copies a page first could take over what it is worth. What was never fetched is no page: its rank
could not be shown, and a crawl knows ten times as many URLs as pages.

Keys take the place of URLs: two URLs of a host with one key (one in 2**64) would be one page here.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lycosa.backends.graph_rows import KEY, Keys, PageBatch, keys_of
from lycosa.kit.keys import host_key
from lycosa.search.farms import copied_hosts, owners_of
from lycosa.search.graph import Ints, Nodes, fold
from lycosa.web.domains import registered_domain
from lycosa.web.url import host_of

_FETCHED, _UNCHANGED, _REDIRECTED, _ELSE = range(4)
_OUTCOMES = {"fetched": _FETCHED, "unchanged": _UNCHANGED, "redirected": _REDIRECTED}
NONE = -1


class KnownUrls(NamedTuple):
    """Every URL that was answered, in the order of keys, and the page it stands for; pages are in that order too."""

    keys: Keys
    pages: Nodes  # the page, or NONE
    is_itself: NDArray[np.bool_]  # it is that page: its links count
    links_at: Ints  # when it was last fetched with a body: links of earlier visits do not count
    page_keys: Keys
    page_hosts: Nodes
    host_keys: NDArray[np.uint64]
    owners: Nodes  # by host: one of the owner's hosts
    is_copied: NDArray[np.bool_]  # by host


def find(keys: Keys, wanted: Keys) -> tuple[Ints, NDArray[np.bool_]]:
    """The place of each wanted key among sorted ones, and whether it is there."""
    if not len(keys):
        return np.zeros(len(wanted), np.int64), np.zeros(len(wanted), bool)
    places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return places, keys[places] == wanted


def host_part(keys: Keys) -> NDArray[np.uint64]:
    """The hash of each key's host."""
    return np.ascontiguousarray(keys).view(">u8").reshape(-1, 2)[:, 0].astype(np.uint64)


class _Column:
    """An array that grows."""

    def __init__(self, kind: Any) -> None:
        self._kind = np.dtype(kind)
        self._parts: list[NDArray[Any]] = []

    def add(self, part: NDArray[Any]) -> None:
        self._parts.append(part.astype(self._kind))

    def whole(self) -> NDArray[Any]:
        return np.concatenate(self._parts) if self._parts else np.zeros(0, self._kind)


class UrlReader:
    """Takes rows of `pages` in any order; `finish` says what they come to."""

    def __init__(self) -> None:
        self.rows = 0
        self._keys, self._at, self._outcomes = _Column(KEY), _Column(np.int64), _Column(np.uint8)
        # What rows say they stand for: the number of the row, and the key of the other URL.
        self._said = {name: (_Column(np.int64), _Column(KEY)) for name in ("alias_of", "canonical", "redirect_to")}
        self._domains: dict[int, str] = {}
        self._fetched: Counter[int] = Counter()  # rows by host
        self._copies: Counter[tuple[int, int]] = Counter()

    def add(self, batch: PageBatch) -> None:
        self._keys.add(keys_of(batch.urls))
        self._at.add(batch.at)
        codes = [_OUTCOMES.get(outcome or "", _ELSE) for outcome in batch.outcomes]
        self._outcomes.add(np.array(codes, np.uint8))
        aliases = [_own_alias(*both) for both in zip(batch.urls, batch.alias_of, strict=True)]
        for name, urls in (
            ("alias_of", aliases), ("canonical", batch.canonical), ("redirect_to", batch.redirect_to)
        ):  # fmt: skip
            said = [(row, url) for row, url in enumerate(urls) if url and url != batch.urls[row]]
            rows, targets = self._said[name]
            rows.add(np.array([row for row, _ in said], np.int64) + self.rows)
            targets.add(keys_of([url for _, url in said]))
        self._count_hosts(batch)
        self.rows += len(batch.urls)

    def _count_hosts(self, batch: PageBatch) -> None:
        hashes = {host: host_key(host) for host in set(batch.hosts)}
        for host, number in hashes.items():
            if number not in self._domains:
                self._domains[number] = registered_domain(host)
        for host, outcome, *others in zip(batch.hosts, batch.outcomes, batch.alias_of, batch.near_of, strict=True):
            if outcome != "fetched":
                continue
            self._fetched[hashes[host]] += 1
            other = others[0] or others[1]
            other_host = _host(other) if other else host
            if other_host != host:
                self._copies[hashes[host], host_key(other_host)] += 1

    def finish(self) -> KnownUrls:
        rows, at, outcomes = self._keys.whole(), self._at.whole(), self._outcomes.whole()
        order = np.lexsort((at, rows))
        ordered = rows[order]
        is_last = np.ones(len(order), bool)
        np.not_equal(ordered[1:], ordered[:-1], out=is_last[:-1])
        last = order[is_last]  # of each URL the last row
        keys, outcome = rows[last], outcomes[last]
        begins = np.flatnonzero(is_last)[:-1] + 1
        times = np.where(outcomes == _FETCHED, at, NONE)[order]
        links_at = np.maximum.reduceat(times, [0, *begins.tolist()]) if len(times) else times
        is_page = (outcome == _FETCHED) | (outcome == _UNCHANGED)
        ends = fold(self._leads_to(keys, last, is_page))
        is_itself = (ends == np.arange(len(keys))) & is_page
        numbers = np.where(is_itself, np.cumsum(is_itself) - 1, NONE).astype(np.int32)
        page_keys = keys[is_itself]
        host_keys, page_hosts = np.unique(host_part(page_keys), return_inverse=True)
        owners, is_copied = self._owners(host_keys)
        return KnownUrls(
            keys, numbers[ends], is_itself, links_at, page_keys, page_hosts.astype(np.int32), host_keys, owners,
            is_copied,
        )  # fmt: skip

    def _leads_to(self, keys: Keys, last: Ints, is_page: NDArray[np.bool_]) -> Ints:
        place_of_row = np.full(self.rows, NONE, np.int64)
        place_of_row[last] = np.arange(len(last))
        leads_to = np.arange(len(keys))
        for name in ("alias_of", "canonical", "redirect_to"):  # the last word is the strongest
            said, wanted = (column.whole() for column in self._said[name])
            places, is_known = find(keys, wanted)
            come_from = place_of_row[said]
            is_good = is_known & (come_from != NONE)
            if name != "redirect_to" and len(keys):
                is_good &= is_page[places]
            leads_to[come_from[is_good]] = places[is_good]
        return leads_to

    def _owners(self, host_keys: NDArray[np.uint64]) -> tuple[Nodes, NDArray[np.bool_]]:
        copied = copied_hosts(self._fetched, self._copies)
        owner_of = owners_of(self._domains, copied)
        names: dict[int, int] = {}
        hosts = host_keys.tolist()
        owners = [names.setdefault(owner_of.get(host, host), place) for place, host in enumerate(hosts)]
        copies = {one for one, _ in copied}
        return np.array(owners, np.int32), np.array([host in copies for host in hosts], bool)


def _own_alias(url: str, alias_of: str | None) -> str | None:
    """The first with this body, if it is of the same domain."""
    if not alias_of:
        return None
    host, other = _host(url), _host(alias_of)
    return alias_of if host == other or registered_domain(host) == registered_domain(other) else None


def _host(url: str) -> str:
    try:
        return host_of(url)
    except (ValueError, IndexError):  # as in `graph_rows`
        return ""
