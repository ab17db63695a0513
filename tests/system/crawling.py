"""Whole crawls for tests: the command in a process of its own, on loopback, and what is in its directory afterwards.

A crawl can be told two things that the command has no option for: which name servers to ask, and how fast its clock
runs, so that the waits between tries take moments. Fetching itself always runs on the machine's time.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import multiprocessing
import os
import pickle
import pkgutil
import re
import socket
import struct
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import lycosa.cli as lycosa_cli
from lycosa import wiring
from lycosa.backends.dns import Resolver
from lycosa.backends.layout import SHARD
from lycosa.backends.rocks import RocksStore
from lycosa.cli.main import run
from lycosa.crawl.look import Look
from lycosa.web.url import Normaliser

if TYPE_CHECKING:
    import pytest

OWN = 'polite.own_hosts=["127.0.0.0/8"]'


class World(NamedTuple):
    """What a crawl is to believe of the world."""

    nameserver: str = ""  # asked for names; the system's own if empty
    times: float = 1.0  # as fast as the machine's clock
    ahead_s: float = 0.0


class Ended(NamedTuple):
    code: int
    out: str
    err: str
    peak_bytes: int  # of resident memory, as far as it was looked at

    @property
    def summary(self) -> dict[str, Any]:
        assert self.code == 0, self.err
        told: dict[str, Any] = json.loads(self.out)
        return told


class HastyClock:
    """Fulfils `ports.Clock`: Unix time that runs faster than the machine's."""

    def __init__(self, world: World) -> None:
        self._times, self._from = world.times, time.monotonic()
        self._start = time.time() + world.ahead_s

    def now(self) -> float:
        return self._start + (time.monotonic() - self._from) * self._times

    def wall(self) -> float:
        return self.now()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / self._times)


async def start(*arguments: str, world: World | None = None) -> asyncio.subprocess.Process:
    """`lycosa` with these arguments, in that world."""
    program = ["-m", "lycosa"] if world is None else [__file__, *map(str, world), "--"]
    return await asyncio.create_subprocess_exec(
        sys.executable, *program, *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )


async def finish(process: asyncio.subprocess.Process) -> Ended:
    """Wait for its end; what it said, and how much memory it took."""
    peak_bytes = 0
    waiting = asyncio.ensure_future(process.communicate())
    while not waiting.done():
        peak_bytes = max(peak_bytes, resident_bytes(process.pid))
        await asyncio.wait([waiting], timeout=0.05)
    out, err = await waiting
    assert process.returncode is not None
    return Ended(process.returncode, out.decode(), err.decode(), peak_bytes)


async def lycosa(*arguments: str, world: World | None = None) -> Ended:
    return await finish(await start(*arguments, world=world))


_FORKS = multiprocessing.get_context("forkserver")
# All of the command, which loads each verb when it is called: another user may not be able to read it.
_FORKS.set_forkserver_preload([f"lycosa.cli.{module.name}" for module in pkgutil.iter_modules(lycosa_cli.__path__)])


def lycosa_at_once(*arguments: str, user: int | None = None) -> Ended:
    """The same for commands that end soon, in a process that has everything imported; as another user, if wanted."""
    with tempfile.NamedTemporaryFile() as out, tempfile.NamedTemporaryFile() as err:
        process = _FORKS.Process(target=_obey, args=(arguments, out.name, err.name, user))
        process.start()
        process.join(20)
        process.kill()
        process.join()
        code = process.exitcode
        assert code is not None
        return Ended(code, out.read().decode(), err.read().decode(), 0)


def _obey(arguments: tuple[str, ...], out: str, err: str, user: int | None) -> None:
    for number, path in enumerate((out, err), 1):
        os.dup2(os.open(path, os.O_WRONLY), number)
    sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w", buffering=1)
    if user is not None:
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
    run(list(arguments))


