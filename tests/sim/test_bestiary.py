"""Every beast shows the behaviour it is named for, to a client that reads raw bytes."""

import asyncio
import gzip
import re
import zlib
from collections.abc import Callable
from dataclasses import replace
from email.utils import parsedate_to_datetime

import pytest

from lycosa.sim.bestiary import BEASTS, Beast, Pace, unleash

QUICK = Pace(drip_s=0.0005, breath_s=0.0, silence_s=0.02, cap_bytes=300_000, bomb_bytes=64 << 20)
ROOMY = Pace(drip_s=0.0, breath_s=0.0, cap_bytes=40_000_000, bomb_bytes=64 << 20)
BY_NAME = {beast.name: beast for beast in BEASTS}
REQUEST = "GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{more}\r\n"


async def read_to_end(address: str, port: int, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection(address, port)
    try:
        writer.write(request)
        async with asyncio.timeout(20):
            return await reader.read()
    finally:
        writer.close()


def ask(name: str, *targets: str, pace: Pace = QUICK, more: str = "") -> list[bytes]:
    """All that the beast says to one request after another, each on its own connection."""

    async def run() -> list[bytes]:
        async with unleash([BY_NAME[name]], pace=pace) as den:
            address = den.addresses[name]
            requests = [REQUEST.format(target=target, host=address, more=more) for target in targets or ("/",)]
            return [await read_to_end(address, den.port, request.encode()) for request in requests]

    return asyncio.run(run())


def body_of(raw: bytes) -> bytes:
    return raw.partition(b"\r\n\r\n")[2]


def join_chunks(body: bytes) -> bytes:
    out = b""
    while body:
        size, _, body = body.partition(b"\r\n")
        out, body = out + body[: int(size, 16)], body[int(size, 16) + 2 :]
    return out


def location(raw: bytes) -> str:
    return raw.decode().partition("Location: ")[2].partition("\r\n")[0]


def hrefs(raw: bytes) -> list[str]:
    return re.findall(r'href="([^"]*)"', raw.decode())


# Those whose misbehaviour can be seen in the bytes of one answer.
SHOWN: dict[str, Callable[[bytes], object]] = {
    "slow-headers": lambda raw: b"\r\n\r\n" not in raw and raw.endswith(b"zzz"),
    "slow-body": lambda raw: b"Length: 1000000" in raw and 0 < len(body_of(raw)) < 1_000_000,
    "endless-chunked": lambda raw: len(raw) >= 300_000 and b"\r\n0\r\n" not in raw,
    "endless-close": lambda raw: len(raw) >= 300_000 and b"Length" not in raw and b"chunked" not in raw,
    "cl-too-long": lambda raw: b"Length: 5000" in raw and len(body_of(raw)) == 20,
    "cl-too-short": lambda raw: b"Length: 12" in raw and body_of(raw)[12:].startswith(b"HTTP/1.1 200"),
    "cl-duplicate": lambda raw: re.findall(rb"Content-Length: (\d+)", raw) == [b"12", b"5"],
    "cl-and-te": lambda raw: b"Content-Length: 4\r\n" in raw and body_of(raw).endswith(b"\r\n0\r\n\r\n"),
    "cl-negative": lambda raw: b"Content-Length: -1\r\n" in raw,
    "cl-word": lambda raw: b"Content-Length: abc\r\n" in raw,
    "bad-chunk-size": lambda raw: body_of(raw).startswith(b"zz\r\n"),
    "bad-chunk-size-huge": lambda raw: int(body_of(raw).split(b"\r\n")[0], 16) >= 2**64,
    "chunk-cut": lambda raw: join_chunks(body_of(raw)) == b"<p>hello</p>" and b"0\r\n\r\n" not in raw,
    "chunk-ext-bomb": lambda raw: len(body_of(raw).split(b"\r\n")[0]) > 100_000,
    "chunk-trailer-bomb": lambda raw: body_of(raw).count(b"X-Trailer") > 1_000 and not raw.endswith(b"\r\n\r\n"),
    "no-length-close": lambda raw: b"Length" not in raw and body_of(raw) == b"<p>the old way</p>\n",
    "zstd-window": lambda raw: 10 + (join_chunks(body_of(raw))[5] >> 3) == 31,
    "ce-lie": lambda raw: b"Encoding: gzip" in raw and body_of(raw).startswith(b"<!DOCTYPE"),
    "deflate-raw": lambda raw: zlib.decompress(body_of(raw), -15).startswith(b"<!DOCTYPE"),
    "header-bomb-endless": lambda raw: raw.count(b"X-More") > 5_000 and b"\r\n\r\n" not in raw,
    "bare-lf": lambda raw: b"\r" not in raw and b"\n\n" in raw,
    "obs-fold": lambda raw: b"X-Folded: one\r\n two\r\n\tthree\r\n" in raw,
    "non-ascii": lambda raw: b"Location: /caf\xc3\xa9?q=\xe9\r\n" in raw and b"X-Caf\xe9: \xff\xfe" in raw,
    "nul-in-header": lambda raw: b"\0" in raw.partition(b"\r\n\r\n")[0],
    "cr-in-header": lambda raw: re.search(rb"\r[^\n]", raw.partition(b"\r\n\r\n")[0]),
    "no-status": lambda raw: raw.startswith(b"<html>") and b"HTTP/" not in raw,
    **{
        f"weird-status-{code}": lambda raw, code=code: raw.startswith(f"HTTP/1.1 {code} ".encode())
        for code in ("000", "99", "600", "999", "20x")
    },
    "empty-reply": lambda raw: raw == b"",
    "content-type-lie": lambda raw: b"text/html" in raw and body_of(raw).startswith(b"\x89PNG"),
    "content-type-lie-image": lambda raw: b"image/png" in raw and body_of(raw).startswith(b"<p>"),
    "1xx-many": lambda raw: raw.count(b"HTTP/1.1 10") > 1_000 and b"HTTP/1.1 2" not in raw,
    "204-body": lambda raw: raw.startswith(b"HTTP/1.1 204 ") and body_of(raw) == b"<p>hello</p>",
    "304-cold": lambda raw: raw.startswith(b"HTTP/1.1 304 ") and body_of(raw) == b"",
    "206-unasked": lambda raw: raw.startswith(b"HTTP/1.1 206 ") and b"Content-Range: bytes 0-11/5000" in raw,
    "401-auth": lambda raw: raw.startswith(b"HTTP/1.1 401 ") and b"WWW-Authenticate: Basic" in raw,
    "407-auth": lambda raw: raw.startswith(b"HTTP/1.1 407 ") and b"Proxy-Authenticate: Basic" in raw,
    "429-seconds": lambda raw: raw.startswith(b"HTTP/1.1 429 ") and b"Retry-After: 120\r\n" in raw,
    "429-date": lambda raw: parsedate_to_datetime(re.findall(r"Retry-After: (.*)\r", raw.decode())[0]).year == 2100,
    "429-garbage": lambda raw: b"Retry-After: soon\r\n" in raw,
    "429-garbage-negative": lambda raw: b"Retry-After: -5\r\n" in raw,
    "429-garbage-huge": lambda raw: b"Retry-After: 1e9\r\n" in raw,
    "no-location": lambda raw: raw.startswith(b"HTTP/1.1 302 ") and b"Location" not in raw,
    "dup-location": lambda raw: re.findall(rb"Location: (\S+)", raw) == [b"/one", b"/two"],
    "to-file": lambda raw: location(raw) == "file:///etc/passwd",
    "to-gopher": lambda raw: location(raw).startswith("gopher://"),
    "to-data": lambda raw: location(raw).startswith("data:text/html,"),
    "to-javascript": lambda raw: location(raw).startswith("javascript:"),
    "to-loopback": lambda raw: location(raw).startswith("http://127.0.40.2:"),
    "to-loopback-v6": lambda raw: location(raw).startswith("http://[::1]:"),
    "to-loopback-zero": lambda raw: location(raw).startswith("http://0.0.0.0:"),
    "to-loopback-decimal": lambda raw: location(raw).startswith("http://2130716674:"),
    "to-loopback-hex": lambda raw: location(raw).startswith("http://0x7f.0x2802:"),
    "to-loopback-octal": lambda raw: location(raw).startswith("http://0177.00.050.02:"),
    "to-metadata": lambda raw: location(raw).startswith("http://169.254.169.254/"),
    "to-metadata-v6": lambda raw: location(raw).startswith("http://[fd00:ec2::254]/"),
    "mapped-v6": lambda raw: location(raw).startswith("http://[::ffff:127.0.40.2]:"),
    "mapped-v6-nat64": lambda raw: location(raw).startswith("http://[64:ff9b::7f00:2802]:"),
    "cross-robots": lambda raw: re.fullmatch(r"http://127.0.40.2:\d+/away", location(raw)),
    "facets": lambda raw: len(set(hrefs(raw))) == 36,
    "deep-path": lambda raw: hrefs(raw) == ["a/", "a/b/"],
    "long-url": lambda raw: len(hrefs(raw)[0]) > 100_000,
    "wildcard-dns": lambda raw: len({href.split("/")[2] for href in hrefs(raw) if ".wild.sim.test:" in href}) == 10,
}

# Those that need more than one look; each has a test of its own below.
TOLD = {
    *("reset-mid", "gzip-bomb", "deflate-bomb", "br-bomb", "zstd-bomb", "nested-encoding", "gzip-cut"),
    *("header-bomb", "header-bomb-long", "set-cookie-flood", "503-flap"),
    *("loop-2", "loop-growing", "loop-self-cookie"),
    *("calendar", "session-id", "session-id-query", "soft-404", "many-links", "deep-dom"),
    *("huge", "redirect-loop", "flap", "slow", "regex-bomb"),
    *("expired", "self-signed", "wrong-host", "tls10-only", "alpn-h2-junk", "h2-bomb"),
}


def test_every_beast_is_checked_and_has_its_own_name_and_sentences() -> None:
    assert len({beast.name for beast in BEASTS}) == len(BEASTS) >= 90
    assert SHOWN.keys() | TOLD == BY_NAME.keys()
    for beast in BEASTS:
        assert beast.does.endswith(".")
        assert beast.expects.endswith(".")
        assert beast.category in (
            "body",
            "encoding",
            "headers",
            "status",
            "redirect",
            "trap",
            "robots",
            "tls",
        )


@pytest.mark.parametrize("name", SHOWN)
def test_the_beast_does_what_its_name_says(name: str) -> None:
    pace = replace(QUICK, cap_bytes=200) if name.startswith("slow-") else QUICK
    (raw,) = ask(name, pace=pace)
    assert SHOWN[name](raw), raw[:300]


@pytest.mark.parametrize("beast", [beast for beast in BEASTS if beast.scheme == "http"], ids=lambda beast: beast.name)
def test_the_beast_has_a_sane_robots_txt_unless_that_is_its_trouble(beast: Beast) -> None:
    if not beast.own_robots:
        (raw,) = ask(beast.name, "/robots.txt")
        assert raw.startswith(b"HTTP/1.1 404 ")


def test_reset_mid_resets_after_some_of_the_body() -> None:
    async def run() -> None:
        async with unleash([BY_NAME["reset-mid"]], pace=Pace(breath_s=0.05)) as den:
            reader, writer = await asyncio.open_connection(den.addresses["reset-mid"], den.port)
            writer.write(b"GET / HTTP/1.1\r\n\r\n")
            assert b"Content-Length: 100000" in await reader.readuntil(b"\r\n\r\n")
            assert await reader.readexactly(500)
            with pytest.raises(ConnectionResetError):
                await reader.readexactly(50_000)
            writer.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("name", "wbits"), [("gzip-bomb", 31), ("deflate-bomb", 15)], ids=["gzip-bomb", "deflate-bomb"]
)
def test_a_deflate_bomb_is_small_well_formed_and_grows(name: str, wbits: int) -> None:
    (raw,) = ask(name)
    coded = join_chunks(body_of(raw))
    unpacked, decoder = 0, zlib.decompressobj(wbits)
    while coded and not decoder.eof:
        unpacked += len(decoder.decompress(coded, 1 << 20))
        coded = decoder.unconsumed_tail
    assert decoder.eof  # with a correct checksum, or it would have failed
    assert unpacked == QUICK.bomb_bytes
    assert len(raw) < unpacked / 500


