"""TLS handshakes over real sockets: who is trusted, who is not, and HTTP/2."""

from __future__ import annotations

import asyncio
import shutil
import socket
import ssl
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, cast

import pytest

from lycosa.backends.http import CurlFetcher
from lycosa.backends.system import SystemClock
from lycosa.config import Fetch, Seconds
from lycosa.errors import LycosaError
from lycosa.model import Ask, Response, Trouble
from lycosa.sim.bestiary.certificate import make_certificate
from lycosa.web.addresses import OwnHosts, Resolved

PAGE = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 12\r\n\r\n<p>hello</p>"
BEGIN, END = datetime(2015, 1, 1, tzinfo=UTC), datetime(2049, 1, 1, tzinfo=UTC)


class Loopback:
    """Every name is here."""

    async def resolve(self, host: str) -> Resolved:
        return Resolved(("127.0.0.1",), float("inf"))


@asynccontextmanager
async def fetching(ca_file: Path | None) -> AsyncIterator[CurlFetcher]:
    fetcher = CurlFetcher(
        settings=Fetch(timeout=Seconds(10)),
        agent="Lycosa/0.1",
        resolver=Loopback(),
        own=OwnHosts(["127.0.0.0/8"]),
        clock=SystemClock(),
        ca_file=str(ca_file) if ca_file else None,
    )
    try:
        yield fetcher
    finally:
        await fetcher.aclose()


class Authority(NamedTuple):
    """A certificate authority of our own, and a certificate it gave to `site.test`."""

    trusted: Path
    chain: Path
    key: Path


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("openssl is not installed")
    folder = tmp_path_factory.mktemp("authority")

    def openssl(*arguments: str) -> None:
        subprocess.run([program, *arguments], cwd=folder, check=True, capture_output=True)

    new_key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    openssl("req", "-x509", *new_key, "-keyout", "ca.key", "-out", "ca.pem", "-days", "30", "-subj", "/CN=Test CA")
    openssl("req", *new_key, "-keyout", "site.key", "-out", "site.csr", "-subj", "/CN=site.test")
    (folder / "names").write_text("subjectAltName=DNS:site.test,DNS:*.site.test\n")
    signing = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "30", "-extfile", "names")
    openssl("x509", "-req", "-in", "site.csr", "-out", "site.pem", *signing)
    return Authority(folder / "ca.pem", folder / "site.pem", folder / "site.key")


def context_of(chain: Path, key: Path | None = None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain, key)
    return context


class Web:
    def __init__(self) -> None:
        self.port = 0
        self.requests: list[bytes] = []
        self.resumed: list[bool] = []
        self.names: list[str | None] = []


@asynccontextmanager
async def web(context: ssl.SSLContext, keep: bool = True) -> AsyncIterator[Web]:
    made = Web()
    tasks: set[asyncio.Task[None]] = set()

    def on_name(connection: object, name: str | None, _: object) -> None:
        made.names.append(name)

    context.sni_callback = on_name

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(cast("asyncio.Task[None]", asyncio.current_task()))
        made.resumed.append(writer.get_extra_info("ssl_object").session_reused)
        with suppress(asyncio.IncompleteReadError, OSError):
            while True:
                made.requests.append(await reader.readuntil(b"\r\n\r\n"))
                writer.write(PAGE if keep else PAGE.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1))
                if not keep:
                    break
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()

    server = await asyncio.start_server(talk, "127.0.0.1", 0, ssl=context)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()
        await asyncio.gather(*tasks)


def run(main: object) -> None:
    asyncio.run(asyncio.wait_for(main, 20))  # type: ignore[arg-type]


async def fail(fetcher: CurlFetcher, url: str) -> Trouble:
    reply = await fetcher.fetch(Ask(url))
    assert isinstance(reply, Trouble), reply
    return reply


