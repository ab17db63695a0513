"""`python -m benchmarks.notes [--urls N]`: what it costs to tell that a URL is known, by its note and by its row.

Rows and notes of N URLs are written, and URLs from all over are looked for in batches. Exits 1 if a bar does not hold.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.timing import Row, show, take_turns
from lycosa.backends.notes import NoteFiles
from lycosa.backends.rocks import RocksStore
from lycosa.kit.bloom import capacity_of_next
from lycosa.ports import Place
from lycosa.web.url import cut

BATCH = 25
_FIRST, _MOST = 1_000_000, 32_000_000  # as the filters grow
_ROW = bytes(150)


def url_of(number: int) -> str:
    return f"https://www.site{number % 9973:x}.example/section-{number % 31}/article-{number:08d}.html"


def places(urls: int) -> Iterator[tuple[range, Place]]:
    """Which of the URLs are in which filter."""
    first = number = 0
    while first < urls:
        place = Place(number, capacity_of_next(number, _FIRST, _MOST))
        yield range(first, min(urls, first + place.capacity)), place
        first, number = first + place.capacity, number + 1


def fill(store: RocksStore, notes: NoteFiles, urls: int) -> tuple[float, float]:
    """Seconds of CPU for one note, and for one row, of the thread that writes them."""
    noted_s = written_s = 0.0
    for numbers, place in places(urls):
        for start in range(numbers.start, numbers.stop, BATCH):
            some = [url_of(number) for number in range(start, min(numbers.stop, start + BATCH))]
            rows = [("urls", cut(url).key(), _ROW) for url in some]
            began = time.thread_time()
            store.write(rows)
            between = time.thread_time()
            notes.add(some, place, start + len(some))
            written_s, noted_s = written_s + between - began, noted_s + time.thread_time() - between
    return noted_s / urls, written_s / urls


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.notes")
    parser.add_argument("--urls", type=int, default=2_000_000)
    given = parser.parse_args(arguments)
    dice = random.Random(1)  # the same URLs each time
    with tempfile.TemporaryDirectory(prefix="lycosa-notes-") as place:
        store, notes = RocksStore(Path(place) / "store"), NoteFiles(Path(place) / "store" / "notes")
        notes.open(0, b"")
        noted_s, written_s = fill(store, notes, given.urls)
        ends = [(numbers.stop, 1 << filled.number) for numbers, filled in places(given.urls)]
        asked = [[dice.randrange(given.urls) for _ in range(BATCH)] for _ in range(20_000)]
        urls = [[url_of(number) for number in some] for some in asked]
        where = [[next(bit for end, bit in ends if number < end) for number in some] for some in asked]
        keys = [[cut(url).key() for url in some] for some in urls]
        turns, others = itertools.count(), itertools.count()
        taken = take_turns(
            {
                "notes": lambda: notes.find(urls[at := next(turns) % len(urls)], where[at]),
                "rows": lambda: store.get_many("urls", keys[next(others) % len(keys)]),
            },
            seconds=5.0,
        )
        found = sum(sum(notes.find(*each)) for each in zip(urls, where, strict=True))
        absent = [url_of(given.urls + number) for number in range(100_000)]
        wrong = sum(notes.find(absent, [0b111] * len(absent)))
        notes.close()
        store.close()
    row_us = taken["rows"] / BATCH * 1e6
    rows = [
        Row(f"a note, against a row of {row_us:.1f} us", taken["notes"] / taken["rows"], "x", 0.5),
        Row(f"noting, against writing a row of {written_s * 1e6:.1f} us", noted_s / written_s, "x", 0.5),
        Row("known URLs that have no note", 100 * (1 - found / BATCH / len(urls)), "%", 0.5),
        Row(f"absent URLs that have one, of {len(absent):,}", wrong, "", 0.0),
    ]
    return 0 if show(rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
