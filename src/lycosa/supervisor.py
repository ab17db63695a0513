"""One crawl in several processes: starts a process for each shard, restarts those that die, and speaks for all.

A shard that dies is started again and resumes; one that dies again and again ends the crawl, and nothing that was
settled is lost. The crawl is finished when every shard is idle, nothing is on its way between them, and the same is
true a round later with nothing begun, sent or received in between. Stopping stops all, and waits for all.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import subprocess
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

from lycosa import config
from lycosa.backends import warc_check
from lycosa.backends.control import ControlServer
from lycosa.backends.directory_lock import locked
from lycosa.backends.layout import WARCS, check_whole, note_shards, shard_name, shards_of, warc_prefix
from lycosa.backends.orders import (
    Close,
    Failed,
    Finish,
    Line,
    Look,
    Order,
    Over,
    Request,
    Seeds,
    Sight,
    Start,
    Stop,
    Told,
)
from lycosa.backends.rocks import StoreBusy, is_in_use
from lycosa.backends.room import check_room, size_of
from lycosa.backends.sharded import add_counts
from lycosa.backends.steady import SteadyClock
from lycosa.backends.system import cpu_of
from lycosa.births import Birth, Process, bear, spawn
from lycosa.config import Settings
from lycosa.crawl.loop import Ended
from lycosa.errors import BadInput, DiskFull, LycosaError
from lycosa.job import check_job, write_settings
from lycosa.kit.keys import host_key, owner_of
from lycosa.regrant import is_lowered, regrant

_ROUND_S, _QUIET_ROUND_S = 0.5, 0.1  # with work to do, and without
_ROOM_S = 2.0
_SEEDS_AT_ONCE = 1_000
_MOST_DEATHS, _WITHIN_S = 5, 60.0  # of one shard
_LAST_WORDS_S = 30.0  # from closing its socket to the end of its process
_ORPHANS_S = 15.0  # how long shards of a killed crawl may take to stop
_PATIENCE_S = 8.0
_MOST_SILENT = 15  # rounds without an answer: two minutes, long enough for any disk


class ShardsDie(LycosaError):
    """A shard dies whenever it is started."""


class _Shard:
    """A shard as the supervisor sees it."""

    def __init__(self, own: int) -> None:
        self.own = own
        self.birth: Birth | None = None  # started, and not told what to do
        self.line: Line | None = None
        self.process: Process | None = None
        self.stats: dict[str, int] | None = None  # as it told last
        self.sight: Sight | None = None
        self.silent = 0  # rounds since it answered last
        self.mute = 0  # lives in a row without a word
        self._cpu: int | None = None
        self.over: str | None = None
        self.deaths: deque[float] = deque(maxlen=_MOST_DEATHS)

    def send(self, order: Order) -> None:
        if self.line is not None:
            self.line.send(order)

    def is_at_work(self) -> bool:
        """Has it used the CPU since this was asked last?"""
        before, self._cpu = self._cpu, cpu_of(self.process.pid) if self.process is not None else None
        return self._cpu is None or self._cpu != before


class Supervisor:
    """A crawl directory opened for crawling with several processes. `with` it, they are started and ended."""

    def __init__(self, directory: Path, settings: Settings, seeds: Sequence[str], shards: int) -> None:
        self.directory = directory
        self.settings = settings
        check_job(directory, settings, seeds)
        directory.mkdir(parents=True, exist_ok=True)
        self._seeds = list(seeds)
        self._clock = SteadyClock()
        self._began_at = self._clock.now()
        self._token = secrets.token_hex(16)
        self._shards = [_Shard(own) for own in range(shards)]
        self._lock = contextlib.ExitStack()
        self._phase = "crawling"
        self._obstacle: LycosaError | None = None
        self._numbers = 0
        self._asked: dict[int, asyncio.Future[Told]] = {}
        self._round = 0
        self._last_round: list[int] | None = None
        self._spent: list[str] = []  # budgets, when the crawl is finishing
        self._stirred = asyncio.Event()
        self.active_hosts = 0
        self.remember(Counter(), 0.0)

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as locking:
            locking.enter_context(locked(self.directory))
            check_whole(self.directory)
            if shards_of(self.directory) not in (0, len(self._shards)):
                raise StoreBusy(f"{self.directory} was divided anew by another process: run the same command again")
            self._lock = locking.pop_all()
        # What modules of the user have opened is not to be had twice: with those, every shard loads its own.
        births = bear(len(self._shards), may_copy=not self.settings.crawl.processors)
        for shard, birth in zip(self._shards, births, strict=True):
            shard.birth = birth
        return self

    def __exit__(self, *_: object) -> None:
        for shard in self._shards:  # whatever happened, nobody is left behind
            process = shard.birth[0] if shard.birth is not None else shard.process
            if process is not None and process.poll() is None:
                process.kill()
                process.wait()
        self._lock.close()

    @property
    def stats(self) -> Counter[str]:
        """The counts of all shards."""
        told = [shard.stats for shard in self._shards if shard.stats is not None]
        return add_counts(told) if len(told) == len(self._shards) else self._before

    def stop(self) -> None:
        """Start nothing more; `run` returns when all that is under way is settled."""
        if self._phase != "closing":
            self._phase = "stopping"
            self._send_all(Stop())
        self._stirred.set()

    def remember(self, stats: Counter[str], elapsed_s: float) -> None:
        """What earlier runs counted, and how long they took."""
        self._before, self._before_s = stats, elapsed_s

    async def run(self, progress: Callable[[Supervisor], None], every_s: float) -> Ended:
        """Crawl to the end; `progress` is called now and then."""
        await self._await_orphans()
        self._prepare()
        control = ControlServer(self.directory, self._answer)
        await control.start()
        keepers = [asyncio.create_task(self._keep(shard)) for shard in self._shards]
        watch = asyncio.create_task(self._watch(progress, every_s))
        try:
            await self._until_over(keepers, watch)
            ended: Ended = "finished" if all(each.over == "finished" for each in self._shards) else "stopped"
            self._phase = "closing"
            elapsed_s = self._clock.now() - self._began_at
            self._send_all(Close(ended, self._before_s + elapsed_s))
            while (await asyncio.wait(keepers, timeout=_PATIENCE_S))[1]:
                self._end_silent()
            await asyncio.gather(*keepers)
        finally:
            watch.cancel()
            for keeper in keepers:
                keeper.cancel()
            await asyncio.gather(*keepers, watch, return_exceptions=True)
            await control.aclose()
        if self._obstacle is not None:
            raise self._obstacle
        return ended

    def _prepare(self) -> None:
        stored = self.directory / "lycosa.toml"
        if stored.exists() and is_lowered(config.load(stored), self.settings):
            regrant(self.directory)
        note_shards(self.directory, len(self._shards))
        write_settings(self.directory, self.settings)
        if (self.directory / WARCS).is_dir():
            # Each shard looks after its own files; these are of shards that are no more.
            warc_check.repair(self.directory / WARCS, "", [warc_prefix(each.own) for each in self._shards])

    async def _await_orphans(self) -> None:
        """Shards whose supervisor was killed stop by themselves; until then their stores are theirs."""
        until = time.monotonic() + (_ORPHANS_S if shards_of(self.directory) > 1 else 0.0)
        while any(is_in_use(self.directory / shard_name(each.own)) for each in self._shards):
            if time.monotonic() > until:
                raise StoreBusy(f"{self.directory} is in use by another crawl: wait for it or stop it first")
            await asyncio.sleep(_ROUND_S)

    # -- processes -----------------------------------------------------------------------------------------------------

    async def _keep(self, shard: _Shard) -> None:
        """Keep a shard alive until it is over."""
        while True:
            await self._live(shard)
            self._stirred.set()
            if self._phase in ("closing", "stopping"):
                shard.over = shard.over or "stopped"
                return
            shard.over = None
            shard.deaths.append(time.monotonic())
            often = len(shard.deaths) == _MOST_DEATHS and shard.deaths[-1] - shard.deaths[0] < _WITHIN_S
            if often or shard.mute >= _MOST_DEATHS:
                how = "times within a minute" if often else "times before it had begun"
                self._give_up(
                    shard,
                    ShardsDie(
                        f"a process of this crawl (shard {shard.own}) has died {_MOST_DEATHS} {how}: "
                        "what it said is above; nothing is lost, and the same command goes on"
                    ),
                )
                return
            logging.getLogger("lycosa").warning("shard %d has died and is started again", shard.own)
            await asyncio.sleep(0.1 * 2 ** len(shard.deaths) - 0.2)
            if self._phase == "stopping":
                shard.over = "stopped"
                return

    async def _live(self, shard: _Shard) -> None:
        """One life of a shard."""
        shard.process, ours = shard.birth or spawn()
        shard.birth = None
        shard.mute += 1  # until it says something
        shard.line = line = await Line.on(ours)
        seeds = self._seeds
        line.send(
            Start(str(self.directory), shard.own, len(self._shards), self._token, self._clock.ahead_s, len(seeds))
        )
        for at in range(0, len(seeds), _SEEDS_AT_ONCE):
            line.send(Seeds(seeds[at : at + _SEEDS_AT_ONCE]))
        if self._phase == "stopping":
            line.send(Stop())
        elif self._phase == "finishing":
            line.send(Finish(self._spent))
        try:
            while (report := await line.receive()) is not None:
                self._take(shard, report)
        finally:
            shard.line, shard.sight, shard.silent = None, None, 0
            line.close()
        await asyncio.to_thread(_reap, shard.process)

    def _take(self, shard: _Shard, report: Any) -> None:
        match report:
            case Sight():
                shard.sight, shard.stats, shard.mute = report, report.stats, 0
                self._stirred.set()
            case Over(ended, stats):
                shard.over, shard.stats = ended, stats
                self._stirred.set()
            case Told(number):
                asked = self._asked.pop(number, None)
                if asked is not None and not asked.done():
                    asked.set_result(report)
            case Failed(sentence, is_full):
                self._give_up(shard, DiskFull(sentence) if is_full else LycosaError(sentence))

    def _give_up(self, shard: _Shard, obstacle: LycosaError) -> None:
        self._obstacle = self._obstacle or obstacle
        shard.over = "stopped"
        self.stop()

    def _send_all(self, order: Order) -> None:
        for shard in self._shards:
            shard.send(order)

    # -- the whole crawl -----------------------------------------------------------------------------------------------

    async def _until_over(self, keepers: Sequence[asyncio.Task[None]], watch: asyncio.Task[None]) -> None:
        """Look at all shards, round after round, until each of them has ended."""
        while not all(shard.over for shard in self._shards):
            for task in (*keepers, watch):
                if task.done() and not task.cancelled() and task.exception() is not None:
                    raise task.exception()  # type: ignore[misc]
            self._round += 1
            self._send_all(Look(self._round))
            await self._sights()
            self._end_silent()
            if self._phase == "crawling" and self._is_quiet():
                self._phase = "finishing"
                sights = [shard.sight for shard in self._shards if shard.sight is not None]
                self._spent = sorted({name for sight in sights for name in sight.spent})
                self._send_all(Finish(self._spent))
            await asyncio.sleep(_ROUND_S if self._last_round is None else _QUIET_ROUND_S)

    async def _sights(self) -> None:
        """Wait until all shards have told how it goes, or for a while."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE_S):
                while not all(self._has_told(shard) for shard in self._shards):
                    self._stirred.clear()
                    await self._stirred.wait()
        self.active_hosts = sum(shard.sight.active for shard in self._shards if shard.sight is not None)

    def _end_silent(self) -> None:
        """A shard that hangs is as good as dead: it is ended, and started again if there is anything left to do."""
        for shard in self._shards:
            shard.silent = shard.silent + 1 if self._is_silent(shard) else 0
            if shard.silent >= _MOST_SILENT and shard.process is not None and shard.line is not None:
                logging.getLogger("lycosa").warning("shard %d does not answer any more and is ended", shard.own)
                shard.process.kill()
                shard.line.close()  # a process that it has started may still hold the other end

    def _is_silent(self, shard: _Shard) -> bool:
        if shard.line is None:
            return False
        is_closing = self._phase == "closing"
        if not is_closing and self._has_told(shard):
            return False
        if is_closing or self._phase == "finishing" or shard.sight is None:
            return not shard.is_at_work()  # to open, to park and to close take their time if there are many URLs
        return True

    def _has_told(self, shard: _Shard) -> bool:
        if shard.over is not None or shard.line is None:
            return True
        return shard.sight is not None and shard.sight.round == self._round

    def _is_quiet(self) -> bool:
        """Was everybody idle in this round and in the last one, with nothing in between?"""
        sights = [shard.sight for shard in self._shards]
        is_idle = all(sight is not None and sight.round == self._round and sight.is_idle for sight in sights)
        activity = [sight.activity for sight in sights if sight is not None] if is_idle else None
        is_quiet = activity is not None and activity == self._last_round
        self._last_round = activity
        return is_quiet

    async def _watch(self, progress: Callable[[Supervisor], None], every_s: float) -> None:
        """Show how it goes, and see that there is room."""
        limits, shown_at, looked_at = self.settings.disk, time.monotonic(), 0.0
        while True:
            await asyncio.sleep(min(every_s, _ROOM_S))
            if time.monotonic() - shown_at >= every_s:
                shown_at = time.monotonic()
                progress(self)
            if time.monotonic() - looked_at < _ROOM_S:
                continue
            looked_at = time.monotonic()
            try:
                check_room(self.directory, limits.reserve)
            except DiskFull as obstacle:
                self._obstacle = self._obstacle or obstacle
                self.stop()
            if limits.max_bytes is not None and await asyncio.to_thread(size_of, self.directory) >= limits.max_bytes:
                logging.getLogger("lycosa").warning("disk.max_bytes is used up: the crawl stops; a larger one goes on")
                self.stop()

    # -- control -------------------------------------------------------------------------------------------------------

    async def _answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        match asked.get("do"):
            case "override":
                owner = owner_of(host_key(str(asked.get("host", ""))), len(self._shards))
                return await self._request(self._shards[owner], asked)
            case "stats":
                elapsed_s = self._clock.now() - self._began_at
                return {"stats": dict(self.stats), "active": self.active_hosts, "elapsed_s": elapsed_s}
            case other:
                raise BadInput(f"a running crawl knows nothing of {other!r}: it answers override and stats")

    async def _request(self, shard: _Shard, asked: dict[str, Any]) -> dict[str, Any]:
        self._numbers += 1
        number = self._numbers
        future: asyncio.Future[Told] = asyncio.get_running_loop().create_future()
        self._asked[number] = future
        shard.send(Request(number, asked))
        try:
            async with asyncio.timeout(_PATIENCE_S):
                told = await future
        except TimeoutError:
            raise BadInput("the process that crawls this host does not answer: try again") from None
        finally:
            self._asked.pop(number, None)
        if told.error:
            raise BadInput(told.error)
        return told.answer


def _reap(process: Process) -> None:
    try:
        process.wait(_LAST_WORDS_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
