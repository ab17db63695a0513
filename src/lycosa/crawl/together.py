"""Many batches as one: what is written within `together` is held back, and written in one piece when that ends.

Whoever reads meanwhile finds what is held as if it were written. So pages can be settled one after the other, each
knowing of those before it, at the price of one batch: keys that all of them write are written once, and the memory of
the store is visited once, not with each page when other work has pushed it out of the processor's caches (ADR 14).

A batch that cannot be written is the end, whether it was held back or not: those who wrote into it believe it written,
so no other may follow. Else a shard would tell another that it has all its parcels, the one it could not write as well.

For one thread: others have to use the store itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from lycosa.ports import Change, Store


class TogetherStore:
    """Fulfils `ports.Store` by means of another."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._is_holding = False
        self._held: dict[str, dict[bytes, bytes | None]] = {}  # the new values, by family and key
        self._failure: Exception | None = None

    @contextmanager
    def together(self) -> Iterator[None]:
        """Hold back what is written until this ends. An exception does not undo what was written before it."""
        assert not self._is_holding
        self._is_holding = True
        try:
            yield
        finally:
            self._is_holding = False
            self._release()

    def _release(self) -> None:
        held, self._held = self._held, {}
        if held:
            self._write([(family, *change) for family, changes in held.items() for change in changes.items()])

    def _write(self, changes: Iterable[Change]) -> None:
        try:
            self._store.write(changes)
        except Exception as error:
            self._failure = error
            raise

    def get(self, family: str, key: bytes) -> bytes | None:
        held = self._held.get(family)
        return held[key] if held is not None and key in held else self._store.get(family, key)

    def get_many(self, family: str, keys: Sequence[bytes]) -> list[bytes | None]:
        held = self._held.get(family)
        if held is None:
            return self._store.get_many(family, keys)
        others = iter(self._store.get_many(family, [key for key in keys if key not in held]))
        return [held[key] if key in held else next(others) for key in keys]

    def scan(self, family: str, start: bytes = b"", end: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        self._release()  # seldom needed, and then simpler than to merge
        return self._store.scan(family, start, end)

    def write(self, changes: Iterable[Change]) -> None:
        if self._failure is not None:
            raise self._failure
        if not self._is_holding:
            self._write(changes)
            return
        for family, key, value in changes:
            self._held.setdefault(family, {})[key] = value

    def sync(self) -> None:
        assert not self._is_holding
        self._store.sync()

    def close(self) -> None:
        self._store.close()
