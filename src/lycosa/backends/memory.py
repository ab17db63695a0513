"""A store in memory: the reference that the durable one is tested against, and what simulations run on."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence

from lycosa.ports import Change


class MemoryStore:
    """Fulfils `ports.Store`. `close` keeps the data, so that opening again can be played through."""

    def __init__(self) -> None:
        self._values: dict[str, dict[bytes, bytes]] = {}
        self._keys: dict[str, list[bytes]] = {}

    def get(self, family: str, key: bytes) -> bytes | None:
        return self._values.get(family, {}).get(key)

    def get_many(self, family: str, keys: Sequence[bytes]) -> list[bytes | None]:
        return [self.get(family, key) for key in keys]

    def scan(self, family: str, start: bytes = b"", end: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        values = self._values.get(family, {})
        keys = self._keys.get(family, [])
        first = bisect_left(keys, start)
        last = len(keys) if end is None else bisect_left(keys, end)
        yield from [(key, values[key]) for key in keys[first:last]]

    def write(self, changes: Iterable[Change]) -> None:
        for family, key, value in changes:
            values = self._values.setdefault(family, {})
            keys = self._keys.setdefault(family, [])
            if value is None:
                if values.pop(key, None) is not None:
                    del keys[bisect_left(keys, key)]
            else:
                if key not in values:
                    insort(keys, key)
                values[key] = value

    def sync(self) -> None:
        """Nothing outlives the process."""

    def close(self) -> None:
        """Nothing to release."""