def test_a_brotli_bomb_is_small_and_grows() -> None:
    brotli = pytest.importorskip("brotli")
    (raw,) = ask("br-bomb")
    assert len(brotli.decompress(join_chunks(body_of(raw)))) == QUICK.bomb_bytes
    assert len(raw) < QUICK.bomb_bytes / 500


def test_a_zstandard_bomb_is_small_and_grows() -> None:
    zstandard = pytest.importorskip("zstandard")
    (raw,) = ask("zstd-bomb")
    unpacked = zstandard.ZstdDecompressor().decompressobj().decompress(join_chunks(body_of(raw)))
    assert len(unpacked) == QUICK.bomb_bytes
    assert len(raw) < QUICK.bomb_bytes / 5_000


def test_nested_encoding_really_has_a_hundred_layers() -> None:
    (raw,) = ask("nested-encoding")
    layers, body = raw.partition(b"\r\n\r\n")[0].count(b"gzip"), body_of(raw)
    for _ in range(layers):
        body = gzip.decompress(body)
    assert layers == 100
    assert body.startswith(b"<!DOCTYPE")


def test_gzip_cut_gives_something_and_stops_before_its_end() -> None:
    (raw,) = ask("gzip-cut")
    decoder = zlib.decompressobj(31)
    assert decoder.decompress(body_of(raw)).startswith(b"<!DOCTYPE")
    assert not decoder.eof


