"""What a crawl is to do, checked before anything is opened: its seeds, and whether it may ask them."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from lycosa import config
from lycosa.backends.layout import SHARD, shards_of
from lycosa.config import Settings
from lycosa.crawl.forget import blocked_hosts
from lycosa.crawl.processors import Processors
from lycosa.crawl.processors import load as load_processors
from lycosa.errors import BadInput, BadSetting
from lycosa.ports import Store
from lycosa.web.addresses import OwnHosts
from lycosa.web.scope import make_scope
from lycosa.web.url import Normaliser, host_of, is_web, parse

_OTHER_SCHEME = re.compile(r"(?!https?://)[a-z][a-z0-9+.\-]*:(?!\d+(?:/|$))", re.I)  # not the port of a bare name
_MOST_PROCESSES = 64
_PAGES_OF_A_PROCESS = 400  # a second: what one does with ease, and a billion a month
_LEAST_TURN_S = 0.25  # from one request of a host to its next, however small the delay


def check_job(directory: Path, settings: Settings, named: Sequence[str]) -> tuple[dict[str, str], Processors]:
    """The seeds that are named, as they are requested, with their normal forms. What cannot be crawled is said here."""
    seeds = read_seeds(Normaliser(settings.urls.tracking, settings.urls.session), named)
    _check_manners(settings, seeds)
    authorities = settings.network.ca_file
    if authorities and not Path(authorities).is_file():
        raise BadSetting(f"there is no file {authorities}: network.ca_file names one of certificate authorities")
    make_scope(settings.crawl.scope, seeds.values(), settings.crawl.include, settings.crawl.exclude)
    if not seeds and not (directory / SHARD).exists():
        raise BadInput("nothing to crawl: name at least one seed, for example https://example.org/")
    return seeds, load_processors(settings.crawl.processors)


def _check_manners(settings: Settings, seeds: dict[str, str]) -> None:
    """Hosts of others are crawled only by those who say who they are."""
    if settings.agent.contact:
        return
    own = OwnHosts(settings.polite.own_hosts)
    for url in seeds.values():
        if not own.covers(host_of(url), None):
            raise BadSetting(
                f"{host_of(url)} is not one of polite.own_hosts, so its owner must be able to reach you: "
                "give --contact URL, or set agent.contact"
            )


def check_blocked(store: Store, seeds: Iterable[str]) -> frozenset[str]:
    """The hosts that were forgotten; no seed may be of one."""
    blocked = frozenset(blocked_hosts(store))
    for url in seeds:
        if host_of(url) in blocked:
            raise BadInput(
                f"{host_of(url)} was forgotten at its owner's wish and is not crawled again: leave this seed out"
            )
    return blocked


def write_settings(directory: Path, settings: Settings) -> None:
    """Keep what is in force with the crawl: the old file or the new one, whole, whatever happens."""
    file = directory / "lycosa.toml"
    fresh = file.with_name(".lycosa.toml.new")
    fresh.write_text(config.show(settings))
    fresh.rename(file)


def read_seeds(normal: Normaliser, seeds: Sequence[str]) -> dict[str, str]:
    """Seeds as they are requested, and their normal forms."""
    found: dict[str, str] = {}
    for seed in seeds:
        text = seed.strip()
        if not text or text.startswith("#"):
            continue
        if _OTHER_SCHEME.match(text):
            raise BadInput(f"{text!r} cannot be crawled: a seed is an http or https URL")
        href = parse(text if "://" in text else f"https://{text}").partition("#")[0]
        if not is_web(href):
            raise BadInput(f"{text!r} cannot be crawled: a seed is an http or https URL")
        found[href] = normal.of_href(href)
    return found


def choose_processes(directory: Path, settings: Settings, named: Sequence[str]) -> int:
    """As many as the settings say, or the directory has; in a new one, what the seeds are worth."""
    wanted = settings.crawl.processes
    if wanted is not None:
        if wanted > _MOST_PROCESSES:
            raise BadSetting(f"crawl.processes cannot be {wanted}: {_MOST_PROCESSES} are the most, a core each is best")
        return wanted
    known = shards_of(directory)
    if known:
        return known
    cores = min(_MOST_PROCESSES, len(os.sched_getaffinity(0)))
    if settings.crawl.scope == "web":
        return cores
    seeds = read_seeds(Normaliser(settings.urls.tracking, settings.urls.session), named)
    hosts = {host_of(url) for url in seeds.values()}
    pages_per_s = len(hosts) / max(settings.polite.delay, _LEAST_TURN_S)
    return max(1, min(cores, math.ceil(pages_per_s / _PAGES_OF_A_PROCESS)))
