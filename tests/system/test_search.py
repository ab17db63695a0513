"""A crawl that can be searched: while it runs, after it was killed, and after something was forgotten."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import time
from pathlib import Path

import pytest

from lycosa.indexing import INDEX, catch_up, is_behind, open_search
from lycosa.search.answer import Request
from tests.system.small_crawl import crawl_of, crawl_once, lycosa, pages, refused, start, told, web

INDEXED = ("-s", "search.index=true")


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("search") / "crawl"
    crawl_once(directory, *INDEXED)
    return directory


def originals(directory: Path) -> set[str]:
    """The pages that are to be found: fetched, HTML, no copies."""
    rows = pages(directory, "--status", "200")
    return {row["url"] for row in rows if not row["alias_of"] and row["content_type"] == "text/html"}


def found(directory: Path) -> list[str]:
    search = open_search(directory)
    hosts = {url.split("/")[2].partition(":")[0] for url in originals(directory)}
    urls: list[str] = []
    for host in hosts:
        for offset in range(0, 300, 100):
            request = Request(query=f"site:{host}", limit=100, offset=offset, fold=0)
            urls += [result.url for result in search.search(request).results]
    return urls


def test_a_crawl_ends_when_all_of_it_can_be_found(crawled: Path) -> None:
    assert not is_behind(crawled)
    urls = found(crawled)
    assert len(urls) == len(set(urls))
    missing = originals(crawled) - set(urls)
    noindex = {row for row in missing if "noindex" in directives(crawled).get(row, "")}
    assert missing == noindex


def directives(directory: Path) -> dict[str, str]:
    from lycosa.backends.parquet import read_tables

    rows = read_tables(directory / "tables", "pages", ("url", "directives", "canonical"))
    return {row["url"]: f"{row['directives'] or ''} {'noindex' if row['canonical'] else ''}" for row in rows}


def test_the_answer_has_the_promised_form(crawled: Path) -> None:
    title = open_search(crawled).complete("b")[0]
    answer = told("search", title, "--dir", crawled, "--limit", "3")
    assert answer.keys() >= {"query", "total", "took_ms", "results"}
    assert answer["query"] == title
    assert 1 <= len(answer["results"]) <= 3
    assert answer["results"][0].keys() >= {"url", "title", "snippet", "score", "host", "fetched_at"}


def test_people_read_results_and_reasons(crawled: Path) -> None:
    title = open_search(crawled).complete("b")[0]
    text = lycosa("search", "--explain", "--dir", crawled, title).stdout.decode()
    assert "http://127." in text
    assert "page_rank" not in text or "score" in text
    assert "Nothing was found" in lycosa("search", "--dir", crawled, "qqqqqq").stdout.decode()


@pytest.mark.parametrize("query", ['"', "-", "OR", "site:", "a:b:c", "\x1b[31m", "--", "((("])
def test_odd_queries_are_no_errors(crawled: Path, query: str) -> None:
    assert json.loads(lycosa("search", "--json", "--dir", crawled, "--", query).stdout)["total"] >= 0


def test_the_index_is_rebuilt_from_the_tables(crawled: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(crawled, copy)
    before = sorted(found(copy))
    assert told("index", "--rebuild", "--dir", copy)["pages"] == len(before)
    assert sorted(found(copy)) == before


@pytest.mark.parametrize("harm", ["gone", "version", "damaged"])
def test_an_index_that_cannot_be_used_is_built_again_in_one_sentence(crawled: Path, tmp_path: Path, harm: str) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(crawled, copy)
    before = sorted(found(copy))
    if harm == "gone":
        shutil.rmtree(copy / INDEX)
    elif harm == "version":
        (copy / INDEX / "VERSION").write_text("lycosa index 0\n")
    else:
        (copy / INDEX / "pages" / "meta.json").write_text("{")
    ended = lycosa("search", "--json", "--dir", copy, "anything")
    assert all(line.startswith("lycosa: ") for line in ended.stderr.decode().splitlines())
    assert "indexed first" in ended.stderr.decode()
    assert sorted(found(copy)) == before


def test_a_directory_without_a_crawl_is_refused(tmp_path: Path) -> None:
    assert "holds no crawl" in refused("search", "x", "--dir", tmp_path)
    assert "holds no crawl" in refused("index", "--dir", tmp_path)


def test_without_the_setting_nothing_is_indexed_until_somebody_searches(tmp_path: Path) -> None:
    async def run() -> None:
        async with web() as served:
            process = await start(*crawl_of(served.seeds(1)[0], tmp_path / "c"))
            await process.communicate()

    asyncio.run(run())
    assert not (tmp_path / "c" / INDEX).exists()
    ended = lycosa("search", "--json", "--dir", tmp_path / "c", "the")
    assert "indexed first" in ended.stderr.decode()
    assert set(found(tmp_path / "c")) <= originals(tmp_path / "c")


def indexers() -> dict[int, str]:
    """Indexers that run, with the directory each has."""
    running = {}
    for process in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if process.name.isdigit():
                words = (process / "cmdline").read_bytes().split(b"\0")
                if b"lycosa.indexing" in words:
                    running[int(process.name)] = words[words.index(b"lycosa.indexing") + 1].decode()
    return running


async def until_indexed(directory: Path, least: int) -> None:
    for _ in range(400):
        with contextlib.suppress(Exception):
            if open_search(directory).pages >= least:
                return
        await asyncio.sleep(0.05)
    raise AssertionError("nothing was indexed")


def test_a_killed_indexer_loses_nothing_and_repeats_nothing(tmp_path: Path) -> None:
    directory = tmp_path / "c"

    async def run() -> None:
        async with web(latency=0.08) as served:
            process = await start(*crawl_of(served.seeds(1)[0], directory, *INDEXED))
            await until_indexed(directory, 10)
            for pid in [pid for pid, place in indexers().items() if place == str(directory)]:
                os.kill(pid, signal.SIGKILL)
            _, err = await asyncio.wait_for(process.communicate(), 100)
            assert process.returncode == 0, err.decode()
            assert "started again" in err.decode()

    asyncio.run(run())
    urls = found(directory)
    assert len(urls) == len(set(urls))
    assert not is_behind(directory)
    rebuilt = tmp_path / "copy"
    shutil.copytree(directory, rebuilt)
    catch_up(rebuilt, rebuild=True)
    assert sorted(urls) == sorted(found(rebuilt))


def test_a_killed_crawl_leaves_no_indexer_behind_and_an_index_that_goes_on(tmp_path: Path) -> None:
    directory = tmp_path / "c"

    async def run() -> None:
        async with web(latency=0.05) as served:
            seed = served.seeds(1)[0]
            process = await start(*crawl_of(seed, directory, *INDEXED))
            await until_indexed(directory, 5)
            process.kill()
            await process.wait()
            for _ in range(200):
                if str(directory) not in indexers().values():
                    break
                await asyncio.sleep(0.05)
            assert str(directory) not in indexers().values()
            process = await start(*crawl_of(seed, directory, *INDEXED))
            _, err = await asyncio.wait_for(process.communicate(), 100)
            assert process.returncode == 0, err.decode()

    asyncio.run(run())
    urls = found(directory)
    assert len(urls) == len(set(urls))
    rebuilt = tmp_path / "copy"
    shutil.copytree(directory, rebuilt)
    catch_up(rebuilt, rebuild=True)
    assert sorted(urls) == sorted(found(rebuilt))


def test_a_page_can_be_found_seconds_after_its_fetch(tmp_path: Path) -> None:
    directory = tmp_path / "c"

    async def run() -> float:
        async with web(latency=0.1) as served:
            process = await start(*crawl_of(served.seeds(1)[0], directory, *INDEXED))
            await until_indexed(directory, 1)
            answer = open_search(directory).search(
                Request(query=f"site:{served.seeds(1)[0].split('/')[2].split(':')[0]}")
            )
            late_s = time.time() - max(result.fetched_at for result in answer.results)
            process.terminate()
            await asyncio.wait_for(process.communicate(), 100)
            return late_s

    assert asyncio.run(run()) < 10


def test_what_is_forgotten_is_not_found_and_not_on_disk(crawled: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(crawled, copy)
    victim = sorted(originals(copy))[3]
    assert victim in found(copy)
    lycosa("forget", victim, "--yes", "--dir", copy)
    assert victim not in found(copy)
    host = victim.split("/")[2].partition(":")[0]
    lycosa("forget", host, "--yes", "--dir", copy)
    assert open_search(copy).search(Request(query=f"site:{host}")).total == 0
    assert not is_behind(copy)
