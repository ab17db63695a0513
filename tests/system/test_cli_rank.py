"""`lycosa rank`: a crawl is ranked, a killed ranking goes on, what is forgotten has no rank."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from small_crawl import ENVIRONMENT, lycosa, pages, refused, told

from lycosa.backends.ranks import Ranks
from lycosa.kit.keys import host_key
from lycosa.web.url import cut, host_of


def ranked(crawl: Path, *more: str) -> Any:
    return told("rank", "--dir", crawl, *more)


def test_a_crawl_is_ranked_and_every_step_is_told(crawl: Path) -> None:
    ended = lycosa("rank", "--dir", crawl)
    lines = ended.stderr.decode().splitlines()
    assert sum(line.startswith("survey") for line in lines) > 2
    assert sum(line.startswith("pages") and "change" in line for line in lines) > 2
    assert b"settled" in ended.stdout
    found = ranked(crawl)
    fetched = [page for page in pages(crawl) if page["status"] == 200]
    assert 0 < found["pages"] <= len(fetched)
    assert (found["settled"], found["trusted"], found["warm"], found["resumed"]) == (True, 1, True, None)
    assert len(found["top_pages"]) == 10
    ranks = Ranks(crawl / "ranks")
    table = ranks.table()
    assert table["ranks"].sum() == pytest.approx(1.0, abs=1e-5)
    assert table["host_ranks"].sum() == pytest.approx(1.0, abs=1e-5)
    mine, _ = ranks.of([cut(page["url"]).key() for page in fetched])
    assert (mine > 0).all(), "all were reached from the seed"
    assert sorted(path.name for path in (crawl / "ranks").iterdir()) == ["graph.bin", "lock", "ranks.bin"]


def test_a_url_that_redirects_has_the_rank_of_where_it_leads(crawl: Path) -> None:
    ranked(crawl)
    ranks, seen = Ranks(crawl / "ranks"), {page["url"]: page for page in pages(crawl)}
    moved = [
        (url, page["redirect_to"]) for url, page in seen.items()
        if page["redirect_to"] in seen and seen[page["redirect_to"]]["status"] == 200
    ]  # fmt: skip
    assert moved
    for url, target in moved:
        assert ranks.of([cut(url).key()])[0].tolist() == ranks.of([cut(target).key()])[0].tolist()


def test_trusted_pages_and_hosts_take_the_place_of_the_seeds(crawl: Path) -> None:
    first = ranked(crawl)["top_pages"][0]["url"]
    other = next(
        page["url"] for page in pages(crawl)
        if page["status"] == 200 and page["alias_of"] is None and host_of(page["url"]) != host_of(first)
    )  # fmt: skip
    ranked(crawl, "--trusted", other)
    [rank], _ = Ranks(crawl / "ranks").of([cut(other).key()])
    assert rank >= 0.149, "every start is there"
    by_host = ranked(crawl, "--trusted", host_of(other), "--trusted", first, "--limit", "2")
    assert (by_host["trusted"], len(by_host["top_pages"])) == (2, 2)


def test_a_page_is_explained(crawl: Path) -> None:
    assert "run lycosa rank first" in refused("rank", "--explain", "http://a.org/", "--dir", crawl)
    top = ranked(crawl)["top_pages"][0]
    found = ranked(crawl, "--explain", top["url"])
    assert (found["place"], found["rank"]) == (1, top["rank"])
    assert "place" in lycosa("rank", "--explain", top["url"], "--dir", crawl).stdout.decode()
    new = ranked(crawl, "--explain", f"{top['url']}never-met")
    assert new["place"] is None
    assert 0 < new["rank"] < top["rank"]
    assert new["host_rank"] == found["host_rank"]


def kill_in_the_middle(crawl: Path, room: int) -> None:
    """Start a ranking whose progress goes into a pipe with little room, so that it stops there; then kill it."""
    reading, writing = os.pipe()
    size = fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    os.write(writing, b"." * (size - room))
    process = subprocess.Popen(
        [sys.executable, "-m", "lycosa", "rank", "--dir", crawl], stderr=writing, stdout=subprocess.DEVNULL,
        env=ENVIRONMENT,
    )  # fmt: skip
    os.close(writing)
    try:
        deadline = time.monotonic() + 60
        while _waiting(reading) <= size - 60:  # less than a line and a half is left: it cannot come to its end
            assert process.poll() is None, "it ended before the pipe was full"
            assert time.monotonic() < deadline
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.02)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
        os.close(reading)


def _waiting(pipe: int) -> int:
    """How many bytes are in it."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def test_a_killed_ranking_goes_on_where_it_was(crawl: Path, small_web_crawled: Path, tmp_path: Path) -> None:
    kill_in_the_middle(crawl, 400)
    assert (crawl / "ranks" / "progress.bin").exists()
    assert not (crawl / "ranks" / "ranks.bin").exists()
    found = ranked(crawl)
    assert found["resumed"]["step"] >= 5
    assert found["steps"][0]["step"] == found["resumed"]["step"] + 1
    shutil.copytree(small_web_crawled, tmp_path / "other")
    expected = ranked(tmp_path / "other")
    assert [page["url"] for page in found["top_pages"]] == [page["url"] for page in expected["top_pages"]]
    for mine, theirs in zip(found["top_pages"], expected["top_pages"], strict=True):
        assert mine["rank"] == pytest.approx(theirs["rank"], rel=1e-6)
    assert ranked(crawl)["resumed"] is None


