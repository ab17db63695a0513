"""`lycosa demo`: a whole crawl, of a synthetic web on this machine, in a few seconds."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import click
import uvloop

from lycosa import config
from lycosa.backends.layout import WARCS
from lycosa.backends.warc_check import verify
from lycosa.cli.look import show_steps
from lycosa.cli.opened import opened
from lycosa.cli.options import printable
from lycosa.cli.progress import Progress
from lycosa.cli.search import show_answer
from lycosa.cli.summary import summarise
from lycosa.indexing import catch_up, open_search
from lycosa.kit.units import show_size
from lycosa.search.answer import Request
from lycosa.sim.audit import LogLine, audit
from lycosa.sim.plan import WorldPlan
from lycosa.sim.server import serve
from lycosa.sim.world import World
from lycosa.wiring import Crawl

_LONGEST_LINE = 96


@click.command()
@click.option("--hosts", type=click.IntRange(1, 500), default=12, show_default=True, help="Hosts of the web.")
@click.option("--pages", type=click.IntRange(1, 100_000), default=600, show_default=True, help="Pages in all.")
@click.option("--seed", type=int, default=3, show_default=True, help="The same seed gives the same web.")
@click.option("--dir", "directory", type=click.Path(path_type=Path), help="Keep the crawl here, to look at afterwards.")
def demo(hosts: int, pages: int, seed: int, directory: Path | None) -> None:
    """Crawl a synthetic web on this machine, show what came of it, and search it. Nothing leaves the machine."""
    with tempfile.TemporaryDirectory() as scratch:
        place = directory or Path(scratch) / "crawl"
        world = World(WorldPlan(seed=seed, hosts=hosts, pages=pages, crawl_delay_share=0.0))
        click.secho(f"A web of {hosts} hosts and about {pages} pages, on loopback addresses", bold=True)
        log = uvloop.run(_crawl(world, place))
        _tell(place, log)
        _search(place)
        if directory is not None:
            click.echo(f"The crawl is in {directory}: try lycosa search --dir {directory} WORDS")


def _search(place: Path) -> None:
    """Ask for the words that a page in the middle of the crawl is about."""
    with opened(place) as crawl:
        titles = [row["title"] for row in crawl.rows("pages", ("title", "outcome")) if row["outcome"] == "fetched"]
    wanted = next((title for title in titles[len(titles) // 2 :] if title), "lycosa")
    query = " ".join(wanted.split()[:3])
    catch_up(place)
    click.secho(f"\nlycosa search {printable(query)}", bold=True)
    show_answer(open_search(place).search(Request(query=query, limit=3)))


async def _crawl(world: World, place: Path) -> list[LogLine]:
    async with serve(world) as served:
        given = [("polite.own_hosts", ["127.0.0.0/8"]), ("polite.delay", 0), ("crawl.scope", "web")]
        job = Crawl(place, config.load(given=given), served.seeds(1))
        try:
            started = time.monotonic()
            with Progress(job) as progress:
                ended = await job.run(progress, progress.every_s)
            job.set_state(ended, time.monotonic() - started)
        finally:
            job.close()
        return list(served.log)


def _tell(place: Path, log: list[LogLine]) -> None:
    with opened(place) as crawl:
        look = crawl.look
        state, elapsed_s = look.state(is_running=False)
        told = summarise(look.stats(), state, elapsed_s, 0)
        rows = sorted(look.pages(), key=lambda page: page["fetched_at"])
        last = look.explain(rows[-1]["url"]) if rows else None
    pages, manners = told["pages"], audit(log, by="host")
    click.echo(f"  {state} in {elapsed_s:.1f} s, {told['rate']['pages_per_s']:.0f} pages/s")
    click.echo("  " + ", ".join(f"{count} {name}" for name, count in pages.items() if count))
    click.echo(f"  {told['duplicates']['exact']} exact copies, {told['duplicates']['near']} near copies")
    click.echo(f"  {show_size(told['bytes']['downloaded'])} fetched, {show_size(told['bytes']['stored'])} stored")
    click.secho("\nWas it polite? From the server's log:", bold=True)
    click.echo(f"  robots.txt before anything else on every host: {'yes' if manners.robots_first else 'no'}")
    click.echo(f"  most requests to one host at once: {max(manners.most_at_once.values(), default=0)}")
    report = verify(place / WARCS)
    click.secho("\nIs it whole?", bold=True)
    click.echo(f"  {report.records} WARC records read again, {len(report.faults)} faults")
    click.secho("\nThe first pages", bold=True)
    for page in rows[:5]:
        click.echo(f"  {page['status']}  {printable(page['url'])[:_LONGEST_LINE]}")
    if last is not None:
        click.secho(f"\nWhy {printable(last['url'])[:_LONGEST_LINE]}?", bold=True)
        show_steps(last["decisions"])
