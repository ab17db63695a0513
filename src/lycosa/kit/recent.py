"""What was met lately, among more than could be remembered.

Compiled, this is a table of hashes of 64 bits: eight bytes a text, and a look costs less than a tenth of a microsecond
(`native/recent.c`). The hashes are keyed with a secret of their table, so nobody can make up a text that is
taken for another one. By chance that happens once in 40 million million looks among half a million texts. Elsewhere
it is two generations of texts, of which the older is dropped whole; they take more room, so there are half as many.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

try:
    from lycosa import native
except ImportError:  # no compiler where it was installed
    native = None  # type: ignore[assignment]

_SECRET_BYTES = 16
_HASH_BYTES = 8
_LINE_BYTES = 64


class _Table:
    def __init__(self, most: int) -> None:
        lines = max(1, most * _HASH_BYTES // _LINE_BYTES)
        self._table = bytearray((lines + 1) * _LINE_BYTES)
        self._secret = os.urandom(_SECRET_BYTES)

    def meet(self, texts: Iterable[str]) -> list[bool]:
        return native.meet(self._table, self._secret, list(texts))

    def unmet(self, texts: Iterable[str]) -> set[str]:
        return native.unmet(self._table, self._secret, list(texts))


class _Generations:
    def __init__(self, most: int) -> None:
        self._most_new = max(1, most // 4)
        self._new: set[str] = set()
        self._old: set[str] = set()

    def meet(self, texts: Iterable[str]) -> list[bool]:
        return [self._meet(text) for text in texts]

    def _meet(self, text: str) -> bool:
        if text in self._new:
            return True
        self._new.add(text)
        was_met = text in self._old
        if len(self._new) >= self._most_new:
            self._new, self._old = set(), self._new
        return was_met

    def unmet(self, texts: Iterable[str]) -> set[str]:
        return {text for text in texts if text not in self._new and not (text in self._old and self._meet(text))}


class Recent:
    """At most so many texts, and about the last of them."""

    def __init__(self, most: int) -> None:
        self._kept = _Table(most) if native is not None else _Generations(most)

    def meet(self, texts: Iterable[str]) -> list[bool]:
        """For each whether it was met lately. All of them are, from now on."""
        return self._kept.meet(texts)

    def unmet(self, texts: Iterable[str]) -> set[str]:
        """Those that were not met lately. The others are met again by this."""
        return self._kept.unmet(texts)
