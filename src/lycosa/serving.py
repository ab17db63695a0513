"""A crawl directory behind the service: its index made first, kept up while it is served, and watched.

`Upkeep` looks once a second how far the feed and the index are. Usually the crawl that fills the feed keeps the index
up itself; when nobody does, a process is started that catches up and ends. So the right to write is held only for
moments, and neither a crawl that starts nor `forget` nor `index --rebuild` finds it taken for long.
"""

from __future__ import annotations

import contextlib
import logging
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from lycosa.backends import tantivy_index
from lycosa.backends.feed_tail import shard_names
from lycosa.backends.rocks import RocksStore, is_in_use
from lycosa.backends.tantivy_index import IndexBusy
from lycosa.crawl.feed import settled_to
from lycosa.errors import LycosaError
from lycosa.indexing import INDEX, Progress, catch_up
from lycosa.search.index import Positions

FRESH_S = 10.0  # while a crawl runs, the index may be so far behind it
_LOOK_S = 1.0
_AGAIN_S = 3.0  # from one start of the indexer to the next: each commit costs a little
_PATIENCE_S = 30.0
_MOST_PENDING = 600
_LOG = logging.getLogger("lycosa")


def make_index(directory: Path, say: Callable[[str], None], progress: Progress) -> None:
    """See to it that there is an index that can be asked; how far it is behind does not matter here."""
    began = time.monotonic()
    while not _can_be_asked(directory):
        try:
            catch_up(directory, say=say, progress=progress)
        except IndexBusy:  # the indexer of a crawl makes it at this moment
            if time.monotonic() - began > _PATIENCE_S:
                raise
            time.sleep(0.2)


def _can_be_asked(directory: Path) -> bool:
    place = directory / INDEX
    parts = [place / part / "meta.json" for part in ("pages", "anchors")]
    return tantivy_index.is_current(place) and all(part.exists() for part in parts)


class Upkeep:
    """Fulfils `service.app.Upkeep`. `look` is called again and again, by `keeping_up` or by a test."""

    def __init__(self, directory: Path, now: Callable[[], float] = time.monotonic, *, only_looks: bool = False) -> None:
        self._directory = directory
        self._now = now
        self._only_looks = only_looks
        # How far the feed was at a moment, oldest first, as long as the index does not have it.
        self._pending: deque[tuple[float, Positions]] = deque(maxlen=_MOST_PENDING)
        self._feed: Positions = {}
        self._feed_stamp: Any = None
        self._has_caught_up = False
        self._is_running = False
        self.indexer: subprocess.Popen[bytes] | None = None
        self._started_at = -_AGAIN_S

    def lag_s(self) -> float | None:
        if not self._has_caught_up:
            return None
        return self._now() - self._pending[0][0] if self._pending else 0.0

    def is_healthy(self) -> bool:
        lag_s = self.lag_s()
        return lag_s is not None and (not self._pending or (self._is_running and lag_s <= FRESH_S))

    def look(self) -> None:
        """Compare the index with the feed, and have it brought up to date if nobody else does."""
        now = self._now()
        self._is_running = any(is_in_use(shard) for shard in self._directory.glob("shard-*"))
        feed, index = self._read_feed(), self._read_index()
        if not _has(index, feed) and len(self._pending) < _MOST_PENDING:
            self._pending.append((now, feed))
        while self._pending and _has(index, self._pending[0][1]):
            self._pending.popleft()
            self._has_caught_up = True
        self._has_caught_up = self._has_caught_up or not self._pending
        if self._pending and now - self._pending[0][0] >= _LOOK_S and not self._only_looks:
            self._start()  # nobody else has, meanwhile

    def close(self) -> None:
        """Whatever the indexer has not committed is taken again by the next one."""
        if self.indexer is not None:
            self.indexer.kill()
            self.indexer.wait()

    def _read_feed(self) -> Positions:
        """Up to where each shard has settled. A store is opened only if something may have changed."""
        names = [name for name in shard_names(self._directory) if (self._directory / name).is_dir()]
        # Whoever opens a store to write makes a new file in it.
        stamp = {name: (self._directory / name).stat().st_mtime_ns for name in names}
        if self._is_running or stamp != self._feed_stamp:
            for name in names:
                with contextlib.suppress(LycosaError):  # it is being made, or being closed: the next look sees it
                    store = RocksStore(self._directory / name, read_only=True)
                    try:
                        self._feed = {**self._feed, name: settled_to(store)}
                    finally:
                        store.close()
            # What a crawl did at its very end is seen by one more look after it.
            self._feed_stamp = None if self._is_running else stamp
        return self._feed

    def _read_index(self) -> Positions:
        try:
            return tantivy_index.read_positions(self._directory / INDEX)
        except (LycosaError, ValueError, OSError):  # it is being built again
            return {}

    def _start(self) -> None:
        if self.indexer is not None and self.indexer.poll() is None:
            return
        if self._now() - self._started_at < _AGAIN_S or self._is_taken():
            return
        if self._is_running and not tantivy_index.is_current(self._directory / INDEX):
            return  # `forget` took it away, and makes it anew when it has done its work
        self._started_at = self._now()
        command = [sys.executable, "-m", "lycosa.indexing", str(self._directory)]
        self.indexer = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)  # noqa: S603 ourselves

    def _is_taken(self) -> bool:
        """Does somebody else write the index at this moment, or may we not write at all?"""
        try:
            with tantivy_index.writing(self._directory / INDEX):
                return False
        except (IndexBusy, OSError):
            return True


def _has(index: Positions, feed: Positions) -> bool:
    return all(index.get(name, 0) >= number for name, number in feed.items())


@contextlib.contextmanager
def keeping_up(directory: Path, *, only_looks: bool = False) -> Iterator[Upkeep]:
    """While this is open, what is crawled in the directory becomes searchable by itself; or is only watched."""
    upkeep = Upkeep(directory, only_looks=only_looks)
    upkeep.look()
    ending = threading.Event()
    watcher = threading.Thread(target=_watch, args=(upkeep, ending), name="upkeep", daemon=True)
    watcher.start()
    try:
        yield upkeep
    finally:
        ending.set()
        watcher.join()
        upkeep.close()


def _watch(upkeep: Upkeep, ending: threading.Event) -> None:
    while not ending.wait(_LOOK_S):
        try:
            upkeep.look()
        except (LycosaError, OSError, ValueError) as error:  # a full disk, say: what was there is still served
            _LOG.warning("the index could not be looked after: %s", error)
