"""Real pages for benchmarks: the documentation on this machine, as the tables of a crawl would have it."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lycosa.backends.parquet import write_table
from lycosa.kit.simhash import simhash
from lycosa.web.html import read_page
from lycosa.web.url import Normaliser

ROOTS = ("/usr/share/doc", "/usr/share/developers-reference", "/usr/share/gtk-doc", "/usr/lib/node_modules")
TOOLCHAINS = Path.home() / ".rustup/toolchains"  # several versions of one documentation: much alike, none the same
_A_FILE = 5_000
_FETCHED_AT = 1_760_000_000.0


def html_files(count: int) -> list[str]:
    """Different documentations first, versions of one last."""
    roots = [*ROOTS, *sorted(map(str, TOOLCHAINS.glob("*/share")), reverse=True)]
    found: list[str] = []
    for root in roots:
        listed = subprocess.run(
            ["find", root, "-type", "f", "-name", "*.html", "-size", "+1k"], capture_output=True, text=True, check=False
        )
        found += sorted(listed.stdout.splitlines())
    return found[:count]


def make_tables(directory: Path, count: int) -> int:
    """Write tables `pages` and `links` of so many files; how many there were."""
    files = html_files(count)
    chunks = [files[at : at + _A_FILE] for at in range(0, len(files), _A_FILE)]
    jobs = [(directory, number * _A_FILE, chunk) for number, chunk in enumerate(chunks)]
    with multiprocessing.Pool(os.cpu_count()) as pool:
        return sum(pool.imap_unordered(_make_file, jobs))


def _make_file(job: tuple[Path, int, list[str]]) -> int:
    directory, before, files = job
    pages, links = [], []
    for page, its_links in _read(files):
        pages.append(page)
        links += its_links
    numbers = (before + 1, before + len(files))
    write_table(directory / "tables", "pages", pages, *numbers, "2026-01-01", name="shard-00")
    write_table(directory / "tables", "links", links, *numbers, "2026-01-01", name="shard-00")
    return len(pages)


def _read(files: list[str]) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    normal = Normaliser()
    for file in files:
        host = _host(file)
        try:
            url = normal(f"http://{host}{file}")
            page = read_page(Path(file).read_bytes(), url)
        except (OSError, ValueError):
            continue
        text = page.main_text
        row = {
            "url": url, "host": host, "fetched_at": _FETCHED_AT, "status": 200, "outcome": "fetched",
            "title": page.title, "language": page.language, "text": text,
            "headings": "\n".join([heading.text for heading in page.headings]),
            "simhash": simhash(text) if text.count(" ") > 50 else None,
        }  # fmt: skip
        forms = normal.links(url, [link.href for link in page.links])
        found = [
            {"source": url, "target": forms[link.href], "kind": link.kind, "rel": link.rel, "text": link.text,
             "discovered_at": _FETCHED_AT, "refused": None if link.kind == "a" else "resource"}
            for link in page.links if link.href in forms
        ]  # fmt: skip
        yield row, found


def _host(file: str) -> str:
    """A host for every package: the first folder below a root that says something."""
    if "/toolchains/" in file:
        version, _, rest = file.partition("/toolchains/")[2].partition("/")
        return f"{rest.split('/')[3] if rest.count('/') > 3 else 'rust'}.{version.partition('-')[0]}.example"
    return f"{file.split('/')[4] if file.count('/') > 4 else 'docs'}.example".replace("_", "-").lower()
