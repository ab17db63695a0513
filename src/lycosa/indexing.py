"""The index of a crawl directory: brought up to date, kept up with a crawl that runs, opened for questions.

Run as a program it keeps up with a crawl (`backends/indexer.py` starts it): it follows the feeds on disk and knows of
the crawl nothing but that its standard input is open as long as the crawl runs.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from lycosa.backends import tantivy_index
from lycosa.backends.array_file import ArraysBroken
from lycosa.backends.feed_tail import Tail, pages_after, shard_names
from lycosa.backends.layout import RANKS
from lycosa.backends.ranks import RANKS as RANKS_FILE
from lycosa.backends.ranks import Ranks
from lycosa.backends.rocks import RocksStore
from lycosa.backends.tantivy_index import IndexBusy, IndexTrouble, IndexWriter
from lycosa.backends.tantivy_view import TantivyReader
from lycosa.crawl.feed import settled_to
from lycosa.errors import LycosaError
from lycosa.search.engine import Search
from lycosa.search.index import Positions
from lycosa.search.intake import Intake

INDEX = "index"
_POLL_S = 0.5
_COMMIT_S = 2.5
_COMMIT_PAGES = 20_000  # at the latest, so that little is repeated after a crash
Progress = Callable[[int, int], None]  # pages done, pages in all as far as known


def _silent(done: int, total: int) -> None:
    pass


class Indexer:
    """Writes the index of a directory. To be used inside `tantivy_index.writing`."""

    def __init__(self, directory: Path, threads: int = 1) -> None:
        self._directory = directory
        self._index = IndexWriter(directory / INDEX, threads)
        self._intake = Intake(self._index, time.time())
        self._tails: dict[str, Tail] = {}
        self._positions = _clamped(directory, self._index.positions)
        self._committed_at = time.monotonic()
        self._pages = 0  # since the last commit
        self._is_dirty = False

    @property
    def positions(self) -> Positions:
        return self._positions

    @property
    def pages(self) -> int:
        return self._intake.pages

    def take(self) -> Iterator[None]:
        """Read all there is at present, committing now and then; yields between batches."""
        for name in shard_names(self._directory):
            tail = self._tails.setdefault(name, Tail(self._directory, name))
            for batch in tail.read(self._positions.get(name, 0)):
                for page in batch.pages:
                    self._intake.page(page)
                for source, links in batch.links:
                    self._intake.links(source, links)
                self._positions[name] = batch.last
                self._pages += len(batch.pages)
                self._is_dirty = True
                if self._pages >= _COMMIT_PAGES:
                    self.commit()
                yield
        self.commit_if_due()

    def commit_if_due(self) -> None:
        if self._is_dirty and time.monotonic() - self._committed_at >= _COMMIT_S:
            self.commit()

    def commit(self) -> None:
        if self._is_dirty:
            self._intake.commit(self._positions)
        self._is_dirty, self._pages, self._committed_at = False, 0, time.monotonic()

    def close(self) -> None:
        self._index.close()


def catch_up(
    directory: Path, *, rebuild: bool = False, say: Callable[[str], None] = logging.info, progress: Progress = _silent
) -> int:
    """Bring the index up to date; how many pages were taken. `IndexBusy` if another process does it already."""
    place = directory / INDEX
    with tantivy_index.writing(place):
        if not rebuild and any(place.glob("pages/*")) and not tantivy_index.is_current(place):
            say("the index was made by another version of Lycosa, and is built again")
        if rebuild:
            tantivy_index.clear(place)
        try:
            return _catch_up(directory, progress)
        except IndexTrouble:
            if rebuild:
                raise
            say("the index is damaged, and is built again")
            tantivy_index.clear(place)
            return _catch_up(directory, progress)


def _catch_up(directory: Path, progress: Progress) -> int:
    indexer = Indexer(directory, threads=max(1, min(4, os.cpu_count() or 1)))
    try:
        total = pages_after(directory, indexer.positions)
        for _ in indexer.take():
            progress(indexer.pages, max(total, indexer.pages))
        indexer.commit()
    finally:
        indexer.close()
    return indexer.pages


def rebuild_index(directory: Path) -> None:
    """Build the index anew; whoever writes it is waited for."""
    while True:
        try:
            catch_up(directory, rebuild=True)
            return
        except IndexBusy:
            time.sleep(_POLL_S)


def drop_index(directory: Path) -> None:
    """Remove the index, if there is one; whoever writes it is waited for."""
    while (directory / INDEX).is_dir():
        try:
            with tantivy_index.writing(directory / INDEX):
                tantivy_index.clear(directory / INDEX)
            return
        except IndexBusy:
            time.sleep(_POLL_S)


def is_behind(directory: Path) -> bool:
    """Is there anything that the index does not have? Cheap enough to be asked before every search."""
    place = directory / INDEX
    if not tantivy_index.is_current(place):
        return bool(shard_names(directory))
    try:
        positions = tantivy_index.read_positions(place)
    except IndexTrouble:
        return True
    clamped = _clamped(directory, positions)
    newest = {
        name: next(iter(Tail(directory, name).read(clamped.get(name, 0))), None) for name in shard_names(directory)
    }
    return any(batch is not None for batch in newest.values())


def _clamped(directory: Path, positions: Positions) -> Positions:
    """An entry beyond what its shard has settled may be taken back and its number used again: read it again."""
    clamped = dict(positions)
    for name in positions:
        with contextlib.suppress(LycosaError):
            store = RocksStore(directory / name, read_only=True)
            try:
                clamped[name] = min(positions[name], settled_to(store))
            finally:
                store.close()
    return clamped


def open_search(directory: Path) -> Search:
    """The index as it is, for questions; it follows what others commit, and new ranks."""
    return Search(TantivyReader(directory / INDEX), _NewestRanks(directory / RANKS))


class _NewestRanks:
    """Ranks as they are now, another object when they have changed; None while they cannot be read."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._seen: tuple[int, int, int] | None = None
        self._ranks: Ranks | None = None

    def __call__(self) -> Ranks | None:
        try:
            found = (self._place / RANKS_FILE).stat()
            seen = (found.st_ino, found.st_mtime_ns, found.st_size)
        except OSError:
            seen = None
        if seen != self._seen:
            try:
                self._ranks = Ranks(self._place) if seen is not None else None
            except (ArraysBroken, OSError) as trouble:  # what is found is found without them too
                logging.getLogger("lycosa").warning("%s", trouble)
                self._ranks = None
            self._seen = seen
        return self._ranks


