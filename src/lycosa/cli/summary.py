"""The counts of a crawl in the shape that scripts rely on."""

from __future__ import annotations

from collections import Counter
from typing import Any

_PAGES = ("fetched", "unchanged", "redirected", "gone", "failed", "forbidden", "refused")


def _failures(stats: Counter[str]) -> dict[str, int]:
    """What went wrong with pages that were not had, by reason, the most frequent first."""
    found: Counter[str] = Counter()
    for name, count in stats.items():
        kind, _, reason = name.partition(":")
        if kind in ("failed", "parked") and reason and count:
            found[reason] += count
    return dict(found.most_common())


def summarise(stats: Counter[str], state: str, elapsed_s: float, active: int, before: int = 0) -> dict[str, Any]:
    """`before` are the pages that were fetched before these `elapsed_s` began: they are not of its rate."""
    return {
        "state": state,
        "pages": {name: stats[name] for name in _PAGES},
        "urls": {"known": stats["known"], "queued": stats["queued"] + stats["delayed"], "parked": stats["parked"]},
        "hosts": {"known": stats["hosts"], "active": active},
        "duplicates": {"exact": stats["exact"], "near": stats["near"]},
        "bytes": {"downloaded": stats["downloaded"], "stored": stats["stored"]},
        "failures": _failures(stats),
        "rate": {"pages_per_s": round((stats["fetched"] - before) / elapsed_s, 3) if elapsed_s > 0 else 0.0},
        "elapsed_s": round(elapsed_s, 3),
    }
