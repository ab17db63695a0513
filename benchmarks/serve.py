"""`python -m benchmarks.serve DIR [--clients N] [--processes N]`: what searching over HTTP takes, on a crawl of yours.

The service runs as users start it, in a process of its own; clients keep their connections and ask different things,
so that no answer is a kept one. All of them share the machine with the service.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote_plus

import numpy as np

from benchmarks.search import make_queries, texts
from benchmarks.timing import Row, show

_QUERIES = 2_000


async def ask_all(port: int, paths: Sequence[str], taken: list[float]) -> None:
    """One client, one connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for path in paths:
        began = time.perf_counter()
        writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head)
        assert head.startswith(b"HTTP/1.1 200"), head
        assert length is not None
        await reader.readexactly(int(length[1]))
        taken.append((time.perf_counter() - began) * 1000)
    writer.close()


async def measure(port: int, paths: Sequence[str], clients: int) -> tuple[list[float], float]:
    """Milliseconds of each request, and requests a second."""
    taken: list[float] = []
    began = time.perf_counter()
    await asyncio.gather(*[ask_all(port, paths[at::clients], taken) for at in range(clients)])
    return taken, len(paths) / (time.perf_counter() - began)


def cpu_s(pid: int) -> float:
    """Seconds of processor that a process and its children have used, which a busy machine does not change."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    stats = [Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split() for each in (pid, *children)]
    return sum([int(fields[11]) + int(fields[12]) for fields in stats]) / os.sysconf("SC_CLK_TCK")


def rows(port: int, pid: int, queries: Sequence[str], clients: int) -> list[Row]:
    def row(what: str, paths: Sequence[str], clients: int, least: float) -> Row:
        before = cpu_s(pid)
        taken, per_s = asyncio.run(measure(port, paths, clients))
        p50, p99 = np.percentile(taken, [50, 99])
        cpu_ms = (cpu_s(pid) - before) / len(paths) * 1000
        told = f"{what}, {clients} at once: p50 {p50:.1f} ms, p99 {p99:.1f} ms, {cpu_ms:.2f} ms of CPU each"
        return Row(told, per_s, "/s", least, True)

    third = len(queries) // 3
    asked = [f"/v1/search?q={quote_plus(query)}" for query in queries]
    asyncio.run(measure(port, asked[:50], 1))
    return [
        row("/v1/search", asked[50:third], 1, 100),
        row("/v1/search", asked[third : 2 * third], clients, 300),
        row("/search", [path.replace("/v1", "") for path in asked[2 * third :]], clients, 200),
        row("/v1/search for nothing", ["/v1/search?q="] * 2_000, clients, 1_000),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dir", type=Path)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--processes", type=int, default=1)
    chosen = parser.parse_args()
    titles, some, _ = texts(chosen.dir)
    queries = list(dict.fromkeys(make_queries(titles, some, _QUERIES)))
    command = [sys.executable, "-m", "lycosa", "serve", "--dir", str(chosen.dir), "--port", "0"]
    command += ["-s", f"serve.processes={chosen.processes}"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as service:
        try:
            assert service.stderr is not None
            found = re.search(r":(\d+)/search", service.stderr.readline())
            assert found is not None
            return 0 if show(rows(int(found[1]), service.pid, queries, chosen.clients)) else 1
        finally:
            service.terminate()


if __name__ == "__main__":
    sys.exit(main())
