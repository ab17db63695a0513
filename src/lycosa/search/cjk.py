"""Text without spaces between words, made searchable: overlapping pairs of characters instead of words.

A run of Chinese, Japanese or Korean characters becomes its bigrams, each a word of its own, so that a phrase of them is
found wherever the run stands: 検索機 is indexed as 検索 索機. A character that stands alone stays one.
"""

from __future__ import annotations

import re

_RUN = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]+")


def space_pairs(text: str) -> str:
    """The text with its bigrams as words; most texts have none and stay as they are."""
    if text.isascii() or _RUN.search(text) is None:
        return text
    return _RUN.sub(_pairs, text)


def _pairs(found: re.Match[str]) -> str:
    run = found[0]
    pairs = " ".join([run[at : at + 2] for at in range(len(run) - 1)]) if len(run) > 1 else run
    return f" {pairs} "
