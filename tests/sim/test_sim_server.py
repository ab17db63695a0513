"""A world on real sockets: keep-alive, latency, the log, and loopback only."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from lycosa.errors import LycosaError
from lycosa.sim.atlas import PageId
from lycosa.sim.audit import audit
from lycosa.sim.loopback import listen_all
from lycosa.sim.plan import WorldPlan
from lycosa.sim.server import Served, Serving, serve
from lycosa.sim.world import Answer, Request, World

WORLD = World(WorldPlan(seed=2, hosts=12, pages=200, page_bytes=3_000, shared_address_share=0.6))
NOW = 1_720_000_000.0
STILL = Serving(wall=lambda: NOW)


class Client:
    """One connection that speaks just enough HTTP."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def get(self, host: str, target: str, *lines: str, method: str = "GET") -> tuple[int, dict[str, str], bytes]:
        self.write(host, target, *lines, method=method)
        return await self.read(body=method == "GET")

    def write(self, host: str, target: str, *lines: str, method: str = "GET") -> None:
        head = [f"{method} {target} HTTP/1.1", f"Host: {host}", *lines, "\r\n"]
        self.writer.write("\r\n".join(head).encode())

    async def read(self, body: bool = True) -> tuple[int, dict[str, str], bytes]:
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = dict(line.split(": ", 1) for line in head[1:] if line)
        length = int(headers.get("Content-Length", 0)) if body else 0
        return int(head[0].split(" ")[1]), headers, await self.reader.readexactly(length)


@asynccontextmanager
async def connect(served: Served, host: int) -> AsyncIterator[Client]:
    reader, writer = await asyncio.open_connection(served.world.atlas.address(host), served.port)
    try:
        yield Client(reader, writer)
    finally:
        writer.close()
        await writer.wait_closed()


def test_one_connection_carries_many_requests_and_the_bytes_are_the_worlds() -> None:
    async def run() -> None:
        async with serve(WORLD, how=STILL) as served, connect(served, 3) as client:
            atlas = served.world.atlas
            for page in served.world.truth.pages_of(3):
                label, path = atlas.label(3), atlas.path(page)
                expected = served.world.answer(Request("GET", label, path), NOW)
                status, headers, body = await client.get(f"{label}:{served.port}", path)
                assert (status, body) == (expected.status, expected.body)
                assert headers == dict(expected.headers)
            assert len({line.target for line in served.log}) == served.requests == len(served.log)

    asyncio.run(run())


def test_head_and_conditional_requests() -> None:
    async def run() -> None:
        async with serve(WORLD, how=STILL) as served:
            host = next(h for h in range(12) if "ETag" in dict(front(served, h).headers))
            label = served.world.atlas.label(host)
            async with connect(served, host) as client:
                _, headers, body = await client.get(label, "/")
                status, headers_only, _ = await client.get(label, "/", method="HEAD")
                assert (status, headers_only) == (200, headers)
                status, _, _ = await client.get(label, "/", f"If-None-Match: {headers['ETag']}")
                assert status == 304
                assert (await client.get(label, "/"))[2] == body

    def front(served: Served, host: int) -> Answer:
        return served.world.answer(Request("GET", served.world.atlas.label(host), "/"), NOW)

    asyncio.run(run())


def test_pipelined_requests_are_answered_in_order() -> None:
    async def run() -> None:
        async with serve(WORLD, how=STILL) as served, connect(served, 0) as client:
            label = served.world.atlas.label(0)
            for target in ("/robots.txt", "/", "/none"):
                client.write(label, target)
            answers = [await client.read() for _ in range(3)]
            assert [answer[0] for answer in answers][1:] == [200, 404]
            assert b"<!DOCTYPE html>" in answers[1][2]
            assert [line.target for line in served.log] == ["/robots.txt", "/", "/none"]

    asyncio.run(run())


def test_links_lead_to_the_port_and_name_that_were_chosen() -> None:
    async def run() -> None:
        async with serve(WORLD, how=STILL) as served:
            assert served.seeds() == [f"http://127.32.0.1:{served.port}/"]
        async with serve(WORLD, by="name", how=STILL) as served:
            assert served.seeds() == [f"http://h000000.sim.test:{served.port}/"]

    asyncio.run(run())


def test_the_host_header_selects_among_hosts_on_one_address() -> None:
    async def run() -> None:
        async with serve(WORLD, by="name", how=STILL) as served:
            atlas = served.world.atlas
            together = [host for host in range(12) if atlas.address(host) == atlas.address(0)]
            assert len(together) > 1
            async with connect(served, 0) as client:
                bodies = {(await client.get(f"{atlas.name(host)}:{served.port}", "/"))[2] for host in together}
            assert len(bodies) == len(together)
            assert set(audit(served.log, by="address").requests.values()) == {len(together)}

    asyncio.run(run())


