"""`lycosa status`, `pages`, `get`, `explain`, `verify`: what a crawl has found."""

from __future__ import annotations

import contextlib
import datetime
import json
import shlex
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import click
import msgspec

from lycosa.backends.control import NobodyThere, ask
from lycosa.backends.layout import WARCS
from lycosa.backends.parquet import SCHEMAS, check_file
from lycosa.backends.warc_check import verify as verify_warcs
from lycosa.backends.warc_read import body_at
from lycosa.cli.columns import show_pairs
from lycosa.cli.opened import host_name, in_directory, moment, opened
from lycosa.cli.options import as_json, printable
from lycosa.cli.summary import summarise
from lycosa.errors import BadInput
from lycosa.kit.units import show_size
from lycosa.web.url import cut

_MOMENTS = ("at", "ready_at")


@click.command()
@in_directory
@as_json
def status(directory: Path, as_json: bool) -> None:
    """Show the counts of a crawl."""
    with opened(directory) as crawl:
        state, elapsed_s = crawl.look.state(crawl.is_running)
        stats, active = crawl.look.stats(), 0
    with contextlib.suppress(NobodyThere):
        live = ask(directory, {"do": "stats"})
        stats, active, elapsed_s = Counter(live["stats"]), live["active"], elapsed_s + live.get("elapsed_s", 0.0)
    told = summarise(stats, state, elapsed_s, active)
    if as_json:
        click.echo(json.dumps(told))
        return
    show_pairs(status_lines(told))


def status_lines(told: dict[str, Any]) -> list[tuple[str, str]]:
    """The counts of `summarise` as a person reads them."""
    sizes = ", ".join(f"{show_size(size)} {name}" for name, size in told["bytes"].items())
    lines = [("state", f"{told['state']} after {_span(told['elapsed_s'])}")]
    lines += [(name, _counts(told[name])) for name in ("pages", "urls", "hosts", "duplicates")]
    if told["failures"]:
        lines.append(("failures", _counts(told["failures"])))
    return [*lines, ("bytes", sizes), ("rate", f"{told['rate']['pages_per_s']:,.1f} pages/s")]


def _span(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 120 else str(datetime.timedelta(seconds=round(seconds)))


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts.items() if count) or "none"


@click.command()
@in_directory
@click.option("--url", help="Only this page.")
@click.option("--host", help="Only pages of this host.")
@click.option("--prefix", default="", metavar="/PATH", help="Only pages whose path begins so.")
@click.option("--since", help="Only pages fetched from this date on, like 2026-01-31.")
@click.option("--until", help="Only pages fetched before this date.")
@click.option("--status", "http_status", type=int, help="Only pages with this HTTP status.")
@click.option("--limit", type=click.IntRange(1), default=100, show_default=True, help="At most so many.")
@click.option("--after", default="", metavar="URL", help="Go on after this page, the last one of the list before.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object for each page.")
def pages(directory: Path, url: str | None, limit: int, as_json: bool, **chosen: Any) -> None:
    """List the pages that were answered.

    The order is that of the store, the same every time; --after goes on where a list ended.
    """
    since, until, http_status = moment(chosen["since"]), moment(chosen["until"]), chosen["http_status"]
    if chosen["prefix"] and not chosen["prefix"].startswith("/"):
        raise BadInput(f"{chosen['prefix']!r} is no beginning of a path: write it like /docs/")
    with opened(directory) as crawl:
        if url is not None:
            row = crawl.look.row(url)
            found = iter([crawl.look.told(row)] if row is not None else [])
        else:
            host = host_name(chosen["host"]) if chosen["host"] else ""
            found = crawl.look.pages(host, chosen["prefix"], chosen["after"])
        shown, page = 0, None
        for each in found:
            if http_status not in (None, each["status"]) or not _is_within(each["fetched_at"], since, until):
                continue
            if shown == limit:
                if not as_json:
                    assert page is not None
                    click.echo(f"lycosa: there is more: --after {shlex.quote(printable(page['url']))}", err=True)
                break
            page, shown = each, shown + 1
            click.echo(json.dumps(page) if as_json else _page_line(page))


def _is_within(at: float, since: float | None, until: float | None) -> bool:
    return (since is None or at >= since) and (until is None or at < until)


def _page_line(page: dict[str, Any]) -> str:
    return f"{page['status']}  {_time(page['fetched_at'])}  {page['bytes']:>10,}  {printable(page['url'])}"


def _time(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(at))


@click.command()
@in_directory
@click.argument("wanted", metavar="URL-or-sha256")
def get(directory: Path, wanted: str) -> None:
    """Print the stored body of a page."""
    with opened(directory) as crawl:
        place = crawl.look.body_of(wanted)
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
    with opened(directory) as crawl:
        told = crawl.look.explain(url)
        if told["outcome"] == "unknown":
            refusal = crawl.refusal(told["url"])
            told["decisions"].append({"step": "if linked to", "refused": refusal or "no, it would be taken"})
        override = crawl.overrides().get(cut(told["url"]).host)
        if override is not None:
            told["decisions"].append({"step": "set by hand", **msgspec.to_builtins(override)})
    if as_json:
        click.echo(json.dumps(told))
        return
    click.secho(f"{printable(told['url'])}: {told['outcome']}", bold=True)
    show_steps(told["decisions"])


def show_steps(decisions: list[dict[str, Any]]) -> None:
    """The chain of decisions, one a line, times in UTC."""
    width = max(len(step["step"]) for step in decisions)
    for step in decisions:
        details = [
            f"{name.replace('_', ' ')} {_time(value) if name in _MOMENTS else value}"
            for name, value in step.items()
            if name != "step" and value not in (None, "") and (name not in _MOMENTS or value)
        ]
        click.echo(printable(f"  {step['step']:{width}}  {', '.join(details)}".rstrip()))


@click.command()
@in_directory
@as_json
def verify(directory: Path, as_json: bool) -> None:
    """Read the whole store again and prove it. Exit code 1 if anything is wrong."""
    with opened(directory) as crawl:
        faults = []
        sizes = {path.name: path.stat().st_size for path in crawl.warcs}
        for _, row in crawl.look.rows():
            if row.warc_file and row.warc_offset + row.warc_length > sizes.get(row.warc_file, 0):
                faults.append(f"{row.url} points past the end of {row.warc_file}")
        tables = [file.path for table in SCHEMAS for file in crawl.table_files(table)]
        faults += filter(None, map(check_file, tables))
    report = verify_warcs(directory / WARCS)
    faults += report.faults
    told = {"files": report.files, "records": report.records, "bytes": report.bytes, "tables": len(tables)}
    if as_json:
        click.echo(json.dumps({**told, "faults": faults}))
    else:
        files = f"{report.records:,} records in {report.files:,} files, {len(tables):,} files of tables"
        click.echo(f"{files}, {len(faults):,} faults")
        for fault in faults[:20]:
            click.echo(f"  {printable(fault)}")
    if faults:
        raise click.exceptions.Exit(1)
