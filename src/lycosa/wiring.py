"""Settings in, a running crawl out: the only module that knows every backend."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

import lycosa
from lycosa.backends import warc_check
from lycosa.backends.allocation import follow_growth, prepare_memory
from lycosa.backends.bodies import WarcBodies
from lycosa.backends.control import ControlServer
from lycosa.backends.directory_lock import locked
from lycosa.backends.dns import Resolver
from lycosa.backends.http import CurlFetcher, write_agent
from lycosa.backends.journal import Journal
from lycosa.backends.layout import (
    FEED,
    NOTES,
    RECORDS,
    SHARD,
    TABLES,
    WARCS,
    check_whole,
    shard_name,
    shards_of,
    warc_prefix,
)
from lycosa.backends.notes import NoteFiles
from lycosa.backends.open_files import allow_many_open_files
from lycosa.backends.parquet import ParquetTables
from lycosa.backends.records import Records
from lycosa.backends.rocks import RocksStore
from lycosa.backends.room import check_room, size_of
from lycosa.backends.steady import SteadyClock
from lycosa.backends.system import SystemClock
from lycosa.config import Settings
from lycosa.crawl.allowance import Limits
from lycosa.crawl.budget import PageBudget
from lycosa.crawl.claims import Claims
from lycosa.crawl.company import Company, Seat
from lycosa.crawl.feed import Feed, RequestRow, flushed_to, rows_of, settled_to
from lycosa.crawl.forget import blocked_hosts
from lycosa.crawl.frontier import Frontier
from lycosa.crawl.gate import AddressGate
from lycosa.crawl.inbox import Inbox
from lycosa.crawl.ingest import Ingest, Judges
from lycosa.crawl.lease import JOINED, Candidate
from lycosa.crawl.loop import Ended, Loop, Parts
from lycosa.crawl.manners import Manners
from lycosa.crawl.mend import MEND, Mend
from lycosa.crawl.processors import Processors
from lycosa.crawl.reopen import reopen
from lycosa.crawl.rows import read_text
from lycosa.crawl.rules import Rules
from lycosa.crawl.seen import Seen
from lycosa.crawl.together import TogetherStore
from lycosa.crawl.view import PageView
from lycosa.errors import BadInput
from lycosa.job import check_blocked, check_job, write_settings
from lycosa.model import Reply
from lycosa.ports import Gate
from lycosa.web.addresses import OwnHosts
from lycosa.web.hours import Hours
from lycosa.web.politeness import Override
from lycosa.web.scope import make_scope
from lycosa.web.traps import Patterns, TrapRules
from lycosa.web.url import Normaliser, host_of

_GROWTH_S = 1.0
_SYNC_S = 1.0
_ROOM_S = 2.0
_FLUSH_S = 60.0  # how long rows wait at most before they are in a file
_PUMP_S = 0.05  # how long what is for other shards waits for more of it
_CACHE_BYTES = 192 << 20  # of all shards together
OnPage = Callable[[PageView], Awaitable[None]]
OnReply = Callable[[Reply], None]
Linger = Callable[[Ended], Awaitable[None]]


class Crawl:
    """A crawl directory opened for crawling."""

    def __init__(
        self,
        directory: Path,
        settings: Settings,
        seeds: Sequence[str],
        on_page: OnPage | None = None,
        on_reply: OnReply | None = None,
        seat: Seat | None = None,
    ) -> None:
        """`seat` is that of a shard among others; without it all hosts are ours."""
        prepare_memory()
        allow_many_open_files()
        self.directory = directory
        self.settings = settings
        self.clock = SteadyClock() if seat is None else SteadyClock(seat.ahead_s)
        self._seat = seat
        self._shard = shard_name(seat.own) if seat is not None else SHARD
        self._began_at = self._flushed_at = self.clock.now()
        self._own = OwnHosts(settings.polite.own_hosts)
        self._agent = write_agent(settings.agent.name, lycosa.__version__, settings.agent.contact)
        self.seeds, processors = check_job(directory, settings, seeds)
        normal = Normaliser(settings.urls.tracking, settings.urls.session)
        directory.mkdir(parents=True, exist_ok=True)
        with contextlib.ExitStack() as opening:
            if seat is None:  # else the supervisor has the lock
                opening.enter_context(locked(directory))
                _check_undivided(directory)
            cache_bytes = _CACHE_BYTES // (seat.shards if seat else 1)
            self._rocks = RocksStore(directory / self._shard, cache_bytes=cache_bytes)
            opening.callback(self._rocks.close)
            self._store = TogetherStore(self._rocks)
            self._notes = NoteFiles(directory / self._shard / NOTES)
            opening.callback(self._notes.close)
            self._assemble(normal, processors, on_page, on_reply)
            self._open = opening.pop_all()  # what is closed last

    def _assemble(
        self, normal: Normaliser, processors: Processors, on_page: OnPage | None, on_reply: OnReply | None
    ) -> None:
        directory, settings = self.directory, self.settings
        known = read_text(self._store.get("meta", b"seeds")).splitlines()
        self.all_seeds = list(dict.fromkeys([*known, *self.seeds.values()]))
        self._check_blocked()
        company = self.company = Company(self._seat, self._store, self.clock) if self._seat is not None else None
        prefix = "lycosa" if self._seat is None else warc_prefix(self._seat.own)
        repaired = "" if company is None else f"{prefix}-"  # other files are being written, or were looked at before
        self.repaired = warc_check.repair(directory / WARCS, repaired) if (directory / WARCS).is_dir() else []
        self._bodies = WarcBodies(directory / WARCS, prefix, self._about())
        self.rules = Rules(self._store, settings.agent.name, blocked_hosts(self._store))
        self.manners = Manners(
            self._store, float(settings.polite.delay), self._own, Hours(settings.polite.hours), self.clock.now
        )
        seen, shares = Seen(self._store), company.shares if company is not None else None
        self.frontier = Frontier(
            self._store,
            self.rules,
            seen,
            PageBudget(self._store, settings.budget.domain_pages, settings.budget.host_pages, shares),
            capacity=settings.fetch.hosts,
            delay_of=self.manners.delay_of,
            open_at=self.manners.open_at,
            crawl_delay_of=self.manners.crawl_delay_of,
            outbox=company.outbox if company else None,
            notes=self._notes,
        )
        journal = Journal(directory / FEED, self._shard, settled_to(self._store))
        self.feed = Feed(self._rocks, journal, ParquetTables(directory / TABLES, self._shard))
        self._recover(journal)
        budget = settings.budget
        reopen(self._store, self.frontier, {"budget.domain": budget.domain_pages, "budget.host": budget.host_pages})
        suffix = "" if company is None else self._shard.removeprefix("shard")
        self._records = Records(directory / RECORDS, suffix) if processors else None
        judges = self._judges(normal, seen)
        ingest = Ingest(
            judges,
            Claims(self._store),
            self._bodies,
            processors,
            self._records,
            with_views=on_page is not None,
        )
        gate = AddressGate(self.clock, settings.polite.address_delay)
        passages: Gate = gate if company is None else company.share(gate)
        self._resolver = Resolver(
            now=SystemClock().now, nameservers=settings.network.nameservers, prefer=settings.network.prefer
        )
        self._fetcher = CurlFetcher(
            settings=settings.fetch,
            agent=self._agent,
            resolver=self._resolver,
            own=self._own,
            clock=self.clock,
            gate=passages,
            source=settings.network.source,
            ca_file=settings.network.ca_file or None,
            is_nameless=not settings.agent.contact,
        )
        parts = Parts(
            self.frontier,
            self.rules,
            ingest,
            self._fetcher,
            self.clock,
            passages,
            self.manners,
            self.feed,
            self._store.together,
            _log,
            on_page,
            on_reply,
            company,
        )
        rate: int | None = settings.network.max_rate
        rate = rate if rate is None or self._seat is None else max(1, rate // self._seat.shards)
        limits = Limits(settings.crawl.max_pages, settings.budget.day_pages, rate)
        self.loop = Loop(parts, slots=settings.fetch.slots, limits=limits, shares=shares)
        self._control = ControlServer(directory, self.answer) if company is None else None
        self._ending = asyncio.Event()
        if company is not None:
            company.attend(self.frontier, self.loop, judges.scope.join)
        else:
            inbox = Inbox(self._store, self.frontier.offer, self.loop.judge_rules, judges.scope.join)
            inbox.take_own(0, self.clock.now())

    def _recover(self, journal: Journal) -> None:
        """Requests that a crash interrupted are in the log of requests too: they were sent, as far as we know."""
        cut_off, told = self.frontier.interrupted(), self._store.get("meta", MEND)
        if told is not None:
            self._mend_all(float(told))
            self._store.write([("meta", MEND, None)])
        elif cut_off or self._store.get("meta", b"state") == b"running":
            self._mend(journal)
        self.frontier.recover(
            self.clock.now(),
            [
                self.feed.put(RequestRow(row.host, row.url, None, row.at, None, None, row.kind, "interrupted", 0, None))
                for row in cut_off
            ],
        )

    def _mend(self, journal: Journal) -> None:
        """After an unclean stop: was it a power cut, and did it take anything with it?"""
        fed, settled = flushed_to(self._store), settled_to(self._store)
        if journal.found < settled and fed < settled:
            self._mend_all(float(self._store.get("meta", b"synced") or 0))
        else:
            self._tell_lost(self._mender().urls(row["url"] for row in rows_of(journal.read(fed, settled), "pages")))

    def _mend_all(self, synced_at: float) -> None:
        self._tell_lost(self._mender().all(synced_at))

    def _mender(self) -> Mend:
        warcs = {path.name: path.stat().st_size for path in (self.directory / WARCS).glob("*.warc.gz")}
        outbox = self.company.outbox if self.company is not None else None
        return Mend(self._store, self.frontier, lambda name: warcs.get(name, 0), outbox)

    @staticmethod
    def _tell_lost(lost: int) -> None:
        if lost:
            logging.getLogger("lycosa").warning("%d pages were lost to a power cut and are fetched again", lost)

    def _check_blocked(self) -> None:
        blocked = check_blocked(self._store, self.seeds.values())
        self.all_seeds = [url for url in self.all_seeds if host_of(url) not in blocked]

    def _about(self) -> dict[str, str]:
        return {
            "software": f"Lycosa/{lycosa.__version__}",
            "http-header-from": self.settings.agent.contact,
            "robots": "obey",
        }

    def _judges(self, normal: Normaliser, seen: Seen) -> Judges:
        crawl, limits = self.settings.crawl, self.settings.traps
        blocked = [f"host:{host}" for host in blocked_hosts(self._store)]
        scope = make_scope(
            crawl.scope,
            self.all_seeds,
            crawl.include,
            [*crawl.exclude, *blocked],
            max_depth=crawl.max_depth,
            with_media=crawl.media,
        )
        for key, _ in self._store.scan("meta", JOINED, JOINED[:-1] + b";"):
            scope.join(key.removeprefix(JOINED).decode())
        traps = TrapRules(limits.max_length, limits.max_segments, limits.max_repeats, limits.max_parameters)
        year = datetime.datetime.now(datetime.UTC).year
        return Judges(self.settings.agent.name, normal, scope, traps, Patterns(), year, seen.recent.unmet)

    @property
    def stats(self) -> Counter[str]:
        return self.frontier.stats

    @property
    def active_hosts(self) -> int:
        return self.frontier.active_hosts

    async def run(self, progress: Callable[[Crawl], None], every_s: float, linger: Linger | None = None) -> Ended:
        """Crawl to the end; `progress` is called now and then, and nothing is closed before `linger` returns."""
        now = self.clock.now()
        seeds = [Candidate(url, 0, request) for request, url in self.seeds.items()]
        if self.company is not None:  # every shard is given all seeds, and takes its own
            seeds = [seed for seed in seeds if self.company.owns(host_of(seed.url))]
        self.frontier.offer(seeds, now)
        self._store.write([("meta", b"seeds", "\n".join(self.all_seeds).encode()), ("meta", b"state", b"running")])
        chores = [self._every(_SYNC_S, self._sync), self._every(every_s, self._report(progress))]
        chores.append(self._every(_GROWTH_S, self._follow_growth))
        if self.company is None:
            write_settings(self.directory, self.settings)
            chores.append(self._every(_ROOM_S, self._watch_room))
        else:
            chores.append(self._every(_PUMP_S, self.company.pump))
        if self._control is not None:
            await self._control.start()
        if self._seat is not None:
            await self._seat.exchange.start()
        tasks = [asyncio.create_task(chore) for chore in chores]
        try:
            ended = await self.loop.run()
            if linger is not None:
                await linger(ended)
            return ended
        finally:
            self._ending.set()
            await asyncio.gather(*tasks, return_exceptions=True)
            if self._control is not None:
                await self._control.aclose()
            if self.company is not None:
                await self.company.aclose()
            await self._fetcher.aclose()
            await self._resolver.aclose()

    async def _every(self, seconds: float, chore: Callable[[], Awaitable[None]]) -> None:
        """Do a chore again and again until the crawl ends; one under way is finished. Its failure ends the crawl."""
        while not self._ending.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), seconds)
            try:
                await chore()
            except Exception as error:
                self.loop.give_up(error)
                return

    async def _sync(self) -> None:
        """What was fetched survives a power cut after a second: bodies first, then the rows that point at them."""
        began = self.clock.now()
        is_time = self.feed.is_full or began - self._flushed_at > _FLUSH_S
        if is_time:
            self.feed.seal()  # before the bodies are synced that it tells of
            self._flushed_at = began
        await asyncio.to_thread(self._bodies.sync)
        if self._records is not None:
            await asyncio.to_thread(self._records.sync)
        await asyncio.to_thread(self.feed.sync)
        self._store.write([("meta", b"synced", str(began).encode())])
        await asyncio.to_thread(self._rocks.sync)  # another thread: what is held together is not its business
        if is_time:
            await asyncio.to_thread(self.feed.flush)

    async def _follow_growth(self) -> None:
        follow_growth()

    async def _watch_room(self) -> None:
        limits = self.settings.disk
        check_room(self.directory, limits.reserve)
        if limits.max_bytes is not None and await asyncio.to_thread(size_of, self.directory) >= limits.max_bytes:
            logging.getLogger("lycosa").warning("disk.max_bytes is used up: the crawl stops; a larger one goes on")
            self.loop.stop()

    def _report(self, progress: Callable[[Crawl], None]) -> Callable[[], Awaitable[None]]:
        async def report() -> None:
            progress(self)

        return report

    def answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        """What the control socket, or the supervisor, is asked for."""
        match asked.get("do"):
            case "override":
                host, wanted = str(asked.get("host", "")), asked.get("override")
                try:
                    override = msgspec.convert(wanted, Override) if wanted is not None else None
                except msgspec.ValidationError as error:
                    raise BadInput(f"this cannot hold for a host: {error}") from None
                known = self.frontier.peek(host)
                self.manners.override(host, override, known.crawl_delay_s if known is not None else None)
                return {"ok": True}
            case "stats":
                elapsed_s = self.clock.now() - self._began_at
                return {
                    "stats": dict(self.frontier.stats),
                    "active": self.frontier.active_hosts,
                    "elapsed_s": elapsed_s,
                }
            case other:
                raise BadInput(f"a running crawl knows nothing of {other!r}: it answers override and stats")

    def set_state(self, state: str, elapsed_s: float) -> None:
        self._store.write([("meta", b"state", state.encode()), ("meta", b"elapsed", str(elapsed_s).encode())])

    def close(self) -> None:
        """Finish what is written, and let go of the directory. A disk that is full keeps nothing from being closed."""
        with contextlib.ExitStack() as parts:
            parts.push(self._open)
            parts.callback(self._rocks.sync)
            parts.callback(self.feed.close)
            if self._records is not None:
                parts.callback(self._records.close)
            parts.callback(self._bodies.close)
            self.feed.seal()
            self.feed.flush()


def _check_undivided(directory: Path) -> None:
    check_whole(directory)
    if shards_of(directory) > 1:
        raise BadInput(
            f"the crawl in {directory} is divided over {shards_of(directory)} processes: go on with lycosa crawl, "
            "or bring it together with --processes 1"
        )


def _log(url: str, error: Exception) -> None:
    logging.getLogger("lycosa").error("%s: %s: %s", url, type(error).__name__, error, exc_info=error)
