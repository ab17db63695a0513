"""The ranks of a crawl, in arrays beside the index: looked up by key, replaced without indexing anything again.

    DIR/ranks/ranks.bin     arrays (`backends.array_file`): by URL its rank, spam mass and reasons; by host its rank

URLs that stand for a page (redirects, copies) have its rank. A new file takes the place of the old one in a moment, and
readers notice at their next question. Hashes only: no URL and no name of a host is in it.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lycosa.backends.array_file import ArrayFile, ArraysBroken, ArrayWriter, open_arrays
from lycosa.backends.graph_files import BUILDING, GRAPH, LinkGraph
from lycosa.backends.graph_pages import NONE, find, host_part
from lycosa.backends.graph_rows import KEY, Keys
from lycosa.backends.rank_progress import PROGRESS
from lycosa.search.farms import mean_of_hosts, reasons_of
from lycosa.search.graph import Floats
from lycosa.search.ranking import Progress

RANKS = "ranks.bin"
_KIND = "ranks"
_BY_URL = ("keys", "ranks", "mass", "reasons", "is_page")
_BY_HOST = ("host_keys", "host_ranks", "host_means", "host_pages")


class PageRank(NamedTuple):
    """What is known of one URL."""

    rank: float
    place: int  # 1 for the highest
    of: int  # pages
    host_rank: float
    mass: float
    reasons: int  # farms.Reason


class Ranks:
    """The ranks in a folder. Always those of the newest file; without one, everything is 0."""

    def __init__(self, place: Path) -> None:
        self._path = place / RANKS
        self._seen: tuple[int, int, int] | None = None
        self._file: ArrayFile | None = None
        self._renew()

    @property
    def about(self) -> Mapping[str, Any]:
        """How they were made; empty if there are none."""
        self._renew()
        return self._file.about if self._file is not None else {}

    def of(self, url_keys: Sequence[bytes]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The rank of each page and of its host. A page that is not known has what its host's pages have on average,
        and a host that is not known has 0. Ranks of all pages add up to 1, and so do those of hosts.
        """
        return self.of_keys(np.frombuffer(b"".join(url_keys), KEY))

    def of_keys(self, wanted: Keys) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        self._renew()
        file = self._file
        if file is None:
            return np.zeros(len(wanted), np.float32), np.zeros(len(wanted), np.float32)
        hosts = host_part(wanted)
        at_host = np.minimum(np.searchsorted(file["host_keys"], hosts), max(0, len(file["host_keys"]) - 1))
        has_host = _equal(file["host_keys"], at_host, hosts)
        pages = _taken(file["host_means"], at_host, has_host)
        places, is_known = find(file["keys"], wanted)
        pages[is_known] = file["ranks"][places[is_known]]
        return pages, _taken(file["host_ranks"], at_host, has_host)

    def page(self, url_key: bytes) -> PageRank | None:
        """All that is known of one URL; None if it has no rank of its own."""
        self._renew()
        wanted = np.frombuffer(url_key, KEY)
        if self._file is None:
            return None
        places, is_known = find(self._file["keys"], wanted)
        if not is_known[0]:
            return None
        at = int(places[0])
        ranks, host_ranks = self.of_keys(wanted)
        file = self._file
        higher = np.count_nonzero(file["ranks"][file["is_page"]] > ranks[0])
        count = int(np.count_nonzero(file["is_page"]))
        return PageRank(
            float(ranks[0]), int(higher) + 1, count, float(host_ranks[0]), float(file["mass"][at]),
            int(file["reasons"][at]),
        )  # fmt: skip

    def table(self) -> dict[str, NDArray[Any]]:
        """All of it: pages, which are URLs that stand for themselves, and hosts."""
        self._renew()
        if self._file is None:
            return {name: np.zeros(0) for name in (*_BY_URL, *_BY_HOST)}
        file, is_page = self._file, self._file["is_page"]
        return {name: file[name][is_page] for name in _BY_URL} | {name: file[name] for name in _BY_HOST}

    def _renew(self) -> None:
        try:
            found = self._path.stat()
        except FileNotFoundError:
            self._seen = self._file = None
            return
        seen = (found.st_ino, found.st_mtime_ns, found.st_size)
        if seen == self._seen:
            return
        try:
            self._file = open_arrays(self._path, _KIND, (*_BY_URL, *_BY_HOST))
        except (ArraysBroken, FileNotFoundError):
            if self._file is None:
                raise  # whoever has good ones keeps them instead
        self._seen = seen


def _equal(keys: NDArray[Any], places: NDArray[Any], wanted: NDArray[Any]) -> NDArray[np.bool_]:
    return keys[places] == wanted if len(keys) else np.zeros(len(wanted), bool)


def _taken(values: NDArray[Any], places: NDArray[Any], is_there: NDArray[np.bool_]) -> NDArray[np.float32]:
    taken = np.zeros(len(places), np.float32)
    taken[is_there] = values[places[is_there]]
    return taken


def write_ranks(place: Path, graph: LinkGraph, last: Progress, host_ranks: Floats, about: Mapping[str, Any]) -> None:
    """Put new ranks in the place of the old ones."""
    has_page = graph.pages != NONE
    pages, keys = graph.pages[has_page], graph.keys[has_page]
    reasons = reasons_of(last.verdict.farm, graph.is_copied[graph.page_hosts], graph.led_by)
    by_url: dict[str, NDArray[Any]] = {
        "keys": keys,
        "ranks": last.ranks.astype(np.float32)[pages],
        "mass": last.verdict.mass[pages],
        "reasons": reasons[pages],
        "is_page": graph.page_keys[pages] == keys,
    }
    hosts = len(graph.host_keys)
    by_host: dict[str, NDArray[Any]] = {
        "host_keys": graph.host_keys,
        "host_ranks": host_ranks.astype(np.float32),
        "host_means": mean_of_hosts(last.ranks, graph.page_hosts, hosts).astype(np.float32),
        "host_pages": np.bincount(graph.page_hosts, minlength=hosts).astype(np.int64),
    }
    _write(place, about, {**by_url, **by_host})


def _write(place: Path, about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    with ArrayWriter(place / RANKS, _KIND, about) as out:
        for name, array in arrays.items():
            out.add(name, array)


def forget_ranks(place: Path, url_key: bytes = b"", host: int | None = None) -> int:
    """Remove what is known of a URL or of a host given by its hash; how many URLs that were. Can be repeated.

    What ranks are made from goes as a whole: it can be made again from the tables.
    """
    for name in (GRAPH, PROGRESS):
        (place / name).unlink(missing_ok=True)
        (place / f".{name}.part").unlink(missing_ok=True)
    shutil.rmtree(place / BUILDING, ignore_errors=True)
    (place / f".{RANKS}.part").unlink(missing_ok=True)
    path = place / RANKS
    try:
        file = open_arrays(path, _KIND, (*_BY_URL, *_BY_HOST))
    except FileNotFoundError:
        return 0
    except ArraysBroken:
        path.unlink()  # what is in it cannot be told
        return 0
    gone = host_part(file["keys"]) == host if host is not None else file["keys"] == np.frombuffer(url_key, KEY)[0]
    host_gone = file["host_keys"] == host if host is not None else np.zeros(len(file["host_keys"]), bool)
    if gone.any() or host_gone.any():
        kept = {name: file[name][~gone] for name in _BY_URL} | {name: file[name][~host_gone] for name in _BY_HOST}
        _write(place, file.about, kept)
    return int(np.count_nonzero(gone))
