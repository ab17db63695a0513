"""Names to addresses, asynchronously.

Answers are kept as long as their TTL says, between 30 s and a day; that a name does not exist for half an hour, that
its servers failed or kept silent for a minute. Many who ask for one name at the same time cause one question. The
cache is bounded: the name unused for longest leaves first.

Search domains are never tried: a name of the web is complete. Whether an address may be connected to is not judged
here, see `lycosa.web.addresses`.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from lycosa.errors import LycosaError
from lycosa.web.addresses import NoAddress, Resolved, read_address

if TYPE_CHECKING:
    from lycosa.backends.name_servers import NameServers

SHORTEST_S, LONGEST_S = 30.0, 86_400.0
NO_NAME_S, FAILED_S = 1800.0, 60.0
_MOST_NAMES = 100_000
_MOST_ADDRESSES = 32


class Resolver:
    """Asks the system's name servers, or those given as `host` or `host:port`."""

    def __init__(
        self,
        *,
        now: Callable[[], float],
        nameservers: Sequence[str] = (),
        prefer: Literal["ipv4", "ipv6"] = "ipv4",
        timeout_s: float = 5.0,
        most_names: int = _MOST_NAMES,
    ) -> None:
        self._now, self._nameservers, self._timeout_s = now, list(nameservers), timeout_s
        self._first_version = 4 if prefer == "ipv4" else 6
        self._most_names = most_names
        self._known: dict[str, tuple[Resolved | NoAddress, float]] = {}  # oldest use first
        self._asked: dict[str, asyncio.Task[Resolved | NoAddress]] = {}
        self._servers: NameServers | None = None  # begun by the first question, which has a loop
        self._is_closed = False

    async def resolve(self, host: str) -> Resolved | NoAddress:
        known = self._known.pop(host, None)
        if known is not None and known[1] > self._now():
            self._known[host] = known
            return known[0]
        if (literal := read_address(host)) is not None:
            return Resolved((str(literal),), math.inf)
        if self._is_closed:
            raise LycosaError("The resolver is closed: make a new one to ask more.")
        task = self._asked.get(host)
        if task is None:
            task = self._asked[host] = asyncio.create_task(self._ask(host))
            task.add_done_callback(lambda _: self._asked.pop(host, None))
        try:
            return await asyncio.shield(task)  # one who leaves takes nothing from the others
        except asyncio.CancelledError:
            if self._is_closed and task.cancelled():
                raise LycosaError("The resolver was closed in the middle of a question.") from None
            raise

    async def aclose(self) -> None:
        """End all questions; whoever waits for one gets an error."""
        self._is_closed = True
        tasks = list(self._asked.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._servers is not None:
            await self._servers.aclose()
            self._servers = None

    async def _ask(self, host: str) -> Resolved | NoAddress:
        found = await self._open().ask(host)
        return self._keep(host, *((found, None) if isinstance(found, NoAddress) else self._read(found)))

    def _open(self) -> NameServers:
        if self._servers is None:
            # Imported here: who crawls addresses has no questions, and c-ares and what is around it take 20 ms to load.
            from lycosa.backends.name_servers import NameServers

            self._servers = NameServers(self._nameservers, self._timeout_s)
        return self._servers

    def _read(self, found: Any) -> tuple[Resolved | NoAddress, float | None]:
        texts = dict.fromkeys(node.addr[0].decode() for node in found.nodes)
        known = [address for text in texts if (address := read_address(text)) is not None]
        if not known:
            return NoAddress("dns.nxdomain", "the name has no addresses"), None
        ordered = sorted(known, key=lambda address: address.version != self._first_version)  # stable
        ttl_s = min(max(SHORTEST_S, min(each.ttl for each in (*found.nodes, *found.cnames))), LONGEST_S)
        expires_at = self._now() + ttl_s
        return Resolved(tuple(map(str, ordered[:_MOST_ADDRESSES])), expires_at), expires_at

    def _keep(self, host: str, answer: Resolved | NoAddress, until: float | None) -> Resolved | NoAddress:
        if isinstance(answer, NoAddress):
            until = self._now() + (NO_NAME_S if answer.kind == "dns.nxdomain" else FAILED_S)
        assert until is not None
        self._known[host] = answer, until
        while len(self._known) > self._most_names:
            del self._known[next(iter(self._known))]
        return answer
