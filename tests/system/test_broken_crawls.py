"""Ways in which whole crawls broke when somebody tried: each was seen to fail once."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from crawling import OWN, lycosa, outcomes, within

from lycosa.backends.warc_check import warc_files
from lycosa.backends.warc_read import iter_groups

EASY = ("-s", OWN, "--delay", "0s", "--json")
NO_RULES = b"HTTP/1.1 404 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


def answer(body: bytes, *more: str) -> bytes:
    lines = ["HTTP/1.1 200 OK", "Content-Type: text/html", f"Content-Length: {len(body)}", "Connection: close", *more]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@asynccontextmanager
async def serving(told: Callable[[str], bytes], wait_s: float = 0.0) -> AsyncIterator[str]:
    """A server of bytes, by path; where it is."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode()
        await asyncio.sleep(wait_s)
        writer.write(NO_RULES if path == "/robots.txt" else told(path))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def test_a_forgotten_body_that_was_cut_off_while_decoded_is_nobodys_original(tmp_path: Path) -> None:
    """Its hash is of what was decoded, so it cannot be told from what is stored."""
    body = gzip.compress(b"<html><body>" + b"what nobody is to remember " * 20_000)
    place = str(tmp_path / "c")

    async def main() -> None:
        async with serving(lambda _: answer(body, "Content-Encoding: gzip")) as base:
            limits = (*EASY, "-s", "fetch.max_body=100000", "-s", "crawl.max_depth=0", "--dir", place)
            assert (await lycosa("crawl", f"{base}/first", *limits)).summary["pages"]["fetched"] == 1
            assert (await lycosa("forget", f"{base}/first", "--yes", "--dir", place)).code == 0
            told = (await lycosa("crawl", f"{base}/second", *limits)).summary
            assert told["duplicates"]["exact"] == 0
            assert (await lycosa("verify", "--dir", place)).code == 0
            rows = [json.loads(line) for line in (await lycosa("pages", "--json", "--dir", place)).out.splitlines()]
            assert [row["alias_of"] for row in rows] == [None]

    within(60, main)


def test_forgetting_reaches_what_a_crash_left_half_written(tmp_path: Path) -> None:
    secret = os.urandom(40_000).hex().encode()
    place = tmp_path / "c"

    async def main() -> None:
        async with serving(lambda _: answer(b"<html>" + secret)) as base:
            assert (await lycosa("crawl", f"{base}/x", *EASY, "--dir", str(place))).code == 0
            [file] = warc_files(place / "warc")
            data, group = file.read_bytes(), list(iter_groups(file))[-1]
            file.write_bytes(data + data[group.start : group.end - 5_000])  # killed while it was written once more
            some = data[group.answer.offset + 2_000 : group.answer.offset + 12_000]
            assert (await lycosa("forget", f"{base}/x", "--yes", "--dir", str(place))).code == 0
            assert some not in file.read_bytes()
            assert (await lycosa("verify", "--dir", str(place))).code == 0

    within(60, main)


def test_a_crawl_goes_on_when_nobody_reads_its_progress(tmp_path: Path) -> None:
    """It ended, with exit code 0 and most pages unfetched."""

    def told(path: str) -> bytes:
        return answer(b"".join(b'<a href="/p%d">x</a>' % number for number in range(35)) if path == "/" else b"page")

    async def main() -> None:
        async with serving(told, wait_s=0.18) as base:
            reader, writer = os.pipe()
            os.close(reader)
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "lycosa", "crawl", f"{base}/", *EASY, "--dir", str(tmp_path / "c")),
                stdout=asyncio.subprocess.PIPE,
                stderr=writer,
            )
            os.close(writer)
            out, _ = await process.communicate()
            assert json.loads(out)["pages"]["fetched"] == 36
            assert {outcome for outcome, _ in outcomes(tmp_path / "c").values()} == {"fetched"}

    within(60, main)
