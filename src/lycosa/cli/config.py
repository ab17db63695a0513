"""`lycosa config`: what the settings are."""

from __future__ import annotations

import json

import click
import msgspec

from lycosa import config as settings_module
from lycosa.cli.options import as_json, with_settings
from lycosa.config import Settings


@click.group()
def config() -> None:
    """Show the settings and where they come from.

    Defaults, then a TOML file (--config), then the environment (LYCOSA_POLITE__DELAY=5s), then -s: the later wins.
    """


@config.command()
@with_settings
@as_json
def show(settings: Settings, as_json: bool) -> None:
    """Print the effective settings, as TOML. The output can be edited and used."""
    if as_json:
        click.echo(json.dumps(msgspec.to_builtins(settings, enc_hook=lambda value: value.real)))
    else:
        click.echo(settings_module.show(settings), nl=False)


@config.command()
def schema() -> None:
    """Print the JSON Schema of a settings file, for editors."""
    click.echo(json.dumps(settings_module.schema(), indent=2))