def test_header_bombs_are_as_large_as_they_say() -> None:
    (many,), (long,) = ask("header-bomb", pace=ROOMY), ask("header-bomb-long", pace=ROOMY)
    assert many.count(b"X-Filler-") == 100_000
    assert max(map(len, long.split(b"\r\n"))) > 10_000_000
    (cookies,) = ask("set-cookie-flood", pace=ROOMY)
    assert cookies.count(b"Set-Cookie: ") == 5_001
    assert max(map(len, cookies.split(b"\r\n"))) > 1_000_000


def test_flapping_hosts_come_back() -> None:
    statuses = [raw.split(b" ")[1] for raw in ask("503-flap", "/", "/", "/", "/")]
    assert statuses == [b"503", b"200", b"503", b"200"]
    robots = [raw.split(b" ")[1] for raw in ask("flap", *["/robots.txt"] * 4)]
    assert robots == [b"200", b"503", b"404", b"200"]


def test_redirects_go_in_circles_or_grow() -> None:
    assert [location(raw) for raw in ask("loop-2", "/a", "/b")] == ["/b", "/a"]
    assert [location(raw) for raw in ask("loop-growing", "/", "/?more=1")] == ["/?more=1", "/?more=1&more=1"]
    assert location(ask("redirect-loop", "/robots.txt?hop=7")[0]) == "/robots.txt?hop=8"
    assert location(ask("redirect-loop", "/robots.txt")[0]) == "/robots.txt?hop=1"


