"""WACZ: every file listed with its true hash, WARC files stored as they are, an index that leads into them."""

from __future__ import annotations

import gzip
import hashlib
import json
import zipfile
import zlib

import pytest

from lycosa.backends import wacz
from lycosa.backends.wacz import About, write_wacz
from lycosa.backends.warc import Visit, WarcWriter
from lycosa.model import Response, Timings
from lycosa.web.headers import Headers

ABOUT = About("A crawl", "Lycosa/1", 1_763_240_000.0, description="All of it", main_page="https://example.org/0")
PAGES = [
    {"url": "https://example.org/0", "ts": "2025-11-15T20:53:20Z", "title": "Zero", "text": "words", "other": 1},
    {"url": "https://example.org/1", "ts": "2025-11-15T20:53:20Z", "title": None, "id": "mine"},
]


def visit(number: int) -> Visit:
    body = b"<html>page %d" % number
    response = Response(
        url=f"https://example.org/{number}",
        status=200,
        reason="OK",
        version="1.1",
        headers=Headers([("Content-Type", "text/html")]),
        request_head=b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n",
        head=b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n",
        payload=body,
        body=body,
        truncated="",
        address="192.0.2.1",
        started_at=1_763_240_000.0 + number,
        timings=Timings(),
    )
    return Visit(response, hashlib.sha256(body).digest())


@pytest.fixture
def crawl(tmp_path):
    """A folder with two WARC files, eight pages in all."""
    writer = WarcWriter(tmp_path / "warc", "test", {}, roll_bytes=6_000)
    for number in range(8):
        writer.append(visit(number))
    writer.close()
    paths = sorted((tmp_path / "warc").iterdir())
    assert len(paths) == 2
    return paths


def sha256(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def test_a_package_lists_all_it_holds_with_sizes_and_hashes(tmp_path, crawl):
    out = tmp_path / "out.wacz"
    copied: list[int] = []
    write_wacz(out, crawl, PAGES, ABOUT, copied.append)
    assert sum(copied) == sum(path.stat().st_size for path in crawl)
    with zipfile.ZipFile(out) as package:
        assert package.testzip() is None
        names = set(package.namelist())
        described = json.loads(package.read("datapackage.json"))
        for resource in described["resources"]:
            data = package.read(resource["path"])
            assert (resource["bytes"], resource["hash"]) == (len(data), sha256(data))
            assert resource["name"] == resource["path"].split("/")[-1]
        listed = {resource["path"] for resource in described["resources"]}
        assert names - listed == {"datapackage.json", "datapackage-digest.json"}
        digest = json.loads(package.read("datapackage-digest.json"))
        assert digest == {"path": "datapackage.json", "hash": sha256(package.read("datapackage.json"))}
    assert {name: described[name] for name in described if name != "resources"} == {
        "profile": "data-package",
        "wacz_version": "1.1.1",
        "title": "A crawl",
        "description": "All of it",
        "software": "Lycosa/1",
        "created": "2025-11-15T20:53:20Z",
        "mainPageUrl": "https://example.org/0",
    }


def test_archives_and_their_index_are_stored_as_they_are(tmp_path, crawl):
    out = tmp_path / "out.wacz"
    write_wacz(out, crawl, PAGES, ABOUT)
    with zipfile.ZipFile(out) as package:
        for path in crawl:
            assert package.read(f"archive/{path.name}") == path.read_bytes()
            assert package.getinfo(f"archive/{path.name}").compress_type == zipfile.ZIP_STORED
        assert package.getinfo("indexes/index.cdx.gz").compress_type == zipfile.ZIP_STORED


def test_the_index_leads_to_its_blocks_and_from_there_to_the_records(tmp_path, crawl, monkeypatch):
    monkeypatch.setattr(wacz, "LINES_IN_BLOCK", 3)
    out = tmp_path / "out.wacz"
    write_wacz(out, crawl, PAGES, ABOUT)
    with zipfile.ZipFile(out) as package:
        header, *entries = package.read("indexes/index.idx").decode().splitlines()
        packed = package.read("indexes/index.cdx.gz")
        assert header == '!meta 0 {"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"}'
        assert len(entries) == 3
        lines: list[str] = []
        for entry in entries:
            begin, told = entry[: entry.index("{")].strip(), json.loads(entry[entry.index("{") :])
            block = packed[told["offset"] : told["offset"] + told["length"]]
            assert sha256(block) == told["digest"]
            found = gzip.decompress(block).decode().splitlines()
            assert found[0].startswith(begin)
            lines += found
        assert len(lines) == 8
        assert lines == sorted(lines)
        for line in lines:
            told = json.loads(line.split(" ", 2)[2])
            start = int(told["offset"])
            data = package.read(f"archive/{told['filename']}")[start : start + int(told["length"])]
            assert f"WARC-Target-URI: {told['url']}\r\n".encode() in zlib.decompress(data, 31)


def test_pages_are_one_json_object_a_line_after_a_header(tmp_path, crawl):
    out = tmp_path / "out.wacz"
    write_wacz(out, crawl, iter(PAGES), ABOUT)
    with zipfile.ZipFile(out) as package:
        header, first, second = map(json.loads, package.read("pages/pages.jsonl").splitlines())
    assert header == {"format": "json-pages-1.0", "id": "pages", "title": "All Pages"}
    identity = first.pop("id")
    assert len(identity) == 20
    assert first == {name: PAGES[0][name] for name in ("url", "ts", "title", "text")}
    assert second == {"id": "mine", "url": PAGES[1]["url"], "ts": PAGES[1]["ts"]}


def test_a_package_of_a_running_crawl_holds_whole_groups_only(tmp_path):
    writer = WarcWriter(tmp_path / "warc", "test", {})
    writer.append(visit(0))
    [path] = (tmp_path / "warc").iterdir()
    whole = path.read_bytes()
    with path.open("ab") as file:
        file.write(whole[-200:-100])  # as if a write were on its way
    write_wacz(tmp_path / "out.wacz", [path], [], ABOUT)
    with zipfile.ZipFile(tmp_path / "out.wacz") as package:
        assert package.read(f"archive/{path.name}") == whole
    writer.close()


def test_a_package_that_fails_leaves_nothing_behind(tmp_path, crawl):
    def failing():
        yield PAGES[0]
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        write_wacz(tmp_path / "out.wacz", crawl, failing(), ABOUT)
    assert [path.name for path in tmp_path.iterdir()] == ["warc"]
