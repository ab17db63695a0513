"""`python -m benchmarks.search_quality FOLDER...`: how good the answers are, on judged collections.

A folder holds `docs.jsonl`, `queries.jsonl` and `qrels.tsv`. Its documents are written as HTML pages with a front page
that links to all of them, served on loopback, crawled by Lycosa and searched: everything is measured on the way a user
goes. `--quick` puts documents straight into an index, for trying weights; `--weights` prints the tables of
docs/search.md, and `--known-item` asks for pages of real documentation by their titles.
"""

from __future__ import annotations

import argparse
import contextlib
import http.server
import random
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from html import escape
from pathlib import Path

import msgspec

from benchmarks.judged import Collection, Quality, measure, read_collection
from benchmarks.pages import make_tables
from lycosa.backends.parquet import list_files, read_unix
from lycosa.backends.tantivy_index import IndexWriter
from lycosa.backends.tantivy_view import TantivyReader
from lycosa.indexing import catch_up, open_search
from lycosa.kit.simhash import simhash
from lycosa.search.answer import Request
from lycosa.search.engine import Search
from lycosa.search.intake import Intake, PageSeen
from lycosa.search.weights import PRESETS, SHIPPED, Weights

_LINKS_A_PAGE = 500
_NO_SIGNALS = ("page_rank", "host_rank", "title_match", "host_match", "homepage", "quality", "freshness", "spam")

_TRIED = {
    "title": (0.0, 0.3, 0.4, 0.5, 1.0, 2.0, 5.0),
    "headings": (0.0, 0.3, 0.5, 1.0, 2.0),
    "url": (0.0, 0.2, 1.0),
    "anchor": (0.0, 0.2, 0.4, 1.0),
    "tie": (0.0, 0.2, 1.0),
    "pair": (0.0, 0.1, 0.2, 0.5, 1.0),
}


# -- a collection as a web --------------------------------------------------------------------------------------------


def write_pages(collection: Collection, root: Path) -> None:
    """A page a document, lists that link to them, and a front page that links to the lists."""
    names = []
    for number, document in enumerate(collection.documents):
        name = f"{number}.html"
        paragraphs = "".join(f"<p>{escape(part)}</p>" for part in document.text.split("\n") if part.strip())
        (root / name).write_text(
            f"<!DOCTYPE html><html><head><meta charset=utf-8><title>{escape(document.title)}</title></head>"
            f"<body><h1>{escape(document.title)}</h1>{paragraphs}</body></html>"
        )
        names.append((name, document.title))
    lists = [names[at : at + _LINKS_A_PAGE] for at in range(0, len(names), _LINKS_A_PAGE)]
    for number, some in enumerate(lists):
        links = "".join(f'<li><a href="{name}">{escape(title or name)}</a></li>' for name, title in some)
        (root / f"list-{number}.html").write_text(
            f'<!DOCTYPE html><meta name="robots" content="noindex"><title>List</title><ul>{links}</ul>'
        )
    links = "".join(f'<a href="list-{number}.html">{number}</a> ' for number in range(len(lists)))
    (root / "index.html").write_text(f'<!DOCTYPE html><meta name="robots" content="noindex"><title>All</title>{links}')


class _Quiet(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each answer waits for an acknowledgement
    wbufsize = -1

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 its name
        pass


@contextlib.contextmanager
def serving(root: Path) -> Iterator[str]:
    def handle(*args: object) -> _Quiet:
        return _Quiet(*args, directory=str(root))  # type: ignore[arg-type]

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handle)  # type: ignore[arg-type]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()


def crawl(collection: Collection, scratch: Path) -> Path:
    root, directory = scratch / "pages", scratch / "crawl"
    root.mkdir()
    write_pages(collection, root)
    with serving(root) as seed:
        command = [sys.executable, "-m", "lycosa", "crawl", seed, "--dir", str(directory), "--delay", "0s"]
        subprocess.run([*command, "-s", 'polite.own_hosts=["127.0.0.0/8"]'], check=True, capture_output=True)
    return directory


# -- measuring --------------------------------------------------------------------------------------------------------


def ask(collection: Collection, search: Search, limit: int = 100) -> Quality:
    """Queries of collections are sentences: their quotes are no operators."""

    def answer(text: str) -> list[str]:
        plain = text.replace('"', " ").replace("-", " ").replace(":", " ")
        found = search.search(Request(query=plain, limit=limit)).results
        numbers = [result.url.rpartition("/")[2].removesuffix(".html") for result in found]
        return [collection.documents[int(number)].id for number in numbers if number.isdigit()]

    return measure(collection, answer)


