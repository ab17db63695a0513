"""`lycosa serve`: search over HTTP, until interrupted."""

from __future__ import annotations

import contextlib
import ipaddress
import multiprocessing
import multiprocessing.connection
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import uvicorn
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from lycosa import config
from lycosa.cli.opened import in_directory
from lycosa.errors import BadInput
from lycosa.indexing import open_search
from lycosa.service.app import Served, make_app
from lycosa.service.workers import Workers
from lycosa.serving import Upkeep, keeping_up, make_index

_GRACE_S = 5  # for requests under way, when it is stopped
_WAITING = 128  # connections that are not accepted yet


@click.command()
@in_directory
@click.option("--host", help="The address to listen on; 127.0.0.1 by default.")
@click.option("--port", type=click.IntRange(0, 65_535), help="The port, 8080 by default; 0 for any free one.")
@click.option("--config", "config_file", type=click.Path(path_type=Path), help="Read settings from a TOML file.")
@click.option("-s", "assignments", multiple=True, metavar="KEY=VALUE", help="Set one setting; may be repeated.")
def serve(directory: Path, **flags: Any) -> None:
    """Serve a page to search the crawl, and the same as JSON, until interrupted.

    A directory without an index gets one first. While a crawl runs here, what it fetches can be found within seconds.
    """
    settings = _settings(directory, flags)
    if not any(directory.glob("shard-*")):
        raise BadInput(f"{directory} holds no crawl: name its directory with --dir")
    with _listening(settings.serve.host, settings.serve.port) as listener:
        _make_index(directory)
        _serve(directory, settings, listener)


def _settings(directory: Path, flags: dict[str, Any]) -> config.Settings:
    kept = directory / "lycosa.toml"
    file = flags["config_file"] or (kept if kept.exists() else None)
    chosen = [(f"serve.{name}", flags[name]) for name in ("host", "port") if flags[name] is not None]
    return config.load(file, os.environ, [*map(config.read_assignment, flags["assignments"]), *chosen])


@contextlib.contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    """Taken before anything else is done, so that a port in use is told at once."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind)
    except (OSError, UnicodeError):
        raise BadInput(f"{host!r} is no address of this machine: write --host 127.0.0.1, say") from None
    with listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(address)
            listener.listen(_WAITING)
        except OSError as error:
            raise BadInput(
                f"{host} cannot be listened on at port {port}: {error.strerror}; try another --port"
            ) from None
        yield listener


def _make_index(directory: Path) -> None:
    columns = (TextColumn("indexing"), BarColumn(), TextColumn("{task.completed:,.0f} pages"), TimeRemainingColumn())
    with Progress(*columns, transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("pages", total=None)
        make_index(directory, _say, lambda done, total: bar.update(task, completed=done, total=total))


def _serve(directory: Path, settings: config.Settings, listener: socket.socket) -> None:
    address, port = listener.getsockname()[:2]
    is_open = not ipaddress.ip_address(address.partition("%")[0]).is_loopback
    names = None if is_open else [settings.serve.host, *settings.serve.names]
    with _others(settings.serve.processes - 1, directory, listener, names), keeping_up(directory) as upkeep:
        if is_open:
            _say("anybody who reaches this machine can read what was crawled; --host 127.0.0.1 keeps it here")
        shown = f"[{address}]" if ":" in address else address
        _say(f"serving {directory} on http://{shown}:{port}/search; stop with Ctrl-C")
        _answer(directory, listener, names, upkeep)


def _answer(directory: Path, listener: socket.socket, names: list[str] | None, upkeep: Upkeep) -> None:
    """Until a signal comes."""
    # The server sends itself again what stopped it, once it has ended: to be stopped is no failure.
    for sign in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sign, lambda *_: None)
    with contextlib.closing(Workers()) as workers:
        how = uvicorn.Config(
            make_app(Served(open_search(directory), upkeep, workers, names)),
            loop="uvloop",
            http="h11",  # it bounds what a request may send before it is read
            log_config=None,
            log_level="error",  # what strangers send is no news
            access_log=False,
            server_header=False,
            proxy_headers=False,
            lifespan="off",
            timeout_graceful_shutdown=_GRACE_S,
        )
        uvicorn.Server(how).run(sockets=[listener])


@contextlib.contextmanager
def _others(count: int, directory: Path, listener: socket.socket, names: list[str] | None) -> Iterator[None]:
    """More processes that answer on the same socket: threads of one share an interpreter, and hardly use two cores."""
    made = multiprocessing.get_context("spawn")
    others = [made.Process(target=_beside, args=(directory, listener, names), daemon=True) for _ in range(count)]
    try:
        for other in others:
            other.start()
        yield
    finally:
        for other in others:
            other.terminate()
        for other in others:
            other.join(2 * _GRACE_S)


def _beside(directory: Path, listener: socket.socket, names: list[str] | None) -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()
    with keeping_up(directory, only_looks=True) as upkeep:
        _answer(directory, listener, names, upkeep)


def _end_with(parent: int) -> None:
    multiprocessing.connection.wait([parent])
    os.kill(os.getpid(), signal.SIGTERM)


def _say(sentence: str) -> None:
    click.echo(f"lycosa: {sentence}", err=True)
