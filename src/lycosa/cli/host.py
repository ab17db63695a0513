"""`lycosa host`: slow, pause or hasten one host, also while the crawl runs."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import click
import msgspec

from lycosa.backends.control import NobodyThere, ask
from lycosa.backends.steady import SteadyClock
from lycosa.cli.opened import Opened, OpenedShard, host_name, in_directory, moment, opened, settings_of, written
from lycosa.cli.options import as_json
from lycosa.errors import BadInput
from lycosa.kit.units import read_duration, show_duration
from lycosa.web.politeness import Override


@click.command("host")
@in_directory
@click.argument("name", metavar="[HOST]", required=False)
@click.option(
    "--delay", help="Least time between requests to it, like 30s; shorter than usual only for your own hosts."
)
@click.option("--pause", is_flag=True, help="Ask it nothing until it is resumed.")
@click.option("--resume", is_flag=True, help="Lift what was set for it.")
@click.option("--until", help="When this ends by itself, as a date or like 2h.")
@as_json
def host(directory: Path, name: str | None, as_json: bool, **wanted: Any) -> None:
    """Slow down, pause or resume one host.

    Holds within a second in a crawl that runs, and for the next one otherwise. Without options: list what is set.
    """
    if not any(wanted.values()):
        _list(directory, host_name(name) if name else None, as_json)
        return
    if name is None:
        raise BadInput("which host? Name it, like lycosa host example.org --pause")
    override = _override(**wanted)
    known = host_name(name)
    try:
        ask(directory, {"do": "override", "host": known, "override": override and msgspec.to_builtins(override)})
    except NobodyThere:
        _write(directory, known, override)
    if as_json:
        click.echo(json.dumps({"host": known, "override": override and msgspec.to_builtins(override)}))
    else:
        click.echo(f"{known}: {_told(override)}")


def _list(directory: Path, name: str | None, as_json: bool) -> None:
    with opened(directory) as crawl:
        found = {host: each for host, each in crawl.overrides().items() if name in (None, host)}
    if as_json:
        click.echo(json.dumps({host: msgspec.to_builtins(each) for host, each in found.items()}))
        return
    for host, each in found.items():
        click.echo(f"{host}: {_told(each)}")
    if not found:
        click.echo(f"{name or 'every host'}: as usual")


def _override(delay: str | None, pause: bool, resume: bool, until: str | None) -> Override | None:
    if sum((delay is not None, pause, resume)) != 1:
        raise BadInput("say what is to become of the host: one of --delay, --pause and --resume")
    if resume:
        return None
    delay_s = read_duration(delay) if delay is not None else None
    return Override(crawl_delay_s=delay_s, paused=pause, effective_until=_until(until))


def _until(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return SteadyClock().now() + read_duration(text)
    except BadInput:
        return moment(text)


def _write(directory: Path, name: str, override: Override | None) -> None:
    """Set it for the next crawl: nobody else has the store open."""
    with written(directory) as stores:
        crawl = Opened(directory, settings_of(directory), [OpenedShard("", store, []) for store in stores])
        row = crawl.look.host(name)
        crawl.manners().override(name, override, row.crawl_delay_s if row is not None else None)
        crawl.store.sync()


def _told(override: Override | None) -> str:
    if override is None:
        return "as usual again"
    what = "paused" if override.paused else f"at least {show_duration(override.gap_s() or 0.0)} between requests"
    if override.effective_until is None:
        return what
    until = datetime.datetime.fromtimestamp(override.effective_until, datetime.UTC)
    return f"{what}, until {until:%Y-%m-%d %H:%M:%S} UTC"
