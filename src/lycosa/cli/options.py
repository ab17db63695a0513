"""Options and arguments that several commands share."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from lycosa import config
from lycosa.errors import BadInput
from lycosa.web.url import is_web, parse

LARGEST_INPUT_BYTES = 64_000_000
_Command = TypeVar("_Command", bound=Callable[..., Any])


def as_json(command: _Command) -> _Command:
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")(command)


def with_settings(command: _Command) -> _Command:
    """Adds --config and -s; the command gets the effective settings as `settings`."""

    def wrapped(*args: Any, config_file: Path | None, assignments: tuple[str, ...], **kwargs: Any) -> Any:
        given = [config.read_assignment(text) for text in assignments]
        return command(*args, settings=config.load(config_file, os.environ, given), **kwargs)

    wrapped.__name__, wrapped.__doc__ = command.__name__, command.__doc__
    wrapped.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore[attr-defined]
    file = click.option(
        "--config", "config_file", type=click.Path(path_type=Path), help="Read settings from a TOML file."
    )
    one = click.option(
        "-s", "assignments", multiple=True, metavar="KEY=VALUE", help="Set one setting; may be repeated."
    )
    return file(one(wrapped))  # type: ignore[return-value]


def read_input(argument: str) -> bytes:
    """The bytes of a file, or of standard input for `-`."""
    try:
        if argument == "-":
            body = sys.stdin.buffer.read(LARGEST_INPUT_BYTES + 1)
        else:
            with open(argument, "rb") as file:
                body = file.read(LARGEST_INPUT_BYTES + 1)
    except OSError as error:
        raise BadInput(f"{argument} cannot be read: {error.strerror or error}") from None
    if len(body) > LARGEST_INPUT_BYTES:
        raise BadInput(f"{argument} has more than {LARGEST_INPUT_BYTES // 10**6} MB: give a smaller file")
    return body


def is_url(argument: str) -> bool:
    return argument.startswith(("http://", "https://"))


def web_url(text: str) -> str:
    """A URL that a page can have."""
    url = parse(text)
    if not is_web(url):
        raise BadInput(f"{text!r} is no address of a page: give an http or https URL")
    return url


def printable(text: str) -> str:
    """Text of strangers, safe for a terminal: control and bidirectional characters become U+FFFD."""
    return "".join(letter if letter.isprintable() or letter in "\n\t" else "\ufffd" for letter in text)
