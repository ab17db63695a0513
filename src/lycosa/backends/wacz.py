"""WACZ 1.1.1: WARC files, their index and a list of pages in one ZIP that replays from any web server.

    archive/*.warc.gz        as they are, stored, so that a reader can ask for any range of them
    indexes/index.cdx.gz     the CDXJ index in gzip members of 3,000 lines, and index.idx, which tells where each begins
    pages/pages.jsonl        what a person would open: URL, time, title
    datapackage.json         name, size and SHA-256 of all these; datapackage-digest.json has the SHA-256 of that

WARC files are read once for the index and once more while they are copied; nothing is held in memory but a block of
the index. The package appears under its name only when it is complete.
"""

from __future__ import annotations

import json
import os
import time
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256
from itertools import islice
from pathlib import Path

import msgspec

from lycosa.backends.cdxj import lines_of, sorted_lines
from lycosa.backends.warc_check import whole_bytes

VERSION = "1.1.1"
LINES_IN_BLOCK = 3_000
_CHUNK = 1 << 20
_OPTIONAL = ("title", "text", "size", "mime", "status")


class About(msgspec.Struct, frozen=True):
    """What the package says about itself."""

    title: str
    software: str
    created_at: float  # Unix time
    description: str = ""
    main_page: str = ""  # the URL to open first


def write_wacz(
    out: Path,
    warc_files: Iterable[Path],
    pages: Iterable[Mapping[str, object]],
    about: About,
    progress: Callable[[int], None] | None = None,
) -> None:
    """Package `warc_files`. Each page has `url` and `ts` (ISO 8601), and may have `id`, `title`, `text` and more.

    `progress` is told how many bytes of WARC were copied since it was last called.
    """
    paths = list(warc_files)
    unfinished = out.with_name(f"{out.name}.part")
    try:
        with zipfile.ZipFile(unfinished, "w", allowZip64=True) as package:
            _Package(package, about, progress).fill(paths, pages)
        with unfinished.open("rb") as file:
            os.fsync(file.fileno())
        unfinished.replace(out)
    finally:
        unfinished.unlink(missing_ok=True)


class _Package:
    """An open ZIP and the resources put into it so far."""

    def __init__(self, package: zipfile.ZipFile, about: About, progress: Callable[[int], None] | None) -> None:
        self._package = package
        self._about = about
        self._progress = progress
        self._date = time.gmtime(about.created_at)[:6]
        self._resources: list[dict[str, object]] = []

    def fill(self, paths: list[Path], pages: Iterable[Mapping[str, object]]) -> None:
        # The index comes first: of a file that is growing, what is copied afterwards holds all that it names.
        index: list[str] = [_json_line("!meta 0", {"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"})]
        blocks = _blocks(sorted_lines(line for path in paths for line in lines_of(path)), index)
        self._put("indexes/index.cdx.gz", blocks, is_stored=True)
        self._put("indexes/index.idx", (line.encode() for line in index))
        for path in paths:
            self._put(f"archive/{path.name}", self._chunks(path, whole_bytes(path)), is_stored=True)
        self._put("pages/pages.jsonl", _page_lines(pages))
        described = json.dumps(self._description(), indent=2).encode()
        self._put("datapackage.json", [described])
        digest = {"path": "datapackage.json", "hash": f"sha256:{sha256(described).hexdigest()}"}
        self._put("datapackage-digest.json", [json.dumps(digest, indent=2).encode()])

    def _put(self, name: str, chunks: Iterable[bytes], is_stored: bool = False) -> None:
        entry = zipfile.ZipInfo(name, (max(self._date[0], 1980), *self._date[1:]))
        entry.compress_type = zipfile.ZIP_STORED if is_stored else zipfile.ZIP_DEFLATED
        entry.external_attr = 0o644 << 16
        hashed, size = sha256(), 0
        with self._package.open(entry, "w", force_zip64=True) as file:
            for chunk in chunks:
                file.write(chunk)
                hashed.update(chunk)
                size += len(chunk)
        self._resources.append(
            {"name": Path(name).name, "path": name, "hash": f"sha256:{hashed.hexdigest()}", "bytes": size}
        )

    def _chunks(self, path: Path, size: int) -> Iterator[bytes]:
        with path.open("rb") as file:
            while chunk := file.read(min(_CHUNK, size)):
                yield chunk
                size -= len(chunk)
                if self._progress:
                    self._progress(len(chunk))

    def _description(self) -> dict[str, object]:
        about = self._about
        told: dict[str, object] = {
            "profile": "data-package",
            "wacz_version": VERSION,
            "title": about.title,
            "description": about.description,
            "software": about.software,
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(about.created_at)),
            "mainPageUrl": about.main_page,
            "resources": self._resources,
        }
        return {name: value for name, value in told.items() if value}


def _blocks(lines: Iterator[str], index: list[str]) -> Iterator[bytes]:
    """The lines in gzip members, each of which gets a line in `index`."""
    offset = 0
    while block := list(islice(lines, LINES_IN_BLOCK)):
        packed = zlib.compress("".join(f"{line}\n" for line in block).encode(), wbits=31)
        digest = f"sha256:{sha256(packed).hexdigest()}"
        begin = block[0].partition("{")[0].strip()
        index.append(_json_line(begin, {"offset": offset, "length": len(packed), "digest": digest}))
        yield packed
        offset += len(packed)


def _json_line(key: str, told: Mapping[str, object]) -> str:
    return f"{key} {json.dumps(told)}\n"


def _page_lines(pages: Iterable[Mapping[str, object]]) -> Iterator[bytes]:
    yield b'{"format": "json-pages-1.0", "id": "pages", "title": "All Pages"}\n'
    for page in pages:
        # The id only tells pages apart: the same page at the same time is the same page.
        identity = page.get("id") or sha256(f"{page['url']} {page['ts']}".encode("utf-8", "replace")).hexdigest()[:20]
        told = {"id": identity, "url": page["url"], "ts": page["ts"]}
        told |= {name: page[name] for name in _OPTIONAL if page.get(name) not in (None, "")}
        yield json.dumps(told).encode() + b"\n"
