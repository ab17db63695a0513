"""`lycosa export`: what a crawl has found, in files for other programs. Works while the crawl runs."""

from __future__ import annotations

import contextlib
import csv
import datetime
import json
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar

import click
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import lycosa
from lycosa.backends.cdxj import write_index
from lycosa.backends.parquet import SCHEMAS, rewrite_file, write_table
from lycosa.backends.wacz import About, write_wacz
from lycosa.backends.warc import warc_date
from lycosa.cli.fresh import fresh
from lycosa.cli.opened import Opened, OpenedShard, host_name, in_directory, moment, opened
from lycosa.cli.options import as_json
from lycosa.crawl.feed import flushed_to, rows_of, settled_to
from lycosa.crawl.forget import FORGOTTEN
from lycosa.crawl.look import host_range
from lycosa.web.url import host_of

_Command = TypeVar("_Command", bound=Callable[..., Any])
_MOMENT = {"pages": "fetched_at", "links": "discovered_at", "requests": "started_at"}
_LINK_COLUMNS = ("source", "target", "kind", "rel", "text")
to_path = click.argument("out", metavar="OUT", type=click.Path(path_type=Path))
to_path_or_stdout = click.argument("out", metavar="OUT", type=click.Path(path_type=Path, allow_dash=True))
of_host = click.option("--host", help="Only what belongs to this host.")
as_json_lines = click.option("--json", "as_json", is_flag=True, help="Write a JSON object a line.")


def in_time(command: _Command) -> _Command:
    since = click.option("--since", help="Only from this date on, like 2026-01-31.")
    until = click.option("--until", help="Only before this date.")
    return since(until(command))


class Chosen(NamedTuple):
    """What of the crawl is wanted."""

    host: str
    since: float | None
    until: float | None

    @property
    def is_all(self) -> bool:
        return self == ("", None, None)

    def has(self, host: str, at: float) -> bool:
        return (
            self.host in ("", host)
            and (self.since is None or at >= self.since)
            and (self.until is None or at < self.until)
        )


def _chosen(host: str | None, since: str | None = None, until: str | None = None) -> Chosen:
    return Chosen(host_name(host) if host else "", moment(since), moment(until))


@click.group()
def export() -> None:
    """Write what was found as Parquet, CDXJ, WACZ or text. Nothing that exists is overwritten."""


@export.command("parquet")
@to_path
@in_directory
@of_host
@in_time
@as_json
def export_parquet(
    out: Path, directory: Path, host: str | None, since: str | None, until: str | None, as_json: bool
) -> None:
    """Copy the tables pages, links and requests.

    Rows that the crawl has not put in files yet are included. OUT becomes a directory with one folder for each table,
    which DuckDB, Polars and Spark read as it is.
    """
    chosen = _chosen(host, since, until)
    with opened(directory) as crawl, fresh(out) as place:
        counts = {table: _copy_table(crawl, table, place, chosen) for table in SCHEMAS}
    _tell(out, counts, as_json)


def _copy_table(crawl: Opened, table: str, place: Path, chosen: Chosen) -> int:
    (place / table).mkdir(parents=True)
    count, keep = 0, _expression(table, chosen)
    for file in crawl.table_files(table):
        target = place / table / f"date={file.day}" / file.path.name
        if chosen.is_all:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file.path, target)
            count += _rows_in(target)
        else:
            count += rewrite_file(file.path, table, lambda rows: rows if keep is None else rows.filter(keep), target)
    return count + _write_pending(crawl, table, place, chosen)


def _rows_in(path: Path) -> int:
    return int(pq.read_metadata(path).num_rows)


def _write_pending(crawl: Opened, table: str, place: Path, chosen: Chosen) -> int:
    """The rows that are in no file yet, as a file for each day."""
    return sum(_write_pending_of(shard, table, place, chosen) for shard in crawl.shards)


def _write_pending_of(shard: OpenedShard, table: str, place: Path, chosen: Chosen) -> int:
    days: dict[str, list[dict[str, Any]]] = {}
    for row in rows_of(shard.entries, table):
        at = row[_MOMENT[table]]
        if chosen.has(row.get("host") or host_of(row.get("source", "http://x/")), at):
            day = datetime.datetime.fromtimestamp(at, datetime.UTC).strftime("%Y-%m-%d")
            days.setdefault(day, []).append(row)
    first, last = flushed_to(shard.store) + 1, settled_to(shard.store)
    for day, rows in days.items():
        write_table(place, table, rows, first, last, day, name=shard.name)
    return sum(map(len, days.values()))


def _expression(table: str, chosen: Chosen) -> Any:
    """What is wanted of a table, for Arrow; None if it is everything."""
    tests = []
    if chosen.host and table == "links":
        tests.append(pc.match_substring_regex(pc.field("source"), rf"^https?://{re.escape(chosen.host)}(:[0-9]+)?/"))
    elif chosen.host:
        tests.append(pc.field("host") == chosen.host)
    at = pc.field(_MOMENT[table])
    if chosen.since is not None:
        tests.append(at >= _timestamp(chosen.since))
    if chosen.until is not None:
        tests.append(at < _timestamp(chosen.until))
    wanted = None
    for test in tests:
        wanted = test if wanted is None else wanted & test
    return wanted


