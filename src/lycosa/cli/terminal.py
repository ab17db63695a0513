"""How a crawl goes, on a terminal: a few lines that stay in place."""

from __future__ import annotations

from typing import TextIO

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from lycosa.cli.progress import Figures, show_time
from lycosa.kit.units import show_size


class Terminal:
    def __init__(self, stream: TextIO) -> None:
        self._live = Live(console=Console(file=stream), auto_refresh=False, transient=True)
        self.start, self.stop = self._live.start, self._live.stop

    def show(self, figures: Figures) -> None:
        self._live.update(table(figures), refresh=True)


def table(figures: Figures) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold")
    grid.add_column(justify="right", min_width=9)
    grid.add_column(justify="right", min_width=10)
    grid.add_column()
    rest: Text | ProgressBar = Text(show_time(figures.elapsed_s))
    grid.add_row("time", rest, "", _left(figures))
    bar: Text | ProgressBar = Text("")
    if figures.max_pages is not None:
        bar = ProgressBar(total=figures.max_pages, completed=min(figures.pages, figures.max_pages), width=24)
    grid.add_row("pages", f"{figures.pages:,}", f"{figures.pages_per_s:,.1f}/s", bar)
    grid.add_row("bytes", show_size(figures.size_bytes), f"{show_size(figures.bytes_per_s)}/s", "")
    grid.add_row("hosts", f"{figures.hosts:,}", "active", f"of {figures.known_hosts:,} known")
    later = f"and {figures.later:,} to be tried again" if figures.later else ""
    grid.add_row("queue", f"{figures.queued:,}", "URLs", later)
    kinds = ", ".join(f"{name} {count:,}" for name, count in figures.kinds)
    grid.add_row("failed", f"{figures.failed:,}", "URLs", Text(kinds, overflow="ellipsis", no_wrap=True))
    return grid


def _left(figures: Figures) -> str:
    return "" if figures.left_s is None else f"about {show_time(figures.left_s)} left"
