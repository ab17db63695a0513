"""How the process of a shard begins: as a copy of ours, or as a new interpreter.

A copy has everything loaded already, which costs a new interpreter a quarter of a second of CPU. But it is sound only
while nothing runs in ours: a copy has one thread, and whatever the others held stays held in it for ever. So the first
shards are copies, made before there is a loop, a thread or an open store, and those that take the place of dead ones
are new interpreters.

Either way a shard has three things from us: the socket it is born with, standard error, and blocked signals. Those that
end a crawl are for us alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from typing import NoReturn, Protocol

import uvloop

from lycosa.backends.allocation import keep_what_is_loaded

_BLOCKED = {signal.SIGINT, signal.SIGTERM}
_LOOK_S = 0.01


class Process(Protocol):
    """What we need of `subprocess.Popen`."""

    pid: int

    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def kill(self) -> None: ...


Birth = tuple[Process, socket.socket]  # and our end of the socket to it


def bear(count: int, *, may_copy: bool = True) -> list[Birth]:
    """So many processes, the cheapest way that is sound."""
    if not (may_copy and _can_copy()):
        return [spawn() for _ in range(count)]
    keep_what_is_loaded()  # what the collector does not touch stays one for all
    return [_copy() for _ in range(count)]


def spawn() -> Birth:
    """A new interpreter."""
    ours, end = socket.socketpair()
    command = [sys.executable, "-m", "lycosa.shard", str(end.fileno())]
    # It finds the same modules as we do, processors of the user among them, and no others.
    found = {"PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path), "PYTHONSAFEPATH": "1"}
    with end, _blocking():
        process = subprocess.Popen(  # noqa: S603 ourselves
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[end.fileno()],
            env={**os.environ, **found},
        )
    return process, ours


def _can_copy() -> bool:
    """Is there nothing in our process that a copy could not go on with? All that shards need is loaded afterwards."""
    if sys.platform != "linux":  # elsewhere frameworks of the system forbid it
        return False
    import lycosa.backends.name_servers  # here: only copies have anything from it
    import lycosa.shard  # noqa: F401

    try:
        threads = os.listdir("/proc/self/task")  # an open store has some too
    except OSError:
        return False
    return len(threads) == 1 and not _has_loop()


def _has_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _copy() -> Birth:
    ours, end = socket.socketpair()
    with end, _blocking():
        pid = os.fork()
        if pid == 0:
            _live(end)
    return Copy(pid), ours


def _live(end: socket.socket) -> NoReturn:
    """The life of a copy. It never returns to what we were doing, and ends without our last wishes."""
    code = 1
    try:
        from lycosa.shard import serve

        _let_go(end.fileno())
        code = uvloop.run(serve(end))
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.flush()
        os._exit(code)


def _let_go(kept: int) -> None:
    """Close what is ours: the lock on the directory, and the sockets to other shards, which must end when we do."""
    for fd in map(int, os.listdir("/proc/self/fd")):
        if fd > 2 and fd != kept:
            with contextlib.suppress(OSError):  # that of the list itself
                os.close(fd)
    nothing = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1):
        os.dup2(nothing, fd)
    os.close(nothing)


class Copy:
    """Fulfils `Process`."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._code: int | None = None
        self._lock = threading.Lock()  # a thread may wait while another looks, and only one of them is told

    def poll(self) -> int | None:
        with self._lock:
            if self._code is None and (found := os.waitpid(self.pid, os.WNOHANG))[0]:
                self._code = os.waitstatus_to_exitcode(found[1])
            return self._code

    def wait(self, timeout: float | None = None) -> int:
        until = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if until is not None and time.monotonic() > until:
                raise subprocess.TimeoutExpired("shard", timeout or 0.0)
            time.sleep(_LOOK_S)
        return code

    def kill(self) -> None:
        if self.poll() is None:  # else its number may be another's by now
            os.kill(self.pid, signal.SIGKILL)


@contextlib.contextmanager
def _blocking() -> Iterator[None]:
    """What begins in here has the signals blocked, from its first moment on."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _BLOCKED)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
