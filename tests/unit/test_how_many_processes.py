"""A new crawl takes as many processes as its seeds can keep busy, and no more than there are cores."""

from pathlib import Path

import pytest

from lycosa import config
from lycosa.job import choose_processes


@pytest.mark.parametrize(
    ("hosts", "delay", "scope", "processes"),
    [
        (1, "2s", "host", 1),
        (800, "2s", "host", 1),
        (801, "2s", "host", 2),
        (1_500, "2s", "domain", 2),
        (50_000, "2s", "host", 8),
        (100, "0s", "host", 1),
        (300, "0s", "host", 3),
        (1, "2s", "web", 8),
    ],
)
def test_by_hosts_and_delay(
    hosts: int, delay: str, scope: str, processes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: range(8))
    seeds = [f"http://h{number}.example/" for number in range(hosts)]
    settings = config.load(given=[("polite.delay", delay), ("crawl.scope", scope), ("polite.own_hosts", ["example"])])
    assert choose_processes(tmp_path, settings, seeds) == processes
