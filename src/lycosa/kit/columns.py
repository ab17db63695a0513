"""Columns as bare memory, in the layout of Arrow, made from rows without a value of Python in between.

A thread that makes values keeps all others waiting for the interpreter, and each of the small steps in which it does so
wakes one of them: for a crawl that cost more than the work itself (ADR 14).
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

try:
    from lycosa import native
except ImportError:  # no compiler where it was installed
    native = None  # type: ignore[assignment]


class Column(msgspec.Struct, frozen=True, gc=False):
    """The values of a column. Those that are null have no bit in `validity`, which is None if there is none."""

    count: int
    nulls: int
    validity: bytes | None
    offsets: bytes | None  # of texts: where each begins in `data`, and where the last one ends
    data: bytes


def read_columns(
    entries: Sequence[bytes], kinds: tuple[str, str, str], places: tuple[int, ...]
) -> list[list[Column]] | None:
    """The columns of three tables, from entries in MessagePack: a row of the first table, a row of the second or
    nothing, and rows of the third.

    `kinds` has a letter for each column: `s` text, `S` long text, `d` float, `t` seconds that become microseconds, and
    `h`, `i`, `q`, `Q` whole numbers as in `struct`. `places` tells where each column of the third table stands in its
    row, or as `~n` in that of the second. None if there is no compiled reader, or an entry is not just like this.
    """
    tables = native.read_columns(list(entries), kinds, places) if native is not None else None
    return None if tables is None else [[Column(*column) for column in columns] for columns in tables]