def resident_bytes(pid: int) -> int:
    """The memory a process holds at present; 0 when it has ended."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096
    except (OSError, IndexError):
        return 0


class NameServer(asyncio.DatagramProtocol):
    """Says of each name what it is told, one reply a question and the last for ever: addresses, an error, nothing."""

    NXDOMAIN, SERVFAIL = 3, 2

    def __init__(self, names: Mapping[str, list[list[str] | int | None]]) -> None:
        self._names = names
        self.wildcard: list[str] = []  # what all other names have; without it they do not exist
        self.asked: Counter[str] = Counter()  # for IPv4 addresses; nobody has others

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, address: tuple[str, int]) -> None:
        end = data.index(b"\0", 12) + 5
        labels = re.findall(rb"[a-z0-9-]+", data[12 : end - 4].lower())
        name, is_v4 = b".".join(labels).decode(), data[end - 4 : end - 2] == b"\0\x01"
        replies = self._names.get(name, [self.wildcard or self.NXDOMAIN])
        reply = replies[min(self.asked[name], len(replies) - 1)]
        self.asked[name] += is_v4
        if reply is None:
            return
        found = reply if isinstance(reply, list) and is_v4 else []
        code = reply if isinstance(reply, int) else 0
        records = [b"\xc0\x0c\0\x01\0\x01\0\0\0\0\0\x04" + socket.inet_aton(each) for each in found]
        head = data[:2] + struct.pack(">HHHHH", 0x8180 | code, 1, len(found), 0, 0)
        self._transport.sendto(head + data[12:end] + b"".join(records), address)


@asynccontextmanager
async def naming(server: NameServer) -> AsyncIterator[str]:
    """Where it answers."""
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(lambda: server, local_addr=("127.0.0.1", 0))
    try:
        yield f"127.0.0.1:{transport.get_extra_info('sockname')[1]}"
    finally:
        transport.close()


@contextmanager
def looking(directory: Path) -> Iterator[Look]:
    store = RocksStore(directory / SHARD, read_only=True)
    try:
        yield Look(store, Normaliser())
    finally:
        store.close()


def outcomes(directory: Path) -> dict[str, tuple[str, str]]:
    """Every URL of a crawl with its outcome and reason, as `lycosa explain` tells them."""
    with looking(directory) as look:
        told = [look.explain(row.url) for _, row in look.rows() if row.kind == "page"]
    return {each["url"]: (each["outcome"], each.get("reason") or "") for each in told}


def rules_of(directory: Path, url: str) -> tuple[str, str]:
    """What `lycosa explain` says of the robots.txt of a URL: its state, and why."""
    with looking(directory) as look:
        steps = [step for step in look.explain(url)["decisions"] if step["step"] == "robots.txt"]
    return (steps[0]["state"], steps[0]["reason"] or "") if steps else ("", "")


T = TypeVar("T")


def once(folders: pytest.TempPathFactory, name: str, make: Callable[[Path], T]) -> T:
    """What `make` makes in a folder of that name, made by the first of all test processes that asks for it."""
    root = folders.getbasetemp()
    root = root.parent if "PYTEST_XDIST_WORKER" in os.environ else root
    kept = root / f"{name}.kept"
    with (root / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            try:
                kept.write_bytes(pickle.dumps(make(root / name)))
            except Exception as error:
                kept.write_bytes(pickle.dumps(AssertionError(f"{name}: {error!r}")))
                raise
    made = pickle.loads(kept.read_bytes())
    if isinstance(made, AssertionError):
        raise made
    return cast(T, made)


def within(seconds: float, main: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(seconds):
            await main()

    asyncio.run(bounded())


def _begin(arguments: list[str]) -> None:
    mark = arguments.index("--")
    nameserver, times, ahead_s = arguments[:mark]
    world = World(nameserver, float(times), float(ahead_s))
    wiring.SteadyClock = partial(HastyClock, world)  # type: ignore[assignment,misc]
    if nameserver:
        asking = partial(Resolver, now=HastyClock(world).now, nameservers=[nameserver], timeout_s=0.2)
        wiring.Resolver = lambda **_: asking()  # type: ignore[assignment,misc]
    # In one process: the others would live in the world as it is.
    run([*arguments[mark + 1 :], "--processes", "1"])


if __name__ == "__main__":
    _begin(sys.argv[1:])
