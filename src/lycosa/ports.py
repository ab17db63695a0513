"""What the crawl needs of the world, as Protocols; `backends/` and `sim/` fulfil them."""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

from lycosa.errors import LycosaError
from lycosa.kit.columns import Column
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


class Gate(Protocol):
    """One address, many hosts: whoever asks an address waits here for its turn, and holds it until the answer is in."""

    def passage(
        self, address: str, host_gap_s: float, is_withdrawn: Callable[[], bool]
    ) -> AbstractAsyncContextManager[bool]:
        """Entered when the address is free: True, or False if the request is not to be sent any more."""
        ...

    def pushed_back(self, address: str | None, host: str) -> None: ...


class PeerAway(LycosaError):
    """Another shard cannot be reached, or went away before it answered. Whoever asked says what then holds."""


class Listener(Protocol):
    """Who is told what other shards say."""

    def met(self, shard: int) -> None: ...
    def lost(self, shard: int) -> None: ...
    def take(self, shard: int, messages: Sequence[tuple[int, Any]]) -> None:
        """Messages of a shard, in order. Those with a number other than 0 wait for `Exchange.answer`."""
        ...


class Exchange(Protocol):
    """Carries messages between shards, in order as long as a connection lasts. Neither end ever waits to send."""

    def listen(self, listener: Listener) -> None: ...
    def is_near(self, shard: int) -> bool:
        """Is there a connection, and is it not clogged?"""
        ...

    def tell(self, shard: int, message: Any) -> None:
        """Send a message; it is lost if the shard is away."""
        ...

    def ask(self, shard: int, message: Any, within_s: float | None = None) -> Future[Any]:
        """Send a message that is answered. The future fails with PeerAway if no answer comes any more, or in time."""
        ...

    def answer(self, shard: int, number: int, value: Any) -> None: ...
    async def start(self) -> None: ...
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


class Place(NamedTuple):
    """One of the filters of keys, each for so many."""

    number: int
    capacity: int


class Notes(Protocol):
    """Remembers which URLs have rows, as well as it can: what it does not know, the rows tell."""

    def open(self, total: int, epoch: bytes) -> bytes:
        """Use what is there, if it is of this `epoch`; the one that begins now, for the store to remember.

        `total` is how many keys the store has in all its filters.
        """
        ...

    def find(self, urls: list[str], places: list[int]) -> list[bool]:
        """Which of them surely have a row. The bits of `places` are the filters that perhaps have their keys."""
        ...

    def add(self, urls: list[str], place: Place, total: int) -> None:
        """Note URLs whose rows are written. `place` is the newest filter."""
        ...


class Tables(Protocol):
    """Where rows go that others read. A file that `write` returned from is whole and stays."""

    def kinds(self, table: str) -> str:
        """What its columns hold, a letter for each: see `kit.columns`."""
        ...

    def shape(self, table: str, columns: Sequence[Sequence[Any] | Column]) -> Any:
        """Some rows, given by columns, in the form in which they will be written."""
        ...

    def write(self, table: str, shaped: Sequence[Any], first: int, last: int, day: str) -> None: ...
    def drop_after(self, last: int) -> None:
        """Remove this writer's files with rows beyond number `last`: they will be written again."""
        ...


class Journal(Protocol):
    """Numbered entries that wait for somebody. What `append` returned from survives the death of the process."""

    last: int  # the number of the newest entry

    @property
    def open_bytes(self) -> int: ...
    def append(self, entry: bytes) -> int: ...
    def seal(self) -> int: ...
    def read(self, after: int, until: int) -> Iterable[tuple[int, bytes]]: ...
    def drop_to(self, last: int) -> None: ...
    def sync(self) -> None: ...
    def close(self) -> None: ...


class Ranks(Protocol):
    """What the link graph says of pages: numbers that are only compared with each other, 0 for what is not known."""

    def of(self, url_keys: Sequence[bytes]) -> tuple[npt.NDArray[np.floating[Any]], npt.NDArray[np.floating[Any]]]:
        """The rank of each page, and the rank of its host."""
        ...
