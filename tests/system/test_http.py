"""One fetch over real sockets: bytes, connections, deadlines, addresses, and who is in charge."""

from __future__ import annotations

import asyncio
import errno
import random
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec
import pycurl
import pytest
import uvloop

from lycosa.backends.curl_trouble import kind_of
from lycosa.backends.http import CurlFetcher, write_agent
from lycosa.backends.system import SystemClock
from lycosa.config import Bytes, Fetch, Seconds
from lycosa.errors import BadInput, LycosaError
from lycosa.model import TROUBLES, Ask, Response, Trouble
from lycosa.sim.plan import WorldPlan
from lycosa.sim.server import Serving, serve
from lycosa.sim.world import Request, World
from lycosa.web.addresses import NoAddress, OwnHosts, Resolved

AGENT = "Lycosa/0.1 (+https://example.org/bot)"
QUICK = Fetch(connect_timeout=Seconds(5), first_byte_timeout=Seconds(5), timeout=Seconds(10))
PAGE = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 12\r\n\r\n<p>hello</p>"


class Phonebook:
    """Names with their addresses; a list of answers is given one by one, the last one for ever."""

    def __init__(self, names: dict[str, list[tuple[str, ...]]] | None = None) -> None:
        self._names = names or {}

    async def resolve(self, host: str) -> Resolved | NoAddress:
        answers = self._names.get(host)
        if answers is None:
            return Resolved((host.strip("[]"),), float("inf"))
        return Resolved(answers.pop(0) if len(answers) > 1 else answers[0], 0.0)


@asynccontextmanager
async def fetching(
    settings: Fetch = QUICK,
    names: dict[str, list[tuple[str, ...]]] | None = None,
    own: tuple[str, ...] = ("127.0.0.0/8",),
) -> AsyncIterator[CurlFetcher]:
    fetcher = CurlFetcher(
        settings=settings, agent=AGENT, resolver=Phonebook(names), own=OwnHosts(own), clock=SystemClock()
    )
    try:
        yield fetcher
    finally:
        await fetcher.aclose()


Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Server:
    """Counts connections and keeps the heads of all requests."""

    def __init__(self, serve_one: Serve) -> None:
        self._serve_one = serve_one
        self.heads: list[bytes] = []
        self.connections = 0
        self.port = 0
        self.tasks: set[asyncio.Task[Any]] = set()

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        try:
            await self._serve_one(_Counting(reader, self), writer)  # type: ignore[arg-type]
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            with suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()
            self.tasks.discard(task)

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"


class _Counting:
    def __init__(self, reader: asyncio.StreamReader, server: Server) -> None:
        self._reader, self._server = reader, server

    async def head(self) -> bytes:
        head = await self._reader.readuntil(b"\r\n\r\n")
        self._server.heads.append(head)
        return head

    async def read(self) -> bytes:
        return await self._reader.read()


@asynccontextmanager
async def serving(serve_one: Any, *addresses: str) -> AsyncIterator[Server]:
    server = Server(serve_one)
    opened = []
    for address in addresses or ("127.0.0.1",):
        opened.append(await asyncio.start_server(server.talk, address, server.port, backlog=512))
        server.port = opened[-1].sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        for each in opened:
            each.close()
        waiting = list(server.tasks)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


def answering(*answers: bytes) -> Any:
    """One answer after another on the same connection, the last one for ever."""

    async def serve_one(reader: Any, writer: asyncio.StreamWriter) -> None:
        turn = 0
        while True:
            await reader.head()
            writer.write(answers[min(turn, len(answers) - 1)])
            await writer.drain()
            turn += 1

    return serve_one


def run(main: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(main, 20))


async def get(fetcher: CurlFetcher, url: str, **more: Any) -> Response:
    reply = await fetcher.fetch(Ask(url, **more))
    assert isinstance(reply, Response), reply
    return reply


async def fail(fetcher: CurlFetcher, url: str, **more: Any) -> Trouble:
    reply = await fetcher.fetch(Ask(url, **more))
    assert isinstance(reply, Trouble), reply
    assert reply.kind in TROUBLES
    return reply


