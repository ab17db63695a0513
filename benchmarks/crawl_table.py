"""The figures of crawls: medians over rounds, and ratios to Lycosa."""

from __future__ import annotations

import statistics
from dataclasses import asdict, dataclass, field

OWN = "lycosa"


@dataclass(frozen=True)
class Run:
    """One crawl by one rival."""

    pages: int
    requests: int  # for pages: more than pages if some were fetched twice or were not there
    wall_s: float
    cpu_s: float
    peak_mb: float
    coverage: float
    stored_mb: float
    ended: bool

    @property
    def rate(self) -> float:
        return self.pages / self.wall_s

    @property
    def cpu_per_1000(self) -> float:
        return 1000 * self.cpu_s / max(1, self.pages)

    def line(self) -> str:
        end = "" if self.ended else "  did not end well"
        figures = f"{self.rate:8.1f} pages/s  {self.cpu_per_1000:7.2f} CPU-s/1000  {self.peak_mb:6.0f} MB"
        return f"{figures}  {self.coverage:7.2%}  {self.requests} requests{end}"


@dataclass
class Table:
    names: list[str]
    stores: dict[str, str]
    runs: dict[str, list[Run]] = field(default_factory=dict)

    def add(self, name: str, run: Run) -> None:
        self.runs.setdefault(name, []).append(run)

    def median(self, name: str, what: str) -> float:
        return float(statistics.median(getattr(run, what) for run in self.runs[name]))

    def ratio(self, name: str, what: str) -> float | None:
        """How many times Lycosa's; none when Lycosa took no part."""
        own = self.median(OWN, what) if self.runs.get(OWN) else 0.0
        return self.median(name, what) / own if own else None

    def markdown(self) -> str:
        rows = [
            "| | pages/s | CPU-s per 1000 pages | its CPU / Lycosa's | peak memory | coverage | stored |",
            "|---|---|---|---|---|---|---|",
        ]
        for name in self.names:
            ratio = self.ratio(name, "cpu_per_1000")
            stored = f"{self.stores[name]} ({self.median(name, 'stored_mb'):.0f} MB)"
            figures = [
                f"{self.median(name, 'rate'):.0f}",
                f"{self.median(name, 'cpu_per_1000'):.2f}",
                f"{ratio:.2f}" if ratio else "",
                f"{self.median(name, 'peak_mb'):.0f} MB",
                f"{100 * self.median(name, 'coverage'):.1f} %",
                stored,
            ]
            rows.append(f"| {name} | {' | '.join(figures)} |")
        return "\n".join(rows)

    def as_dict(self) -> dict[str, object]:
        return {
            name: {
                "stores": self.stores[name],
                "rate": self.median(name, "rate"),
                "cpu_per_1000": self.median(name, "cpu_per_1000"),
                "cpu_ratio": self.ratio(name, "cpu_per_1000"),
                "peak_mb": self.median(name, "peak_mb"),
                "coverage": self.median(name, "coverage"),
                "runs": [asdict(run) for run in self.runs[name]],
            }
            for name in self.names
        }
