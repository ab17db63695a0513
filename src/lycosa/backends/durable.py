"""Names that survive the death of the machine: a file that was renamed is there only when its directory is synced."""

from __future__ import annotations

import os
from pathlib import Path


def sync_file(path: Path) -> None:
    """Return once all that was written to a file is on disk, whoever wrote it."""
    _sync(os.open(path, os.O_RDONLY))


def sync_directory(directory: Path) -> None:
    _sync(os.open(directory, os.O_RDONLY | os.O_DIRECTORY))


def _sync(fd: int) -> None:
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
