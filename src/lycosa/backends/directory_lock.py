"""One at a time may change a crawl's directory: crawl in it, divide it anew, forget, set what holds for a host.

    DIR/.lock       held (flock) by the process that works there; the file itself says nothing

Each store has a lock of its own, but there are moments in which nobody has any store open, as between the two halves of
a new division. Whoever reads needs no lock.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from lycosa.backends.rocks import StoreBusy, StoreDenied
from lycosa.errors import DiskFull, is_disk_full

_LOCK = ".lock"


@contextlib.contextmanager
def locked(directory: Path) -> Iterator[None]:
    """The directory is ours; StoreBusy if it is somebody else's. It ends with our process, whatever happens."""
    fd, owner = _open(directory), os.getpid()
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreBusy(f"{directory} is in use by another crawl: wait for it or stop it first") from None
        yield
    finally:
        if os.getpid() == owner:  # else we were forked from it, and may not let go for both
            fcntl.flock(fd, fcntl.LOCK_UN)
        os.close(fd)


def _open(directory: Path) -> int:
    try:
        return os.open(directory / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        if is_disk_full(error):
            raise DiskFull(f"the disk that holds {directory} is full: free some space, nothing is lost") from error
        raise StoreDenied(
            f"{directory} cannot be read and written: change its permissions or name another directory"
        ) from None
