"""The crawlers that are compared: how each is installed, started, and what it keeps.

A rival lives in a folder of its own below a cache directory and is installed there once, by name, with the ordinary
client of its registry. One that does not install is left out, with the reason. All get the same concurrency, the same
seeds and scope, no delay, and obey robots.txt where they can.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

PROGRAMS = Path(__file__).with_name("peers")
INSTALL_LIMIT_S = 1800.0


class Task(NamedTuple):
    """What a rival is to crawl, and where it may write."""

    seeds: Path  # a file, one a line
    addresses: list[str]
    out: Path
    concurrency: int
    processes: int | None
    authority: Path | None  # the certificate to trust, over TLS


class Rival(NamedTuple):
    name: str
    stores: str
    install: Callable[[Path], None]  # into a folder; raises NotInstalled
    command: Callable[[Path, Task], list[str]]
    no_tls: str = ""  # why it cannot crawl with a certificate authority of ours
    met_errors: int = 0  # its exit code when some page was not there, which is no failure
    endless: bool = False  # it waits for more links for ever, and is stopped when the server has seen nothing for long


class NotInstalled(Exception):
    """A rival cannot be had here; says why."""


def run_install(command: list[str], cwd: Path) -> None:
    if shutil.which(command[0]) is None:
        raise NotInstalled(f"{command[0]} is not on this machine")
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, timeout=INSTALL_LIMIT_S, check=False)
    except subprocess.TimeoutExpired as late:
        raise NotInstalled(f"{command[0]} took more than {INSTALL_LIMIT_S:.0f} s") from late
    if done.returncode:
        lines = (done.stderr + done.stdout).decode(errors="replace").strip().splitlines()
        telling = next((line for line in lines if "error" in line.lower()), lines[-1] if lines else "no word of why")
        raise NotInstalled(f"{Path(command[0]).name}: {telling.strip()[:300]}")


def ready(rival: Rival, cache: Path) -> Path:
    """The folder of an installed rival; it is installed again when its program changed."""
    home, programs = cache / rival.name, PROGRAMS / rival.name
    done, state = home / "installed", fingerprint(programs)
    if not done.exists() or done.read_text() != state:
        home.mkdir(parents=True, exist_ok=True)
        if programs.is_dir():
            shutil.copytree(programs, home, dirs_exist_ok=True)
        rival.install(home)
        done.write_text(state)
    return home


def fingerprint(programs: Path) -> str:
    files = sorted(file for file in programs.rglob("*") if file.is_file() and "__pycache__" not in file.parts)
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def into_venv(*packages: str) -> Callable[[Path], None]:
    def install(home: Path) -> None:
        run_install([sys.executable, "-m", "venv", "venv"], home)
        run_install([str(home / "venv/bin/python"), "-m", "pip", "install", "--quiet", *packages], home)

    return install


def _by_python(home: Path, task: Task) -> list[str]:
    return [str(home / "venv/bin/python"), str(home / "crawl.py"), *_plainly(task)]


def _plainly(task: Task) -> list[str]:
    more = [str(task.authority)] if task.authority else []
    return [str(task.seeds), str(task.out), str(task.concurrency), *more]


def _install_spider(home: Path) -> None:
    run_install(["cargo", "build", "--release", "--quiet"], home)


def _install_colly(home: Path) -> None:
    run_install(["go", "mod", "tidy"], home)
    run_install(["go", "build", "-o", "peer", "."], home)


def _by_maven(home: Path) -> None:
    goal = ["dependency:copy-dependencies", "-DoutputDirectory=lib", "-DincludeScope=runtime"]
    run_install(["mvn", "--quiet", "--batch-mode", *goal], home)


def _by_java(home: Path, task: Task) -> list[str]:
    return [sys.executable, str(home / "crawl.py"), *_plainly(task)]


def _install_wget2(home: Path) -> None:
    """The one that is on the machine, or else the distribution's; this one alone is not in a folder of its own."""
    if shutil.which("wget2"):
        return
    run_install(["apt-get", "install", "--yes", "--no-install-recommends", "wget2"], home)


def _wget2(home: Path, task: Task) -> list[str]:
    trust = [f"--ca-certificate={task.authority}"] if task.authority else []
    return [
        *("wget2", "--quiet", "--recursive", "--level=inf", "--robots=on", "--tries=1", "--no-hsts", "--no-ocsp"),
        *(f"--max-threads={task.concurrency}", f"--directory-prefix={task.out}", f"--input-file={task.seeds}"),
        *(f"--domains={','.join(task.addresses)}", "--span-hosts", "--http2=off", "--compression=none", *trust),
    ]


def _lycosa(home: Path, task: Task) -> list[str]:
    settings = {
        "polite.own_hosts": json.dumps(["127.0.0.0/8"]),
        "fetch.slots": str(task.concurrency),
        "budget.domain_pages": "10000000",
    }
    if task.authority is not None:
        settings["network.ca_file"] = json.dumps(str(task.authority))
    return [
        *(sys.executable, "-m", "lycosa", "crawl", "--seeds-file", str(task.seeds), "--dir", str(task.out / "crawl")),
        *("--delay", "0s", "--json", *(each for pair in settings.items() for each in ("-s", "=".join(pair)))),
        *(["--processes", str(task.processes)] if task.processes else []),
    ]


GZIP_A_PAGE = "a gzip file a page"
RIVALS = {
    rival.name: rival
    for rival in (
        Rival(
            "lycosa",
            "WARC, tables, frontier on disk, both kinds of copies found",
            lambda home: None,
            _lycosa,
        ),
        Rival("scrapy", GZIP_A_PAGE, into_venv("scrapy"), _by_python),
        Rival("crawlee", GZIP_A_PAGE, into_venv("crawlee[parsel,httpx]"), _by_python),
        Rival("colly", GZIP_A_PAGE, _install_colly, lambda home, task: [str(home / "peer"), *_plainly(task)]),
        Rival("heritrix", "WARC, frontier on disk", _by_maven, _by_java),
        Rival("bubing", "WARC, frontier on disk", _by_maven, _by_java, endless=True),
        Rival("wget2", "plain files", _install_wget2, _wget2, met_errors=8),
        Rival(
            "spider",
            "nothing",
            _install_spider,
            lambda home, task: [str(home / "target/release/spider-peer"), str(task.seeds), str(task.concurrency)],
        ),
    )
}
