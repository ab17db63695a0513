"""`lycosa forget`: bodies, rows and records are gone, what others need stays, and nothing comes back."""

from __future__ import annotations

import asyncio
import gzip
import json
import signal
import subprocess
import sys
from collections import Counter
from hashlib import sha256
from pathlib import Path

import msgspec
import pyarrow.dataset as ds
import pytest
from small_crawl import crawl_of, done, lycosa, pages, refused, start, told, told_lines, web

from lycosa.backends.rocks import RocksStore
from lycosa.crawl.forget import Intention, Target, blocked_hosts, unfinished
from lycosa.crawl.lease import Candidate
from lycosa.crawl.messages import Parcel
from lycosa.crawl.outbox import own_parcels
from lycosa.web.url import host_of


def stored(crawl: Path) -> bytes:
    return b"".join(gzip.decompress(path.read_bytes()) for path in (crawl / "warc").glob("*.warc.gz"))


def rows(crawl: Path, out: Path, name: str) -> list[dict]:
    if not out.exists():
        lycosa("export", "parquet", out, "--dir", crawl)
    return ds.dataset(out / name, partitioning="hive").to_table().to_pylist()


def alone(crawl: Path) -> dict:
    """A page whose body no other has, and whose URL is more than an origin: that stays in the log of requests."""
    shared = {page["alias_of"] for page in pages(crawl)}
    return next(
        page for page in pages(crawl)
        if page["warc_file"] and not page["alias_of"] and page["url"] not in shared and page["url"].count("/") > 3
    )  # fmt: skip


def test_a_page_is_gone_everywhere_and_the_rest_is_as_it_was(crawl: Path, tmp_path: Path) -> None:
    page = alone(crawl)
    url, before = page["url"], {each["url"]: each for each in pages(crawl)}
    body = lycosa("get", url, "--dir", crawl).stdout
    assert body in stored(crawl) or page["bytes"]
    done_ = told("forget", url, "--yes", "--dir", crawl)
    assert (done_["urls"], done_["records"]) == (1, 1)
    del before[url]
    after = {each["url"]: each for each in pages(crawl)}
    assert after == before
    assert "is not stored here" in refused("get", url, "--dir", crawl)
    assert "is not stored here" in refused("get", page["content_hash"], "--dir", crawl)
    assert f"WARC-Target-URI: {url}\r\n".encode() not in stored(crawl)
    assert told("verify", "--dir", crawl)["faults"] == []
    assert told("explain", url, "--dir", crawl)["outcome"] == "forgotten"
    out = tmp_path / "out"
    assert url not in {row["url"] for row in rows(crawl, out, "pages")}
    assert url not in {row["source"] for row in rows(crawl, out, "links")}
    assert url not in {row["url"] for row in rows(crawl, out, "requests")}
    assert url in {row["target"] for row in rows(crawl, out, "links")}, "what others say of it is theirs"
    for other in list(after.values())[::10]:
        if other["status"] == 200 and other["warc_file"]:
            stored_body = lycosa("get", other["url"], "--dir", crawl).stdout
            assert sha256(stored_body).hexdigest() == other["content_hash"]


def test_a_body_that_others_share_is_kept_for_them_under_their_own_name(crawl: Path, tmp_path: Path) -> None:
    first, copies = Counter(page["alias_of"] for page in pages(crawl) if page["alias_of"]).most_common(1)[0]
    heirs = [page["url"] for page in pages(crawl) if page["alias_of"] == first]
    [text] = [row["text"] for row in rows(crawl, tmp_path / "before", "pages") if row["url"] == first]
    told("forget", first, "--yes", "--dir", crawl)
    assert told("verify", "--dir", crawl)["faults"] == []
    now = {page["url"]: page for page in pages(crawl)}
    assert len(heirs) == copies
    assert sum(now[url]["alias_of"] is None for url in heirs) == 1
    for url in heirs:
        assert now[url]["alias_of"] != first
        assert sha256(lycosa("get", url, "--dir", crawl).stdout).hexdigest() == now[url]["content_hash"]
    assert first.encode() + b"\r\n" not in stored(crawl)
    listed = {row["url"]: row for row in rows(crawl, tmp_path / "out", "pages")}
    for url in heirs:
        for name in ("warc_file", "warc_offset", "alias_of"):
            assert listed[url][name] == now[url][name]
    assert text
    assert [listed[url]["text"] for url in heirs if not now[url]["alias_of"]] == [text]
    again = told("forget", heirs[0], "--yes", "--dir", crawl)
    assert again["urls"] == 1
    assert told("verify", "--dir", crawl)["faults"] == []


