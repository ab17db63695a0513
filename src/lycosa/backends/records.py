"""Records of processors as JSON lines: one file a processor, `DIR/records/NAME.jsonl`, only ever appended to.

Lines are appended before the page they come from is settled, so a page that counts as done has its lines in the file:
a killed crawl may repeat lines (same `url`, a later `fetched_at`), and never lacks them. What one call appends is one
write; when a crash or a full disk tears it, the torn line is cut off before the next is written. `sync` makes what was
appended survive a power cut. One process writes a directory.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from threading import Lock

from lycosa.backends.durable import sync_directory
from lycosa.backends.warc import WriteFailed

_CHUNK_BYTES = 1 << 16


class Records:
    """Fulfils `crawl.processors.RecordFiles`."""

    def __init__(self, directory: Path, suffix: str = "") -> None:
        self._directory = directory
        self._suffix = suffix  # of this writer, where several write: the files of each are its own
        self._files: dict[str, int] = {}  # open descriptors, by processor
        self._closing = Lock()  # a sync that is under way in its thread ends before the files are closed

    def append(self, name: str, lines: Iterable[bytes]) -> None:
        """Append lines, each with its newline: all of them, or WriteFailed and none."""
        data = b"".join(lines)
        if not data:
            return
        try:
            fd = self._files[name] if name in self._files else self._open(name)
            size = os.fstat(fd).st_size
            try:
                _write_all(fd, data)
            except OSError:
                os.ftruncate(fd, size)  # whole lines only, also on a full disk
                raise
        except OSError as error:
            raise self._failed(error) from error

    def _open(self, name: str) -> int:
        """Open a file for appending, and cut off a line that a crash has torn."""
        is_new = not self._directory.exists()
        self._directory.mkdir(parents=True, exist_ok=True)
        if is_new:
            sync_directory(self._directory.parent)
        fd = os.open(
            self._directory / f"{name}{self._suffix}.jsonl", os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644
        )
        try:
            os.ftruncate(fd, _end_of_lines(fd))
            sync_directory(self._directory)
        except OSError:
            os.close(fd)
            raise
        self._files[name] = fd
        return fd

    def sync(self) -> None:
        """Return once everything appended before is on disk; for a thread beside the one that appends."""
        with self._closing:
            for fd in list(self._files.values()):
                try:
                    os.fdatasync(fd)
                except OSError as error:
                    raise self._failed(error) from error

    def close(self) -> None:
        self.sync()
        with self._closing:
            files, self._files = self._files, {}
            for fd in files.values():
                os.close(fd)

    def _failed(self, error: OSError) -> WriteFailed:
        return WriteFailed(f"{self._directory} cannot be written: {error.strerror or error}; make room and start again")


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _end_of_lines(fd: int) -> int:
    """Where the last whole line ends."""
    end = os.fstat(fd).st_size
    while end > 0:
        start = max(0, end - _CHUNK_BYTES)
        at = os.pread(fd, end - start, start).rfind(b"\n")
        if at >= 0:
            return start + at + 1
        end = start
    return 0
