"""What the crawl needs of the world, as Protocols; `backends/` and `sim/` fulfil them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from lycosa.model import Ask, Reply

Change = tuple[str, bytes, bytes | None]  # family, key, and the new value or None to delete


class Clock(Protocol):
    """Time. `now` is Unix time that never jumps while the process runs."""

    def now(self) -> float: ...
    async def sleep(self, seconds: float) -> None: ...


class Fetcher(Protocol):
    """One request, whatever comes of it. Never raises for what a server does."""

    async def fetch(self, ask: Ask) -> Reply: ...
    async def aclose(self) -> None: ...


class Store(Protocol):
    """An ordered key-value store with families of keys and atomic batches.

    What `write` returned from survives the death of the process; what was written before `sync` returned survives
    the death of the machine.
    """

    def get(self, family: str, key: bytes) -> bytes | None: ...
    def get_many(self, family: str, keys: Sequence[bytes]) -> list[bytes | None]: ...
    def scan(self, family: str, start: bytes = b"", end: bytes | None = None) -> Iterator[tuple[bytes, bytes]]: ...
    def write(self, changes: Iterable[Change]) -> None: ...
    def sync(self) -> None: ...
    def close(self) -> None: ...
