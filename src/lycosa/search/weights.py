"""What counts how much: the one table of ranking.

    score = text × (1 + Σ weight × signal)                     signals are between 0 and 1

`text` is the sum over the words of the query, each as often as it stands there, of BM25 (k1 1.2, b 0.75) in the body
plus the best of the other fields: title, headings, URL; a little of those that are not the best is added (`tie`). The
words of links to the page, and neighbours of the query that stand near each other in the text, add a sum of their own.
Signals multiply: a page that does not match gains nothing by being popular.

The values were settled by measurement, on the idea and not on a collection: docs/search.md has the tables.
"""

from __future__ import annotations

import msgspec


class Weights(msgspec.Struct, frozen=True, kw_only=True):
    # Words, in units of a word in the body.
    body: float = 1.0
    title: float = 0.4
    headings: float = 0.3
    url: float = 0.2
    anchor: float = 0.3
    tie: float = 0.2  # of each field that is not the best one
    pair: float = 0.2  # two neighbours of the query near each other in the body
    # Signals.
    page_rank: float = 0.2
    host_rank: float = 0.1
    title_match: float = 0.3  # the whole title is the query
    host_match: float = 0.3  # the query is the name of the site
    homepage: float = 0.05
    quality: float = 0.05  # enough text, and a title
    freshness: float = 0.02
    spam: float = -0.3


SHIPPED = Weights()
# The weights that search engines are often said to use: title × 5 and headings × 2, each field summed.
SEEDS = Weights(title=5.0, headings=2.0, url=1.0, anchor=1.0, tie=1.0)
PRESETS = {"shipped": SHIPPED, "seeds": SEEDS}
