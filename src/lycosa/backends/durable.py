"""Names that survive the death of the machine: a file that was renamed is there only when its directory is synced."""

from __future__ import annotations

import os
from pathlib import Path


def sync_directory(directory: Path) -> None:
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
