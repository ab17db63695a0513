"""A small crawl for tests of commands: a synthetic web on loopback, crawled once, and the commands run on it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from lycosa.sim.plan import WorldPlan
from lycosa.sim.server import Served, Serving, serve
from lycosa.sim.world import World

OWN = 'polite.own_hosts=["127.0.0.0/8"]'
PLAN = WorldPlan(seed=5, hosts=6, pages=150, page_bytes=4_000, crawl_delay_share=0.0, broken_robots_share=0.0)
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("LYCOSA_")}


@contextlib.asynccontextmanager
async def web(plan: WorldPlan = PLAN, latency: float = 0.0) -> AsyncIterator[Served]:
    async with serve(World(plan), 0, how=Serving(latency=latency)) as served:
        yield served


def crawl_of(seed: str, directory: Path, *more: str) -> list[str]:
    options = f"--scope web --processes 1 --delay 0s -s {OWN}".split()
    return ["crawl", seed, *options, "--dir", str(directory), *more]


async def start(*arguments: str | Path) -> asyncio.subprocess.Process:
    command = [sys.executable, "-m", "lycosa", *map(str, arguments)]
    return await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env=ENVIRONMENT
    )


async def done(*arguments: str | Path, code: int = 0) -> tuple[bytes, bytes]:
    process = await start(*arguments)
    out, err = await asyncio.wait_for(process.communicate(), 100)
    assert process.returncode == code, err.decode()
    return out, err


def crawl_once(directory: Path, *more: str) -> None:
    async def run() -> None:
        async with web() as served:
            await done(*crawl_of(served.seeds(1)[0], directory, *more))

    asyncio.run(run())


def lycosa(*arguments: str | Path, code: int = 0) -> subprocess.CompletedProcess[bytes]:
    ended = subprocess.run(
        [sys.executable, "-m", "lycosa", *map(str, arguments)],
        stdin=subprocess.DEVNULL, capture_output=True, env=ENVIRONMENT, timeout=100, check=False,
    )  # fmt: skip
    assert ended.returncode == code, ended.stderr.decode()
    return ended


def told(*arguments: str | Path, code: int = 0) -> Any:
    """The one JSON object that a command prints."""
    return json.loads(lycosa(*arguments, "--json", code=code).stdout)


def told_lines(*arguments: str | Path) -> list[Any]:
    return [json.loads(line) for line in lycosa(*arguments, "--json").stdout.splitlines()]


def refused(*arguments: str | Path) -> str:
    """The one sentence with which a command declines."""
    ended = lycosa(*arguments, code=2)
    assert ended.stdout == b""
    [line] = ended.stderr.decode().splitlines()
    assert line.startswith("lycosa: ")
    return line


def pages(directory: Path, *more: str | Path) -> Iterator[dict[str, Any]]:
    yield from told_lines("pages", "--dir", directory, "--limit", "100000", *more)