# -- bytes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("line", [b"HTTP/1.1 200OK", b"HTTP/1.1 200\tOK", b"HTTP/1.1\t200 OK", b"HTTP/1.1 200"])
def test_a_status_line_that_libcurl_takes_is_an_answer_however_it_is_written(line: bytes) -> None:
    async def main() -> None:
        raw = line + b"\r\nContent-Length: 5\r\n\r\nhello"
        async with serving(answering(raw)) as server, fetching() as fetcher:
            got = await get(fetcher, server.url("/"))
            assert (got.status, got.body) == (200, b"hello")

    run(main())


def test_an_answer_is_kept_byte_for_byte() -> None:
    raw = b"HTTP/1.1 203 Sort  Of\r\nCONTENT-type:text/html\r\nX-Two:  a\r\nx-two: b \r\nContent-Length: 5\r\n\r\nhello"

    async def main() -> None:
        async with serving(answering(raw)) as server, fetching() as fetcher:
            before = time.time()
            got = await get(fetcher, server.url("/a/../b?q=%20&empty"), headers=(("If-None-Match", '"x"'),))
            assert got.head + got.payload == raw
            assert (got.status, got.reason, got.version, got.body) == (203, "Sort  Of", "1.1", b"hello")
            assert got.headers.pairs == (
                ("CONTENT-type", "text/html"),
                ("X-Two", "a"),
                ("x-two", "b"),
                ("Content-Length", "5"),
            )
            assert [got.request_head] == server.heads
            assert got.request_head.decode().split("\r\n") == [
                "GET /a/../b?q=%20&empty HTTP/1.1",
                f"Host: 127.0.0.1:{server.port}",
                f"User-Agent: {AGENT}",
                "Accept: text/html,application/xhtml+xml,*/*;q=0.8",
                "Accept-Encoding: gzip, br, zstd, deflate",
                'If-None-Match: "x"',
                "",
                "",
            ]
            assert before <= got.started_at <= time.time()
            assert (got.address, got.truncated, got.url) == ("127.0.0.1", "", server.url("/a/../b?q=%20&empty"))

    run(main())


def test_headers_of_one_request_do_not_leak_into_the_next() -> None:
    async def main() -> None:
        async with serving(answering(PAGE)) as server, fetching() as fetcher:
            first = await get(fetcher, server.url(), headers=(("If-None-Match", '"é"'),))
            second = await get(fetcher, server.url())
            assert b'If-None-Match: "\xe9"' in first.request_head
            assert b"If-None-Match" not in second.request_head
            assert server.heads == [first.request_head, second.request_head]

    run(main())


def test_a_header_with_a_line_break_is_our_own_mistake_and_sends_nothing() -> None:
    async def main() -> None:
        async with serving(answering(PAGE)) as server, fetching() as fetcher:
            with pytest.raises(BadInput, match="line break"):
                await fetcher.fetch(Ask(server.url(), (("X", "a\r\nEvil: b"),)))
            assert server.heads == []
            await get(fetcher, server.url())

    run(main())


def test_passwords_in_links_are_not_used() -> None:
    async def main() -> None:
        async with serving(answering(PAGE)) as server, fetching() as fetcher:
            got = await get(fetcher, f"http://user:p%40ss@127.0.0.1:{server.port}/a@b")
            assert got.request_head.startswith(f"GET /a@b HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n".encode())
            assert b"Authorization" not in got.request_head

    run(main())


def test_pages_of_the_simulated_web_arrive_as_they_are() -> None:
    world = World(WorldPlan(seed=2, hosts=6, pages=60, page_bytes=20_000))

    async def main() -> None:
        now = 1_720_000_000.0
        async with serve(world, how=Serving(wall=lambda: now)) as served, fetching() as fetcher:
            atlas = served.world.atlas
            for host in range(6):
                for page in served.world.truth.pages_of(host):
                    label, path = atlas.label(host), atlas.path(page)
                    plain = served.world.answer(Request("GET", label, path), now)
                    coded = served.world.answer(Request("GET", label, path, {"accept-encoding": "gzip"}), now)
                    got = await get(fetcher, f"http://{label}:{served.port}{path}")
                    assert (got.status, got.body) == (plain.status, plain.body)
                    assert (got.headers.pairs, got.payload) == (tuple(coded.headers), coded.body)
                    assert got.address == atlas.address(host)

    run(main())


