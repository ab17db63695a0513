"""One at a time changes a directory, and nobody keeps it longer than it works there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lycosa.backends.directory_lock import locked
from lycosa.backends.rocks import StoreBusy, StoreDenied


def test_a_directory_is_one_persons_and_then_anothers(tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(StoreBusy, match="in use"), locked(tmp_path):
        pass
    with locked(tmp_path):
        pass


def test_a_child_that_was_forked_meanwhile_keeps_nobody_out(tmp_path: Path) -> None:
    read_end, write_end = os.pipe()
    with locked(tmp_path):
        child = os.fork()
        if child == 0:  # it holds all that is open here until it is told to go
            os.close(write_end)
            os.read(read_end, 1)
            os._exit(0)
    try:
        with locked(tmp_path):
            pass
    finally:
        os.close(write_end)
        os.waitpid(child, 0)
        os.close(read_end)


def test_where_nothing_can_be_written_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoreDenied, match="permissions"), locked(tmp_path / "missing"):
        pass
