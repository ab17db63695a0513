"""`lycosa export`, `lycosa pages` and `lycosa backup` on a crawl that has ended, and on one that runs."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import shutil
import signal
import zipfile
from collections import Counter
from pathlib import Path

import pyarrow.dataset as ds
import pytest
from small_crawl import crawl_of, crawl_once, done, lycosa, pages, refused, start, told, told_lines, web

from lycosa.web.url import host_of


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("export") / "crawl"
    crawl_once(directory)
    return directory


def table(place: Path, name: str) -> list[dict]:
    return ds.dataset(place / name, partitioning="hive").to_table().to_pylist()


def test_parquet_has_every_row_and_arrow_reads_it(crawl: Path, tmp_path: Path) -> None:
    counts = told("export", "parquet", tmp_path / "out", "--dir", crawl)
    rows = table(tmp_path / "out", "pages")
    assert len(rows) == counts["pages"] == len(list(pages(crawl)))
    assert {row["url"] for row in rows} == {page["url"] for page in pages(crawl)}
    stats = told("status", "--dir", crawl)
    assert counts["requests"] >= sum(stats["pages"][name] for name in ("fetched", "redirected", "gone"))
    assert len(table(tmp_path / "out", "links")) == counts["links"] > 100


def test_a_host_and_a_time_choose_rows_of_every_table(crawl: Path, tmp_path: Path) -> None:
    host = Counter(host_of(page["url"]) for page in pages(crawl)).most_common()[-1][0]
    told("export", "parquet", tmp_path / "host", "--host", host, "--dir", crawl)
    assert {row["host"] for row in table(tmp_path / "host", "pages")} == {host}
    assert {row["host"] for row in table(tmp_path / "host", "requests")} == {host}
    assert {host_of(row["source"]) for row in table(tmp_path / "host", "links")} == {host}
    counts = told("export", "parquet", tmp_path / "none", "--until", "2020-01-01", "--dir", crawl)
    assert [counts[name] for name in ("pages", "links", "requests")] == [0, 0, 0]


def test_the_index_is_sorted_and_has_every_stored_answer(crawl: Path, tmp_path: Path) -> None:
    counts = told("export", "cdxj", tmp_path / "index.cdxj", "--dir", crawl)
    lines = (tmp_path / "index.cdxj").read_text().splitlines()
    assert lines == sorted(lines)
    stored = {page["url"] for page in pages(crawl) if page["warc_file"]}
    assert len(lines) == counts["captures"]
    assert len({json.loads(line.split(" ", 2)[2])["url"] for line in lines}) == len(stored)
    told("export", "cdxj", tmp_path / "none.cdxj", "--since", "2100-01-01", "--dir", crawl)
    assert (tmp_path / "none.cdxj").read_text() == ""


def test_the_package_holds_the_warcs_the_index_and_the_pages(crawl: Path, tmp_path: Path) -> None:
    counts = told("export", "wacz", tmp_path / "crawl.wacz", "--dir", crawl)
    with zipfile.ZipFile(tmp_path / "crawl.wacz") as package:
        names = package.namelist()
        listed = package.read("pages/pages.jsonl").splitlines()[1:]
    assert {"datapackage.json", "indexes/index.cdx.gz", "pages/pages.jsonl"} <= set(names)
    assert len(listed) == counts["pages"] == sum(page["status"] == 200 for page in pages(crawl))


def test_urls_are_listed_one_a_line(crawl: Path, tmp_path: Path) -> None:
    lycosa("export", "urls", tmp_path / "urls.txt", "--dir", crawl)
    listed = (tmp_path / "urls.txt").read_text().splitlines()
    assert len(listed) == len(set(listed)) == told("status", "--dir", crawl)["urls"]["known"]
    known = told_lines("export", "urls", "-", "--dir", crawl)
    assert {row["outcome"] for row in known if row["state"] == "done"} >= {"fetched"}
    host = host_of(listed[0])
    assert {host_of(row["url"]) for row in told_lines("export", "urls", "-", "--host", host, "--dir", crawl)} == {host}


def test_links_are_csv_or_json(crawl: Path, tmp_path: Path) -> None:
    lycosa("export", "links", tmp_path / "links.csv", "--dir", crawl)
    with (tmp_path / "links.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["source", "target", "kind", "rel", "text"]
    assert len(rows) == len(told_lines("export", "links", "-", "--dir", crawl))
    head, *_ = csv.reader(io.StringIO(lycosa("export", "links", "-", "--dir", crawl).stdout.decode()))
    assert head == list(rows[0])


@pytest.mark.parametrize("kind", ["parquet", "cdxj", "wacz", "urls", "links"])
def test_nothing_that_exists_is_overwritten(kind: str, crawl: Path, tmp_path: Path) -> None:
    out = tmp_path / "there"
    out.write_text("mine")
    assert "exists already" in refused("export", kind, out, "--dir", crawl)
    assert out.read_text() == "mine"
    assert "no directory" in refused("export", kind, tmp_path / "no" / "x", "--dir", crawl)
    assert "holds no crawl" in refused("export", kind, tmp_path / "new", "--dir", tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["there"]


def test_pages_are_chosen_by_host_and_path_and_paged(crawl: Path) -> None:
    everything = list(pages(crawl))
    host = Counter(host_of(page["url"]) for page in everything).most_common(1)[0][0]
    own = list(pages(crawl, "--host", host))
    assert [page["url"] for page in own] == [page["url"] for page in everything if host_of(page["url"]) == host]
    prefix = "/" + own[1]["url"].split("/", 3)[3][:3]
    below = list(pages(crawl, "--host", host, "--prefix", prefix))
    assert [page["url"] for page in below] == [
        page["url"] for page in own if f":{_rest(page['url'])}".find(prefix) >= 0
    ]
    paged, after = [], []
    while batch := told_lines("pages", "--host", host, "--limit", "7", *after, "--dir", crawl):
        paged += batch
        after = ["--after", batch[-1]["url"]]
    assert paged == own
    ended = lycosa("pages", "--host", host, "--limit", "1", "--dir", crawl)
    assert f"--after {own[0]['url']}" in ended.stderr.decode()
    assert "no beginning of a path" in refused("pages", "--prefix", "docs", "--dir", crawl)


def _rest(url: str) -> str:
    return "/" + url.split("/", 3)[3]


def test_a_backup_of_a_crawl_that_has_ended_is_the_same_crawl(crawl: Path, tmp_path: Path) -> None:
    told("backup", tmp_path / "copy", "--dir", crawl)
    assert list(pages(tmp_path / "copy")) == list(pages(crawl))
    assert told("status", "--dir", tmp_path / "copy") == told("status", "--dir", crawl)
    assert told("verify", "--dir", tmp_path / "copy")["faults"] == []
    assert "exists already" in refused("backup", tmp_path / "copy", "--dir", crawl)


def test_a_backup_of_a_running_crawl_resumes_and_loses_nothing(tmp_path: Path) -> None:
    async def run() -> None:
        async with web() as served:
            command = crawl_of(served.seeds(1)[0], tmp_path / "crawl")
            process = await start(*["1s" if word == "0s" else word for word in command])  # so that it lasts
            for number, moment in enumerate((12, 20)):
                while served.requests < moment and process.returncode is None:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
                await done("backup", tmp_path / f"copy-{number}", "--dir", tmp_path / "crawl")
            assert process.returncode is None, "the crawl ended before it was copied"
            process.send_signal(signal.SIGTERM)
            await process.communicate()
            await done(*command)
            whole = {page["url"] for page in pages(tmp_path / "crawl") if page["status"] == 200}
            for number in range(2):
                copy = tmp_path / f"copy-{number}"
                assert told("verify", "--dir", copy)["faults"] == []
                before = told("export", "parquet", tmp_path / f"rows-{number}", "--dir", copy)
                assert before["pages"] == len(list(pages(copy)))
                command[command.index(str(tmp_path / "crawl"))] = str(copy)
                await done(*command)
                command[command.index(str(copy))] = str(tmp_path / "crawl")
                assert {page["url"] for page in pages(copy) if page["status"] == 200} == whole
                assert told("verify", "--dir", copy)["faults"] == []
                shutil.rmtree(tmp_path / f"rows-{number}")
                told("export", "parquet", tmp_path / f"rows-{number}", "--dir", copy)
                urls = [row["url"] for row in table(tmp_path / f"rows-{number}", "pages") if row["status"] == 200]
                assert sorted(urls) == sorted(whole), "no row is lost and none is there twice"

    asyncio.run(run())


def test_exports_of_a_running_crawl_have_every_row_once(tmp_path: Path) -> None:
    async def run() -> None:
        async with web() as served:
            command = crawl_of(served.seeds(1)[0], tmp_path / "crawl")
            command[command.index("0s")] = "1s"  # so that it lasts
            process = await start(*command)
            while served.requests < 15 and process.returncode is None:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            await done("export", "parquet", tmp_path / "out", "--dir", tmp_path / "crawl")
            await done("export", "wacz", tmp_path / "out.wacz", "--dir", tmp_path / "crawl")
            assert process.returncode is None
            process.send_signal(signal.SIGTERM)
            await process.communicate()
            urls = [row["url"] for row in table(tmp_path / "out", "pages")]
            assert len(urls) == len(set(urls)) > 5

    asyncio.run(run())
