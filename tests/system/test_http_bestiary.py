"""Every misbehaving server that one fetch can meet, and exactly what comes of it."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest

from lycosa.backends.http import CurlFetcher
from lycosa.backends.system import SystemClock
from lycosa.config import Bytes, Fetch, Seconds
from lycosa.model import TROUBLES, Ask, Response
from lycosa.sim.bestiary import BEASTS, Pace, unleash
from lycosa.sim.bestiary.certificate import make_certificate
from lycosa.web.addresses import OwnHosts, Resolved

CATEGORIES = ("body", "encoding", "headers", "status", "redirect", "tls")
BY_NAME = {beast.name: beast for beast in BEASTS if beast.category in CATEGORIES}
PACE = Pace(drip_s=0.02, breath_s=0.0005, silence_s=2.0, cap_bytes=16_000_000, bomb_bytes=1 << 26)
MAX_BODY = 300_000
SETTINGS = Fetch(
    connect_timeout=Seconds(5), first_byte_timeout=Seconds(5), timeout=Seconds(0.9), max_body=Bytes(MAX_BODY)
)
PATIENT = Fetch(max_body=Bytes(MAX_BODY))
HELLO = b"<p>hello</p>"


class Answer(NamedTuple):
    """What is expected of an answer."""

    status: int = 200
    body: bytes | None = None  # None: whatever
    length: int | None = None
    truncated: str = ""
    decoded: bool | None = None  # is the body something else than the payload?
    headers: tuple[tuple[str, str], ...] = ()


def moved(target: str) -> Answer:
    return Answer(302, b"", headers=(("Location", target),))


def not_now(status: int, header: str, value: str) -> Answer:
    return Answer(status, b"<p>not now</p>", headers=((header, value),))


CUT = Answer(length=MAX_BODY, truncated="length")
BOMB = Answer(length=MAX_BODY, truncated="length", decoded=True)
TIMED = Answer(truncated="time")

EXPECTED: dict[str, Answer | str] = {
    # body
    "slow-headers": "timeout.total",
    "slow-body": TIMED,
    "endless-chunked": CUT,
    "endless-close": CUT,
    "cl-too-long": "closed.early",
    "cl-too-short": Answer(body=HELLO),
    "cl-duplicate": "protocol",
    "cl-and-te": Answer(body=HELLO),
    "cl-negative": "protocol",
    "cl-word": "protocol",
    "bad-chunk-size": "protocol",
    "bad-chunk-size-huge": "protocol",
    "chunk-cut": "closed.early",
    "chunk-ext-bomb": "protocol",
    "chunk-trailer-bomb": "headers.too_large",
    "reset-mid": "closed.early",
    "no-length-close": Answer(body=b"<p>the old way</p>\n"),
    # encoding
    "gzip-bomb": BOMB,
    "deflate-bomb": BOMB,
    "br-bomb": BOMB,
    "zstd-bomb": BOMB,
    "zstd-window": Answer(length=10, decoded=False),
    "nested-encoding": Answer(decoded=False),
    "ce-lie": Answer(length=6637, decoded=False),
    "gzip-cut": Answer(length=19, truncated="disconnect", decoded=True),
    "deflate-raw": Answer(length=6637, decoded=True),
    # headers
    "header-bomb": "headers.too_large",
    "header-bomb-long": "headers.too_large",
    "header-bomb-endless": "headers.too_large",
    "bare-lf": Answer(body=HELLO),
    "obs-fold": Answer(body=HELLO, headers=(("X-Folded", "one two three"),)),
    "non-ascii": Answer(302, b"", headers=(("Location", "/cafÃ©?q=é"),)),
    "nul-in-header": "protocol",
    "cr-in-header": "protocol",
    "no-status": "protocol",
    "weird-status-000": "protocol",
    "weird-status-99": "protocol",
    "weird-status-600": Answer(600, HELLO),
    "weird-status-999": Answer(999, HELLO),
    "weird-status-20x": "protocol",
    "empty-reply": "closed.empty",
    "set-cookie-flood": "headers.too_large",
    "content-type-lie": Answer(length=2064),
    "content-type-lie-image": Answer(body=HELLO),
    # status
    "1xx-many": "headers.too_large",
    "204-body": Answer(204, b""),
    "304-cold": Answer(304, b"", headers=(("ETag", '"x"'),)),
    "206-unasked": Answer(206, HELLO, headers=(("Content-Range", "bytes 0-11/5000"),)),
    "401-auth": not_now(401, "WWW-Authenticate", 'Basic realm="den"'),
    "407-auth": not_now(407, "Proxy-Authenticate", 'Basic realm="den"'),
    "429-seconds": not_now(429, "Retry-After", "120"),
    "429-date": not_now(429, "Retry-After", "Fri, 01 Jan 2100 00:00:00 GMT"),
    "429-garbage": not_now(429, "Retry-After", "soon"),
    "429-garbage-negative": not_now(429, "Retry-After", "-5"),
    "429-garbage-huge": not_now(429, "Retry-After", "1e9"),
    "503-flap": Answer(503, b"<p>back soon</p>"),
    # redirect: answers, all of them, and never followed
    "loop-2": moved("/b"),
    "loop-growing": moved("/?more=1"),
    "loop-self-cookie": moved("/"),
    "no-location": Answer(302, b""),
    "dup-location": "protocol",
    "to-file": moved("file:///etc/passwd"),
    "to-gopher": moved("gopher://127.0.0.1:70/1"),
    "to-data": moved("data:text/html,<p>made here</p>"),
    "to-javascript": moved("javascript:alert(1)"),
    **{f"to-loopback{suffix}": Answer(302, b"") for suffix in ("", "-v6", "-zero", "-decimal", "-hex", "-octal")},
    "to-metadata": moved("http://169.254.169.254/latest/meta-data/"),
    "to-metadata-v6": moved("http://[fd00:ec2::254]/latest/meta-data/"),
    "mapped-v6": Answer(302, b""),
    "mapped-v6-nat64": Answer(302, b""),
    "cross-robots": Answer(302, b""),
    # tls
    "expired": "tls.certificate",
    "self-signed": "tls.certificate",
    "wrong-host": "tls.certificate",
    "tls10-only": "tls.handshake",
    "alpn-h2-junk": "tls.certificate",
    "h2-bomb": "tls.certificate",
}
SLOW = ("slow-headers", "slow-body")


class Literal:
    async def resolve(self, host: str) -> Resolved:
        return Resolved((host,), float("inf"))


def make_fetcher(settings: Fetch, ca_file: str | None = None) -> CurlFetcher:
    return CurlFetcher(
        settings=settings,
        agent="Lycosa/0.1",
        resolver=Literal(),
        own=OwnHosts(["127.0.0.0/8"]),
        clock=SystemClock(),
        ca_file=ca_file,
    )


def test_every_beast_of_these_kinds_has_its_line_here() -> None:
    assert set(EXPECTED) == set(BY_NAME)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_beast_is_met_as_expected(name: str) -> None:
    async def main() -> None:
        fetcher = make_fetcher(SETTINGS if name in SLOW else PATIENT)
        async with unleash([BY_NAME[name]], pace=PACE) as den:
            reply = await fetcher.fetch(Ask(den.url(name)))
            judge(reply, EXPECTED[name])
            assert den.requests(name) <= 1  # none where TLS failed, and never a second one
            assert den.canary_connections == 0
            assert reply.address == den.addresses[name]
            await fetcher.aclose()
            async with asyncio.timeout(5):
                await den.quiet()

    asyncio.run(asyncio.wait_for(main(), 20))


def judge(reply: object, expected: Answer | str) -> None:
    if isinstance(expected, str):
        assert not isinstance(reply, Response), (reply.status, reply.truncated, len(reply.body))
        assert (reply.kind, reply.kind in TROUBLES) == (expected, True), reply  # type: ignore[attr-defined]
        assert reply.detail  # type: ignore[attr-defined]
        return
    assert isinstance(reply, Response), reply
    assert (reply.status, reply.truncated) == (expected.status, expected.truncated)
    if expected.body is not None:
        assert reply.body == expected.body
    if expected.length is not None:
        assert len(reply.body) == expected.length
    if expected.decoded is not None:
        assert (reply.body != reply.payload) == expected.decoded
    for name, value in expected.headers:
        assert reply.headers.get(name) == value
    assert len(reply.payload) <= MAX_BODY
    assert reply.head.startswith(b"HTTP/1.")
    assert reply.request_head.startswith(b"GET / HTTP/1.1\r\n")


@pytest.mark.parametrize("name", ["cl-too-short", "204-body"])
def test_a_connection_with_something_left_over_is_not_used_again(name: str) -> None:
    async def main() -> None:
        fetcher = make_fetcher(PATIENT)
        async with unleash([BY_NAME[name]], pace=PACE) as den:
            for _ in range(2):
                reply = await fetcher.fetch(Ask(den.url(name)))
                assert isinstance(reply, Response)
                assert reply.timings.connect_s > 0
                assert reply.body in (HELLO, b"")
            await fetcher.aclose()

    asyncio.run(main())


def test_cookies_are_never_kept() -> None:
    async def main() -> None:
        fetcher = make_fetcher(PATIENT)
        async with unleash([BY_NAME["loop-self-cookie"]], pace=PACE) as den:
            replies = [await fetcher.fetch(Ask(den.url("loop-self-cookie"))) for _ in range(3)]
            assert all(isinstance(reply, Response) and reply.status == 302 for reply in replies)
            await fetcher.aclose()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("name", "kinds"), [("alpn-h2-junk", {"protocol"}), ("h2-bomb", {"protocol", "headers.too_large"})]
)
def test_http_2_that_is_none_is_an_error_of_this_request(name: str, kinds: set[str], tmp_path: Path) -> None:
    async def main() -> None:
        async with unleash([BY_NAME[name]], pace=PACE) as den:
            certificate = make_certificate(
                den.addresses[name], datetime(2015, 1, 1, tzinfo=UTC), datetime(2049, 1, 1, tzinfo=UTC)
            )
            (tmp_path / "trusted.pem").write_text("-----BEGIN CERT" + certificate.partition("-----BEGIN CERT")[2])
            fetcher = make_fetcher(PATIENT, str(tmp_path / "trusted.pem"))
            reply = await fetcher.fetch(Ask(den.url(name)))
            assert not isinstance(reply, Response)
            assert reply.kind in kinds, reply
            await fetcher.aclose()

    asyncio.run(asyncio.wait_for(main(), 20))


def test_all_of_them_at_once_do_not_disturb_a_good_one() -> None:
    async def main() -> None:
        fetcher = make_fetcher(Fetch(timeout=Seconds(4), max_body=Bytes(MAX_BODY)))  # time enough for a busy machine
        async with unleash(list(BY_NAME.values()), pace=PACE) as den:
            bad = [asyncio.create_task(fetcher.fetch(Ask(den.url(name)))) for name in BY_NAME]
            for _ in range(20):
                good = await fetcher.fetch(Ask(den.url("content-type-lie-image")))
                assert isinstance(good, Response)
                assert good.body == HELLO
            replies = dict(zip(BY_NAME, await asyncio.gather(*bad), strict=True))
            for name, reply in replies.items():
                judge(reply, EXPECTED[name])
            await fetcher.aclose()

    asyncio.run(asyncio.wait_for(main(), 30))