def test_latency_is_the_worlds_times_the_scale() -> None:
    async def run() -> None:
        how = Serving(latency=0.5, wall=lambda: NOW)
        async with serve(WORLD, how=how) as served, connect(served, 1) as client:
            await client.get(served.world.atlas.label(1), "/")
            line = served.log[0]
            assert line.end_s - line.start_s >= served.world.latency_s(1, "/") * 0.5

    asyncio.run(run())


def test_the_log_counts_what_is_under_way_on_each_host() -> None:
    async def run() -> None:
        how = Serving(latency=1.0, wall=lambda: NOW)
        async with serve(WORLD, how=how) as served, connect(served, 1) as one, connect(served, 1) as other:
            label = served.world.atlas.label(1)
            await asyncio.gather(one.get(label, "/"), other.get(label, "/"))
            assert sorted(line.in_flight for line in served.log) == [1, 2]
            manners = audit(served.log)
            assert manners.most_at_once == {label: 2}
            assert manners.worst_gap_s < 0
            assert not manners.robots_first

    asyncio.run(run())


def test_the_log_file_has_one_object_a_line(tmp_path: Path) -> None:
    async def run() -> None:
        how = Serving(keep_log=False, log_file=tmp_path / "access.log", wall=lambda: NOW)
        async with serve(WORLD, how=how) as served, connect(served, 0) as client:
            for _ in range(3):
                await client.get(served.world.atlas.label(0), "/robots.txt", "User-Agent: spider")
            assert (served.log, served.requests) == ([], 3)

    asyncio.run(run())
    lines = [json.loads(line) for line in (tmp_path / "access.log").read_text().splitlines()]
    assert [(line["target"], line["agent"]) for line in lines] == [("/robots.txt", "spider")] * 3


def test_a_large_answer_ends_only_when_it_was_taken() -> None:
    async def run() -> None:
        world = World(WorldPlan(hosts=1, pages=1, page_bytes=12_000_000, page_bytes_sigma=0.0))
        async with serve(world, how=STILL) as served, connect(served, 0) as client:
            client.write(served.world.atlas.label(0), "/")
            head = await client.reader.readuntil(b"\r\n\r\n")
            assert served.log == []  # most of it still waits for the reader
            await client.reader.readexactly(int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0]))
            # The same connection answers again, so the first answer is over and logged.
            await client.get(served.world.atlas.label(0), "/robots.txt")
            assert [line.target for line in served.log] == ["/", "/robots.txt"]

    asyncio.run(run())


def test_nonsense_is_answered_400_and_closed() -> None:
    async def run() -> None:
        async with serve(WORLD) as served, connect(served, 0) as client:
            client.writer.write(b"hello there\r\n\r\n")
            assert (await client.reader.read()).startswith(b"HTTP/1.1 400 ")

    asyncio.run(run())


def test_connection_close_is_honoured() -> None:
    async def run() -> None:
        async with serve(WORLD) as served, connect(served, 0) as client:
            await client.get(served.world.atlas.label(0), "/", "Connection: close")
            assert await client.reader.read() == b""

    asyncio.run(run())


def test_only_some_hosts_can_be_served() -> None:
    async def run() -> None:
        async with serve(WORLD, hosts=[4]) as served:
            async with connect(served, 4) as client:
                assert (await client.get(served.world.atlas.label(4), "/"))[0] == 200
            with pytest.raises(ConnectionRefusedError):
                await asyncio.open_connection(served.world.atlas.address(5), served.port)

    asyncio.run(run())


def test_nothing_listens_and_nobody_is_connected_after_the_end() -> None:
    async def run() -> None:
        async with serve(WORLD) as served:
            reader, writer = await asyncio.open_connection(served.world.atlas.address(0), served.port)
            client = Client(reader, writer)
            await client.get(served.world.atlas.label(0), "/")
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await client.reader.readexactly(1)
        writer.close()
        assert served.connections == set()
        for host in range(12):
            with pytest.raises(ConnectionRefusedError):
                await asyncio.open_connection(served.world.atlas.address(host), served.port)

    asyncio.run(run())


@pytest.mark.parametrize("address", ["0.0.0.0", "192.0.2.7", "::", "localhost", ""])
def test_nothing_but_loopback_is_ever_listened_on(address: str) -> None:
    with pytest.raises(LycosaError, match="loopback"):
        listen_all([address])


def test_a_taken_port_is_an_error_that_names_the_remedy() -> None:
    sockets, port = listen_all(["127.0.39.1"])
    try:
        with pytest.raises(LycosaError, match="another port"):
            listen_all(["127.0.39.2", "127.0.39.1"], port)
    finally:
        sockets[0].close()


def test_front_pages_exist_on_every_address() -> None:
    async def run() -> None:
        async with serve(WORLD, how=STILL) as served:
            for host in range(12):
                async with connect(served, host) as client:
                    target = served.world.atlas.path(PageId(host, 0))
                    assert (await client.get(served.world.atlas.label(host), target))[0] == 200

    asyncio.run(run())