def test_a_host_is_gone_with_all_its_pages_and_is_blocked(crawl: Path, tmp_path: Path) -> None:
    host = Counter(host_of(page["url"]) for page in pages(crawl)).most_common()[-1][0]
    known = len(told_lines("export", "urls", "-", "--host", host, "--dir", crawl))
    done_ = told("forget", host, "--yes", "--dir", crawl)
    assert done_["urls"] >= known
    assert list(pages(crawl, "--host", host)) == []
    assert told("verify", "--dir", crawl)["faults"] == []
    assert f"WARC-Target-URI: http://{host}".encode() not in stored(crawl)
    out = tmp_path / "out"
    assert host not in {row["host"] for row in rows(crawl, out, "pages")}
    assert host not in {host_of(row["source"]) for row in rows(crawl, out, "links")}
    asked = [row["url"] for row in rows(crawl, out, "requests") if row["host"] == host]
    assert asked, "that it was asked stays provable"
    assert {url.split("/", 3)[3] for url in asked} == {""}, "but not for what"
    store = RocksStore(crawl / "shard-00", read_only=True)
    assert blocked_hosts(store) == [host]
    store.close()


def test_what_is_forgotten_is_not_fetched_again(tmp_path: Path) -> None:
    async def run() -> None:
        async with web() as served:
            command = crawl_of(served.seeds(1)[0], tmp_path / "crawl")
            await done(*command, "--max-pages", "20")
            waiting = next(
                row
                for row in told_lines("export", "urls", "-", "--dir", tmp_path / "crawl")
                if row["state"] == "queued"
            )
            fetched = alone(tmp_path / "crawl")["url"]
            await done("forget", waiting["url"], "--yes", "--dir", tmp_path / "crawl")
            await done("forget", fetched, "--yes", "--dir", tmp_path / "crawl")
            log = len(served.log)
            await done(*command, fetched, "--max-pages", "100000")
            asked = {f"http://{line.host}:{served.port}{line.target}" for line in served.log[log:]}
            assert not asked & {waiting["url"], fetched}
            status = told("status", "--dir", tmp_path / "crawl")
            assert (status["state"], status["urls"]["queued"]) == ("finished", 0)

    asyncio.run(run())


def test_a_forgotten_host_is_asked_for_nothing_more(tmp_path: Path) -> None:
    async def run() -> None:
        async with web() as served:
            command = crawl_of(served.seeds(1)[0], tmp_path / "crawl")
            await done(*command, "--max-pages", "20")
            met = Counter(line.host for line in served.log)
            host = next(name for name in reversed(met) if name != host_of(served.seeds(1)[0]))
            await done("forget", host, "--yes", "--dir", tmp_path / "crawl")
            log = len(served.log)
            await done(*command, "--max-pages", "100000")
            assert len(served.log) > log
            assert host not in {line.host for line in served.log[log:]}
            assert told("status", "--dir", tmp_path / "crawl")["state"] == "finished"
            _, err = await done(*command, f"http://{host}:{served.port}/new", code=2)
            assert b"forgotten" in err

    asyncio.run(run())


@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_url_that_was_never_met_can_be_forgotten_beforehand(tmp_path: Path, processes: str) -> None:
    async def run() -> None:
        async with web() as served:
            command = crawl_of(served.seeds(1)[0], tmp_path / "crawl", "--processes", processes)
            await done(*command)
            unmet = [f"http://{name}:{served.port}/never" for name in {line.host for line in served.log}]
            for url in unmet:
                await done("forget", url, "--yes", "--dir", tmp_path / "crawl")
                assert told("explain", url, "--dir", tmp_path / "crawl")["outcome"] == "forgotten"
            await done(*command, *unmet)
            assert "/never" not in {line.target for line in served.log}
            await done(*command, unmet[0] + "-before")
            assert "/never-before" in {line.target for line in served.log}

    asyncio.run(run())


