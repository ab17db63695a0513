"""A crawl replayed by pywb, the archive software that others use: every page comes back byte for byte.

pywb lives in an environment of its own, made once in the user's cache.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from crawling import OWN, lycosa

from lycosa.sim.plan import WorldPlan
from lycosa.sim.server import Served, serve
from lycosa.sim.world import Request, World

PAGES = 20
PLAN = WorldPlan(
    seed=11, hosts=3, pages=60, page_bytes=6_000, gzip_share=0.5, crawl_delay_share=0.0, broken_robots_share=0.0
)
WANTED = ["pywb==2.9.1", "setuptools<81"]  # pywb still asks for pkg_resources


@pytest.fixture(scope="module")
def pywb() -> Path:
    """The folder of its programs."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lycosa-tests"
    home = cache / f"pywb-{sys.version_info.major}.{sys.version_info.minor}"
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with (cache / "pywb.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # the tests run in several processes
            if not (home / "ready").exists():
                _install(home)
    except (OSError, subprocess.SubprocessError) as error:
        said = error.stderr.strip()[-300:] if isinstance(error, subprocess.CalledProcessError) else error
        pytest.skip(f"pywb cannot be installed here: {said}")
    return home / "bin"


def _install(home: Path) -> None:
    def run(*command: str) -> None:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=180)

    run(sys.executable, "-m", "venv", "--clear", str(home))
    run(str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *WANTED)
    (home / "ready").touch()


@contextmanager
def replaying(pywb: Path, warcs: Path, home: Path) -> Iterator[str]:
    """pywb over these files; yields the beginning of its URLs for bodies as they were stored."""
    home.mkdir()
    files = sorted(map(str, warcs.glob("*.warc.gz")))
    for command in (["init", "crawl"], ["add", "crawl", *files]):
        subprocess.run([pywb / "wb-manager", *command], cwd=home, check=True, capture_output=True, timeout=60)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [str(pywb / "wayback"), "--port", str(port), "--bind", "127.0.0.1"]
    with (home / "log").open("wb") as log, subprocess.Popen(command, cwd=home, stdout=log, stderr=log) as process:
        try:
            wait_for_port(process, port, home / "log")
            yield f"http://127.0.0.1:{port}/crawl/id_/"
        finally:
            process.terminate()


def wait_for_port(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    for _ in range(600):
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.1):
            return
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.1)
            break
    pytest.fail(f"pywb does not answer: {log.read_text()[-1000:]}")


def read(url: str) -> bytes:
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with direct.open(url, timeout=20) as answer:
        return bytes(answer.read())


def original(served: Served, url: str) -> bytes:
    """What the world says at this URL, without coding."""
    host, _, path = url.removeprefix("http://").partition("/")
    return served.world.answer(Request("GET", host, f"/{path}", {}), served.how.wall()).body


def chosen(served: Served) -> list[str]:
    pages = sorted(served.world.truth.walk(served.seeds(3), robots=True, sitemaps=False).pages)
    return pages[:: max(1, len(pages) // PAGES)][:PAGES]


async def crawl(directory: Path) -> Served:
    async with serve(World(PLAN)) as served:
        command = ["crawl", *served.seeds(3), "--delay", "0s", "-s", OWN, "--dir", str(directory), "--json"]
        ended = await asyncio.wait_for(lycosa(*command), 60)
        assert ended.summary["duplicates"]["exact"] > 0, "some pages are stored as revisits"
        return served


def test_pywb_replays_what_was_crawled(pywb: Path, tmp_path: Path) -> None:
    served = asyncio.run(crawl(tmp_path / "crawl"))
    urls = chosen(served)
    assert len(urls) == PAGES
    with replaying(pywb, tmp_path / "crawl" / "warc", tmp_path / "pywb") as prefix:
        for url in urls:
            assert read(prefix + url) == original(served, url), url
        with pytest.raises(urllib.error.HTTPError, match="404"):
            read(f"{prefix}{served.seeds(1)[0]}never-crawled")
