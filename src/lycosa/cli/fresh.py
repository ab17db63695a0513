"""Output that appears only when it is complete, and never over something that is there."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from lycosa.errors import BadInput


@contextlib.contextmanager
def fresh(out: Path) -> Iterator[Path]:
    """A place to write a file or a directory to; it gets its name `out` at the end, or goes if that is not reached."""
    if out.exists() or out.is_symlink():
        raise BadInput(f"{out} exists already: remove it or name another place")
    if not out.parent.is_dir():
        raise BadInput(f"{out.parent} is no directory: make it first")
    unfinished = out.with_name(f".{out.name}.part")
    _remove(unfinished)
    try:
        yield unfinished
        for path in (unfinished, out.parent):
            _sync(path)
        unfinished.rename(out)
    except OSError as error:
        raise BadInput(f"{out} cannot be written: {error.strerror or error}") from error
    finally:
        _remove(unfinished)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
