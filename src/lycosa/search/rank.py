"""From how well the words match to the final order: the signals of every candidate, at once, in numpy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lycosa.ports import Ranks
from lycosa.search.answer import Signal
from lycosa.search.index import Candidates, Floats, hash_text
from lycosa.search.weights import Weights

_HALF_FRESH_S = 30 * 86_400.0  # a page of this age is half as fresh
SIGNALS = (
    "page_rank", "host_rank", "title_match", "host_match", "homepage", "quality", "freshness", "spam",
)  # fmt: skip


class Asked:
    """What signals need to know of the query: its words, and the title that would match it whole."""

    def __init__(self, words: Sequence[str], title: int) -> None:
        self.title = title
        self.name = hash_text("".join(words))
        self.names = [hash_text(word) for word in words]


def signals(found: Candidates, asked: Asked, ranks: Ranks | None, now: float) -> dict[str, Floats]:
    """Each signal of each candidate, between 0 and 1; what is not known is 0 for all."""
    zeros = np.zeros(len(found.keys))
    page, host = zeros, zeros
    if ranks is not None and len(found.keys):
        page, host = (_compared(np.asarray(values, np.float64)) for values in ranks.of(found.keys))
    named = np.isin(found.label, np.array(asked.names, np.uint64)) * 0.3 if asked.names else zeros
    return {
        "page_rank": page,
        "host_rank": host,
        "title_match": ((found.title == np.uint64(asked.title)) & (found.title != 0)).astype(np.float64),
        "host_match": np.where((found.label == np.uint64(asked.name)) & (found.label != 0), 1.0, named)
        * np.where(found.is_home > 0, 1.0, 0.5),
        "homepage": found.is_home,
        "quality": found.quality,
        "freshness": np.exp2(-np.maximum(0.0, now - found.fetched_at) / _HALF_FRESH_S),
        "spam": found.spam,
    }


def _compared(values: Floats) -> Floats:
    """Ranks have long tails: each is compared with what is usual among the candidates."""
    known = np.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0)
    usual = float(np.median(known[known > 0])) if (known > 0).any() else 0.0
    return known / (known + usual) if usual else np.zeros(len(known))


def scores(text: Floats, told: dict[str, Floats], weights: Weights) -> Floats:
    boost = np.ones(len(text))
    for name in SIGNALS:
        boost += getattr(weights, name) * told[name]
    return text * np.maximum(boost, 0.05)


def explained(
    place: int, fields: dict[str, float], text: float, told: dict[str, Floats], weights: Weights
) -> list[Signal]:
    """Why one page has its score. Of title, headings and URL only the best counts whole, which `text` has seen to."""
    rows = [
        Signal(name, value, getattr(weights, name), value * getattr(weights, name)) for name, value in fields.items()
    ]
    rows.append(Signal("text", text, 1.0, text))
    for name in SIGNALS:
        value, weight = float(told[name][place]), float(getattr(weights, name))
        rows.append(Signal(name, value, weight, text * value * weight))
    return rows
