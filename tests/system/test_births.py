"""How the processes of shards begin: as copies while nothing runs, else as new interpreters; and what they inherit."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from small_crawl import web
from test_processes import PLAN, crawl_of, ended, shards_of, start, until

COUNT = """
import asyncio, sys, threading
from pathlib import Path
import lycosa.cli.main
from lycosa.backends.rocks import RocksStore
from lycosa.births import Copy, bear

def count(**how):
    born = bear(2, **how)
    print(sum(isinstance(process, Copy) for process, _ in born), "copies", end=" ")
    for process, ours in born:
        assert process.poll() is None
        ours.close()  # which ends it
    print([process.wait(20) for process, _ in born])
"""


def ran(script: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error::DeprecationWarning", "-c", COUNT + script]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def told(script: str) -> str:
    done = ran(script)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


def test_the_first_shards_are_copies_and_end_with_their_socket() -> None:
    assert told("count()") == "2 copies [1, 1]"


@pytest.mark.parametrize(
    "script",
    [
        "count(may_copy=False)",
        "threading.Thread(target=threading.Event().wait, daemon=True).start(); count()",
        "async def main(): count()\nasyncio.run(main())",
        "sys.platform = 'darwin'; count()",
    ],
    ids=["unwanted", "a thread", "a loop", "another system"],
)
def test_where_a_copy_would_not_be_sound_new_interpreters_are_started(script: str) -> None:
    assert told(script) == "0 copies [1, 1]"


def test_with_an_open_store_nothing_is_copied(tmp_path: Path) -> None:
    assert told(f"store = RocksStore(Path({str(tmp_path)!r})); count()") == "0 copies [1, 1]"


def test_a_copy_can_be_waited_for_and_killed() -> None:
    script = """
import subprocess
(process, ours), = bear(1)
try:
    process.wait(0.1)
except subprocess.TimeoutExpired:
    print("lives", end=" ")
process.kill()
print(process.wait(), process.poll(), end=" ")
process.kill()
"""
    assert told(script) == "lives -9 -9"


def test_a_copy_that_fails_says_why_and_never_returns_to_what_we_were_doing() -> None:
    script = """
import atexit, lycosa.shard
atexit.register(print, "once")
async def serve(end): raise ValueError("why")
lycosa.shard.serve = serve
(process, ours), = bear(1)
sys.exit(process.wait())
"""
    done = ran(script)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "ValueError: why"
    assert done.stdout == "once\n"


def is_copy(pid: int) -> bool:
    return "lycosa.shard" not in Path(f"/proc/{pid}/cmdline").read_text()


def sockets_of(pid: int) -> set[str]:
    return {name for name in opened_by(pid).values() if name.startswith("socket:")}


def opened_by(pid: int) -> dict[int, str]:
    found = {}
    for fd in Path(f"/proc/{pid}/fd").iterdir():
        try:
            found[int(fd.name)] = os.readlink(fd)
        except FileNotFoundError:  # closed meanwhile
            continue
    return found


def blocked_in(pid: int) -> int:
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("SigBlk:"))
    return int(line.split()[1], 16)


def test_a_shard_has_nothing_of_its_supervisor_but_one_socket_and_standard_error(tmp_path: Path) -> None:
    async def run() -> None:
        async with web(PLAN, latency=0.1) as served:
            process = await start(*crawl_of(served, tmp_path, 3, "-s", "fetch.slots=4", "--json"))
            await until(lambda: served.requests > 30)
            shards = shards_of(process.pid)
            assert len(shards) == 3
            for shard in shards:
                assert is_copy(shard)
                opened = opened_by(shard)
                assert opened[0] == opened[1] == os.devnull
                assert opened[2] == opened_by(process.pid)[2]
                assert not any(name.endswith("/.lock") for name in opened.values())
                assert any(name.endswith("/.lock") for name in opened_by(process.pid).values())
                assert all(blocked_in(shard) >> sign - 1 & 1 for sign in (signal.SIGINT, signal.SIGTERM))
            everybody = [sockets_of(pid) for pid in (process.pid, *shards)]
            assert sum(map(len, everybody)) == len(set.union(*everybody))
            assert not blocked_in(process.pid)
            process.terminate()
            await ended(process)

    asyncio.run(run())