def test_what_a_killed_one_left_does_not_count_for_other_starts(crawl: Path) -> None:
    kill_in_the_middle(crawl, 400)
    other = next(page["url"] for page in pages(crawl) if page["status"] == 200)
    assert ranked(crawl, "--trusted", host_of(other))["resumed"] is None


def test_a_forgotten_page_and_a_forgotten_host_have_no_rank(crawl: Path) -> None:
    ranked(crawl)
    fetched = [page["url"] for page in pages(crawl) if page["status"] == 200]
    url = fetched[-1]
    host = next(host_of(each) for each in fetched if host_of(each) != host_of(url))
    told("forget", url, "--yes", "--dir", crawl)
    told("forget", host, "--yes", "--dir", crawl)
    stored = b"".join(path.read_bytes() for path in (crawl / "ranks").iterdir())
    assert cut(url).key() not in stored
    assert host_key(host).to_bytes(8, "big") not in stored
    assert Ranks(crawl / "ranks").page(cut(url).key()) is None
    left = [each for each in fetched if each != url and host_of(each) != host]
    assert (Ranks(crawl / "ranks").of([cut(each).key() for each in left])[0] > 0).all()
    again = ranked(crawl)
    assert again["warm"]
    assert Ranks(crawl / "ranks").page(cut(url).key()) is None
    assert host not in {each["host"] for each in again["top_hosts"]}


def test_bad_directories_names_and_files_get_one_sentence(crawl: Path, tmp_path: Path) -> None:
    assert "holds no crawl: name its directory with --dir" in refused("rank", "--dir", tmp_path / "nothing")
    shutil.copytree(crawl, tmp_path / "other")
    ended = lycosa("rank", "--dir", crawl, "--trusted", "nobody.org", code=2)
    assert ended.stderr.decode().splitlines()[-1].startswith("lycosa: 'nobody.org' is no page or host that this crawl")
    assert "is no host" in lycosa("rank", "--dir", crawl, "--trusted", "a b/", code=2).stderr.decode()
    ranked(crawl)
    path = crawl / "ranks" / "ranks.bin"
    path.write_bytes(path.read_bytes()[:-7])
    assert "ranks.bin is not whole: remove it and run lycosa rank again" in refused(
        "rank", "--explain", "http://a.org/", "--dir", crawl
    )
    ended = lycosa("rank", "--dir", crawl)
    assert b"it is replaced" in ended.stderr, "ranks are made from tables: damaged ones are only slower"
    table = next((crawl / "tables" / "links").rglob("*.parquet"))
    table.write_bytes(table.read_bytes()[:-1])
    assert "is not a whole Parquet file" in lycosa("rank", "--dir", crawl, code=2).stderr.decode()
    other = tmp_path / "other" / "ranks"
    other.write_text("in the way")
    assert "cannot work with" in refused("rank", "--dir", tmp_path / "other")


def test_a_crawl_without_pages_says_so(crawl: Path) -> None:
    for path in (crawl / "tables" / "pages").rglob("*.parquet"):
        empty = pq.read_table(path).slice(0, 0)
        pq.write_table(empty, path)
    assert "has no fetched pages yet: crawl first" in lycosa("rank", "--dir", crawl, code=2).stderr.decode()
