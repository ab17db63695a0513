"""How a crawl goes, on stderr: a few lines that stay in place on a terminal, one line every few seconds elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time
from collections import Counter, deque
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self, TextIO

import click

from lycosa.config import Settings
from lycosa.kit.units import show_size

if TYPE_CHECKING:
    from lycosa.cli.terminal import Terminal

_WINDOW_S = 10.0
_MOST_KINDS = 4


class Figures(NamedTuple):
    """A crawl at one moment."""

    elapsed_s: float
    pages: int
    pages_per_s: float
    size_bytes: int
    bytes_per_s: float
    hosts: int  # in memory: asked now or next
    known_hosts: int
    queued: int
    later: int  # to be tried again
    failed: int
    kinds: list[tuple[str, int]]  # of failures, the commonest first
    max_pages: int | None

    @property
    def left_s(self) -> float | None:
        """How long it will take to use up the budget, if there is one."""
        if self.max_pages is None or self.pages_per_s <= 0:
            return None
        return max(0, self.max_pages - self.pages) / self.pages_per_s


class Meter:
    """Makes rates of the last ten seconds out of counters."""

    def __init__(self, max_pages: int | None) -> None:
        self._max_pages = max_pages
        self._seen: deque[tuple[float, int, int]] = deque()
        self._began_at: float | None = None

    def read(self, stats: Counter[str], active_hosts: int, now: float) -> Figures:
        pages, size_bytes = stats["fetched"], stats["downloaded"]
        if self._began_at is None:
            self._began_at = now
        self._seen.append((now, pages, size_bytes))
        while len(self._seen) > 2 and now - self._seen[0][0] > _WINDOW_S:
            self._seen.popleft()
        then, pages_then, bytes_then = self._seen[0]
        span_s = max(now - then, 1e-9)
        kinds = Counter({name.removeprefix("failed:"): n for name, n in stats.items() if name.startswith("failed:")})
        return Figures(
            elapsed_s=now - self._began_at,
            pages=pages,
            pages_per_s=(pages - pages_then) / span_s,
            size_bytes=size_bytes,
            bytes_per_s=(size_bytes - bytes_then) / span_s,
            hosts=active_hosts,
            known_hosts=stats["hosts"],
            queued=stats["queued"],
            later=stats["delayed"],
            failed=stats["failed"],
            kinds=kinds.most_common(_MOST_KINDS),
            max_pages=self._max_pages,
        )


class Job(Protocol):
    """A crawl that goes on, in one process or several."""

    @property
    def settings(self) -> Settings: ...
    @property
    def stats(self) -> Counter[str]: ...
    @property
    def active_hosts(self) -> int: ...


class Progress:
    """Shows a crawl until the `with` block ends; called with it now and then."""

    def __init__(self, job: Job, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._meter = Meter(job.settings.crawl.max_pages)
        self._terminal: Terminal | None = None
        self._meter.read(job.stats, 0, time.monotonic())  # what an earlier run did is not of this one's rate
        if self._stream.isatty():
            # Imported here: a crawl that nobody watches starts 25 ms sooner without it.
            from lycosa.cli.terminal import Terminal

            self._terminal = Terminal(self._stream)

    @property
    def every_s(self) -> float:
        return 0.5 if self._terminal is not None else 5.0

    def __call__(self, job: Job) -> None:
        figures = self._meter.read(job.stats, job.active_hosts, time.monotonic())
        with contextlib.suppress(OSError):  # nobody reads it any more: no reason to end the crawl
            if self._terminal is not None:
                self._terminal.show(figures)
            else:
                click.echo(line(figures), file=self._stream)

    def __enter__(self) -> Self:
        if self._terminal is not None:
            self._terminal.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._terminal is not None:
            self._terminal.stop()


def line(figures: Figures) -> str:
    """All of it in one line of text."""
    parts = [
        f"{show_time(figures.elapsed_s)}  {figures.pages:,} pages ({figures.pages_per_s:,.1f}/s)",
        f"{show_size(figures.size_bytes)} ({show_size(figures.bytes_per_s)}/s)",
        f"{figures.hosts:,} hosts",
        f"{figures.queued + figures.later:,} queued",
        f"{figures.failed:,} failed",
    ]
    if figures.left_s is not None:
        parts.append(f"{show_time(figures.left_s)} left")
    return ", ".join(parts)


def show_time(seconds: float) -> str:
    """Hours, minutes and seconds, as a clock shows them."""
    minutes, left_s = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{left_s:02d}" if hours else f"{minutes}:{left_s:02d}"
