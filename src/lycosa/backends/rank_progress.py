"""A ranking under way: where it is, so that a killed one goes on; and that there is one at a time.

    DIR/ranks/progress.bin      arrays (`backends.array_file`); gone when the ranks are there
    DIR/ranks/lock              held while somebody ranks

It counts only for the same tables and the same trusted pages: anything else begins anew.
"""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from lycosa.backends.array_file import ArraysBroken, ArrayWriter, open_arrays
from lycosa.errors import BadInput
from lycosa.search.farms import Verdict
from lycosa.search.ranking import PAGES, SURVEY, Progress

PROGRESS, _LOCK = "progress.bin", "lock"
_KIND = "a ranking under way"
_ARRAYS = ("ranks", "mass", "farm")


@contextlib.contextmanager
def alone(place: Path) -> Iterator[None]:
    """Held by whoever ranks; BadInput if somebody else does."""
    place.mkdir(parents=True, exist_ok=True)
    with (place / _LOCK).open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BadInput(f"another lycosa rank works in {place}: wait for its end") from None
        yield


def keep_progress(place: Path, inputs: str, progress: Progress) -> None:
    """Not synced: after a power cut it may be damaged, which is noticed, and ranking begins anew."""
    about = {"inputs": inputs, "stage": progress.stage, "number": progress.number}
    with ArrayWriter(place / PROGRESS, _KIND, about, synced=False) as out:
        out.add("ranks", progress.ranks)
        out.add("mass", progress.verdict.mass)
        out.add("farm", progress.verdict.farm)


def kept_progress(place: Path, inputs: str, size: int) -> Progress | None:
    """Where a killed ranking of the same inputs was."""
    try:
        file = open_arrays(place / PROGRESS, _KIND, _ARRAYS)
    except (FileNotFoundError, ArraysBroken):
        return None
    stage, number = file.about.get("stage"), file.about.get("number")
    if file.about.get("inputs") != inputs or stage not in (SURVEY, PAGES) or not isinstance(number, int):
        return None
    shape = (size, 2) if stage == SURVEY else (size,)
    if file["ranks"].shape != shape or len(file["mass"]) != size or len(file["farm"]) != size:
        return None
    verdict = Verdict(np.array(file["mass"]), np.array(file["farm"]))
    return Progress(stage, number, np.array(file["ranks"]), verdict)


def drop_progress(place: Path) -> None:
    (place / PROGRESS).unlink(missing_ok=True)
