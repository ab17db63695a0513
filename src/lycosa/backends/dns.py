"""Names to addresses, asynchronously, by c-ares (aiodns).

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
from typing import Any, Literal

import aiodns
import pycares

from lycosa.errors import LycosaError
from lycosa.web.addresses import NoAddress, Resolved, read_address

SHORTEST_S, LONGEST_S = 30.0, 86_400.0
NO_NAME_S, FAILED_S = 1800.0, 60.0
_MOST_NAMES = 100_000
_MOST_ADDRESSES = 32
_TRIES = 2
_NO_SORT = 1 << 7  # ARES_AI_NOSORT, which pycares does not name: sorting opens a socket for each address

_KINDS = {
    pycares.errno.ARES_ENOTFOUND: "dns.nxdomain",
    pycares.errno.ARES_ENODATA: "dns.nxdomain",  # the name exists, without addresses
    pycares.errno.ARES_EBADNAME: "dns.nxdomain",  # no name at all
    pycares.errno.ARES_ENONAME: "dns.nxdomain",
    pycares.errno.ARES_ETIMEOUT: "dns.timeout",
}


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
        self._channel: aiodns.DNSResolver | None = None  # begun by the first question, which has a loop
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
        if self._channel is not None:
            await self._channel.close()
            self._channel = None

    async def _ask(self, host: str) -> Resolved | NoAddress:
        try:
            found = await self._open().getaddrinfo(host, flags=_NO_SORT)
        except (aiodns.error.DNSError, UnicodeError, ValueError) as error:
            return self._keep(host, _read_error(host, error), None)
        return self._keep(host, *self._read(found))

    def _open(self) -> aiodns.DNSResolver:
        if self._channel is None:
            self._channel = aiodns.DNSResolver(
                nameservers=self._nameservers or None,
                timeout=self._timeout_s,
                tries=_TRIES,
                flags=pycares.ARES_FLAG_NOSEARCH | pycares.ARES_FLAG_EDNS,
            )
        return self._channel

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


def _read_error(host: str, error: Exception) -> NoAddress:
    if not isinstance(error, aiodns.error.DNSError):
        return NoAddress("dns.nxdomain", f"{host[:300]!r} is not a name that can be looked up")
    number, *said = error.args
    return NoAddress(_KINDS.get(number, "dns.servfail"), str(said[0]) if said else str(number))
