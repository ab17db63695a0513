"""`lycosa index`: bring the index up to date, or build it anew from the tables. Nothing is fetched."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import click
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from lycosa.cli.opened import in_directory
from lycosa.cli.options import as_json
from lycosa.errors import BadInput
from lycosa.indexing import catch_up, open_search


@click.command()
@in_directory
@click.option("--rebuild", is_flag=True, help="Begin anew, from the tables.")
@as_json
def index(directory: Path, rebuild: bool, as_json: bool) -> None:
    """Make all crawled pages searchable, without fetching any.

    A search does this by itself, and with search.index=true a crawl does it as it goes.
    """
    if not any(directory.glob("shard-*")):
        raise BadInput(f"{directory} holds no crawl: name its directory with --dir")
    began = time.monotonic()
    columns = (TextColumn("indexing"), BarColumn(), TextColumn("{task.completed:,.0f} pages"), TimeRemainingColumn())
    with Progress(*columns, transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("pages", total=None)
        taken = catch_up(
            directory,
            rebuild=rebuild,
            say=lambda sentence: click.echo(f"lycosa: {sentence}", err=True),
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    elapsed_s = time.monotonic() - began
    pages = open_search(directory).pages
    if as_json:
        click.echo(json.dumps({"taken": taken, "pages": pages, "elapsed_s": round(elapsed_s, 3)}))
    else:
        click.echo(f"{taken:,} rows taken in {elapsed_s:.1f} s; {pages:,} pages can be found")
