"""Text in columns for a terminal: names to the left, figures to the right, thousands apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from lycosa.cli.options import printable

_LONGEST = 60


def show_columns(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table; figures line up on the right, None is a dash."""
    texts = [[_text(value) for value in row] for row in rows]
    widths = [max(map(len, (name, *(row[at] for row in texts)))) for at, name in enumerate(head)]
    figures = (int, float, type(None))
    right = [bool(rows) and all(isinstance(row[at], figures) for row in rows) for at in range(len(head))]
    click.secho(_line(head, widths, right), bold=True)
    for row in texts:
        click.echo(_line(row, widths, right))


def show_pairs(pairs: Sequence[tuple[str, str]]) -> None:
    width = max((len(name) for name, _ in pairs), default=0)
    for name, value in pairs:
        click.echo(f"{click.style(f'{name:{width}}', bold=True)}  {printable(value)}")


def _line(texts: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    parts = [
        f"{text:>{width}}" if is_right else f"{text:{width}}"
        for text, width, is_right in zip(texts, widths, right, strict=True)
    ]
    return "  ".join(parts).rstrip()


def _text(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.3f}"
    text = printable(str(value)).replace("\n", " ")
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
