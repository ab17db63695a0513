"""HTTP by libcurl (pycurl): one request in, an answer or the trouble with it out.

Names are resolved by the resolver that was given and each address is judged before a connection and again by the
connection itself, so no change of DNS in between can lead anywhere else. Of the addresses that may be asked up to three
are tried, within the time for connecting, and the one that worked is preferred while the name still has it. Connections
are kept per scheme, host, port and address: when a name moves, those to its old address are never used again.

One fetch sends at most one request. When a kept connection breaks before the answer, the trouble is `closed.empty` and
trying again is the caller's decision; redirects, likewise, are answers and not followed. What a server does is a value,
never an exception. An address is asked only when the gate has let the request pass; times count from then on, and the
time for the first byte from the request.

How much is fetched at once is the caller's to bound (`fetch.slots`). A fetch that is cancelled closes its connection.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import NamedTuple, Protocol

import pycurl

from lycosa.backends.curl_kept import KeptSockets
from lycosa.backends.curl_multi import CurlLoop, Ended
from lycosa.backends.curl_transfer import Transfer
from lycosa.backends.curl_trouble import kind_of
from lycosa.backends.curl_watch import Watch
from lycosa.backends.open_files import open_files
from lycosa.config import Fetch
from lycosa.errors import BadInput
from lycosa.model import Ask, Response, Timings, Trouble
from lycosa.ports import Gate
from lycosa.web.addresses import NoAddress, OwnHosts, Resolved, may_connect, refusal
from lycosa.web.url import host_of

MOST_ADDRESSES = 3
_LEAST_STATUS, _GREATEST_STATUS = 200, 999  # of a final answer: some make up their own
_MOST_PREFERRED = 10_000
_KINDS = {
    "headers": ("headers.too_large", "the head is longer than 64 KiB or 200 lines"),
    "resend": ("closed.empty", "a kept connection was closed before the answer"),
    "framing": ("protocol", "more is sent around the content than content"),
    "address": ("address.refused", "the connection leads to another address than the one chosen"),
    "connect": ("connect.timeout", "no connection in time"),
    "first_byte": ("timeout.first_byte", "no answer in time"),
    "slow": ("timeout.total", "the answer came too slowly"),
    "total": ("timeout.total", "the answer was not complete in time"),
}


class FindsAddresses(Protocol):
    async def resolve(self, host: str) -> Resolved | NoAddress: ...


class TellsTime(Protocol):
    def now(self) -> float: ...
    def wall(self) -> float: ...


class _Visit(NamedTuple):
    """One try of one address."""

    ask: Ask
    began_at: float  # on the clock
    began_wall: float
    resolved_s: float
    total_at: float  # on the event loop's time


class CurlFetcher:
    def __init__(  # noqa: PLR0913 what it works with
        self,
        *,
        settings: Fetch,
        agent: str,
        resolver: FindsAddresses,
        own: OwnHosts,
        clock: TellsTime,
        gate: Gate | None = None,
        source: str = "",
        ca_file: str | None = None,
        is_nameless: bool = False,
    ) -> None:
        """`is_nameless` is an agent without a contact: it asks own hosts only."""
        self._settings, self._new = settings, partial(Transfer, agent, clock.wall, ca_file, source)
        self._resolver, self._own, self._clock, self._gate = resolver, own, clock, gate
        self._is_nameless = is_nameless
        most = _most_connections(settings)
        self._curls, self._kept = CurlLoop(most), KeptSockets(most)
        self._idle: list[Transfer] = []
        self._preferred: dict[str, str] = {}  # the address that worked, by host, oldest use first

    async def fetch(self, ask: Ask) -> Response | Trouble:
        began_at, began_wall = self._clock.now(), self._clock.wall()
        if not ask.url.startswith(("http://", "https://")):
            return Trouble(ask.url, "url.unusable", "neither http nor https", None, began_wall, Timings())
        host = host_of(ask.url)
        found = await self._resolver.resolve(host)
        resolved_s = self._clock.now() - began_at
        timings = Timings(resolve_s=resolved_s, total_s=resolved_s)
        if isinstance(found, NoAddress):
            return Trouble(ask.url, found.kind, found.detail, None, began_wall, timings)
        addresses = self.candidates(host, found.addresses)
        if not addresses:
            kind, why = self._refusal(host, found.addresses)
            return Trouble(ask.url, kind, why, found.addresses[0], began_wall, timings)
        return await self._try_each(ask, resolved_s, host, addresses)

    def candidates(self, host: str, addresses: tuple[str, ...]) -> list[str]:
        """The addresses that `fetch` would try, in order: those that may be asked, the one that worked last first."""
        allowed = [each for each in addresses if self._may_ask(host, each)]
        preferred = self._preferred.get(host)
        if preferred in allowed:
            allowed.remove(preferred)
            allowed.insert(0, preferred)
        return allowed[:MOST_ADDRESSES]

    def _may_ask(self, host: str, address: str) -> bool:
        return self._own.covers(host, address) if self._is_nameless else may_connect(self._own, host, address)

    def _refusal(self, host: str, addresses: tuple[str, ...]) -> tuple[str, str]:
        """Why none of them may be asked."""
        if any(may_connect(self._own, host, each) for each in addresses):
            return "contact.missing", "the host is not our own, and its owner could not reach us"
        return "address.refused", ", ".join(f"{each} is {refusal(each)}" for each in addresses[:MOST_ADDRESSES])

    async def aclose(self) -> None:
        """Close all connections; a fetch under way raises."""
        self._curls.close()
        for transfer in self._idle:
            transfer.close()
        self._idle.clear()

    async def _try_each(self, ask: Ask, resolved_s: float, host: str, addresses: list[str]) -> Response | Trouble:
        connect_s = self._settings.connect_timeout / len(addresses)
        for address in addresses:
            if self._gate is None or ask.gap_s <= 0:  # own hosts only
                reply, was_sent = await self._try(self._begin(ask, resolved_s), address, connect_s)
            else:
                async with self._gate.passage(address, ask.gap_s, ask.is_withdrawn) as may_go:
                    if not may_go:
                        return Trouble(ask.url, "withdrawn", "", address, self._clock.wall(), Timings())
                    reply, was_sent = await self._try(self._begin(ask, resolved_s), address, connect_s)
            if was_sent:
                self._prefer(host, address)
            if was_sent or isinstance(reply, Response) or not reply.kind.startswith("connect."):
                break
        return reply

    def _begin(self, ask: Ask, resolved_s: float) -> _Visit:
        """Times count from here: what was waited for the address is not the server's doing."""
        total_at = asyncio.get_running_loop().time() + self._settings.timeout
        return _Visit(ask, self._clock.now(), self._clock.wall(), resolved_s, total_at)

    async def _try(self, visit: _Visit, address: str, connect_s: float) -> tuple[Response | Trouble, bool]:
        transfer = self._idle.pop() if self._idle else self._new()
        try:
            reply = await self._exchange(visit, transfer, address, connect_s)
            return reply, bool(transfer.sent_at)
        finally:
            self._curls.stop(transfer.curl)
            self._put_back(transfer)

    def _put_back(self, transfer: Transfer) -> None:
        if len(self._idle) < self._settings.slots:
            self._idle.append(transfer)
        else:
            transfer.close()

    def _prefer(self, host: str, address: str) -> None:
        self._preferred.pop(host, None)
        self._preferred[host] = address
        if len(self._preferred) > _MOST_PREFERRED:
            del self._preferred[next(iter(self._preferred))]

    async def _exchange(self, visit: _Visit, transfer: Transfer, address: str, connect_s: float) -> Response | Trouble:
        ask, settings = visit.ask, self._settings
        max_body = settings.max_body if ask.max_body is None else min(ask.max_body, settings.max_body)
        origin = ask.url[: ask.url.index("/", len("https://"))]
        url = ask.url if "@" not in origin else _without_credentials(ask.url, origin)
        transfer.prepare(url, address, max_body, ask.headers, self._kept.is_dead(origin, address))
        offset_s = self._clock.now() - visit.began_at
        transfer.give_up = partial(self._curls.stop, transfer.curl)
        ended = self._curls.start(transfer.curl)
        watch = Watch(settings, transfer, connect_s, visit.total_at)
        try:
            how = await ended
        finally:
            watch.end()
        if transfer.is_plain:
            self._kept.note(origin, address, how.fd)
        return self._settle(visit, transfer, how, self._timings(visit, transfer, offset_s))

    def _timings(self, visit: _Visit, transfer: Transfer, offset_s: float) -> Timings:
        info = transfer.curl.getinfo
        phases = (info(pycurl.CONNECT_TIME), info(pycurl.APPCONNECT_TIME), info(pycurl.STARTTRANSFER_TIME))
        is_fresh = info(pycurl.NUM_CONNECTS) > 0
        connect_s, tls_s, first_byte_s = (offset_s + each if each else 0.0 for each in phases)
        total_s = self._clock.now() - visit.began_at
        return Timings(
            visit.resolved_s,
            connect_s if is_fresh else 0.0,
            tls_s if is_fresh else 0.0,
            first_byte_s if transfer.received_bytes else 0.0,
            total_s,
        )

    def _settle(self, visit: _Visit, transfer: Transfer, how: Ended, timings: Timings) -> Response | Trouble:
        started_at = transfer.sent_at or visit.began_wall
        stopped = transfer.stopped
        is_answer = how.code == 0 or stopped in ("length", "total", "slow")
        status = transfer.curl.getinfo(pycurl.RESPONSE_CODE)  # libcurl takes more for a status line than we would
        if is_answer and transfer.is_head_whole and _LEAST_STATUS <= status <= _GREATEST_STATUS:
            return _respond(visit.ask.url, status, transfer, started_at, timings)
        if stopped in _KINDS:
            kind, detail = _KINDS[stopped]
        elif how.code == 0 and transfer.is_head_whole:
            kind, detail = "protocol", f"{status} is no status of an answer"
        elif how.code == 0:
            kind, detail = "closed.empty", "no final answer came"
        else:
            system_error = transfer.curl.getinfo(pycurl.OS_ERRNO)
            kind = kind_of(how.code, how.said, system_error, head_came=transfer.is_head_whole)
            detail = how.said or f"error {how.code} of libcurl"
        return Trouble(visit.ask.url, kind, detail, transfer.address, started_at, timings)