def test_interim_answers_and_trailers_are_not_part_of_the_head() -> None:
    final = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    raw = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + final + b"2\r\nhi\r\n0\r\nX-Trailer: t\r\n\r\n"

    async def main() -> None:
        async with serving(answering(raw)) as server, fetching() as fetcher:
            for _ in range(2):
                got = await get(fetcher, server.url())
                assert (got.head, got.payload, got.body) == (final, b"hi", b"hi")
            assert server.connections == 1

    run(main())


def test_what_is_in_headers_is_text_whatever_the_bytes() -> None:
    raw = b"HTTP/1.1 200 Caf\xe9\r\nX-Utf: caf\xc3\xa9\r\nX-Latin: caf\xe9\r\nX-Empty:\r\nContent-Length: 0\r\n\r\n"

    async def main() -> None:
        async with serving(answering(raw)) as server, fetching() as fetcher:
            got = await get(fetcher, server.url())
            assert [got.headers.get(name) for name in ("x-utf", "x-latin", "x-empty")] == ["café", "café", ""]
            assert (got.reason, got.head) == ("Café", raw)

    run(main())


@pytest.mark.parametrize(("size", "truncated"), [(999, ""), (1000, ""), (1001, "length"), (500_000, "length")])
def test_a_body_is_cut_at_the_cap_and_no_sooner(size: int, truncated: str) -> None:
    raw = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size + b"x" * size

    async def main() -> None:
        for settings, more in ((Fetch(max_body=Bytes(1000)), {}), (QUICK, {"max_body": 1000})):
            async with serving(answering(raw)) as server, fetching(settings) as fetcher:
                got = await get(fetcher, server.url(), **more)
                assert (len(got.payload), got.body, got.truncated) == (min(size, 1000), got.payload, truncated)

    run(main())


def test_bytes_at_random_never_raise() -> None:
    dice = random.Random(7)
    parts = [
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 ",
        b"HTTP/2 200\r\n",
        b"Content-Length: ",
        b"Transfer-Encoding: chunked",
    ]
    parts += [b"\r\n", b"\n", b"\r\n\r\n", b":", b"5", b"\0", b" ", b"\xff", b"Content-Encoding: gzip\r\n", b"hello"]
    current = [b""]

    async def serve_one(reader: Any, writer: asyncio.StreamWriter) -> None:
        await reader.head()
        writer.write(current[0])

    async def main() -> None:
        async with serving(serve_one) as server, fetching() as fetcher:
            for _ in range(300):
                current[0] = b"".join(dice.choice(parts) for _ in range(dice.randrange(12)))
                reply = await fetcher.fetch(Ask(server.url()))
                assert isinstance(reply, Response) or reply.kind in TROUBLES, (current[0], reply)

    run(main())


# -- connections ------------------------------------------------------------------------------------------------------


def test_connections_are_kept() -> None:
    async def main() -> None:
        async with serving(answering(PAGE)) as server, fetching() as fetcher:
            timings = [(await get(fetcher, server.url(f"/{n}"))).timings for n in range(5)]
            assert server.connections == 1
            assert timings[0].connect_s > 0
            assert all(each.connect_s == 0 for each in timings[1:])
            assert all(0 < each.first_byte_s <= each.total_s and each.tls_s == 0 for each in timings)

    run(main())


def test_each_host_at_hand_keeps_its_connection() -> None:
    async def main() -> None:
        few = msgspec.structs.replace(QUICK, slots=2)
        addresses = [f"127.0.0.{number}" for number in range(1, few.hosts + 1)]
        async with serving(answering(PAGE), *addresses) as server, fetching(few) as fetcher:
            for turn in range(3):
                for address in addresses:
                    await get(fetcher, server.url(f"/{turn}", address))
            assert server.connections == len(addresses) == 6

    run(main())


def test_connections_leave_half_of_the_open_files_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lycosa.backends.http.open_files", lambda: 20)

    async def main() -> None:
        addresses = [f"127.0.0.{number}" for number in range(1, 16)]
        settings = msgspec.structs.replace(QUICK, slots=5)
        async with serving(answering(PAGE), *addresses) as server, fetching(settings) as fetcher:
            for turn in range(2):
                for address in addresses:
                    await get(fetcher, server.url(f"/{turn}", address))
            assert server.connections == 30
            assert len(server.tasks) <= 11  # the last one that was closed may not know yet

    run(main())


