"""`lycosa serve` as a process, asked over loopback, on a crawl that was made and on one that grows."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote_plus, urlsplit

import pytest

from tests.system.little_site import site
from tests.system.small_crawl import ENVIRONMENT, OWN, crawl_once, lycosa, refused, told

_PATIENCE_S = 40.0


class Reply(NamedTuple):
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Service(NamedTuple):
    process: subprocess.Popen[str]
    address: str  # http://127.0.0.1:PORT
    said: list[str]  # before it was ready

    def get(self, target: str) -> Reply:
        connection = http.client.HTTPConnection(urlsplit(self.address).netloc, timeout=20)
        with contextlib.closing(connection):
            connection.request("GET", target)
            answer = connection.getresponse()
            return Reply(answer.status, answer.headers, answer.read())

    def found(self, query: str) -> list[str]:
        return [each["url"] for each in self.get(f"/v1/search?fold=0&q={quote_plus(query)}").json()["results"]]

    def stop(self, sign: int = signal.SIGTERM) -> int:
        self.process.send_signal(sign)
        return self.process.wait(20)


@contextlib.contextmanager
def serving(directory: Path, *more: str) -> Iterator[Service]:
    command = [sys.executable, "-m", "lycosa", "serve", "--dir", str(directory), "--port", "0", *more]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
    assert process.stderr is not None
    said = []
    try:
        while (line := process.stderr.readline()) and "serving" not in line:
            said.append(line)
        found = re.search(r"http://\S+(?=/search)", line)
        assert found is not None, said
        yield Service(process, found[0], [*said, line])
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stderr.close()


def until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("serve") / "crawl"
    crawl_once(directory)
    return directory


def timeless(answer: dict[str, Any]) -> dict[str, Any]:
    """Without what depends on the moment: a score counts how fresh a page is."""
    return {**answer, "took_ms": 0, "results": [{**each, "score": 0} for each in answer["results"]]}


def crawl_site(address: str, directory: Path, *more: str) -> None:
    lycosa("crawl", address, "--delay", "0s", "-s", OWN, "--dir", directory, *more)


def test_it_answers_as_the_command_does_and_is_healthy(crawled: Path) -> None:
    with serving(crawled) as service:
        until(lambda: service.get("/healthz").status == 200, "it never became healthy")
        word = service.get("/v1/complete?q=s&limit=1").json()["completions"][0]
        here = service.get(f"/v1/search?q={quote_plus(word)}&limit=5").json()
        there = told("search", "--dir", crawled, "--limit", "5", word)
        assert here["results"]
        assert timeless(here) == timeless(there)
        assert service.get(f"/search?q={quote_plus(word)}").status == 200
        assert "server" not in service.get("/search").headers


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_it_is_stopped_without_a_word(crawled: Path, sign: int) -> None:
    with serving(crawled) as service:
        assert service.get("/search").status == 200
        assert service.stop(sign) == 0
        assert service.process.stderr is not None
        assert service.process.stderr.read() == ""


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGKILL])
def test_several_processes_answer_and_end_together(crawled: Path, sign: int) -> None:
    with serving(crawled, "-s", "serve.processes=2") as service:
        children = Path(f"/proc/{service.process.pid}/task/{service.process.pid}/children")
        until(lambda: len(children.read_text().split()) >= 2, "there is but one")  # and one that tracks what they share
        family = [int(child) for child in children.read_text().split()]
        assert {service.get("/search?q=a").status for _ in range(20)} == {200}
        assert service.stop(sign) == (0 if sign == signal.SIGTERM else -signal.SIGKILL)
        until(lambda: not any(Path(f"/proc/{child}").exists() for child in family), "somebody is left")


def test_a_directory_without_an_index_gets_one_first(crawled: Path, tmp_path: Path) -> None:
    copy = tmp_path / "crawl"
    shutil.copytree(crawled, copy)
    shutil.rmtree(copy / "index", ignore_errors=True)
    with serving(copy) as service, serving(crawled) as other:
        assert service.get("/healthz").json()["pages"] == other.get("/healthz").json()["pages"] > 0


def test_what_is_crawled_meanwhile_is_found_and_what_is_forgotten_is_not(tmp_path: Path) -> None:
    pages = {"/": "<title>Start</title><p>arachnid <a href=/two>two</a>"}
    directory = tmp_path / "crawl"
    with site(pages) as address:
        crawl_site(address, directory)
        with serving(directory) as service:
            assert service.found("arachnid") == [address]
            assert service.found("tarantula") == []
            pages["/late"] = "<title>Late</title><p>a tarantula came late"
            crawl_site(f"{address}late", directory, "-s", "search.index=false")
            until(lambda: service.found("tarantula") == [f"{address}late"], "the late page was never found")
            until(lambda: service.get("/healthz").status == 200, "it never became healthy again")
            lycosa("forget", f"{address}late", "--yes", "--dir", directory)
            until(lambda: service.get("/v1/search?q=tarantula").status == 200, "the index never came back")
            assert service.found("tarantula") == []
            assert service.found("arachnid") == [address]
            assert service.stop() == 0


def test_a_crawl_that_starts_meanwhile_keeps_the_index_itself_and_ends(tmp_path: Path) -> None:
    directory = tmp_path / "crawl"
    pages = {"/": "<title>Start</title><p>arachnid"}
    with site(pages) as address:
        crawl_site(address, directory)
        with serving(directory) as service:
            pages["/more"] = "<title>More</title><p>a tarantula"
            crawl_site(f"{address}more", directory, "-s", "search.index=true")
            assert service.found("tarantula") == [f"{address}more"]


def test_a_port_in_use_is_told(crawled: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert "try another --port" in refused("serve", "--dir", crawled, "--port", str(port))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--host", "256.0.0.1"], "is no address of this machine"),
        (["--host", "192.0.2.1"], "cannot be listened on"),
        (["--dir", "nowhere"], "holds no crawl"),
        (["-s", "serve.port=65536"], "serve.port cannot be"),
        (["-s", "serve.prot=1"], "did you mean"),
    ],
)
def test_what_cannot_be_served_is_told(crawled: Path, arguments: list[str], sentence: str) -> None:
    assert sentence in refused("serve", "--dir", crawled, *arguments)


def test_to_be_open_to_all_is_told(crawled: Path) -> None:
    with serving(crawled, "--host", "0.0.0.0") as service:
        assert "anybody" in service.said[0]
    with serving(crawled) as service:
        assert len(service.said) == 1