def test_a_trusted_certificate_for_the_name_that_was_asked(authority: Authority) -> None:
    async def main() -> None:
        async with web(context_of(authority.chain, authority.key)) as site, fetching(authority.trusted) as fetcher:
            for host in ("site.test", "www.site.test", "site.test"):
                reply = await fetcher.fetch(Ask(f"https://{host}:{site.port}/"))
                assert isinstance(reply, Response), reply
                assert (reply.status, reply.version, reply.body) == (200, "1.1", b"<p>hello</p>")
                assert f"Host: {host}:{site.port}".encode() in reply.request_head
                assert reply.address == "127.0.0.1"
            assert site.names == ["site.test", "www.site.test"]  # SNI; the third came over the first connection
            assert len(site.requests) == 3

    run(main())


def test_the_time_of_the_handshake_is_known(authority: Authority) -> None:
    async def main() -> None:
        async with web(context_of(authority.chain, authority.key)) as site, fetching(authority.trusted) as fetcher:
            first, second = [await fetcher.fetch(Ask(f"https://site.test:{site.port}/")) for _ in range(2)]
            timings = first.timings
            assert 0 < timings.connect_s < timings.tls_s < timings.first_byte_s <= timings.total_s
            assert (second.timings.connect_s, second.timings.tls_s) == (0, 0)

    run(main())


def test_sessions_are_resumed_when_connections_are_not_kept(authority: Authority) -> None:
    async def main() -> None:
        context = context_of(authority.chain, authority.key)
        async with web(context, keep=False) as site, fetching(authority.trusted) as fetcher:
            for _ in range(3):
                assert isinstance(await fetcher.fetch(Ask(f"https://site.test:{site.port}/")), Response)
            assert site.resumed[0] is False
            assert site.resumed[1:] == [True, True]

    run(main())


def test_an_unknown_authority_is_not_trusted(authority: Authority) -> None:
    async def main() -> None:
        async with web(context_of(authority.chain, authority.key)) as site, fetching(None) as fetcher:
            trouble = await fail(fetcher, f"https://site.test:{site.port}/")
            assert (trouble.kind, trouble.is_lasting) == ("tls.certificate", True)
            assert site.requests == []

    run(main())


def test_a_certificate_for_another_name_is_refused(authority: Authority) -> None:
    async def main() -> None:
        async with web(context_of(authority.chain, authority.key)) as site, fetching(authority.trusted) as fetcher:
            trouble = await fail(fetcher, f"https://other.test:{site.port}/")
            assert trouble.kind == "tls.certificate"
            assert "other.test" in trouble.detail
            assert site.requests == []

    run(main())


@pytest.mark.parametrize(
    ("end", "trusted", "complaint"),
    [
        (datetime(2020, 1, 1, tzinfo=UTC), True, "expired"),
        (END, False, "self-signed"),
    ],
    ids=["expired", "self-signed"],
)
def test_a_certificate_that_is_expired_or_its_own_witness(
    end: datetime, trusted: bool, complaint: str, tmp_path: Path
) -> None:
    made = make_certificate("site.test", BEGIN, end)
    (tmp_path / "site.pem").write_text(made)
    (tmp_path / "trusted.pem").write_text("-----BEGIN CERT" + made.partition("-----BEGIN CERT")[2])

    async def main() -> None:
        ca_file = tmp_path / "trusted.pem" if trusted else None
        async with web(context_of(tmp_path / "site.pem")) as site, fetching(ca_file) as fetcher:
            trouble = await fail(fetcher, f"https://site.test:{site.port}/")
            assert trouble.kind == "tls.certificate"
            assert complaint in trouble.detail
            assert site.requests == []

    run(main())


@pytest.mark.parametrize("said", [b"\x15\x03\x03\x00\x02\x02\x28", PAGE], ids=["no common cipher", "plain HTTP"])
def test_no_common_language_is_a_failed_handshake(said: bytes) -> None:
    async def main() -> None:
        async with speaking(said) as port, fetching(None) as fetcher:
            trouble = await fail(fetcher, f"https://127.0.0.1:{port}/")
            assert (trouble.kind, trouble.is_lasting) == ("tls.handshake", True)

    run(main())


