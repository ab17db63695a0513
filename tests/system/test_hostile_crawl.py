"""A crawl among servers that misbehave: it ends, each of them has its outcome, and a healthy host loses nothing."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import NamedTuple, cast

import conformance
import pytest
from crawling import NameServer, World, looking, lycosa, naming, once, outcomes, rules_of, within

from lycosa.backends.decoding import Decoder
from lycosa.sim.bestiary import BEASTS, Beast, Den, Pace, unleash
from lycosa.sim.bestiary.trap import WILD_SUFFIX
from lycosa.sim.loopback import listen_all
from lycosa.sim.plan import WorldPlan
from lycosa.sim.server import serve
from lycosa.sim.world import World as Web
from lycosa.web.url import Normaliser

PACE = Pace(drip_s=0.02, breath_s=0.0005, silence_s=60.0, cap_bytes=16_000_000, bomb_bytes=1 << 26)
PLAN = WorldPlan(seed=5, hosts=6, pages=70, page_bytes=3_000, crawl_delay_share=0.0, broken_robots_share=0.0)
BUDGET = 25
MOST_BYTES = 300 << 20
HASTY = 60.0

FETCHED, TOO_LARGE = ("fetched", ""), ("failed", "headers.too_large")
PROTOCOL, EARLY = ("parked", "protocol"), ("parked", "closed.early")
MOVED, PUSHED_BACK = ("redirected", ""), ("parked", "status.429")
NOWHERE = ("failed", "redirect.bad_scheme")


def status(code: int) -> tuple[str, str]:
    return "failed", f"status.{code}"


# What becomes of the first page of each. Those whose robots.txt is never answered are below.
EXPECTED: dict[str, tuple[str, str]] = {
    # body
    "slow-headers": ("parked", "timeout.total"),
    "slow-body": ("parked", "truncated.time"),
    "endless-chunked": FETCHED,
    "endless-close": FETCHED,
    "cl-too-long": EARLY,
    "cl-too-short": FETCHED,
    "cl-duplicate": PROTOCOL,
    "cl-and-te": FETCHED,
    "cl-negative": PROTOCOL,
    "cl-word": PROTOCOL,
    "bad-chunk-size": PROTOCOL,
    "bad-chunk-size-huge": PROTOCOL,
    "chunk-cut": EARLY,
    "chunk-ext-bomb": PROTOCOL,
    "chunk-trailer-bomb": TOO_LARGE,
    "reset-mid": EARLY,
    "no-length-close": FETCHED,
    # encoding
    **dict.fromkeys(("gzip-bomb", "deflate-bomb", "br-bomb", "zstd-bomb", "zstd-window"), FETCHED),
    "nested-encoding": FETCHED,
    "ce-lie": FETCHED,
    "gzip-cut": ("parked", "truncated.disconnect"),
    "deflate-raw": FETCHED,
    # headers
    **dict.fromkeys(("header-bomb", "header-bomb-long", "header-bomb-endless", "set-cookie-flood"), TOO_LARGE),
    "bare-lf": FETCHED,
    "obs-fold": FETCHED,
    "non-ascii": MOVED,
    **dict.fromkeys(("nul-in-header", "cr-in-header", "no-status"), PROTOCOL),
    **dict.fromkeys(("weird-status-000", "weird-status-99", "weird-status-20x"), PROTOCOL),
    "weird-status-600": status(600),
    "weird-status-999": status(999),
    "empty-reply": ("parked", "closed.empty"),
    "content-type-lie": FETCHED,
    "content-type-lie-image": FETCHED,
    # status
    "1xx-many": TOO_LARGE,
    "204-body": status(204),
    "304-cold": status(304),
    "206-unasked": status(206),
    "401-auth": status(401),
    "407-auth": status(407),
    **dict.fromkeys(("429-seconds", "429-date", "429-garbage"), PUSHED_BACK),
    **dict.fromkeys(("429-garbage-negative", "429-garbage-huge"), PUSHED_BACK),
    "503-flap": FETCHED,
    # redirect
    "loop-2": MOVED,
    "loop-growing": MOVED,
    "loop-self-cookie": ("redirected", "redirect.loop"),
    "no-location": ("failed", "redirect.no_location"),
    "dup-location": PROTOCOL,
    **dict.fromkeys(("to-file", "to-gopher", "to-data", "to-javascript"), NOWHERE),
    **{f"to-loopback{suffix}": MOVED for suffix in ("", "-v6", "-zero", "-decimal", "-hex", "-octal")},
    **dict.fromkeys(("to-metadata", "to-metadata-v6", "mapped-v6", "mapped-v6-nat64", "cross-robots"), MOVED),
    # trap
    **dict.fromkeys(("calendar", "session-id", "session-id-query", "facets", "deep-path", "long-url"), FETCHED),
    **dict.fromkeys(("soft-404", "wildcard-dns", "many-links", "deep-dom"), FETCHED),
    # robots
    **dict.fromkeys(("huge", "redirect-loop", "flap", "regex-bomb"), FETCHED),
}
# Their hosts stay closed, and this is why. (On a busy machine both times may be up before anybody looks.)
CLOSED = {
    "slow": "timeout.first_byte timeout.total",
    "expired": "tls.certificate",
    "self-signed": "tls.certificate",
    "wrong-host": "tls.certificate",
    "tls10-only": "tls.handshake",
    "alpn-h2-junk": "tls.certificate",
    "h2-bomb": "tls.certificate",
}
UNASKED = ("parked", "refused", "failed")  # outcomes of what was never requested

# Cases of the conformance data with no beast of their name.
ELSEWHERE = {
    "expired / self-signed / wrong-host": "three beasts",
    "weird-status": "five beasts",
    "nxdomain": "test_a_name_that_cannot_be_looked_up_closes_its_host_and_says_why",
    "servfail": "test_a_name_that_cannot_be_looked_up_closes_its_host_and_says_why",
    "rebinding": "test_a_name_that_turns_to_a_private_address_is_left",
    "many-a": "test_dead_addresses_of_a_name_are_passed_over",
    "idn": "test_a_name_in_any_script_is_asked_for_in_ascii",
    "v6-broken": "on loopback no IPv6 address swallows packets: all of them refuse at once",
    "cross-robots": "test_the_target_of_a_redirect_is_asked_for_its_own_rules_first",
}


def test_every_beast_has_its_line_here() -> None:
    assert sorted([*EXPECTED, *CLOSED]) == sorted(beast.name for beast in BEASTS)


def test_every_known_case_has_a_beast_or_a_place_here() -> None:
    names = {beast.name for beast in BEASTS}
    cases = conformance.cases("hostile_servers")
    assert len(cases) >= 73
    assert [case["id"] for case in cases if case["id"] not in names and case["id"] not in ELSEWHERE] == []
    tests = [place for place in ELSEWHERE.values() if place.startswith("test_")]
    assert all(place in globals() for place in tests)


def manners(*own: str) -> list[str]:
    return ["--delay", "0s", "-s", f"polite.own_hosts={json.dumps(own)}", "-s", "fetch.first_byte_timeout=2s", "--json"]


# -- all of them at once -----------------------------------------------------------------------------------------------


class Seen(NamedTuple):
    """What a crawl among all beasts left behind."""

    outcomes: dict[str, tuple[str, str]]
    closed: dict[str, tuple[str, str]]  # why robots.txt of a beast was never read
    urls: dict[str, str]  # of beasts
    requests: dict[str, int]
    canary_connections: int
    healthy: set[str]  # all pages of the healthy hosts
    refusals: dict[str, int]
    peak_bytes: int


async def crawl_among(beasts: list[Beast], directory: Path) -> Seen:
    async with unleash(beasts, pace=PACE, first_address="127.0.90.1") as den, serve(Web(PLAN)) as served:
        seeds = [*(den.url(beast.name) for beast in beasts), *served.seeds(6)]
        own = [*(den.addresses[beast.name] for beast in beasts), "127.32.0.0/16"]  # all but the canary
        limits = ["-s", f"budget.domain_pages={BUDGET}", "-s", "fetch.timeout=3s", "-s", "fetch.max_body=2MB"]
        ended = await lycosa(
            "crawl", *seeds, *manners(*own), *limits, "--dir", str(directory), world=World(times=HASTY)
        )
        assert ended.summary["state"] == "finished"
        reach = served.world.truth.walk(served.seeds(6), robots=True, sitemaps=False)
        with looking(directory) as look:
            stats = look.stats()
        return Seen(
            outcomes(directory),
            {name: rules_of(directory, den.url(name)) for name in CLOSED},
            {beast.name: den.url(beast.name) for beast in beasts},
            {beast.name: den.requests(beast.name) for beast in beasts},
            den.canary_connections,
            set(map(Normaliser(), reach.pages)),
            {name.removeprefix("refused:"): count for name, count in stats.items() if name.startswith("refused:")},
            ended.peak_bytes,
        )


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    return once(
        tmp_path_factory,
        "hostile",
        lambda directory: asyncio.run(asyncio.wait_for(crawl_among(list(BEASTS), directory), 90)),
    )


@pytest.mark.parametrize("name", EXPECTED)
def test_a_beast_has_its_outcome(name: str, seen: Seen) -> None:
    assert seen.outcomes[seen.urls[name]] == EXPECTED[name]


@pytest.mark.parametrize("name", CLOSED)
def test_a_host_whose_rules_cannot_be_read_stays_closed(name: str, seen: Seen) -> None:
    state, reason = seen.closed[name]
    assert state == "closed"
    assert reason in CLOSED[name].split()
    assert seen.outcomes[seen.urls[name]][0] in UNASKED


def test_no_url_is_without_an_outcome(seen: Seen) -> None:
    assert {url: came for url, came in seen.outcomes.items() if came[0] in ("", "queued")} == {}


def test_healthy_hosts_lose_nothing(seen: Seen) -> None:
    fetched = {url for url, came in seen.outcomes.items() if came == FETCHED}
    assert len(seen.healthy) > 40
    assert seen.healthy <= fetched


def test_nothing_is_asked_for_again_and_again(seen: Seen) -> None:
    pages = {name for name, came in EXPECTED.items() if came != FETCHED and came[0] != "redirected"}
    assert max(seen.requests[name] for name in pages | CLOSED.keys()) <= 5  # robots.txt three times, or a page
    assert max(seen.requests.values()) <= BUDGET + 7


def test_no_redirect_leads_to_an_address_that_is_not_ours(seen: Seen) -> None:
    assert seen.canary_connections == 0
    away = [url for url in seen.outcomes if re.search(r"169\.254|\[|//0\.|/secret|/away", url)]
    assert len(away) == 8
    assert {seen.outcomes[url][0] for url in away} <= set(UNASKED)


def test_memory_stays_bounded(seen: Seen) -> None:
    assert 0 < seen.peak_bytes < MOST_BYTES


def test_spaces_without_end_are_refused_by_name(seen: Seen) -> None:
    assert seen.refusals.keys() >= {"trap.repeat", "trap.facets", "redirect.too_many"}
    spent = [url for url, came in seen.outcomes.items() if came == ("refused", "budget.domain")]
    assert {url.split("/")[2] for url in spent} >= {
        seen.urls[name].split("/")[2] for name in ("calendar", "facets", "soft-404", "many-links")
    }


# -- hosts and names ---------------------------------------------------------------------------------------------------

BY_NAME = {beast.name: beast for beast in BEASTS}


def test_the_target_of_a_redirect_is_asked_for_its_own_rules_first(tmp_path: Path) -> None:
    async def main() -> None:
        async with unleash([BY_NAME["cross-robots"]], pace=PACE, first_address="127.0.91.1") as den:
            await lycosa("crawl", den.url("cross-robots"), *manners("127.0.0.0/8"), "--dir", str(tmp_path / "crawl"))
            assert den.canary_targets == ["/robots.txt"]
            away = f"http://{den.canary_address}:{den.port}/away"
            assert outcomes(tmp_path / "crawl")[away] == ("forbidden", "robots")

    within(30, main)


def test_ever_new_names_of_one_domain_share_one_budget(tmp_path: Path) -> None:
    async def main(den: Den, server: str) -> None:
        seed = f"http://first.{WILD_SUFFIX}:{den.port}/"
        more = [
            "--scope",
            "web",
            "--processes",
            "1",
            "-s",
            f"budget.domain_pages={BUDGET}",
            "--dir",
            str(tmp_path / "crawl"),
        ]
        ended = await lycosa("crawl", seed, *manners(WILD_SUFFIX), *more, world=World(server, HASTY))
        assert ended.summary["pages"]["fetched"] == BUDGET

    async def run() -> None:
        wild = NameServer({})
        async with unleash([BY_NAME["wildcard-dns"]], pace=PACE, first_address="127.0.92.1") as den:
            wild.wildcard = [den.addresses["wildcard-dns"]]
            async with naming(wild) as server:
                await main(den, server)

    within(30, run)


@asynccontextmanager
async def site(*addresses: str) -> AsyncIterator[tuple[int, list[tuple[str, str, str]]]]:
    """A server at some addresses without robots.txt: its port, and who was asked for what under which name."""
    asked: list[tuple[str, str, str]] = []
    tasks: set[asyncio.Task[None]] = set()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(cast("asyncio.Task[None]", asyncio.current_task()))
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            path, [host] = head.split(" ")[1], re.findall(r"Host: ([^:\r]+)", head)
            asked.append((writer.get_extra_info("sockname")[0], host, path))
            answer = "404 Not Found" if path == "/robots.txt" else "200 OK"
            text = f"HTTP/1.1 {answer}\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<p>{path}</p>"
            writer.write(text.encode())
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    sockets, port = listen_all(addresses)
    servers = [await asyncio.start_server(talk, sock=each) for each in sockets]
    try:
        yield port, asked
    finally:
        for server in servers:
            server.close()
        await asyncio.gather(*tasks)


def test_a_name_that_cannot_be_looked_up_closes_its_host_and_says_why(tmp_path: Path) -> None:
    names: dict[str, list[list[str] | int | None]] = {
        "failing.test": [NameServer.SERVFAIL],
        "silent.test": [None],
        "healed.test": [NameServer.SERVFAIL, ["127.0.93.1"]],
    }

    async def main() -> None:
        async with naming(NameServer(names)) as server, site("127.0.93.1") as (port, _):
            hosts = ("missing.test", "failing.test", "silent.test", "healed.test")
            seeds = [f"http://{host}:{port}/" for host in hosts]
            directory = tmp_path / "crawl"
            await lycosa("crawl", *seeds, *manners("test"), "--dir", str(directory), world=World(server, HASTY))
            told = {host: rules_of(directory, seed)[1] for host, seed in zip(hosts, seeds, strict=True)}
            assert told == {
                "missing.test": "dns.nxdomain",
                "failing.test": "dns.servfail",
                "silent.test": "dns.timeout",
                "healed.test": "status.404",
            }
            found = outcomes(directory)
            assert found[seeds[3]] == FETCHED
            assert {found[seed][0] for seed in seeds[:3]} <= set(UNASKED)

    within(30, main)


def test_a_name_that_turns_to_a_private_address_is_left(tmp_path: Path) -> None:
    own, private = "127.0.94.1", "127.0.94.2"
    names: dict[str, list[list[str] | int | None]] = {"rebind.test": [[own], [own], [private]]}

    async def main() -> None:
        async with naming(NameServer(names)) as server, site(own, private) as (port, asked):
            pages = [f"http://rebind.test:{port}/{n}" for n in range(4)]
            directory = tmp_path / "crawl"
            # Between two requests the answer of the name server expires.
            slow = [*manners(own), "--delay", "40s", "--contact", "me@example.org", "--dir", str(directory)]
            await lycosa("crawl", *pages, *slow, world=World(server, 4 * HASTY))
            assert {address for address, _, _ in asked} == {own}
            found = [outcomes(directory)[page] for page in pages]
            assert found[0] == FETCHED
            assert ("refused", "address.refused") in found
            assert FETCHED not in found[2:]

    within(30, main)


def test_dead_addresses_of_a_name_are_passed_over(tmp_path: Path) -> None:
    dead = [f"127.0.95.{n}" for n in range(1, 3)]
    names: dict[str, list[list[str] | int | None]] = {"many.test": [[*dead, *(["127.0.95.9"] * 50)]]}

    async def main() -> None:
        async with naming(NameServer(names)) as server, site("127.0.95.9") as (port, asked):
            seed = f"http://many.test:{port}/"
            directory = tmp_path / "crawl"
            await lycosa("crawl", seed, *manners("test"), "--dir", str(directory), world=World(server, HASTY))
            assert outcomes(directory)[seed] == FETCHED
            assert [path for _, _, path in asked] == ["/robots.txt", "/"]

    within(30, main)


def test_a_name_in_any_script_is_asked_for_in_ascii(tmp_path: Path) -> None:
    names: dict[str, list[list[str] | int | None]] = {"xn--bcher-kva.test": [["127.0.96.1"]]}

    async def main() -> None:
        async with naming(NameServer(names)) as server, site("127.0.96.1") as (port, asked):
            directory = tmp_path / "crawl"
            seeds = [f"http://Bücher.test:{port}/", f"http://{'x' * 64}.test:{port}/"]
            await lycosa("crawl", *seeds, *manners("test"), "--dir", str(directory), world=World(server, HASTY))
            assert {host for _, host, _ in asked} == {"xn--bcher-kva.test"}
            assert outcomes(directory)[f"http://xn--bcher-kva.test:{port}/"] == FETCHED
            assert rules_of(directory, seeds[1]) == ("closed", "dns.nxdomain")

    within(30, main)


# -- bodies that decode to nothing -------------------------------------------------------------------------------------

GZIP_WITH_NAME = b"\x1f\x8b\x08\x08\0\0\0\0\0\xff"
LONG_NOTHINGS = {
    "a name of megabytes": ("gzip", GZIP_WITH_NAME + b"n" * 9_000_000 + b"\0" + b"\xff" * 100),
    "empty blocks": ("deflate", b"\x00\x00\x00\xff\xff" * 1_800_000 + b"\xff" * 100),
    "empty members": ("gzip", gzip.compress(b"") * 400_000 + b"\x1f\x8b\x08junk"),
}


@pytest.mark.parametrize("name", LONG_NOTHINGS)
def test_megabytes_that_decode_to_nothing_cost_little_time(name: str) -> None:
    coding, payload = LONG_NOTHINGS[name]
    decoder, began_s = Decoder((coding,), 10_000_000), time.process_time()
    for at in range(0, len(payload), 65_536):
        decoder.feed(payload[at : at + 65_536])
    decoder.finish(payload)
    assert time.process_time() - began_s < 2.0


def test_a_body_in_chunks_of_a_byte_takes_no_more_memory_than_its_length(tmp_path: Path) -> None:
    chunks = b"1\r\nz\r\n" * 20_000

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        is_robots = b"/robots.txt" in await reader.readuntil(b"\r\n\r\n")
        with suppress(ConnectionError):
            writer.write(
                b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" if is_robots else b""
            )
            for turn in range(0 if is_robots else 250):
                head = b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nTransfer-Encoding: chunked\r\n\r\n"
                writer.write(chunks if turn else head)
                await writer.drain()
            writer.write(b"" if is_robots else b"0\r\n\r\n")
            writer.close()
            await writer.wait_closed()

    async def main() -> None:
        server = await asyncio.start_server(talk, "127.0.100.1", 0)
        async with server:
            seed = f"http://127.0.100.1:{server.sockets[0].getsockname()[1]}/"
            ended = await lycosa("crawl", seed, *manners("127.0.0.0/8"), "--dir", str(tmp_path / "crawl"))
            assert ended.summary["bytes"]["downloaded"] == 249 * 20_000
            assert ended.peak_bytes < MOST_BYTES

    within(60, main)
