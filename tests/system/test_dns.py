"""Names over real sockets: a real name server (dnsmasq) for zones, a scripted one for what no sane server does."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from typing import cast

import pytest
from dnsmasq import dnsmasq

from lycosa.backends import dns
from lycosa.backends.dns import Resolver
from lycosa.backends.http import CurlFetcher
from lycosa.backends.system import SystemClock
from lycosa.config import Fetch
from lycosa.errors import LycosaError
from lycosa.model import Ask, Response, Trouble
from lycosa.sim.clock import VirtualClock
from lycosa.web.addresses import NoAddress, OwnHosts, Resolved

ZONE = """
host-record=plain.test,192.0.2.5
host-record=both.test,192.0.2.6,2001:db8::6
host-record=six.test,2001:db8::7
host-record=short.test,192.0.2.8,5
host-record=hour.test,192.0.2.9,3600
host-record=long.test,192.0.2.10,864000
cname=alias.test,hour.test,60
address=/one-of-many.test/192.0.2.11
host-record=shared-a.test,192.0.2.12
host-record=shared-b.test,192.0.2.12
txt-record=empty.test,"no address here"
"""
MANY = [f"192.0.2.{n}" for n in range(100, 120)]


@pytest.fixture(scope="module")
def name_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    many = "".join(f"host-record=many.test,{address}\n" for address in MANY)
    with dnsmasq(tmp_path_factory.mktemp("dnsmasq"), ZONE + many) as address:
        yield address


@asynccontextmanager
async def resolving(server: str, clock: VirtualClock | None = None, **more: object) -> AsyncIterator[Resolver]:
    resolver = Resolver(now=(clock or VirtualClock()).now, nameservers=[server], timeout_s=0.2, **more)  # type: ignore[arg-type]
    try:
        yield resolver
    finally:
        await resolver.aclose()


class Script(asyncio.DatagramProtocol):
    """A name server that says what it is told: addresses, the number of an error, or nothing."""

    def __init__(self, replies: list[list[str] | int | None], ttl_s: int = 0) -> None:
        self._replies, self._ttl_s = replies, ttl_s
        self.questions = 0  # for IPv4 addresses; those for IPv6 get an empty answer

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, address: tuple[str, int]) -> None:
        end = data.index(b"\0", 12) + 5
        is_v4 = data[end - 4 : end - 2] == b"\0\x01"
        reply = self._replies[min(self.questions, len(self._replies) - 1)]
        self.questions += is_v4
        if reply is None:
            return
        code = reply if isinstance(reply, int) else 0
        found = reply if isinstance(reply, list) and is_v4 else []
        head = data[:2] + struct.pack(">HHHHH", 0x8180 | code, 1, len(found), 0, 0)
        records = [b"\xc0\x0c\0\x01\0\x01" + struct.pack(">IH", self._ttl_s, 4) + socket.inet_aton(a) for a in found]
        self._transport.sendto(head + data[12:end] + b"".join(records), address)


@asynccontextmanager
async def scripted(*replies: list[str] | int | None, ttl_s: int = 0) -> AsyncIterator[tuple[str, Script]]:
    loop = asyncio.get_running_loop()
    transport, script = await loop.create_datagram_endpoint(
        lambda: Script(list(replies), ttl_s), local_addr=("127.0.0.1", 0)
    )
    try:
        yield f"127.0.0.1:{transport.get_extra_info('sockname')[1]}", script
    finally:
        transport.close()


NXDOMAIN, SERVFAIL, REFUSED = 3, 2, 5


# -- what names have --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "addresses"),
    [
        ("plain.test", ("192.0.2.5",)),
        ("both.test", ("192.0.2.6", "2001:db8::6")),
        ("six.test", ("2001:db8::7",)),
        ("alias.test", ("192.0.2.9",)),
        ("below.one-of-many.test", ("192.0.2.11",)),
        ("shared-a.test", ("192.0.2.12",)),
        ("shared-b.test", ("192.0.2.12",)),
    ],
)
def test_names_have_their_addresses(name_server: str, host: str, addresses: tuple[str, ...]) -> None:
    async def main() -> None:
        async with resolving(name_server) as resolver:
            found = await resolver.resolve(host)
            assert isinstance(found, Resolved)
            assert found.addresses == addresses

    asyncio.run(main())


def test_ipv6_comes_first_if_preferred(name_server: str) -> None:
    async def main() -> None:
        async with resolving(name_server, prefer="ipv6") as resolver:
            found = await resolver.resolve("both.test")
            assert isinstance(found, Resolved)
            assert found.addresses == ("2001:db8::6", "192.0.2.6")

    asyncio.run(main())


def test_many_addresses_of_one_name(name_server: str) -> None:
    async def main() -> None:
        async with resolving(name_server) as resolver:
            found = await resolver.resolve("many.test")
            assert isinstance(found, Resolved)
            assert sorted(found.addresses) == sorted(MANY)

    asyncio.run(main())


@pytest.mark.parametrize("host", ["missing.test", "empty.test", "bad..name", "x" * 64 + ".test", "a b.test"])
def test_names_that_have_none(name_server: str, host: str) -> None:
    async def main() -> None:
        async with resolving(name_server) as resolver:
            found = await resolver.resolve(host)
            assert isinstance(found, NoAddress)
            assert found.kind == "dns.nxdomain"
            assert found.detail

    asyncio.run(main())


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "::1", "2001:db8::1", "8.8.8.8"])
def test_addresses_answer_for_themselves_for_ever(host: str) -> None:
    async def main() -> None:
        async with resolving("127.0.0.1:1") as resolver:
            assert await resolver.resolve(host) == Resolved((host.strip("[]"),), float("inf"))

    asyncio.run(main())


def test_localhost_needs_no_name_server() -> None:
    async def main() -> None:
        async with resolving("127.0.0.1:1") as resolver:
            found = await resolver.resolve("localhost")
            assert isinstance(found, Resolved)
            assert "127.0.0.1" in found.addresses

    asyncio.run(main())


@pytest.mark.parametrize(
    ("reply", "kind"),
    [(NXDOMAIN, "dns.nxdomain"), (SERVFAIL, "dns.servfail"), (REFUSED, "dns.servfail"), (None, "dns.timeout")],
)
def test_three_ways_to_fail(reply: int | None, kind: str) -> None:
    async def main() -> None:
        async with scripted(reply) as (server, _), resolving(server) as resolver:
            found = await resolver.resolve("some.test")
            assert isinstance(found, NoAddress)
            assert found.kind == kind

    asyncio.run(main())


# -- how long it holds ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "ttl_s"),
    [("short.test", dns.SHORTEST_S), ("hour.test", 3600.0), ("long.test", dns.LONGEST_S), ("alias.test", 60.0)],
)
def test_answers_hold_as_long_as_they_say_within_bounds(name_server: str, host: str, ttl_s: float) -> None:
    async def main() -> None:
        clock = VirtualClock(1000.0)
        async with resolving(name_server, clock) as resolver:
            found = await resolver.resolve(host)
            assert isinstance(found, Resolved)
            assert found.expires_at == 1000.0 + ttl_s

    asyncio.run(main())


def test_an_answer_is_asked_for_again_only_when_it_has_expired() -> None:
    async def main() -> None:
        clock = VirtualClock()
        async with (
            scripted(["192.0.2.1"], ["192.0.2.2"]) as (server, script),
            resolving(server, clock) as resolver,
        ):
            first = await resolver.resolve("some.test")
            clock.advance(by=dns.SHORTEST_S - 0.1)
            assert await resolver.resolve("some.test") == first
            assert script.questions == 1
            clock.advance(by=0.2)
            assert await resolver.resolve("some.test") == Resolved(("192.0.2.2",), clock.now() + dns.SHORTEST_S)
            assert script.questions == 2

    asyncio.run(main())


@pytest.mark.parametrize(("reply", "holds_s"), [(NXDOMAIN, dns.NO_NAME_S), (SERVFAIL, dns.FAILED_S)])
def test_failures_hold_for_a_while(reply: int, holds_s: float) -> None:
    async def main() -> None:
        clock = VirtualClock()
        async with scripted(reply) as (server, script), resolving(server, clock) as resolver:
            await resolver.resolve("some.test")
            asked = script.questions
            clock.advance(by=holds_s - 1)
            assert isinstance(await resolver.resolve("some.test"), NoAddress)
            assert script.questions == asked
            clock.advance(by=2)
            assert isinstance(await resolver.resolve("some.test"), NoAddress)
            assert script.questions > asked

    asyncio.run(main())


def test_many_who_ask_at_once_cause_one_question() -> None:
    async def main() -> None:
        async with scripted(["192.0.2.1"]) as (server, script), resolving(server) as resolver:
            found = await asyncio.gather(*(resolver.resolve("some.test") for _ in range(50)))
            assert set(found) == {found[0]}
            assert script.questions == 1

    asyncio.run(main())


def test_one_who_leaves_takes_nothing_from_the_others() -> None:
    async def main() -> None:
        async with scripted(["192.0.2.1"]) as (server, script), resolving(server) as resolver:
            tasks = [asyncio.create_task(resolver.resolve("some.test")) for _ in range(3)]
            await asyncio.sleep(0)
            tasks[0].cancel()
            found = await asyncio.gather(*tasks, return_exceptions=True)
            assert isinstance(found[0], asyncio.CancelledError)
            assert isinstance(found[1], Resolved)
            assert script.questions == 1

    asyncio.run(main())


def test_the_cache_is_bounded_and_forgets_what_was_unused_for_longest() -> None:
    async def main() -> None:
        async with scripted(["192.0.2.1"]) as (server, script), resolving(server, most_names=3) as resolver:
            for host in ("a.test", "b.test", "c.test", "a.test", "d.test"):
                await resolver.resolve(host)
            assert script.questions == 4
            await resolver.resolve("a.test")
            assert script.questions == 4
            await resolver.resolve("b.test")
            assert script.questions == 5

    asyncio.run(main())


def test_closing_ends_the_questions_under_way() -> None:
    async def main() -> None:
        async with scripted(None) as (server, _):
            resolver = Resolver(now=VirtualClock().now, nameservers=[server])
            task = asyncio.create_task(resolver.resolve("some.test"))
            await asyncio.sleep(0)
            await resolver.aclose()
            with pytest.raises(LycosaError, match="in the middle"):
                await task
            with pytest.raises(LycosaError, match="make a new one"):
                await resolver.resolve("some.test")
            await resolver.aclose()

    asyncio.run(main())


# -- with the fetcher -------------------------------------------------------------------------------------------------

PAGE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"


@asynccontextmanager
async def web(*addresses: str) -> AsyncIterator[tuple[int, list[str]]]:
    """A server at some addresses, and the addresses it was called at."""
    called: list[str] = []
    tasks: set[asyncio.Task[None]] = set()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        called.append(writer.get_extra_info("sockname")[0])
        tasks.add(cast("asyncio.Task[None]", asyncio.current_task()))
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while await reader.readuntil(b"\r\n\r\n"):
                writer.write(PAGE)
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    opened, port = [], 0
    for address in addresses:
        opened.append(await asyncio.start_server(talk, address, port))
        port = opened[-1].sockets[0].getsockname()[1]
    try:
        yield port, called
    finally:
        for server in opened:
            server.close()
        await asyncio.gather(*tasks)  # the fetcher has hung up by now


@asynccontextmanager
async def fetching(resolver: Resolver, *own: str) -> AsyncIterator[CurlFetcher]:
    fetcher = CurlFetcher(
        settings=Fetch(), agent="Lycosa/0.1", resolver=resolver, own=OwnHosts(own), clock=SystemClock()
    )
    try:
        yield fetcher
    finally:
        await fetcher.aclose()


def test_rebinding_never_connects_to_a_private_address() -> None:
    async def main() -> None:
        clock = VirtualClock()
        async with (
            scripted(["127.0.51.1"], ["127.0.51.2"]) as (server, _),
            resolving(server, clock) as resolver,
            web("127.0.51.1", "127.0.51.2") as (port, called),
            fetching(resolver, "127.0.51.1") as fetcher,  # the first stands for a public address
        ):
            url = f"http://rebind.test:{port}/"
            assert isinstance(await fetcher.fetch(Ask(url)), Response)
            clock.advance(by=3600)
            reply = await fetcher.fetch(Ask(url))
            assert isinstance(reply, Trouble)
            assert (reply.kind, reply.address) == ("address.refused", "127.0.51.2")
            assert called == ["127.0.51.1"]

    asyncio.run(main())


def test_a_name_of_ones_own_may_be_private() -> None:
    async def main() -> None:
        async with (
            scripted(["127.0.51.3"]) as (server, _),
            resolving(server) as resolver,
            web("127.0.51.3") as (port, called),
            fetching(resolver, "own.test") as fetcher,
        ):
            assert isinstance(await fetcher.fetch(Ask(f"http://a.own.test:{port}/")), Response)
            assert isinstance(await fetcher.fetch(Ask(f"http://other.test:{port}/")), Trouble)
            assert called == ["127.0.51.3"]

    asyncio.run(main())


def test_dead_addresses_before_a_live_one() -> None:
    async def main() -> None:
        async with (
            scripted(["127.0.51.11", "127.0.51.12", "127.0.51.13"]) as (server, _),
            resolving(server) as resolver,
            web("127.0.51.13") as (port, _),
            fetching(resolver, "127.0.0.0/8") as fetcher,
        ):
            reply = await fetcher.fetch(Ask(f"http://dead.test:{port}/"))
            assert isinstance(reply, Response)
            assert reply.address == "127.0.51.13"

    asyncio.run(main())


def test_a_missing_name_is_a_trouble_that_lasts(name_server: str) -> None:
    async def main() -> None:
        async with resolving(name_server) as resolver, fetching(resolver) as fetcher:
            reply = await fetcher.fetch(Ask("http://missing.test/"))
            assert isinstance(reply, Trouble)
            assert (reply.kind, reply.is_lasting, reply.address) == ("dns.nxdomain", True, None)

    asyncio.run(main())
