"""`lycosa report`: what the tables of a crawl prove and show."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import click
import msgspec
import pyarrow.compute as pc

from lycosa import config
from lycosa.backends.memory import MemoryStore
from lycosa.cli.columns import show_columns
from lycosa.cli.opened import Opened, in_directory, moment, opened
from lycosa.cli.options import as_json, printable
from lycosa.crawl import manners
from lycosa.crawl.lease import DelayOf
from lycosa.crawl.report import (
    ATTENTION_COLUMNS,
    POLITENESS_COLUMNS,
    Attention,
    Manners,
    PolitenessReport,
    Required,
    attention,
    judge_politeness,
    refusals,
)
from lycosa.ports import Store
from lycosa.web.addresses import OwnHosts
from lycosa.web.hours import Hours
from lycosa.web.url import host_of

_HOSTS_OF_A_RULE = 5


@click.group()
def report() -> None:
    """Show where attention went, if it was polite, what was refused."""


most = click.option(
    "--limit", type=click.IntRange(1), default=20, show_default=True, help="List at most so many hosts."
)


@report.command("hosts")
@in_directory
@click.option("--since", help="Only requests from this date on, like 2026-01-31.")
@most
@as_json
def hosts(directory: Path, since: str | None, limit: int, as_json: bool) -> None:
    """Show where the attention went: the hosts that were asked most."""
    with opened(directory) as crawl:
        found = attention(crawl.rows("requests", ATTENTION_COLUMNS), moment(since))
        shown, delay_of = found[:limit], delay_for(crawl.settings)
        for told in shown:
            row = crawl.look.host(told.host)
            if row is not None:
                told.delay_s = row.pace.gap_s(delay_of(told.host), row.crawl_delay_s)
                told.queued = row.queued
    if as_json:
        click.echo(json.dumps({"hosts_asked": len(found), "hosts": msgspec.to_builtins(shown)}))
        return
    head = ("host", "requests", "pages", "bytes", "mean s", "worst s", "errors", "delay s", "queued")
    show_columns(head, [_cells(told) for told in shown])
    if len(found) > limit:
        click.echo(f"… and {len(found) - limit:,} hosts more (--limit)")


def _cells(told: Attention) -> tuple[Any, ...]:
    return tuple(getattr(told, name) for name in Attention.__struct_fields__)


@report.command("politeness")
@in_directory
@most
@as_json
def politeness(directory: Path, limit: int, as_json: bool) -> None:
    """Prove from the log of requests that every gap was kept. Exit code 1 if one was not.

    A gap runs from the end of an answer to the start of the next request, for each host and for each address.
    """
    with opened(directory) as crawl:
        told = politeness_of(crawl)
    if as_json:
        click.echo(json.dumps({"polite": told.is_polite, "violations": told.violations, **msgspec.to_builtins(told)}))
    else:
        _show_politeness(told, limit)
    if not told.is_polite:
        raise click.exceptions.Exit(1)


def politeness_of(crawl: Opened) -> PolitenessReport:
    settings = crawl.settings
    floor_of = delay_for(settings)
    settled = manners_for(settings, crawl.store)

    def required(host: str) -> Required:
        row = crawl.look.host(host)
        crawl_delay_s = settled.crawl_delay_of(host, row.crawl_delay_s if row is not None else None)
        # An operator's longer gap binds from when it was set, which the log does not tell; a shorter one is excused.
        return Required(min(floor_of(host), settled.delay_of(host)), crawl_delay_s or 0.0)

    address_delay_s = float(settings.polite.address_delay)
    return judge_politeness(crawl.rows_by_time("requests", POLITENESS_COLUMNS), required, address_delay_s)


def _show_politeness(told: PolitenessReport, limit: int) -> None:
    for name, group in (("host", told.hosts), ("address", told.addresses)):
        # What comes closest to its limit first: that is where a look is worth it.
        worst = sorted(group, key=lambda each: (-each.violations, _spare_s(each), each.name))[:limit]
        head = (name, "requests", "least gap s", "required s", "at once", "violations")
        rows = [
            (each.name, each.requests, each.least_gap_s, each.required_gap_s, each.most_at_once, each.violations)
            for each in worst
        ]
        show_columns(head, rows)
        if len(group) > limit:
            click.echo(f"… and {len(group) - limit:,} more (--limit, or all with --json)")
        click.echo()
    click.echo(f"{told.requests:,} requests to {len(told.hosts):,} hosts at {len(told.addresses):,} addresses")
    if told.interrupted:
        click.echo(f"{told.interrupted:,} were under way when the process died: they count as ended when they began")
    if told.out_of_order:
        click.echo(f"{told.out_of_order:,} were recorded too late to be put in order: gaps beside them may look odd")
    if not told.robots_first:
        click.echo("a host was asked for something before its robots.txt")
    verdict = "polite: every gap was kept" if told.is_polite else f"not polite: {told.violations:,} violations"
    click.secho(verdict, bold=True)


def _spare_s(manners: Manners) -> float:
    return float("inf") if manners.least_gap_s is None else manners.least_gap_s - manners.required_gap_s


def delay_for(settings: config.Settings) -> DelayOf:
    """The least gap of a host under these settings alone, whatever operators have set for it."""
    return manners_for(settings, MemoryStore()).delay_of


def manners_for(settings: config.Settings, store: Store) -> manners.Manners:
    own, hours = OwnHosts(settings.polite.own_hosts), Hours(settings.polite.hours)
    return manners.Manners(store, float(settings.polite.delay), own, hours, time.time)


@report.command("traps")
@in_directory
@most
@as_json
def traps(directory: Path, limit: int, as_json: bool) -> None:
    """Show what was refused, by which rule, and on whose pages."""
    with opened(directory) as crawl:
        rows = crawl.rows("links", ("source", "target", "refused"), pc.field("refused").is_valid())
        found = refusals(rows, crawl.look.stats(), host_of, min(limit, _HOSTS_OF_A_RULE))
    if as_json:
        click.echo(json.dumps({"refused": sum(told.count for told in found), "rules": msgspec.to_builtins(found)}))
        return
    if not found:
        click.echo("nothing was refused")
    for told in found[:limit]:
        click.secho(f"{told.rule}  {told.count:,}", bold=True)
        if told.hosts:
            click.echo("  on pages of " + printable(", ".join(f"{host} ({n:,})" for host, n in told.hosts.items())))
        for example in told.examples:
            click.echo(f"  {printable(example)[:100]}")
