"""Room on the disk: how much is left, and how much a crawl takes."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from lycosa.errors import DiskFull

_SHARE = 20  # a small disk keeps a twentieth of itself free, not the whole reserve


def check_room(directory: Path, reserve_bytes: int) -> None:
    """DiskFull if less than the reserve is left where the directory lies."""
    room = shutil.disk_usage(directory)
    least = min(reserve_bytes, room.total // _SHARE)
    if room.free < least:
        raise DiskFull(
            f"the disk of {directory} has {room.free // 10**6} MB left, less than the {least // 10**6} MB to be kept "
            "free: make room, or set disk.reserve"
        )


def size_of(directory: Path) -> int:
    """What the files of a directory take, in bytes on disk."""
    total = 0
    for folder, _, files in os.walk(directory):
        for name in files:
            try:
                total += os.stat(os.path.join(folder, name)).st_blocks * 512
            except FileNotFoundError:  # gone meanwhile
                continue
    return total