def quick_index(collection: Collection, directory: Path, is_bare: bool = False) -> Path:
    """As a crawl would have it, without one; a bare page says its title nowhere but in its title."""
    index = IndexWriter(directory)
    intake = Intake(index, 0.0)
    for number, document in enumerate(collection.documents):
        url = f"http://127.0.0.1/{number}.html"
        text = document.text if is_bare else f"{document.title}\n{document.text}"
        fingerprint = simhash(text) if text.count(" ") >= 50 else None
        page = PageSeen(url, "127.0.0.1", 1e9, "fetched", document.title, "en", text, fingerprint)
        page.headings = None if is_bare else document.title
        intake.page(page)
        if not is_bare:
            intake.links("http://127.0.0.1/", [(url, "a", "", document.title, None)])
    intake.commit({"shard-00": 1})
    index.close()
    return directory


def tried_weights() -> dict[str, Weights]:
    """Each row of the tables: one thing changed, all else as shipped."""
    changed: dict[str, dict[str, float]] = {"as shipped": {}}
    for field, values in _TRIED.items():
        changed |= {f"{field} {value:g}": {field: value} for value in values if value != getattr(SHIPPED, field)}
    changed["no signals"] = dict.fromkeys(_NO_SIGNALS, 0.0)
    changed["body alone"] = dict.fromkeys(("title", "headings", "url", "anchor", "pair"), 0.0)
    tried = {name: msgspec.structs.replace(SHIPPED, **values) for name, values in changed.items()}
    return {**tried, "preset seeds": PRESETS["seeds"]}


def show_weights(collections: list[Collection]) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        sets = [
            (f"{each.name}{', bare' if is_bare else ''}", each, is_bare)
            for each in collections
            for is_bare in (False, True)
        ]
        readers = [TantivyReader(quick_index(each, Path(scratch) / name, is_bare)) for name, each, is_bare in sets]
        print("| | " + " | ".join(name for name, _, _ in sets) + " |\n|---|" + "---|" * len(sets))
        for name, weights in tried_weights().items():
            figures = [
                ask(each, Search(reader, weights=weights), limit=10).ndcg_10
                for (_, each, _), reader in zip(sets, readers, strict=True)
            ]
            print(f"| {name} | " + " | ".join(f"{figure:.3f}" for figure in figures) + " |", flush=True)


def known_item(pages: int, questions: int) -> None:
    """Ask for real pages by their titles, where only one page has it; how high does it come?"""
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch)
        make_tables(directory, pages)
        catch_up(directory, rebuild=True)
        rows = [
            row
            for file in list_files(directory / "tables", "pages")
            for row in read_unix(file.path, "pages", ("url", "title", "text"))
        ]
        titles = Counter(row["title"] for row in rows)
        asked = [
            row for row in rows if titles[row["title"]] == 1 and len((row["title"] or "").split()) > 1 and row["text"]
        ]
        random.Random(3).shuffle(asked)
        search, gain, first = open_search(directory), 0.0, 0
        for row in asked[:questions]:
            query = row["title"].replace('"', " ").replace("-", " ").replace(":", " ")
            urls = [result.url for result in search.search(Request(query=query, fold=0)).results]
            place = urls.index(row["url"]) + 1 if row["url"] in urls else 0
            gain, first = gain + (1 / place if place else 0.0), first + (place == 1)
        count = len(asked[:questions])
        print(
            f"known item: {count} titles of {len(rows):,} pages: MRR@10 {gain / count:.3f}, first {first / count:.1%}"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=Path, nargs="*")
    parser.add_argument("--quick", action="store_true", help="without a crawl")
    parser.add_argument("--weights", action="store_true", help="the tables of weights")
    parser.add_argument("--known-item", type=int, metavar="PAGES", help="titles of so many real pages")
    chosen = parser.parse_args()
    collections = [read_collection(folder) for folder in chosen.folders]
    if chosen.known_item:
        known_item(chosen.known_item, 500)
    if chosen.weights:
        show_weights(collections)
        return 0
    for collection in collections:
        with tempfile.TemporaryDirectory() as scratch:
            if chosen.quick:
                search = Search(TantivyReader(quick_index(collection, Path(scratch) / "index")))
            else:
                directory = crawl(collection, Path(scratch))
                catch_up(directory)
                search = open_search(directory)
            quality = ask(collection, search)
        figures = f"nDCG@10 {quality.ndcg_10:.4f}, recall@100 {quality.recall_100:.4f}"
        print(f"{collection.name}: {figures}, {quality.queries} queries", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