def test_a_kept_connection_that_broke_never_causes_a_second_request() -> None:
    async def hang_up_at_the_second(reader: Any, writer: asyncio.StreamWriter) -> None:
        await reader.head()
        writer.write(PAGE)
        await reader.head()  # taken, and not answered

    async def main() -> None:
        async with serving(hang_up_at_the_second) as server, fetching() as fetcher:
            await get(fetcher, server.url("/1"))
            trouble = await fail(fetcher, server.url("/2"))
            assert (trouble.kind, trouble.detail) == ("closed.empty", "a kept connection was closed before the answer")
            assert [head.split()[1] for head in server.heads] == [b"/1", b"/2"]
            await get(fetcher, server.url("/3"))
            assert [head.split()[1] for head in server.heads] == [b"/1", b"/2", b"/3"]

    run(main())


def test_a_connection_the_server_closed_in_between_is_not_used() -> None:
    closed = asyncio.Event

    async def main() -> None:
        done = closed()

        async def serve_one(reader: Any, writer: asyncio.StreamWriter) -> None:
            await reader.head()
            writer.write(PAGE)
            await writer.drain()
            writer.close()
            await writer.wait_closed()
            done.set()

        async with serving(serve_one) as server, fetching() as fetcher:
            for turn in range(1, 4):
                done.clear()
                await get(fetcher, server.url())
                await done.wait()
                assert server.connections == len(server.heads) == turn

    run(main())


def test_when_a_name_moves_its_old_connection_is_left() -> None:
    names = {"moving.test": [("127.0.50.1",), ("127.0.50.1",), ("127.0.50.2",)]}

    async def main() -> None:
        async with (
            serving(answering(PAGE), "127.0.50.1", "127.0.50.2") as server,
            fetching(names=names) as fetcher,
        ):
            got = [await get(fetcher, server.url(host="moving.test")) for _ in range(4)]
            assert [each.address for each in got] == ["127.0.50.1", "127.0.50.1", "127.0.50.2", "127.0.50.2"]
            assert [each.timings.connect_s > 0 for each in got] == [True, False, True, False]
            assert all(f"Host: moving.test:{server.port}".encode() in head for head in server.heads)

    run(main())


def test_names_at_one_address_do_not_share_a_connection() -> None:
    names = {name: [("127.0.0.1",)] for name in ("one.test", "two.test")}

    async def main() -> None:
        async with serving(answering(PAGE)) as server, fetching(names=names) as fetcher:
            for name in ("one.test", "two.test", "one.test"):
                await get(fetcher, server.url(host=name))
            assert server.connections == 2

    run(main())


