"""`lycosa status`, `pages`, `get`, `explain`, `verify`: what a crawl has found."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from lycosa import config
from lycosa.backends.rocks import RocksStore, is_in_use
from lycosa.backends.warc_check import verify as verify_warcs
from lycosa.backends.warc_read import body_at
from lycosa.cli.options import as_json, printable
from lycosa.cli.summary import summarise
from lycosa.crawl.look import Look
from lycosa.errors import BadInput
from lycosa.web.dates import read_date
from lycosa.web.url import Normaliser
from lycosa.wiring import SHARD, WARCS

in_directory = click.option(
    "--dir", "directory", type=click.Path(path_type=Path), default=Path("crawl"), show_default=True, help="The crawl."
)


@contextlib.contextmanager
def looking(directory: Path) -> Iterator[Look]:
    if not (directory / SHARD).is_dir():
        raise BadInput(f"{directory} holds no crawl: name its directory with --dir")
    file = directory / "lycosa.toml"
    settings = config.load(file if file.exists() else None)
    store = RocksStore(directory / SHARD, read_only=True)
    try:
        yield Look(store, Normaliser(settings.urls.tracking, settings.urls.session))
    finally:
        store.close()


@click.command()
@in_directory
@as_json
def status(directory: Path, as_json: bool) -> None:
    """Show the counts of a crawl."""
    with looking(directory) as look:
        state, elapsed_s = look.state(is_in_use(directory / SHARD))
        told = summarise(look.stats(), state, elapsed_s, 0)
    if as_json:
        click.echo(json.dumps(told))
        return
    for name, value in told.items():
        shown = ", ".join(f"{count} {key}" for key, count in value.items()) if isinstance(value, dict) else value
        click.echo(f"{name:10} {shown}")


@click.command()
@in_directory
@click.option("--url", help="Only this page.")
@click.option("--since", help="Only pages fetched from this date on.")
@click.option("--until", help="Only pages fetched before this date.")
@click.option("--status", "http_status", type=int, help="Only pages with this HTTP status.")
@click.option("--limit", type=int, default=100, show_default=True, help="At most so many.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object for each page.")
def pages(directory: Path, url: str | None, limit: int, as_json: bool, **chosen: Any) -> None:
    """List the pages that were answered."""
    since, until = _moment(chosen["since"]), _moment(chosen["until"])
    with looking(directory) as look:
        row = look.row(url) if url else None
        found = look.pages() if url is None else iter([look.told(row)] if row is not None else [])
        shown = 0
        for page in found:
            if shown >= limit:
                break
            if chosen["http_status"] not in (None, page["status"]):
                continue
            if (since is not None and page["fetched_at"] < since) or (
                until is not None and page["fetched_at"] >= until
            ):
                continue
            shown += 1
            click.echo(
                json.dumps(page) if as_json else f"{page['status']}  {page['bytes']:9}  {printable(page['url'])}"
            )


def _moment(text: str | None) -> float | None:
    if text is None:
        return None
    moment = read_date(text)
    if moment is None:
        raise BadInput(f"{text!r} is no date: write it like 2026-01-31 or 2026-01-31T12:00:00Z")
    return moment


@click.command()
@in_directory
@click.argument("wanted", metavar="URL-or-sha256")
def get(directory: Path, wanted: str) -> None:
    """Print the stored body of a page."""
    with looking(directory) as look:
        place = look.body_of(wanted)
    if place is None:
        raise BadInput(f"{wanted!r} is not stored here: lycosa explain URL says why")
    sys.stdout.buffer.write(body_at(directory / WARCS, place))
    sys.stdout.buffer.flush()


@click.command()
@in_directory
@click.argument("url", metavar="URL")
@as_json
def explain(directory: Path, url: str, as_json: bool) -> None:
    """Say why a URL was or was not fetched."""
    with looking(directory) as look:
        told = look.explain(url)
    if as_json:
        click.echo(json.dumps(told))
        return
    click.echo(f"{printable(told['url'])}: {told['outcome']}")
    for step in told["decisions"]:
        details = ", ".join(f"{key} {value}" for key, value in step.items() if key != "step" and value is not None)
        click.echo(f"  {step['step']}{': ' if details else ''}{printable(details)}")


@click.command()
@in_directory
@as_json
def verify(directory: Path, as_json: bool) -> None:
    """Read the whole store again and prove it. Exit code 1 if anything is wrong."""
    with looking(directory) as look:
        faults = []
        sizes = {path.name: path.stat().st_size for path in (directory / WARCS).glob("*.warc.gz")}
        for _, row in look.rows():
            if row.warc_file and row.warc_offset + row.warc_length > sizes.get(row.warc_file, 0):
                faults.append(f"{row.url} points past the end of {row.warc_file}")
    report = verify_warcs(directory / WARCS)
    faults += report.faults
    told = {"files": report.files, "records": report.records, "bytes": report.bytes, "faults": faults}
    if as_json:
        click.echo(json.dumps(told))
    else:
        click.echo(f"{report.records} records in {report.files} files, {len(faults)} faults")
        for fault in faults[:20]:
            click.echo(f"  {printable(fault)}")
    if faults:
        raise click.exceptions.Exit(1)
