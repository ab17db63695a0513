"""`lycosa host`: slow, pause or hasten one host, also while the crawl runs."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import click
import msgspec

from lycosa.backends.control import NobodyThere, ask
from lycosa.backends.rocks import RocksStore
from lycosa.backends.steady import SteadyClock
from lycosa.cli.opened import Opened, host_name, in_directory, moment, opened, settings_of
from lycosa.cli.options import as_json
from lycosa.crawl.look import Look
from lycosa.errors import BadInput
from lycosa.kit.units import read_duration, show_duration
from lycosa.web.politeness import Override
from lycosa.web.url import Normaliser
from lycosa.wiring import SHARD


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
    if not (directory / SHARD).is_dir():
        raise BadInput(f"{directory} holds no crawl: name its directory with --dir")
    settings = settings_of(directory)
    store = RocksStore(directory / SHARD)
    try:
        row = Look(store, Normaliser()).host(name)
        crawl_delay_s = row.crawl_delay_s if row is not None else None
        Opened(directory, store, settings, []).manners().override(name, override, crawl_delay_s)
        store.sync()
    finally:
        store.close()


def _told(override: Override | None) -> str:
    if override is None:
        return "as usual again"
    what = "paused" if override.paused else f"at least {show_duration(override.gap_s() or 0.0)} between requests"
    if override.effective_until is None:
        return what
    until = datetime.datetime.fromtimestamp(override.effective_until, datetime.UTC)
    return f"{what}, until {until:%Y-%m-%d %H:%M:%S} UTC"