def _most_connections(settings: Fetch) -> int:
    """Enough that every host at hand keeps its own while those that left are forgotten, but no more than half of what
    may be open."""
    return min(settings.hosts + settings.slots, max(settings.slots, open_files() // 2))


def _without_credentials(url: str, origin: str) -> str:
    """A password in a link is not ours to use."""
    scheme, _, authority = origin.partition("://")
    return f"{scheme}://{authority.rpartition('@')[2]}{url[len(origin) :]}"


def _respond(url: str, status: int, transfer: Transfer, started_at: float, timings: Timings) -> Response:
    version, _, rest = transfer.head_lines[0].rstrip(b"\r\n").partition(b" ")
    reason = rest.strip().partition(b" ")[2]
    payload, body, truncated = transfer.body()
    return Response(
        url=url,
        status=status,
        reason=reason.decode("latin-1"),
        version=version.split()[0].removeprefix(b"HTTP/").decode("latin-1"),
        headers=transfer.headers,
        request_head=transfer.request_head,
        head=transfer.head,
        payload=payload,
        body=body,
        truncated="time" if transfer.stopped in ("total", "slow") else truncated,
        address=transfer.address,
        started_at=started_at,
        timings=timings,
    )


def write_agent(name: str, version: str, contact: str) -> str:
    """The User-Agent: who crawls, and where to reach whoever answers for it."""
    if any(letter < " " or letter == "\x7f" for letter in name + version + contact):
        raise BadInput("the crawler's name and contact cannot hold line breaks: write them on one line")
    return f"{name}/{version} (+{contact})" if contact else f"{name}/{version}"
