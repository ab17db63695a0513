"""Settings in, a running crawl out: the only module that knows every backend."""

from __future__ import annotations

import asyncio
import datetime
import logging
from collections.abc import Callable, Sequence
from pathlib import Path

import lycosa
from lycosa import config
from lycosa.backends import warc_check
from lycosa.backends.bodies import WarcBodies
from lycosa.backends.dns import Resolver
from lycosa.backends.http import CurlFetcher, write_agent
from lycosa.backends.rocks import RocksStore
from lycosa.backends.steady import SteadyClock
from lycosa.backends.system import SystemClock, keep_freed_memory
from lycosa.config import Settings
from lycosa.crawl.budget import DomainBudget
from lycosa.crawl.claims import Claims
from lycosa.crawl.frontier import Frontier
from lycosa.crawl.gate import AddressGate
from lycosa.crawl.ingest import Ingest, Judges
from lycosa.crawl.lease import Candidate
from lycosa.crawl.loop import Ended, Loop, Parts
from lycosa.crawl.rules import Rules
from lycosa.crawl.seen import Seen
from lycosa.errors import BadInput, BadSetting
from lycosa.web.addresses import OwnHosts, Resolved
from lycosa.web.scope import make_scope
from lycosa.web.traps import Patterns, TrapRules
from lycosa.web.url import Normaliser, host_of, is_web, parse

_SYNC_S = 1.0
_DEFAULT_DELAY_S = 2.0
SHARD, WARCS = "shard-00", "warc"


class Crawl:
    """A crawl directory opened for crawling."""

    def __init__(self, directory: Path, settings: Settings, seeds: Sequence[str]) -> None:
        keep_freed_memory()
        self.directory = directory
        self.settings = settings
        self.clock = SteadyClock()
        self._own = OwnHosts(settings.polite.own_hosts)
        normal = Normaliser(settings.urls.tracking, settings.urls.session)
        self.seeds = read_seeds(normal, seeds)
        self._check_manners()
        directory.mkdir(parents=True, exist_ok=True)
        self._store = RocksStore(directory / SHARD)
        stored = self._store.get("meta", b"seeds")
        known = stored.decode().split("\n") if stored else []
        self.all_seeds = list(dict.fromkeys([*known, *self.seeds.values()]))
        self.repaired = warc_check.repair(directory / WARCS) if (directory / WARCS).is_dir() else []
        self._bodies = WarcBodies(directory / WARCS, "lycosa", self._about())
        self.rules = Rules(self._store, settings.agent.name)
        slots = settings.fetch.slots
        budget = DomainBudget(self._store, settings.budget.domain_pages)
        seen = Seen(self._store)
        self.frontier = Frontier(self._store, self.rules, seen, budget, capacity=3 * slots, delay_of=self.delay_of)
        self.was_killed = bool(self.frontier.interrupted())
        self.frontier.recover(self.clock.now())
        ingest = Ingest(self._judges(normal, seen), Claims(self._store), self._bodies)
        self._resolver = Resolver(now=SystemClock().now)
        self._fetcher = CurlFetcher(
            settings=settings.fetch,
            agent=write_agent(settings.agent.name, lycosa.__version__, settings.agent.contact),
            resolver=self._resolver,
            own=self._own,
            clock=SystemClock(),
        )
        gate = AddressGate(self.clock, settings.polite.address_delay)
        self._parts = Parts(
            self.frontier, self.rules, ingest, self._fetcher, self.clock, gate, self._address_of, self.delay_of, _log
        )
        self.loop: Loop | None = None

    def _check_manners(self) -> None:
        """Hosts of others are crawled only by those who say who they are."""
        if self.settings.agent.contact:
            return
        for url in self.seeds.values():
            if not self._own.covers(host_of(url), None):
                raise BadSetting(
                    f"{host_of(url)} is not one of polite.own_hosts, so its owner must be able to reach you: "
                    "give --contact URL"
                )

    def _about(self) -> dict[str, str]:
        return {
            "software": f"Lycosa/{lycosa.__version__}",
            "http-header-from": self.settings.agent.contact,
            "robots": "obey",
        }

    def _judges(self, normal: Normaliser, seen: Seen) -> Judges:
        crawl, limits = self.settings.crawl, self.settings.traps
        scope = make_scope(
            crawl.scope, self.all_seeds, crawl.include, crawl.exclude, max_depth=crawl.max_depth, with_media=crawl.media
        )
        traps = TrapRules(limits.max_length, limits.max_segments, limits.max_repeats, limits.max_parameters)
        year = datetime.datetime.now(datetime.UTC).year
        return Judges(self.settings.agent.name, normal, scope, traps, Patterns(), year, seen.was_met_lately)

    def delay_of(self, host: str) -> float:
        """The least gap of a host; below the floor only for own ones."""
        delay_s = float(self.settings.polite.delay)
        if delay_s >= config.FLOOR_DELAY_S or self._own.covers(host, None):
            return delay_s
        return _DEFAULT_DELAY_S

    async def _address_of(self, host: str) -> str | None:
        """The address a request to this host will go to, as far as can be said beforehand."""
        found = await self._resolver.resolve(host)
        addresses = self._fetcher.candidates(host, found.addresses) if isinstance(found, Resolved) else []
        return addresses[0] if addresses else None

    async def run(self, progress: Callable[[Crawl], None], every_s: float) -> Ended:
        """Crawl to the end; `progress` is called now and then."""
        crawl = self.settings.crawl
        self.loop = Loop(self._parts, slots=self.settings.fetch.slots, max_pages=crawl.max_pages)
        now = self.clock.now()
        self.frontier.offer([Candidate(url, 0, request) for request, url in self.seeds.items()], now)
        self._store.write([("meta", b"seeds", "\n".join(self.all_seeds).encode()), ("meta", b"state", b"running")])
        chores = [asyncio.create_task(self._sync()), asyncio.create_task(self._report(progress, every_s))]
        try:
            return await self.loop.run()
        finally:
            for chore in chores:
                chore.cancel()
            await asyncio.gather(*chores, return_exceptions=True)
            await self._fetcher.aclose()
            await self._resolver.aclose()

    async def _sync(self) -> None:
        """What was fetched survives a power cut after a second: bodies first, then the rows that point at them."""
        while True:
            await asyncio.sleep(_SYNC_S)
            await asyncio.to_thread(self._bodies.sync)
            await asyncio.to_thread(self._store.sync)

    async def _report(self, progress: Callable[[Crawl], None], every_s: float) -> None:
        while True:
            await asyncio.sleep(every_s)
            progress(self)

    def set_state(self, state: str, elapsed_s: float) -> None:
        self._store.write([("meta", b"state", state.encode()), ("meta", b"elapsed", str(elapsed_s).encode())])

    def close(self) -> None:
        self._bodies.sync()
        self._bodies.close()
        self._store.sync()
        self._store.close()


def _log(url: str, error: Exception) -> None:
    logging.getLogger("lycosa").error("%s: %s: %s", url, type(error).__name__, error, exc_info=error)


def read_seeds(normal: Normaliser, seeds: Sequence[str]) -> dict[str, str]:
    """Seeds as they are requested, and their normal forms."""
    found: dict[str, str] = {}
    for seed in seeds:
        text = seed.strip()
        if not text or text.startswith("#"):
            continue
        href = parse(text if "://" in text else f"https://{text}").partition("#")[0]
        if not is_web(href):
            raise BadInput(f"{text!r} cannot be crawled: a seed is an http or https URL")
        found[href] = normal.of_href(href)
    return found
