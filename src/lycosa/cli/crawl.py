"""`lycosa crawl`: the main job.

What is heavy is imported where it is needed: neither way of crawling pays for what only the other has.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import threading
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import uvloop

from lycosa import config
from lycosa.backends.allocation import keep_what_is_loaded
from lycosa.backends.indexer import following
from lycosa.backends.layout import REPARTITION, SHARD, shards_of
from lycosa.backends.rocks import is_in_use
from lycosa.backends.room import check_room
from lycosa.cli.options import as_json
from lycosa.cli.summary import summarise
from lycosa.crawl.forget import unfinished
from lycosa.errors import BadInput, DiskFull, LycosaError, is_disk_full
from lycosa.job import check_blocked, check_job, choose_processes

if TYPE_CHECKING:
    from lycosa.supervisor import Supervisor
    from lycosa.wiring import Crawl

_ROOM_S = 2.0  # how often a full disk is looked at


@click.command("crawl")
@click.argument("seeds", metavar="SEED...", nargs=-1)
@click.option("--seeds-file", type=click.Path(path_type=Path), help="More seeds, one a line.")
@click.option(
    "--dir",
    "directory",
    type=click.Path(path_type=Path),
    default=Path("crawl"),
    show_default=True,
    help="Where the crawl lives; one that is there is resumed.",
)
@click.option("--scope", type=click.Choice(["host", "domain", "web"]), help="How far to follow links; host by default.")
@click.option("--include", multiple=True, metavar="RULE", help="Crawl only what a rule matches; may be repeated.")
@click.option("--exclude", multiple=True, metavar="RULE", help="Never crawl what a rule matches; may be repeated.")
@click.option("--max-pages", type=int, help="Stop after so many pages.")
@click.option("--max-depth", type=int, help="Follow links at most so far from a seed.")
@click.option("--delay", help="Least time between requests to a host; 2s by default.")
@click.option("--processes", type=int, help="How many processes crawl; by default as many as help.")
@click.option("--contact", help="A URL or mail address where site owners reach you.")
@click.option("--plan", is_flag=True, help="Crawl nothing: ask for robots.txt only and show what would be done.")
@click.option("--config", "config_file", type=click.Path(path_type=Path), help="Read settings from a TOML file.")
@click.option("-s", "assignments", multiple=True, metavar="KEY=VALUE", help="Set one setting; may be repeated.")
@as_json
def crawl(seeds: tuple[str, ...], seeds_file: Path | None, directory: Path, as_json: bool, **flags: Any) -> None:
    """Crawl from the seeds, politely.

    Ends when nothing is left or the budget is used up. Ctrl-C stops it cleanly; the same command goes on where it
    stopped, also after a crash.

    For example: lycosa crawl https://example.org/ --max-pages 100 --contact https://example.com/about-our-crawler
    """
    settings = _settings(directory, flags)
    named = [*seeds, *_read_seeds(seeds_file)]
    if flags["plan"]:
        from lycosa.cli.plan import show_plan

        show_plan(named or _stored_seeds(directory), settings, as_json)
        return
    processes = _divide(directory, settings, named)
    while True:
        try:
            crawl_in = _crawl if processes == 1 else _crawl_in_many
            crawl_in(directory, settings, named, as_json, processes)
            return
        except LycosaError as obstacle:
            if not is_disk_full(obstacle):
                raise
            if not _await_room(directory, settings, obstacle):
                _tell_stopped(directory, as_json)
                return


def _divide(directory: Path, settings: config.Settings, named: list[str]) -> int:
    """How many processes are to crawl, and see that there are as many shards. A crawl that will be refused is left as
    it is."""
    if (directory / REPARTITION).exists():
        from lycosa.repartition import complete

        complete(directory)
    processes = choose_processes(directory, settings, named)
    if shards_of(directory) not in (0, processes):
        from lycosa.cli.opened import opened
        from lycosa.repartition import repartition

        seeds, _ = check_job(directory, settings, named)
        if (directory / SHARD).is_dir():
            with opened(directory) as crawl:
                check_blocked(crawl.store, seeds.values())
        repartition(directory, processes, lambda line: click.echo(f"lycosa: {line}", err=True))
    return processes


def _await_room(directory: Path, settings: config.Settings, obstacle: LycosaError) -> bool:
    """Pause until there is room again; False if told to stop instead.

    Nothing is lost: what was settled is whole, and the rest is still queued.
    """
    stopped = threading.Event()
    before = {sign: signal.signal(sign, lambda *_: stopped.set()) for sign in (signal.SIGINT, signal.SIGTERM)}
    click.echo(f"lycosa: paused, and goes on when there is room: {obstacle}", err=True)
    try:
        while not stopped.wait(_ROOM_S):
            with contextlib.suppress(DiskFull):
                check_room(directory, 2 * settings.disk.reserve)
                click.echo("lycosa: there is room again, the crawl goes on", err=True)
                return True
        return False
    finally:
        for sign, handler in before.items():
            signal.signal(sign, handler)


def _tell_stopped(directory: Path, as_json: bool) -> None:
    """How far a crawl came that was stopped while it waited."""
    from lycosa.cli.opened import opened

    with opened(directory) as crawl:
        elapsed_s = crawl.look.state(is_running=False)[1]
        summary = summarise(crawl.look.stats(), "stopped", elapsed_s, 0)
    _tell(summary, False, as_json)


def _crawl(directory: Path, settings: config.Settings, named: list[str], as_json: bool, _: int) -> None:
    from lycosa.wiring import Crawl

    before_s = _before(directory)[0]
    with contextlib.ExitStack() as parts:
        job = Crawl(directory, settings, named)
        if settings.search.index:
            parts.enter_context(following(directory))  # left last: when all that was written can be found
        parts.callback(job.close)
        started, before = time.monotonic(), Counter(job.frontier.stats)
        keep_what_is_loaded()
        ended = uvloop.run(_run(job))
        elapsed_s = time.monotonic() - started
        job.set_state(ended, before_s + elapsed_s)
        summary = summarise(job.stats, ended, elapsed_s, job.active_hosts, before["fetched"])
    _tell(summary, ended == "finished" and job.stats["requests"] == before["requests"], as_json)


def _crawl_in_many(directory: Path, settings: config.Settings, named: list[str], as_json: bool, processes: int) -> None:
    from lycosa.supervisor import Supervisor

    with contextlib.ExitStack() as parts:
        job = parts.enter_context(Supervisor(directory, settings, named, processes))
        if settings.search.index:
            parts.enter_context(following(directory))
        before_s, before = _before(directory)
        job.remember(before, before_s)
        started = time.monotonic()
        ended = uvloop.run(_run_many(job))
    summary = summarise(job.stats, ended, time.monotonic() - started, 0, before["fetched"])
    _tell(summary, ended == "finished" and job.stats["requests"] == before["requests"], as_json)


def _tell(summary: dict[str, Any], is_idle: bool, as_json: bool) -> None:
    if is_idle:
        click.echo("lycosa: nothing was left to do; new seeds or a larger --max-pages go on", err=True)
    if as_json:
        click.echo(json.dumps(summary))
    else:
        from lycosa.cli.columns import show_pairs
        from lycosa.cli.look import status_lines

        show_pairs(status_lines(summary))


def _settings(directory: Path, flags: dict[str, Any]) -> config.Settings:
    stored = directory / "lycosa.toml"
    file = flags["config_file"] or (stored if stored.exists() else None)
    given = [config.read_assignment(text) for text in flags["assignments"]]
    names = {"scope": "crawl.scope", "max_pages": "crawl.max_pages", "max_depth": "crawl.max_depth"}
    names |= {"delay": "polite.delay", "processes": "crawl.processes", "contact": "agent.contact"}
    given += [(name, flags[flag]) for flag, name in names.items() if flags[flag] is not None]
    given += [(f"crawl.{name}", list(flags[name])) for name in ("include", "exclude") if flags[name]]
    return config.load(file, os.environ, given)


def _read_seeds(file: Path | None) -> list[str]:
    if file is None:
        return []
    try:
        return file.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{file} cannot be read as a list of seeds: {error}") from None


def _before(directory: Path) -> tuple[float, Counter[str]]:
    """How long earlier runs took, and what they counted."""
    if not (directory / SHARD).is_dir() or is_in_use(directory / SHARD):
        return 0.0, Counter()
    from lycosa.cli.opened import opened

    with opened(directory) as crawl:
        begun = unfinished(crawl.store)
        if begun is not None:
            raise BadInput(f"lycosa forget {begun.target.name} did not come to its end here: run it again first")
        return crawl.look.state(is_running=False)[1], crawl.look.stats()


def _stored_seeds(directory: Path) -> list[str]:
    """The seeds of a crawl that is there already."""
    if not (directory / SHARD).is_dir():
        raise BadInput("nothing to plan: name at least one seed, for example https://example.org/")
    from lycosa.cli.opened import opened

    with opened(directory) as crawl:
        return (crawl.store.get("meta", b"seeds") or b"").decode().split("\n")


async def _run(job: Crawl) -> Any:
    loop = asyncio.get_running_loop()

    from lycosa.cli.progress import Progress

    with Progress(job) as progress:
        task = asyncio.ensure_future(job.run(progress, progress.every_s))
        for sign in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(sign, job.loop.stop)
        return await task


async def _run_many(job: Supervisor) -> Any:
    loop = asyncio.get_running_loop()
    from lycosa.cli.progress import Progress

    with Progress(job) as progress:
        task = asyncio.ensure_future(job.run(progress, progress.every_s))
        for sign in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(sign, job.stop)
        return await task
