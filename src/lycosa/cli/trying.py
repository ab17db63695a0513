"""`lycosa try`: ask the rules of the web about one thing. What has to be fetched for it comes as in a crawl."""

from __future__ import annotations

import datetime
import json
import zlib
from typing import Any

import click
import msgspec

from lycosa.cli.options import as_json, is_url, printable, read_input, web_url, with_settings
from lycosa.cli.probe import ask_rules, fetch_body, fetch_page
from lycosa.config import Settings
from lycosa.errors import BadInput
from lycosa.kit.units import show_duration
from lycosa.model import Reply, Response
from lycosa.web.directives import read_directives
from lycosa.web.domains import registered_domain
from lycosa.web.html import read_page
from lycosa.web.page import Page
from lycosa.web.robots import Robots, target_of
from lycosa.web.scope import is_media
from lycosa.web.sitemap import read_sitemap
from lycosa.web.traps import TrapRules
from lycosa.web.url import Normaliser, cut, parse

_SHOWN_LINKS = 20
_SHOWN_LINES = 12


@click.group("try")
def trying() -> None:
    """Ask the rules of the web about one thing.

    See what Lycosa makes of a URL, a robots.txt, a page or a sitemap.

    ARG is a file, - for standard input, or a URL, which is fetched as a crawl would: robots.txt first, and with the
    delay of its host. That takes a contact: -s agent.contact=you@example.org. Nothing is kept.
    """


@trying.command("url")
@click.argument("url", metavar="URL")
@click.option("--base", help="Read URL relative to this one, as a link on that page.")
@with_settings
@as_json
def try_url(url: str, base: str | None, settings: Settings, as_json: bool) -> None:
    """Show how a URL is read: spelling, normal form, host and key."""
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
    """Show what a robots.txt allows, its Crawl-delay and sitemaps.

    A URL as ARG stands for the robots.txt of its host. Exit code 1 if any of the URLs is forbidden.
    """
    name = agent or settings.agent.name
    robots = Robots.parse(_rules_at(arg, settings) if is_url(arg) else read_input(arg))
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


def _rules_at(url: str, settings: Settings) -> bytes:
    [found] = ask_rules([url], settings)
    if found.row is None or found.row.state == "closed":
        reason = found.row.reason if found.row is not None else "no answer"
        raise BadInput(f"{found.origin}/robots.txt cannot be had ({reason}): until it can, nothing there is fetched")
    return zlib.decompress(found.row.body) if found.row.body else b""


@trying.command("fetch")
@click.argument("url", metavar="URL")
@with_settings
@as_json
def try_fetch(url: str, settings: Settings, as_json: bool) -> None:
    """Fetch one page as a crawl would, and show what came.

    That is status, headers, times and address. robots.txt is asked first, and the delay of the host is kept between the
    two. Exit code 1 if there is no answer.
    """
    answer = fetch_page(web_url(url), settings)
    if as_json:
        told = {"url": answer.url, "outcome": answer.outcome, "reason": answer.reason or None}
        click.echo(json.dumps({**told, "requests": [_reply_told(reply) for reply in answer.replies]}))
    else:
        for reply in answer.replies:
            _show_reply(reply)
        click.secho(f"{answer.outcome} {answer.reason}".strip(), bold=True)
    if answer.last is None:
        raise click.exceptions.Exit(1)


def _reply_told(reply: Reply) -> dict[str, Any]:
    told: dict[str, Any] = {"url": reply.url, "address": reply.address, "started_at": reply.started_at}
    if isinstance(reply, Response):
        told |= {"status": reply.status, "http_version": reply.version, "headers": [*map(list, reply.headers.pairs)]}
        told |= {"bytes_received": len(reply.payload), "bytes_decoded": len(reply.body)}
        told |= {"truncated": reply.truncated or None}
    else:
        told |= {"trouble": reply.kind, "detail": reply.detail}
    return told | {"timings": msgspec.to_builtins(reply.timings)}


def _show_reply(reply: Reply) -> None:
    click.secho(printable(f"GET {reply.url}"), bold=True)
    if isinstance(reply, Response):
        click.echo(printable(f"  HTTP/{reply.version} {reply.status} {reply.reason}".rstrip()))
        for name, value in reply.headers.pairs:
            click.echo(printable(f"  {name}: {value}"))
        cut = f", cut short ({reply.truncated})" if reply.truncated else ""
        click.echo(f"  {len(reply.payload):,} bytes received, {len(reply.body):,} decoded{cut}")
    else:
        click.echo(printable(f"  {reply.kind}: {reply.detail}"))
    times = msgspec.to_builtins(reply.timings)
    phases = ", ".join(
        f"{name.removesuffix('_s').replace('_', ' ')} {value * 1000:,.1f} ms" for name, value in times.items()
    )
    click.echo(f"  from {reply.address or 'no address'}: {phases}\n")


@trying.command("extract")
@click.argument("arg", metavar="ARG")
@click.option("--url", help="Where the page was found (default: ARG, or http://localhost/).")
@click.option("--content-type", help="The Content-Type it came with.")
@with_settings
@as_json
def try_extract(arg: str, url: str | None, content_type: str | None, settings: Settings, as_json: bool) -> None:
    """Show what is read from a page: metadata, links, headings, text."""
    page = read_page(*_document(arg, url, content_type, settings))
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


def _document(arg: str, url: str | None, content_type: str | None, settings: Settings) -> tuple[bytes, str, str | None]:
    """The body that ARG names, where it was found, and its Content-Type."""
    if not is_url(arg):
        return read_input(arg), web_url(url or "http://localhost/"), content_type
    response = fetch_body(web_url(arg), settings)
    return response.body, web_url(url or response.url), content_type or response.headers.get("content-type")


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
        "main_text": page.main_text,
    }


@trying.command("sitemap")
@click.argument("arg", metavar="ARG")
@click.option("--url", help="Where it was found (default: ARG, or http://localhost/).")
@click.option("--content-type", help="The Content-Type it came with.")
@with_settings
@as_json
def try_sitemap(arg: str, url: str | None, content_type: str | None, settings: Settings, as_json: bool) -> None:
    """Show the URLs that a sitemap or feed lists. Exit code 1 if it is neither."""
    sitemap = read_sitemap(*_document(arg, url, content_type, settings))
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
