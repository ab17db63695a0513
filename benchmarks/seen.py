"""`python -m benchmarks.seen [--keys N] [--json FILE]`: the set of URLs seen, as it grows to N keys on disk.

Told are: how long a check takes in batches as a page makes them, how many known keys are denied (none may be), how
many absent ones are taken for known, what saving costs and how long it holds the loop up at worst, and how long
opening takes. Exits 1 if a bar does not hold.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.timing import Row, show
from lycosa.backends.rocks import RocksStore
from lycosa.crawl.seen import Seen
from lycosa.kit.keys import KEY_BYTES

BATCH = 50  # keys: the links of a page
_CHUNK = 100_000
_SAMPLE = 1_000_000
_ABSENT = 1 << 32  # chunks numbered from here on are never added


def make_chunk(number: int) -> list[list[bytes]]:
    """The same keys for the same number, in batches."""
    blob = np.random.Generator(np.random.Philox(number)).bytes(_CHUNK * KEY_BYTES)
    keys = [blob[at : at + KEY_BYTES] for at in range(0, len(blob), KEY_BYTES)]
    return [keys[at : at + BATCH] for at in range(0, _CHUNK, BATCH)]


def sampled(chunks: int) -> Iterator[int]:
    """Numbers of chunks that together hold a million keys, from first to last."""
    wanted = min(chunks, _SAMPLE // _CHUNK)
    return (index * chunks // wanted for index in range(wanted))


def check(seen: Seen, numbers: Iterator[int]) -> tuple[int, int, float]:
    """Keys asked about, how many perhaps known, and seconds of CPU for one."""
    asked = known = 0
    taken_s = 0.0
    for number in numbers:
        batches = make_chunk(number)
        start = time.thread_time()
        answers = [seen.perhaps_known(batch) for batch in batches]
        taken_s += time.thread_time() - start
        known += sum(map(len, answers))
        asked += _CHUNK
    return asked, known, taken_s / asked


def fill(store: RocksStore, seen: Seen, chunks: int) -> tuple[float, float, float]:
    """Seconds of CPU for a key added, the longest write in seconds of CPU, bytes written for a key."""
    total_s = longest_s = 0.0
    written = 0
    for number in range(chunks):
        for batch in make_chunk(number):
            start = time.thread_time()
            changes = seen.add(batch)
            store.write(changes)
            taken_s = time.thread_time() - start
            total_s, longest_s = total_s + taken_s, max(longest_s, taken_s)
            written += sum(len(key) + len(value or b"") for _, key, value in changes)
    keys = chunks * _CHUNK
    return total_s / keys, longest_s, written / keys


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.seen")
    parser.add_argument("--keys", type=int, default=10_000_000)
    parser.add_argument("--json", type=Path, help="write the figures here")
    given = parser.parse_args(arguments)
    chunks = max(1, given.keys // _CHUNK)
    with tempfile.TemporaryDirectory(prefix="lycosa-seen-") as place:
        store = RocksStore(Path(place) / "store")
        seen = Seen(store)
        add_s, longest_s, bytes_per_key = fill(store, seen, chunks)
        store.close()
        store = RocksStore(Path(place) / "store")
        start = time.process_time()
        seen = Seen(store)  # all checks are made after a restart
        opened_s = time.process_time() - start
        asked, known, present_s = check(seen, sampled(chunks))
        asked_absent, wrong, absent_s = check(seen, iter(range(_ABSENT, _ABSENT + _SAMPLE // _CHUNK)))
        store.close()
    keys, bits = chunks * _CHUNK, 8 * seen.memory_bytes
    print(f"{keys / 1e6:g} M keys in {seen.filters} filters: {bits / 8e6:.1f} MB, {bits / keys:.1f} bits a key")
    rows = [
        Row("a check of a known key (1 M/s)", present_s * 1e6, "us", 1.0),
        Row("a check of an absent key (1 M/s)", absent_s * 1e6, "us", 1.0),
        Row(f"known keys denied, of {asked / 1e6:g} M", asked - known, "", 0.0),
        Row(f"absent keys taken for known, of {asked_absent / 1e6:g} M", 100 * wrong / asked_absent, "%", 1.0),
        Row("adding a key, saved", add_s * 1e6, "us", 5.0),
        Row("bytes written for a key", bytes_per_key, "B", 50.0),
        Row("longest that adding 50 keys took", longest_s * 1e3, "ms", 100.0),
        Row("opening", opened_s, "s", 2.0),
    ]
    if given.json:
        told = [row._asdict() for row in rows]
        given.json.write_text(json.dumps({"keys": keys, "bits_per_key": bits / keys, "rows": told}, indent=1) + "\n")
    return 0 if show(rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