# -- keeping up with a crawl ------------------------------------------------------------------------------------------


def follow(directory: Path) -> None:
    """Keep up until standard input is closed, then to the end."""
    while True:
        try:
            with tantivy_index.writing(directory / INDEX):
                _follow(directory)
            return
        except IndexBusy:  # a search catches up, or the indexer of a crawl that was killed is about to end
            time.sleep(_POLL_S)
        except IndexTrouble:
            with tantivy_index.writing(directory / INDEX):
                tantivy_index.clear(directory / INDEX)
                _follow(directory)
            return


def _follow(directory: Path) -> None:
    indexer = Indexer(directory)
    try:
        while not _is_over():
            for _ in indexer.take():
                pass
        for _ in indexer.take():
            pass
        indexer.commit()
    finally:
        indexer.close()


def _is_over() -> bool:
    """Wait a moment; has the crawl let go of us?"""
    ready, _, _ = select.select([sys.stdin], [], [], _POLL_S)
    return bool(ready) and not os.read(sys.stdin.fileno(), 1)


def main() -> None:
    for sign in (signal.SIGINT, signal.SIGTERM):  # meant for the crawl, which will close our input
        signal.signal(sign, signal.SIG_IGN)
    os.nice(5)
    try:
        follow(Path(sys.argv[1]))
    except (LycosaError, OSError) as error:
        sys.exit(f"lycosa: the index was not kept up: {error}")


if __name__ == "__main__":
    main()
