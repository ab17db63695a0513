"""Large pages: memory is in them where the system has them, holds what was put there, and is given back."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from lycosa.backends import allocation

_ENABLED = Path("/sys/kernel/mm/transparent_hugepage/enabled")
_PROGRAM = """
import json, re, sys
from pathlib import Path
from lycosa.backends.allocation import prepare_memory

def kilobytes(name):
    return sum(map(int, re.findall(rf"^{name}: +([0-9]+) kB", Path("/proc/self/smaps").read_text(), re.M)))

for _ in range(int(sys.argv[1])):
    prepare_memory()
start_kb = kilobytes("Rss")
kept = [str(number) * 9 for number in range(1_000_000)]
objects_kb = kilobytes("AnonHugePages")
blocks = [bytes([number]) * 1_000_000 for number in range(60)]
heap_kb = kilobytes("AnonHugePages") - objects_kb
is_whole = all(text == str(number) * 9 for number, text in enumerate(kept))
is_whole = is_whole and all(block == bytes([number]) * 1_000_000 for number, block in enumerate(blocks))
full_kb = kilobytes("Rss")
survivors = kept[::200_000]
del kept
freed_kb = full_kb - kilobytes("Rss")
again = [str(number) * 9 for number in range(1_000_000)]
is_whole = is_whole and again[123_456] == "123456" * 9 and survivors[1] == "200000" * 9
print(json.dumps([is_whole, objects_kb, heap_kb, full_kb - start_kb, freed_kb, kilobytes("Rss") - full_kb]))
"""


def hold(times: int) -> tuple[bool, int, int, int, int, int]:
    """Make a million strings and 60 MB of bytes in another process, and let the strings go."""
    done = subprocess.run([sys.executable, "-c", _PROGRAM, str(times)], capture_output=True, check=True, text=True)
    is_whole, *figures = json.loads(done.stdout)
    return (is_whole, *figures)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells where memory is")
def test_memory_is_whole_and_what_is_freed_goes_back() -> None:
    is_whole, _, _, taken_kb, freed_kb, again_kb = hold(2)  # a second crawl in the same process
    assert is_whole
    assert taken_kb > 150_000
    assert freed_kb > 80_000
    assert abs(again_kb) < 40_000


_LIMITED = """
import resource
from pathlib import Path
limit = 700 << 20
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
from lycosa.backends.allocation import prepare_memory
before = Path("/proc/self/status").read_text()
prepare_memory()
data_kb = [int(text.split("VmData:")[1].split()[0]) for text in (before, Path("/proc/self/status").read_text())]
kept = [bytes(1 << 20) for _ in range(300)]  # there is still room for them
print(data_kb[1] - data_kb[0])
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells how much memory is reserved")
def test_nothing_is_reserved_where_that_counts() -> None:
    done = subprocess.run([sys.executable, "-c", _LIMITED], capture_output=True, check=True, text=True)
    assert int(done.stdout) < 50_000


def test_nothing_is_reserved_with_strict_overcommit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    setting = tmp_path / "overcommit_memory"
    monkeypatch.setattr(allocation, "_OVERCOMMIT", setting)
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    may_reserve = []
    for text in ("0\n", "1\n", "2\n"):
        setting.write_text(text)
        may_reserve.append(allocation._may_reserve())
    setting.unlink()
    assert [*may_reserve, allocation._may_reserve()] == [True, True, False, True]


_GROWING = """
import re
from pathlib import Path
from lycosa.backends.allocation import follow_growth, prepare_memory

def large_kb():
    return sum(map(int, re.findall(r"^AnonHugePages: +([0-9]+) kB", Path("/proc/self/smaps").read_text(), re.M)))

follow_growth()  # before anything was asked for: nothing
prepare_memory()
kept = []
for _ in range(60):
    kept += [bytes([65]) * (1 << 20) for _ in range(10)]
    follow_growth()
print(large_kb())
"""


@pytest.mark.skipif(allocation.native is None, reason="lycosa.native was not compiled here")
@pytest.mark.skipif(
    not _ENABLED.exists() or "[never]" in _ENABLED.read_text(), reason="this system has no large pages to give"
)
def test_objects_and_the_heap_are_in_large_pages() -> None:
    _, objects_kb, heap_kb, _, _, _ = hold(1)
    assert objects_kb > 60_000
    assert heap_kb > 30_000


@pytest.mark.skipif(allocation.native is None, reason="lycosa.native was not compiled here")
@pytest.mark.skipif(
    not _ENABLED.exists() or "[never]" in _ENABLED.read_text(), reason="this system has no large pages to give"
)
def test_the_heap_stays_in_large_pages_as_it_grows() -> None:
    done = subprocess.run([sys.executable, "-c", _GROWING], capture_output=True, check=True, text=True)
    assert int(done.stdout) > 350_000  # of 600 MB, of which the first are in what was reserved
