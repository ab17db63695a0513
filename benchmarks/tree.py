"""What a command costs with all its descendants: CPU as the kernel counted it, memory as sampled from /proc.

Descendants whose parent died are handed to this process (a "subreaper", prctl(2)), so that none escapes the count, and
none survives `finish`. A command ends with the process that started it, also when that one is killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import NamedTuple

SAMPLE_S = 0.1
FIRST_SAMPLE_S = 0.01  # some crawl a thousand pages in a third of a second: samples begin close and spread out
_SET_CHILD_SUBREAPER = 36
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")


class Cost(NamedTuple):
    exit_code: int | None  # None: stopped at the time limit
    wall_s: float
    cpu_s: float
    peak_bytes: int


class _Process(NamedTuple):
    parent: int
    session: int
    resident_bytes: int
    cpu_s: float
    is_dead: bool


class Tree:
    def __init__(self, command: list[str], log: Path, cwd: Path | None = None) -> None:
        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self.peak_bytes = 0
        self._before_s = _children_cpu_s()
        self._began = time.monotonic()
        with log.open("wb") as out:
            self.root = subprocess.Popen(
                ending_with_us(command),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                cwd=cwd,
                start_new_session=True,
            )
        self._watch = threading.Thread(target=self._sample, daemon=True)
        self._watch.start()

    def _sample(self) -> None:
        pause_s = FIRST_SAMPLE_S
        while self.root.returncode is None:
            self.peak_bytes = max(self.peak_bytes, self.resident_bytes())
            time.sleep(pause_s)
            pause_s = min(SAMPLE_S, pause_s * 1.02)

    def members(self) -> dict[int, _Process]:
        everyone = _processes()
        inside = {pid for pid, one in everyone.items() if self.root.pid in (pid, one.session)}
        more = inside
        while more:
            more = {pid for pid, one in everyone.items() if one.parent in more} - inside
            inside |= more
        return {pid: everyone[pid] for pid in inside}

    def resident_bytes(self) -> int:
        return sum(one.resident_bytes for one in self.members().values())

    def cpu_s(self) -> float:
        """So far; of processes that live. What ended and was waited for is counted with its parent."""
        return sum(one.cpu_s for one in self.members().values())

    def wait(self, limit_s: float) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.root.wait(limit_s)
        return None

    def stop(self, grace_s: float = 30.0) -> None:
        """Ask it to end, as Ctrl-C does."""
        if self.root.poll() is None:
            self.root.send_signal(signal.SIGINT)
            self.wait(grace_s)

    def finish(self, limit_s: float) -> Cost:
        code = self.wait(limit_s)
        wall_s = time.monotonic() - self._began
        self._kill()
        return Cost(code, wall_s, _children_cpu_s() - self._before_s, self.peak_bytes)

    def finish_when_quiet(self, log: Path, quiet_s: float, limit_s: float) -> Cost:
        """For those that never end: time and CPU up to the last growth of a server's log, which stood still since."""
        size, grew_at, cpu_s = 0, time.monotonic(), 0.0
        while time.monotonic() < min(grew_at + quiet_s, self._began + limit_s) and self.wait(SAMPLE_S) is None:
            if (now := log.stat().st_size) != size:
                size, grew_at, cpu_s = now, time.monotonic(), self.cpu_s()
        is_late = time.monotonic() >= self._began + limit_s
        code = self.root.returncode if is_late or self.root.returncode is not None else 0
        self._kill()
        return Cost(code, grew_at - self._began, cpu_s, self.peak_bytes)

    def _kill(self) -> None:
        while members := self.members():
            for pid, one in members.items():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                if pid != self.root.pid and one.parent == os.getpid():
                    with contextlib.suppress(ChildProcessError):
                        os.waitpid(pid, 0)
            self.root.poll()
            time.sleep(0.01)
        self._watch.join()


def ending_with_us(command: list[str]) -> list[str]:
    """The command, which the kernel ends when this process ends, however it does; setpriv(1) asks for that."""
    return ["setpriv", "--pdeathsig", "TERM", "--", *command] if shutil.which("setpriv") else command


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _processes() -> dict[int, _Process]:
    found = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with contextlib.suppress(OSError, ValueError):
                line = Path(entry.path, "stat").read_text()
                fields = line[line.rindex(")") + 2 :].split()  # from the third on, proc(5)
                used = sum(map(int, fields[11:15])) / _TICKS
                found[int(entry.name)] = _Process(
                    int(fields[1]), int(fields[3]), int(fields[21]) * _PAGE_BYTES, used, fields[0] == "Z"
                )
    return found
