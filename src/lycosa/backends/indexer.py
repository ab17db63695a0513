"""The indexer beside a crawl: a process of its own, started, watched, and waited for at the end.

So a crawl pays only with processor that it would not use, and nothing at all is imported here that an index needs. The
process ends when its standard input does: a crawl that is killed leaves none behind. If it dies it is started again.
"""

from __future__ import annotations

import contextlib
import logging
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

_AGAIN_S = 5.0


@contextlib.contextmanager
def following(directory: Path) -> Iterator[None]:
    """While this is open, what is crawled becomes searchable within seconds; left when all of it is."""
    ending = threading.Event()
    child = _Child(directory)
    keeper = threading.Thread(target=child.keep, args=(ending,), daemon=True)
    keeper.start()
    try:
        yield
    finally:
        ending.set()
        child.end()
        keeper.join()


class _Child:
    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock = threading.Lock()
        self._is_ending = False
        self._process = self._start()

    def keep(self, ending: threading.Event) -> None:
        """Start it again when it dies. The last one, after the crawl, has only to catch up."""
        while True:
            code = self._process.wait()
            if code == 0:
                return
            logging.getLogger("lycosa").warning("the indexer ended with code %d and is started again", code)
            was_last = self._is_ending
            ending.wait(_AGAIN_S)
            with self._lock:
                self._process = self._start()
                if self._is_ending:
                    self._close()
            if was_last and self._process.wait() != 0:
                logging.getLogger("lycosa").error("the index is behind: lycosa index brings it up to date")
                return

    def end(self) -> None:
        """The crawl is over."""
        with self._lock:
            self._is_ending = True
            self._close()

    def _close(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "lycosa.indexing", str(self._directory)]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)  # noqa: S603 ourselves