def test_a_cookie_opens_the_cookie_wall() -> None:
    (shut,), (open_,) = ask("loop-self-cookie"), ask("loop-self-cookie", more="Cookie: passed=1\r\n")
    assert location(shut) == "/"
    assert b"Set-Cookie: passed=1" in shut
    assert open_.startswith(b"HTTP/1.1 200 ")


def test_traps_lead_on_from_wherever_one_stands() -> None:
    assert hrefs(ask("calendar", "/cal?month=2031-12")[0]) == ["/cal?month=2032-01", "/cal?month=2031-11"]
    for name, mark in (("session-id", ";jsessionid="), ("session-id-query", "?PHPSESSID=")):
        first, second = (hrefs(raw) for raw in ask(name, "/", "/"))
        assert set(first).isdisjoint(second)
        assert [link.partition(mark)[0] for link in first] == [link.partition(mark)[0] for link in second]
    first, second = ask("soft-404", "/", "/no/such/page")
    assert second.startswith(b"HTTP/1.1 200 ")
    assert set(hrefs(first)).isdisjoint(hrefs(second))


def test_a_page_can_have_a_million_links_or_a_hundred_thousand_levels() -> None:
    assert ask("many-links", pace=ROOMY)[0].count(b"<a href=") == 1_000_000
    assert body_of(ask("deep-dom", pace=ROOMY)[0]).count(b"<div>") == 100_000


def test_a_huge_robots_txt_has_its_rule_first_and_goes_on() -> None:
    robots, page = ask("huge", "/robots.txt", "/")
    assert b"Content-Length: 500000000" in robots
    assert body_of(robots).startswith(b"User-agent: *\nDisallow: /private/\n")
    assert len(robots) >= QUICK.cap_bytes
    assert page.startswith(b"HTTP/1.1 200 ")


def test_a_silent_robots_txt_says_nothing_while_pages_answer() -> None:
    robots, page = ask("slow", "/robots.txt", "/")
    assert robots == b""
    assert page.startswith(b"HTTP/1.1 200 ")


def test_the_regex_bomb_has_stars_and_a_long_path_to_match() -> None:
    robots, page = ask("regex-bomb", "/robots.txt", "/")
    assert b"Allow: ****************/****.js\n" in robots
    assert len(hrefs(page)[0]) > 4_000


def test_traps_keep_connections_alive() -> None:
    async def run() -> None:
        async with unleash([BY_NAME["calendar"]]) as den:
            reader, writer = await asyncio.open_connection(den.addresses["calendar"], den.port)
            for _ in range(3):
                writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                head = await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(int(re.findall(rb"Length: (\d+)", head)[0]))
            assert den.requests("calendar") == 3
            writer.close()

    asyncio.run(run())