@pytest.mark.parametrize("runner", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def test_many_at_once_on_either_event_loop(runner: Callable[[Any], None]) -> None:
    async def main() -> None:
        async with serving(answering(PAGE)) as server, fetching() as fetcher:
            for _ in range(2):
                replies = await asyncio.gather(*(fetcher.fetch(Ask(server.url(f"/{n}"))) for n in range(200)))
                assert all(isinstance(reply, Response) and reply.body == b"<p>hello</p>" for reply in replies)
            assert len(server.heads) == 400
            assert server.connections <= 200

    runner(main())


def test_ipv6() -> None:
    if not socket.has_ipv6:
        pytest.skip("no IPv6 here")

    async def main() -> None:
        try:
            context = serving(answering(PAGE), "::1")
            async with context as server, fetching(own=("::1",)) as fetcher:
                got = await get(fetcher, server.url(host="[::1]"))
                assert got.address == "::1"
                assert f"Host: [::1]:{server.port}".encode() in got.request_head
        except OSError as failure:
            pytest.skip(f"no IPv6 here: {failure}")

    run(main())


def test_proxies_of_the_environment_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")

    async def main() -> None:
        async with serving(answering(PAGE)) as server, fetching() as fetcher:
            assert (await get(fetcher, server.url())).status == 200

    run(main())


# -- addresses --------------------------------------------------------------------------------------------------------


def test_private_addresses_are_refused_before_any_connection() -> None:
    names = {"evil.test": [("127.0.0.1", "10.0.0.1")], "v6.test": [("::ffff:127.0.0.1",)]}

    async def main() -> None:
        async with serving(answering(PAGE)) as server, fetching(names=names, own=("own.test",)) as fetcher:
            for host in ("evil.test", "v6.test", "127.0.0.1", "[::1]"):
                trouble = await fail(fetcher, server.url(host=host))
                assert (trouble.kind, trouble.is_lasting) == ("address.refused", True)
                assert "loopback" in trouble.detail
            assert server.connections == 0

    run(main())


def test_of_mixed_addresses_only_the_allowed_are_tried() -> None:
    names = {"mixed.test": [("10.0.0.1", "169.254.169.254", "127.0.50.3")]}

    async def main() -> None:
        async with (
            serving(answering(PAGE), "127.0.50.3") as server,
            fetching(names=names, own=("127.0.50.0/24",)) as fetcher,
        ):
            assert (await get(fetcher, server.url(host="mixed.test"))).address == "127.0.50.3"

    run(main())


def test_rebinding_to_a_private_address_never_connects() -> None:
    names = {"rebind.test": [("127.0.50.4",), ("127.0.0.1",)]}

    async def main() -> None:
        async with (
            serving(answering(PAGE), "127.0.50.4", "127.0.0.1") as server,
            fetching(names=names, own=("127.0.50.0/24",)) as fetcher,
        ):
            assert (await get(fetcher, server.url(host="rebind.test"))).address == "127.0.50.4"
            assert (await fail(fetcher, server.url(host="rebind.test"))).kind == "address.refused"
            assert server.connections == 1

    run(main())


def test_dead_addresses_are_passed_over_and_then_left_out() -> None:
    dead = tuple(f"127.0.50.{n}" for n in (10, 11))
    names = {"many.test": [(*dead, "127.0.50.12", "127.0.50.13")]}

    async def main() -> None:
        async with serving(answering(PAGE), "127.0.50.12") as server, fetching(names=names) as fetcher:
            url = server.url(host="many.test")
            assert fetcher.candidates("many.test", names["many.test"][0]) == [*dead, "127.0.50.12"]
            assert (await get(fetcher, url)).address == "127.0.50.12"
            assert fetcher.candidates("many.test", names["many.test"][0]) == ["127.0.50.12", *dead]
            assert (await get(fetcher, url)).timings.connect_s == 0

    run(main())


def test_no_more_than_three_addresses_are_tried() -> None:
    names = {"many.test": [tuple(f"127.0.50.{n}" for n in (20, 21, 22, 23))]}

    async def main() -> None:
        async with serving(answering(PAGE), "127.0.50.23") as server, fetching(names=names) as fetcher:
            trouble = await fail(fetcher, server.url(host="many.test"))
            assert (trouble.kind, trouble.address, server.connections) == ("connect.refused", "127.0.50.22", 0)

    run(main())


@asynccontextmanager
async def deaf(address: str) -> AsyncIterator[int]:
    """A port that takes no more connections: what comes is neither accepted nor refused."""
    with socket.socket() as listener:
        listener.bind((address, 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        waiting = []
        try:
            for _ in range(4):
                caller = socket.socket()
                caller.setblocking(False)
                caller.connect_ex((address, port))
                waiting.append(caller)
            yield port
        finally:
            for caller in waiting:
                caller.close()


def test_silent_addresses_share_the_time_for_connecting() -> None:
    settings = Fetch(connect_timeout=Seconds(0.6), timeout=Seconds(10))

    async def main() -> None:
        async with deaf("127.0.50.30") as port:
            names = {"deaf.test": [("127.0.50.30",)], "half.test": [("127.0.50.30", "127.0.50.31")]}
            async with fetching(settings, names=names) as fetcher:
                began = time.monotonic()
                trouble = await fail(fetcher, f"http://deaf.test:{port}/")
                assert (trouble.kind, trouble.address) == ("connect.timeout", "127.0.50.30")
                assert 0.55 < time.monotonic() - began < 2
                opened = await asyncio.start_server(Server(answering(PAGE)).talk, "127.0.50.31", port)
                async with opened:
                    began = time.monotonic()
                    got = await get(fetcher, f"http://half.test:{port}/")
                    assert got.address == "127.0.50.31"
                    assert 0.25 < time.monotonic() - began < 0.6
                    assert got.timings.connect_s < 0.25  # of the address that answered

    run(main())


# -- deadlines --------------------------------------------------------------------------------------------------------


def test_no_answer_in_time() -> None:
    settings = Fetch(first_byte_timeout=Seconds(0.2), timeout=Seconds(10))

    async def main() -> None:
        async with serving(lambda reader, writer: reader.read()) as server, fetching(settings) as fetcher:
            trouble = await fail(fetcher, server.url())
            assert (trouble.kind, trouble.address) == ("timeout.first_byte", "127.0.0.1")
            assert 0.2 <= trouble.timings.total_s < 2
            assert trouble.timings.first_byte_s == 0

    run(main())


def pouring(head: bytes, piece: bytes, every_s: float) -> Any:
    async def serve_one(reader: Any, writer: asyncio.StreamWriter) -> None:
        await reader.head()
        writer.write(head)
        while True:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(every_s)

    return serve_one


@pytest.mark.parametrize(("piece", "lasts_s"), [(b"z" * 50, 1.2), (b"z", 0.6)], ids=["steady", "dripping"])
def test_an_answer_that_takes_too_long_is_kept_as_cut_by_time(piece: bytes, lasts_s: float) -> None:
    settings = Fetch(first_byte_timeout=Seconds(0.3), connect_timeout=Seconds(0.2), timeout=Seconds(1.2))
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"

    async def main() -> None:
        async with serving(pouring(head, piece, 0.02)) as server, fetching(settings) as fetcher:
            got = await get(fetcher, server.url())
            assert (got.truncated, got.head, set(got.body)) == ("time", head, set(b"z"))
            assert lasts_s <= got.timings.total_s < lasts_s + 0.6

    run(main())


def test_a_head_that_takes_too_long_is_no_answer() -> None:
    settings = Fetch(first_byte_timeout=Seconds(0.2), connect_timeout=Seconds(0.2), timeout=Seconds(0.6))

    async def main() -> None:
        async with (
            serving(pouring(b"HTTP/1.1 200 OK\r\nX-Slow: ", b"z", 0.02)) as server,
            fetching(settings) as fetcher,
        ):
            assert (await fail(fetcher, server.url())).kind == "timeout.total"

    run(main())


# -- who is in charge -------------------------------------------------------------------------------------------------


def test_a_cancelled_fetch_hangs_up_and_hurts_nobody() -> None:
    async def main() -> None:
        asked, left = asyncio.Event(), asyncio.Event()

        async def serve_one(reader: Any, writer: asyncio.StreamWriter) -> None:
            if b"GET /slow" not in await reader.head():
                writer.write(PAGE)
                return
            asked.set()
            await reader.read()
            left.set()

        async with serving(serve_one) as server, fetching() as fetcher:
            task = asyncio.create_task(fetcher.fetch(Ask(server.url("/slow"))))
            await asked.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await left.wait()
            await get(fetcher, server.url("/quick"))

    run(main())


def test_closing_ends_what_is_under_way() -> None:
    async def main() -> None:
        asked = asyncio.Event()

        async def serve_one(reader: Any, writer: asyncio.StreamWriter) -> None:
            await reader.head()
            asked.set()
            await reader.read()

        async with serving(serve_one) as server, fetching() as fetcher:
            task = asyncio.create_task(fetcher.fetch(Ask(server.url())))
            await asked.wait()
            await fetcher.aclose()
            with pytest.raises(LycosaError, match="closed in the middle"):
                await task
            with pytest.raises(LycosaError, match="make a new one"):
                await fetcher.fetch(Ask(server.url()))
            await fetcher.aclose()

    run(main())


def test_nothing_stays_open_after_closing() -> None:
    async def main() -> None:
        async with serving(answering(PAGE)) as server:
            async with fetching() as fetcher:
                await asyncio.gather(*(get(fetcher, server.url()) for _ in range(20)))
            async with asyncio.timeout(10):  # each connection ends when the other side is gone
                while server.tasks:
                    await asyncio.wait(server.tasks)
            assert not server.tasks

    run(main())


@pytest.mark.parametrize(
    "url", ["ftp://127.0.0.1/", "file:///etc/passwd", "gopher://127.0.0.1/", "javascript:alert(1)"]
)
def test_only_the_web_is_fetched(url: str) -> None:
    async def main() -> None:
        async with fetching() as fetcher:
            assert (await fail(fetcher, url)).kind == "url.unusable"

    run(main())


def test_without_a_contact_only_own_hosts_are_asked() -> None:
    class Closed:
        """Lets nobody pass: whatever the fetcher thinks, nothing leaves this machine."""

        @asynccontextmanager
        async def passage(
            self, address: str, host_delay_s: float, is_withdrawn: Callable[[], bool] = lambda: False
        ) -> AsyncIterator[bool]:
            yield False

        def pushed_back(self, address: str | None, host: str) -> None: ...

    async def main() -> None:
        names = {"own.test": [("93.184.215.14",)], "other.test": [("93.184.215.14",)], "inner.test": [("10.0.0.1",)]}
        for is_nameless, of_others in ((True, "contact.missing"), (False, "withdrawn")):
            fetcher = CurlFetcher(
                settings=QUICK,
                agent=AGENT,
                resolver=Phonebook({name: [*answers] for name, answers in names.items()}),
                own=OwnHosts(["own.test"]),
                clock=SystemClock(),
                gate=Closed(),
                is_nameless=is_nameless,
            )
            kinds = {}
            for name in names:
                reply = await fetcher.fetch(Ask(f"http://{name}/", gap_s=2.0))
                assert isinstance(reply, Trouble)
                kinds[name] = reply.kind
            assert kinds == {"own.test": "withdrawn", "other.test": of_others, "inner.test": "address.refused"}
            await fetcher.aclose()

    run(main())


def test_a_name_without_address_is_told_as_the_resolver_told_it() -> None:
    class Failing:
        async def resolve(self, host: str) -> Resolved | NoAddress:
            return NoAddress(host.removesuffix(".test"), "because")

    async def main() -> None:
        fetcher = CurlFetcher(settings=QUICK, agent=AGENT, resolver=Failing(), own=OwnHosts(), clock=SystemClock())
        for kind in ("dns.nxdomain", "dns.servfail", "dns.timeout"):
            trouble = await fail(fetcher, f"http://{kind}.test/")
            assert (trouble.kind, trouble.detail, trouble.address) == (kind, "because", None)
        await fetcher.aclose()

    run(main())


@pytest.mark.parametrize(
    ("code", "system_error", "kind"),
    [
        (pycurl.E_COULDNT_CONNECT, errno.ECONNREFUSED, "connect.refused"),
        (pycurl.E_COULDNT_CONNECT, errno.ETIMEDOUT, "connect.timeout"),
        (pycurl.E_COULDNT_CONNECT, errno.EHOSTUNREACH, "connect.unreachable"),
        (pycurl.E_COULDNT_CONNECT, 0, "connect.unreachable"),
        (pycurl.E_SSL_CONNECT_ERROR, errno.ECONNRESET, "closed.empty"),
        (pycurl.E_SSL_CONNECT_ERROR, 0, "tls.handshake"),
        (pycurl.E_RECV_ERROR, errno.ECONNRESET, "closed.empty"),
        (pycurl.E_RECV_ERROR, 0, "protocol"),
        (pycurl.E_HTTP2, 0, "protocol"),
        (12345, 0, "protocol"),
    ],
)
def test_errors_of_libcurl_have_meanings(code: int, system_error: int, kind: str) -> None:
    assert kind_of(code, "", system_error, head_came=False) == kind


def test_faults_of_our_own_are_raised() -> None:
    with pytest.raises(LycosaError, match="trusted certificates"):
        kind_of(pycurl.E_SSL_CACERT_BADFILE, "no such file", 0, head_came=False)


def test_the_crawler_says_who_it_is() -> None:
    assert write_agent("Lycosa", "0.1", "https://example.org/bot") == AGENT
    assert write_agent("Lycosa", "0.1", "") == "Lycosa/0.1"
    with pytest.raises(BadInput, match="one line"):
        write_agent("Lycosa", "0.1", "me@example.org\r\nX: y")