def _timestamp(at: float) -> pa.Scalar:
    return pa.scalar(round(at * 1_000_000), pa.timestamp("us", tz="UTC"))


@export.command("cdxj")
@to_path
@in_directory
@of_host
@in_time
@as_json
def export_cdxj(
    out: Path, directory: Path, host: str | None, since: str | None, until: str | None, as_json: bool
) -> None:
    """Write a sorted index of all stored answers, for pywb and others."""
    chosen = _chosen(host, since, until)
    stamps = [None if at is None else time.strftime("%Y%m%d%H%M%S", time.gmtime(at)) for at in chosen[1:]]

    def keep(line: str) -> bool:
        _, stamp, told = line.split(" ", 2)
        return (
            (not chosen.host or host_of(json.loads(told)["url"]) == chosen.host)
            and (stamps[0] is None or stamp >= stamps[0])
            and (stamps[1] is None or stamp < stamps[1])
        )

    with opened(directory) as crawl, fresh(out) as place:
        count = write_index(place, crawl.warcs, None if chosen.is_all else keep)
    _tell(out, {"captures": count}, as_json)


@export.command("wacz")
@to_path
@in_directory
@click.option("--title", default="", help="What the package is called.")
@as_json
def export_wacz(out: Path, directory: Path, title: str, as_json: bool) -> None:
    """Pack all of it into one file that ReplayWeb.page opens.

    It holds the stored answers, their index and a list of pages.
    """
    with opened(directory) as crawl, fresh(out) as place:
        seeds = (crawl.store.get("meta", b"seeds") or b"").decode().split("\n")
        about = About(
            title or f"Crawl of {host_of(seeds[0]) if seeds[0] else directory.name}",
            f"Lycosa/{lycosa.__version__}",
            time.time(),
            main_page=seeds[0],
        )
        counted = _Counted(_pages_of(crawl))
        write_wacz(place, crawl.warcs, counted, about)
    _tell(out, {"pages": counted.count, "bytes": out.stat().st_size}, as_json)


class _Counted:
    """Counts what passes."""

    def __init__(self, pages: Iterator[dict[str, Any]]) -> None:
        self._pages = pages
        self.count = 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for page in self._pages:
            self.count += 1
            yield page


def _pages_of(crawl: Opened) -> Iterator[dict[str, Any]]:
    columns = ("url", "fetched_at", "status", "title", "content_type", "bytes", "warc_file")
    for row in crawl.rows("pages", columns):
        if row["status"] == 200 and row["warc_file"]:
            yield {
                "url": row["url"],
                "ts": warc_date(row["fetched_at"]),
                "title": row["title"],
                "mime": row["content_type"],
                "status": row["status"],
                "size": row["bytes"],
            }


@export.command("urls")
@to_path_or_stdout
@in_directory
@of_host
@as_json_lines
def export_urls(out: Path, directory: Path, host: str | None, as_json: bool) -> None:
    """Write every URL that is known, one a line. With --json its state and outcome as well."""
    chosen = _chosen(host)
    start, end = host_range(chosen.host) if chosen.host else (b"", None)
    with opened(directory) as crawl, _writing(out) as file:
        for _, row in crawl.look.rows(start, end):
            if row.kind == "page" and row.outcome != FORGOTTEN:
                file.write(f"{json.dumps(_url_told(row)) if as_json else row.url}\n")


def _url_told(row: Any) -> dict[str, Any]:
    return {
        "url": row.url,
        "state": row.state,
        "outcome": row.outcome or None,
        "reason": row.reason or None,
        "status": row.status or None,
        "depth": row.depth,
        "found_at": row.found_at,
        "fetched_at": row.fetched_at or None,
    }


@export.command("links")
@to_path_or_stdout
@in_directory
@of_host
@in_time
@as_json_lines
def export_links(
    out: Path, directory: Path, host: str | None, since: str | None, until: str | None, as_json: bool
) -> None:
    """Write every link that was found, as CSV or JSON lines.

    The columns are source, target, kind, rel and text.
    """
    chosen = _chosen(host, since, until)
    columns = (*_LINK_COLUMNS, "discovered_at")
    with opened(directory) as crawl, _writing(out) as file:
        table = csv.writer(file, lineterminator="\n")
        if not as_json:
            table.writerow(_LINK_COLUMNS)
        for row in crawl.rows("links", columns, _expression("links", chosen)):
            if chosen.has(host_of(row["source"]), row["discovered_at"]):
                if as_json:
                    file.write(json.dumps({name: row[name] for name in _LINK_COLUMNS}) + "\n")
                else:
                    table.writerow([row[name] for name in _LINK_COLUMNS])


@contextlib.contextmanager
def _writing(out: Path) -> Iterator[IO[str]]:
    """A text file that appears when it is complete, or standard output for `-`."""
    if str(out) == "-":
        yield sys.stdout
        return
    with fresh(out) as place, place.open("w", encoding="utf-8", errors="replace", newline="") as file:
        yield file


def _tell(out: Path, counts: dict[str, int], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"out": str(out), **counts}))
    else:
        click.echo(f"{out}: " + ", ".join(f"{count:,} {name}" for name, count in counts.items()))