def test_hanging_up_during_the_handshake_passes() -> None:
    async def main() -> None:
        async with speaking(b"") as port, fetching(None) as fetcher:
            trouble = await fail(fetcher, f"https://127.0.0.1:{port}/")
            assert (trouble.kind, trouble.is_lasting) == ("closed.empty", False)

    run(main())


def test_a_missing_file_of_authorities_is_our_own_fault() -> None:
    async def main() -> None:
        async with fetching(Path("/nowhere/ca.pem")) as fetcher, speaking(b"") as port:
            with pytest.raises(LycosaError, match="trusted certificates"):
                await fetcher.fetch(Ask(f"https://127.0.0.1:{port}/"))

    run(main())


@asynccontextmanager
async def speaking(said: bytes) -> AsyncIterator[int]:
    """Waits for the client's hello, says something, and hangs up."""
    tasks: set[asyncio.Task[None]] = set()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(cast("asyncio.Task[None]", asyncio.current_task()))
        with suppress(OSError):
            await reader.read(4096)
            writer.write(said)
            await writer.drain()
            writer.close()
            await writer.wait_closed()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        await asyncio.gather(*tasks)


# -- HTTP/2 -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def nginx(authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if program is None:
        pytest.skip("nginx is not installed: it is the HTTP/2 server of these tests")
    folder = tmp_path_factory.mktemp("nginx")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    (folder / "page.html").write_text("<p>hello</p>" * 2000)
    paths = "".join(
        f"{name}_temp_path {folder / name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"daemon off; master_process off; pid {folder / 'pid'}; error_log {folder / 'log'};\n"
        f"events {{}}\nhttp {{ access_log off; gzip on; gzip_types text/html; {paths}\n"
        f"types {{ text/html html; }}\n"
        f"server {{ listen 127.0.0.1:{port} ssl http2; server_name site.test; root {folder};\n"
        f"ssl_certificate {authority.chain}; ssl_certificate_key {authority.key}; }} }}\n"
    )
    command = [program, "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", str(folder / "log")]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            wait_for_port(process, port, folder / "log")
            yield port
        finally:
            process.terminate()


def wait_for_port(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    for _ in range(200):
        if process.poll() is not None:
            pytest.skip(f"nginx does not start here: {log.read_text() if log.exists() else 'no log'}")
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.05):
            return
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.05)
    pytest.fail("nginx does not answer")


def test_http_2_where_it_is_offered(authority: Authority, nginx: int) -> None:
    async def main() -> None:
        async with fetching(authority.trusted) as fetcher:
            for turn in range(3):
                reply = await fetcher.fetch(Ask(f"https://site.test:{nginx}/page.html", (("If-None-Match", '"no"'),)))
                assert isinstance(reply, Response), reply
                assert (reply.status, reply.version, reply.reason) == (200, "2", "")
                assert reply.body == b"<p>hello</p>" * 2000
                assert len(reply.payload) < len(reply.body)
                assert reply.headers.get("Content-Encoding") == "gzip"
                assert reply.head.startswith(b"HTTP/2 200")
                assert reply.head.endswith(b"\r\n\r\n")
                assert reply.request_head.startswith(b"GET /page.html HTTP/2\r\n")
                assert b'If-None-Match: "no"' in reply.request_head
                assert (reply.timings.connect_s > 0) == (turn == 0)
            missing = await fetcher.fetch(Ask(f"https://site.test:{nginx}/missing"))
            assert isinstance(missing, Response)
            assert (missing.status, missing.version) == (404, "2")

    run(main())


def test_a_body_over_http_2_is_cut_at_the_cap(authority: Authority, nginx: int) -> None:
    async def main() -> None:
        async with fetching(authority.trusted) as fetcher:
            url = f"https://site.test:{nginx}/page.html"
            reply = await fetcher.fetch(Ask(url, max_body=1000))
            assert isinstance(reply, Response), reply
            assert (len(reply.body), reply.truncated) == (1000, "length")
            again = await fetcher.fetch(Ask(url))
            assert isinstance(again, Response), again
            assert len(again.body) == 24_000

    run(main())
