"""`python -m benchmarks.rank_tables [PAGES LINKS]`: from Parquet tables to a link graph, time and memory.

The tables are those of a made-up web, in the order in which a crawl writes them: page after page, with its links.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.rank import Web, draw
from lycosa.backends.graph_files import link_graph
from lycosa.backends.parquet import SCHEMAS

_ROWS = 1_000_000  # of a file
_DAY = "date=2026-01-31"


def write_tables(place: Path, web: Web) -> None:
    """A table `pages` and a table `links`."""
    hosts = [f"www{host % 3}.host-{host}.org" for host in web.hosts.tolist()]
    urls = pa.array([f"https://{host}/section/page-{number}.html" for number, host in enumerate(hosts)])
    _write(place, "pages", {"url": urls, "host": pa.array(hosts), "outcome": pa.array(["fetched"] * web.size)}, 0)
    order = np.argsort(web.links.sources, kind="stable")
    for first in range(0, len(order), _ROWS):
        part = order[first : first + _ROWS]
        columns = {"source": urls.take(pa.array(web.links.sources[part]))}
        columns["target"] = urls.take(pa.array(web.links.targets[part]))
        columns["kind"] = pa.array(["a"] * len(part))
        columns["rel"] = pa.array(np.array(["", "nofollow"])[(web.links.kinds[part] == 2).astype(int)])
        _write(place, "links", columns, first)


def _write(place: Path, table: str, columns: dict[str, pa.Array], first: int) -> None:
    count = len(next(iter(columns.values())))
    filled = [
        columns.get(field.name, pa.array(np.zeros(count, np.int64)).cast(field.type))
        if field.name in columns or field.name.endswith("_at")
        else pa.nulls(count, field.type)
        for field in SCHEMAS[table]
    ]
    folder = place / table / _DAY
    folder.mkdir(parents=True, exist_ok=True)
    content = pa.table(filled, schema=SCHEMAS[table])
    pq.write_table(content, folder / f"part-{first}-{first + count}.parquet", compression="zstd", row_group_size=64_000)


def read(place: str) -> None:
    began = time.perf_counter()
    graph = link_graph(Path(place) / "ranks", Path(place), (), lambda _: None)
    taken, status = time.perf_counter() - began, Path("/proc/self/status").read_text()
    peak = int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) / 1024
    links = int(graph.links.starts[-1])
    print(f"{len(graph.page_keys):,} pages, {links:,} links read in {taken:.1f} s, {peak:.0f} MB at most")


def main() -> None:
    if sys.argv[1:2] == ["--read"]:
        read(sys.argv[2])
        return
    size, count = map(int, sys.argv[1:3]) if len(sys.argv) > 2 else (1_000_000, 18_000_000)
    with tempfile.TemporaryDirectory() as folder:
        write_tables(Path(folder), draw(size, count, 1, 0.7))
        subprocess.run([sys.executable, "-m", "benchmarks.rank_tables", "--read", folder], check=True)


if __name__ == "__main__":
    main()
