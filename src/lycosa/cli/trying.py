"""`lycosa try`: ask the rules of the web about one thing, with nothing fetched and nothing stored."""

from __future__ import annotations

import datetime
import json
from typing import Any

import click

from lycosa.cli.options import as_json, printable, read_input, web_url, with_settings
from lycosa.config import Settings
from lycosa.kit.units import show_duration
from lycosa.web.directives import read_directives
from lycosa.web.domains import registered_domain
from lycosa.web.html import read_page
from lycosa.web.page import Page
from lycosa.web.robots import Robots, target_of
from lycosa.web.scope import is_media
from lycosa.web.sitemap import read_sitemap
from lycosa.web.text import main_text
from lycosa.web.traps import TrapRules
from lycosa.web.url import Normaliser, cut, parse

_SHOWN_LINKS = 20
_SHOWN_LINES = 12


@click.group("try")
def trying() -> None:
    """Ask the rules of the web about one thing.

    See what Lycosa makes of a URL, a robots.txt, a page or a sitemap.

    ARG is a file, or - for standard input. Nothing is fetched and nothing is stored.
    """


@trying.command("url")
@click.argument("url", metavar="URL")
@click.option("--base", help="Read URL relative to this one, as a link on that page.")
@with_settings
@as_json
def try_url(url: str, base: str | None, settings: Settings, as_json: bool) -> None:
    """Show how a URL is read: its spelling, its normal form, its host and its key."""
    href = parse(url, base)
    normal = Normaliser(settings.urls.tracking, settings.urls.session).of_href(href)
    parts = cut(normal)
    limits = settings.traps
    traps = TrapRules(limits.max_length, limits.max_segments, limits.max_repeats, limits.max_parameters)
    refusal = traps.refusal(normal, datetime.datetime.now(datetime.UTC).year)
    _print(
        {
            "request": href.partition("#")[0],
            "normal": normal,
            "host": parts.host,
            "domain": registered_domain(parts.host),
            "key": parts.key().hex(),
            "robots_target": target_of(normal),
            "media": is_media(normal),
            "trap": refusal,
        },
        as_json,
    )


@trying.command("robots")
@click.argument("arg", metavar="ARG")
@click.argument("urls", metavar="[URL]...", nargs=-1)
@click.option("--agent", help="Ask as this crawler (default: agent.name).")
@with_settings
@as_json
def try_robots(arg: str, urls: tuple[str, ...], agent: str | None, settings: Settings, as_json: bool) -> None:
    """Show what a robots.txt allows: URLs or paths, Crawl-delay, sitemaps.

    Exit code 1 if any of the URLs is forbidden.
    """
    name = agent or settings.agent.name
    robots = Robots.parse(read_input(arg))
    verdicts = {url: robots.allows(name, parse(url, "http://localhost/")) for url in urls}
    told: dict[str, Any] = {
        "agent": name,
        "crawl_delay_s": robots.crawl_delay(name),
        "sitemaps": list(robots.sitemaps),
        "allowed": verdicts,
    }
    if as_json:
        click.echo(json.dumps(told))
    else:
        delay = told["crawl_delay_s"]
        told["crawl_delay"] = None if delay is None else show_duration(delay)
        _print({key: told[key] for key in ("agent", "crawl_delay", "sitemaps")}, False)
        for url, allowed in verdicts.items():
            click.echo(f"{'allowed  ' if allowed else 'forbidden'}  {printable(url)}")
    if not all(verdicts.values()):
        raise click.exceptions.Exit(1)


@trying.command("extract")
@click.argument("arg", metavar="ARG")
@click.option("--url", default="http://localhost/", show_default=True, help="Where the page was found.")
@click.option("--content-type", help="The Content-Type it came with.")
@with_settings
@as_json
def try_extract(arg: str, url: str, content_type: str | None, settings: Settings, as_json: bool) -> None:
    """Show what is read from an HTML page: metadata, links, headings and text."""
    page = read_page(read_input(arg), web_url(url), content_type)
    if as_json:
        click.echo(json.dumps(_told(page, settings), ensure_ascii=False))
        return
    told = _told(page, settings)
    links, headings, text = told.pop("links"), told.pop("headings"), told.pop("main_text").split("\n")
    _print(told, False)
    for name, lines, most in (
        ("links", [f"{link['kind']:7} {link['url'] or link['href']}  {link['text']}" for link in links], _SHOWN_LINKS),
        ("headings", [f"{'  ' * (heading['level'] - 1)}{heading['text']}" for heading in headings], _SHOWN_LINES),
        ("main text", [line if len(line) < 120 else f"{line[:119]}…" for line in text if line], _SHOWN_LINES),
    ):
        click.secho(f"\n{name} ({len(lines)})", bold=True)
        for line in lines[:most]:
            click.echo(f"  {printable(line)}")
        if len(lines) > most:
            click.echo(f"  … and {len(lines) - most} more (all with --json)")


def _told(page: Page, settings: Settings) -> dict[str, Any]:
    directives = read_directives(settings.agent.name, page.meta)
    normal = Normaliser(settings.urls.tracking, settings.urls.session).links(
        page.base, [link.href for link in page.links]
    )
    return {
        "title": page.title,
        "description": page.description,
        "language": page.language,
        "charset": f"{page.charset.label} ({page.charset.reason})",
        "base": page.base,
        "canonical": page.canonical,
        "noindex": directives.noindex,
        "nofollow": directives.nofollow,
        "cut": page.cut,
        "links": [
            {"kind": link.kind, "href": link.href, "url": normal.get(link.href), "rel": link.rel, "text": link.text}
            for link in page.links
        ],
        "headings": [{"level": heading.level, "text": heading.text} for heading in page.headings],
        "main_text": main_text(page.blocks),
    }


@trying.command("sitemap")
@click.argument("arg", metavar="ARG")
@click.option("--url", default="http://localhost/sitemap.xml", show_default=True, help="Where it was found.")
@click.option("--content-type", help="The Content-Type it came with.")
@as_json
def try_sitemap(arg: str, url: str, content_type: str | None, as_json: bool) -> None:
    """Show the URLs that a sitemap or feed lists. Exit code 1 if it is neither."""
    sitemap = read_sitemap(read_input(arg), web_url(url), content_type)
    entries = [
        {
            "url": entry.url,
            "lastmod": _moment(entry.lastmod),
            "changefreq": entry.changefreq,
            "priority": entry.priority,
        }
        for entry in sitemap.entries
    ]
    if as_json:
        click.echo(json.dumps({"kind": sitemap.kind, "cut": sitemap.cut, "entries": entries}))
    else:
        _print({"kind": sitemap.kind, "entries": len(entries), "cut": sitemap.cut}, False)
        for entry in entries:
            click.echo(f"  {entry['lastmod'] or '-':20}  {printable(str(entry['url']))}")
    if sitemap.kind == "none":
        raise click.exceptions.Exit(1)


def _moment(unix: float | None) -> str | None:
    if unix is None:
        return None
    return datetime.datetime.fromtimestamp(unix, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _print(told: dict[str, Any], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(told, ensure_ascii=False))
        return
    width = max(map(len, told))
    for key, value in told.items():
        if isinstance(value, bool):
            value = "yes" if value else "no"  # noqa: PLW2901
        elif isinstance(value, list):
            value = ", ".join(map(str, value)) or "none"  # noqa: PLW2901
        name = click.style(f"{key.replace('_', ' '):{width}}", bold=True)
        click.echo(f"{name}  {printable('-' if value in (None, '') else str(value))}")
