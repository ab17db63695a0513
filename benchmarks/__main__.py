"""`python -m benchmarks [FILE.html ...]`: the cost of the rules of the web. Exits 1 if a bar does not hold."""

from __future__ import annotations

import itertools
import random
import sys
from pathlib import Path

import msgspec
from selectolax.lexbor import LexborHTMLParser

from benchmarks.samples import Sample, samples, words
from benchmarks.timing import Row, show, take_turns
from lycosa.backends.allocation import prepare_memory
from lycosa.backends.parquet import ParquetTables
from lycosa.crawl.feed import PageRow, RequestRow, Shaping
from lycosa.kit.recent import Recent
from lycosa.kit.simhash import simhash
from lycosa.web.charset import Charset
from lycosa.web.html import read_page
from lycosa.web.page import Page
from lycosa.web.robots import Robots
from lycosa.web.tree import read_tree
from lycosa.web.url import Normaliser

ROBOTS = b"""User-agent: *
Disallow: /private/
Disallow: /*?sort=
Allow: /private/ok
Disallow: /tmp
Disallow: /*.pdf$
Crawl-delay: 3
Sitemap: https://example.org/sitemap.xml
"""
PARAGRAPH = b'<div class="c"><p>some text here <a href="/x/y">link</a></p></div>\n'
WORST_RULE = b"User-agent: *\nAllow: *****************/****.js\nDisallow: /*a*a*a*a*a*a*a*a*a*b$\n"


def extraction(sample: Sample) -> list[Row]:
    """Reading a page against the parser alone: what every page is asked for, and what is read only when asked for."""

    def read_text() -> object:
        page = read_page(sample.body, sample.url)
        return page.headings, page.text

    def read_all() -> object:
        page = read_page(sample.body, sample.url)
        return page.headings, page.text, simhash(page.main_text)

    def read_by_tree() -> object:
        page = Page(sample.url, Charset("utf-8", "given"))
        read_tree(sample.body, page)
        return page.headings, page.text

    taken = take_turns(
        {
            "parse": lambda: LexborHTMLParser(sample.body),
            "links": lambda: read_page(sample.body, sample.url),
            "text": read_text,
            "all": read_all,
            "tree": read_by_tree,
        }
    )
    bare = taken["parse"]
    return [
        Row(f"{sample.name}: links, metadata / bare parse of {bare * 1e6:.0f} us", taken["links"] / bare, "x", 1.6),
        Row(f"{sample.name}: and headings, text", taken["text"] / bare, "x", 2.2),
        Row(f"{sample.name}: and blocks, main text, fingerprint", taken["all"] / bare, "x", 4.5),
        Row(f"{sample.name}: headings, text where it is not plain", taken["tree"] / bare, "x", 4.5),
    ]


def urls(sample: Sample) -> list[Row]:
    """Joining and normalising the links of a page."""
    refs = [link.href for link in read_page(sample.body, sample.url).links]
    normal, distinct = Normaliser(), len(set(refs))
    taken = take_turns({"links": lambda: normal.links(sample.url, refs)}, seconds=0.5)
    return [Row(f"{sample.name}: normalise a link ({distinct} distinct)", taken["links"] / distinct * 1e6, "us", 3.0)]


def robots() -> list[Row]:
    small, worst = Robots.parse(ROBOTS), Robots.parse(WORST_RULE)
    url = "https://www.example.org/library/asyncio-task.html?a=1"
    long = f"https://www.example.org/{'a' * 2000}{'/' * 50}.jsx"
    taken = take_turns(
        {"small": lambda: small.allows("Lycosa", url), "worst": lambda: worst.allows("Lycosa", long)}, seconds=0.5
    )
    return [
        Row("robots.txt: one check on a small file", taken["small"] * 1e6, "us", 3.0),
        Row("robots.txt: the worst patterns on 2 KB of path", taken["worst"] * 1e6, "us", 50.0),
    ]


def fingerprint() -> list[Row]:
    text = words(930)
    taken = take_turns({"simhash": lambda: simhash(text)}, seconds=0.5)
    return [Row(f"simhash of {len(text) / 1000:.1f} KB of text", taken["simhash"] * 1e6, "us", 350.0)]


def tables() -> list[Row]:
    """From entries of the feed to tables of Arrow: as columns, against values of Python."""
    text = words(2_700)
    request = RequestRow("host", "http://host/page", "192.0.2.1", 1.0, 2.0, 200, "page", "fetched", 20_000, 2.0)
    page = PageRow(url="http://host/page", host="host", fetched_at=1.0, status=200, outcome="fetched", text=text)
    links = [(f"http://host/page/{number}", "a", "", f"link {number}", None) for number in range(41)]
    entries, forms = [msgspec.msgpack.encode((request, page, links))] * 50, ParquetTables(Path(), "benchmark")
    taken = take_turns(
        {
            "columns": lambda: Shaping(forms).add(entries),
            "values": lambda: Shaping(forms).add_values(entries),
        },
        seconds=1.0,
    )
    what = f"entries of the feed as columns / as values ({taken['values'] / len(entries) * 1e6:.0f} us each)"
    return [Row(what, taken["columns"] / taken["values"], "x", 0.6)]


def recent() -> list[Row]:
    """Looking for links of a page among those met lately, against a set of them. Each link is a new string."""
    paths = [f"/part-{number % 17}/page-{number}.html" for number in range(250_000)]
    random.Random(1).shuffle(paths)
    met, as_set = Recent(2 * len(paths)), {f"http://www.example.org{path}" for path in paths}
    met.meet(as_set)
    pages = itertools.cycle([paths[at : at + 40] for at in range(0, len(paths), 40)])

    def links() -> list[str]:
        return [f"http://www.example.org{path}" for path in next(pages)]

    def look_in_set() -> set[str]:
        return {url for url in links() if url not in as_set}

    taken = take_turns({"made": links, "hashes": lambda: met.unmet(links()), "set": look_in_set}, seconds=1.0)
    in_set, in_hashes = taken["set"] - taken["made"], taken["hashes"] - taken["made"]
    what = f"a link among 250,000 met lately / in a set of strings ({in_set / 40 * 1e9:.0f} ns)"
    return [Row(what, in_hashes / in_set, "x", 0.7)]


def hostile() -> list[Row]:
    """Pages made to hurt the parser."""
    shapes = {
        "100,000 nested elements": (b"<div>" * 100_000, 100.0),
        "20 MB": (
            (b'<div class="c"><p>some text here <a href="/x/y">link</a></p></div>\n' * 300_000)[:20_000_000],
            1000.0,
        ),
        "100,000 formatting tags left open": (
            b"<p>" + b"".join(b"<b i=%d>" % number for number in range(100_000)) + b"<p>x" * 100_000,
            1000.0,
        ),
    }
    rows = []
    for name, (body, bar) in shapes.items():
        taken = take_turns({name: lambda body=body: read_page(body, "https://example.org/").text}, seconds=0.1)
        rows.append(Row(name, taken[name] * 1e3, "ms", bar))
    return rows


def main(files: list[str]) -> int:
    prepare_memory()  # as a crawl does; else a parse costs now this and now half as much again
    rows: list[Row] = []
    for sample in samples(files):
        rows += extraction(sample) + urls(sample)
    return 0 if show(rows + robots() + fingerprint() + tables() + recent() + hostile()) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