DEATHS = {
    "before anything was erased": "forget._Eraser._finish = lambda *_: os._exit(9)",
    "in the middle of a record": """
def half(path, spans):
    start, lengths = next(iter(spans))
    with path.open("r+b") as file:
        file.seek(start + 40)
        file.write(b"half" * 50)
    os._exit(9)
forget.warc_erase.erase = half""",
    "before the tables": "forget.TableCleaner.clean = lambda *_: os._exit(9)",
    "between two tables": """
remove = forget.TableCleaner._remove
def some(self, table, path):
    return os._exit(9) if table == "requests" else remove(self, table, path)
forget.TableCleaner._remove = some""",
    "before the records": "forget._Eraser._clean_records = lambda *_: os._exit(9)",
}


@pytest.mark.parametrize("moment", DEATHS)
def test_what_a_crash_left_undone_is_done_by_the_next_run(moment: str, crawl: Path, tmp_path: Path) -> None:
    first = Counter(page["alias_of"] for page in pages(crawl) if page["alias_of"]).most_common(1)[0][0]
    heirs = [page["url"] for page in pages(crawl) if page["alias_of"] == first]
    script = f"import os, sys\nfrom lycosa.cli import forget\nfrom lycosa.cli.main import run\n{DEATHS[moment]}\nrun()"
    (crawl / "records").mkdir()
    record = json.dumps({"url": first, "price": 1}) + "\n" + json.dumps({"url": heirs[0], "price": 2}) + "\n"
    (crawl / "records" / "prices.jsonl").write_text(record)
    command = [sys.executable, "-c", script, "forget", first, "--yes", "--dir", str(crawl)]
    assert subprocess.run(command, check=False).returncode == 9
    store = RocksStore(crawl / "shard-00", read_only=True)
    left = unfinished(store)
    store.close()
    assert isinstance(left, Intention)
    assert left.target == Target(url=first)
    assert "run it again first" in refused("crawl", "--dir", crawl)
    told("forget", f"http://{host_of(first)}/other", "--yes", "--dir", crawl)
    assert first.encode() + b"\r\n" not in stored(crawl)
    assert told("verify", "--dir", crawl)["faults"] == []
    listed = {row["url"]: row for row in rows(crawl, tmp_path / "out", "pages")}
    assert first not in listed
    assert sum(bool(listed[url]["text"]) for url in heirs) == 1
    assert all(listed[url]["alias_of"] != first for url in heirs)
    assert [json.loads(line)["price"] for line in (crawl / "records" / "prices.jsonl").read_text().splitlines()] == [2]
    store = RocksStore(crawl / "shard-00", read_only=True)
    assert unfinished(store) is None
    store.close()


def test_nothing_is_forgotten_without_being_asked_or_while_a_crawl_runs(crawl: Path, tmp_path: Path) -> None:
    url = alone(crawl)["url"]
    ended = lycosa("forget", url, "--dir", crawl, code=2)  # nobody answers the question
    assert b"Traceback" not in ended.stderr
    assert told("explain", url, "--dir", crawl)["outcome"] == "fetched"
    assert "holds no crawl" in refused("forget", url, "--yes", "--dir", tmp_path)
    assert "is not a" in refused("forget", "not a host!", "--yes", "--dir", crawl)

    async def run() -> None:
        async with web(latency=0.5) as served:
            process = await start(*crawl_of(served.seeds(1)[0], tmp_path / "running"))
            while served.requests < 3 and process.returncode is None:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            _, err = await done("forget", url, "--yes", "--dir", tmp_path / "running", code=2)
            assert b"in use by another crawl" in err
            process.send_signal(signal.SIGTERM)
            await process.communicate()

    asyncio.run(run())


def test_what_is_on_its_way_between_shards_does_not_bring_it_back(crawl: Path) -> None:
    host = host_of(alone(crawl)["url"])
    parcel = Parcel([Candidate(f"http://{host}/not-met-yet", 1), Candidate("http://other.example/", 1)])
    store = RocksStore(crawl / "shard-00")
    store.write([("outbox", bytes(2) + (1).to_bytes(8, "big"), msgspec.msgpack.encode(parcel))])
    store.close()
    told("forget", host, "--yes", "--dir", crawl)
    store = RocksStore(crawl / "shard-00", read_only=True)
    [(_, left)] = own_parcels(store, 0)
    store.close()
    assert [each.url for each in left.urls] == ["http://other.example/"]
