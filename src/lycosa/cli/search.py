"""`lycosa search`: ask the index, in a terminal or as JSON."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.text import Text

from lycosa.backends.tantivy_index import IndexBusy
from lycosa.cli.opened import in_directory
from lycosa.cli.options import as_json, printable
from lycosa.errors import BadInput
from lycosa.indexing import INDEX, catch_up, is_behind, open_search
from lycosa.search.answer import MOST_RESULTS, Answer, Request, Result


@click.command()
@in_directory
@click.argument("query", nargs=-1, required=True)
@click.option("--limit", type=click.IntRange(1, MOST_RESULTS), default=10, show_default=True, help="Results to show.")
@click.option("--offset", type=click.IntRange(0), default=0, help="Leave out so many results from the top.")
@click.option("--fold", type=click.IntRange(0), default=2, show_default=True, help="Results of a host; 0 shows all.")
@click.option("--explain", is_flag=True, help="Say where each score comes from.")
@as_json
def search(directory: Path, query: tuple[str, ...], as_json: bool, **chosen: Any) -> None:
    """Search the crawled pages.

    Words, "phrases", -without, this OR that, site:example.org, intitle:word, inurl:word, lang:en, after:2026-01-31 and
    before:2026-02-28. Options stand before the query; -- ends them, so that a query may begin with a minus.
    """
    bring_up_to_date(directory)
    request = Request(query=" ".join(query), **chosen)
    answer = open_search(directory).search(request)
    if as_json:
        click.echo(json.dumps(msgspec.to_builtins(answer)))
    else:
        show_answer(answer)


def bring_up_to_date(directory: Path) -> None:
    """Let the index have all there is, unless another process is about it."""
    if not any(directory.glob("shard-*")):
        raise BadInput(f"{directory} holds no crawl: name its directory with --dir")
    if not is_behind(directory):
        return
    try:
        began = time.monotonic()
        taken = catch_up(directory, say=lambda sentence: click.echo(f"lycosa: {sentence}", err=True))
        click.echo(f"lycosa: {taken:,} pages were indexed first, in {time.monotonic() - began:.1f} s", err=True)
    except IndexBusy:
        if not (directory / INDEX / "VERSION").exists():
            raise
        click.echo("lycosa: the index is being written, the newest pages may be missing", err=True)


def show_answer(answer: Answer, console: Console | None = None) -> None:
    """As people read it: title, address, and the words in their place."""
    screen = console or Console(highlight=False, soft_wrap=True)
    if answer.suggestion:
        screen.print(Text("Did you mean ").append(printable(answer.suggestion), style="bold").append("?"))
    if not answer.results:
        screen.print("Nothing was found.")
        return
    for number, result in enumerate(answer.results, 1):
        _show(screen, number, result)
    screen.print(Text(f"{answer.total:,} pages, {answer.took_ms:.1f} ms", style="dim"))


def _show(screen: Console, number: int, result: Result) -> None:
    title = _marked(result.title or result.url, result.title_highlights if result.title else [], "bold")
    screen.print(Text(f"{number:>2}. ") + title)
    also = f"  and {result.also:,} more like it" if result.also else ""
    screen.print(Text(f"    {printable(result.url)}", style="green").append(also, style="dim"))
    if result.snippet:
        screen.print(Text("    ") + _marked(result.snippet, result.highlights, ""))
    for signal in result.explain or ():
        if signal.value:
            row = f"    {signal.name:12} {signal.value:9.4f} × {signal.weight:5.2f} = {signal.contribution:8.4f}"
            screen.print(Text(row, style="dim"))
    if result.explain is not None:
        screen.print(Text(f"    {'score':12} {result.score:9.4f}", style="dim"))
    screen.print()


def _marked(text: str, ranges: list[tuple[int, int]], style: str) -> Text:
    shown = Text(printable(text), style=style)
    for start, end in ranges:
        shown.stylize("bold yellow", start, end)
    return shown
