"""Names to addresses for a simulated world, with failures to order and a count of every question.

A script gives a name its own answers, one a question, the last one for ever: lists of addresses, or failures.
So a name can be missing, fail once, or point somewhere else the second time. A wild suffix answers every name
below it.

Never asks a real name server; names that no world and no script knows do not exist.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence

from lycosa.errors import LycosaError
from lycosa.sim.world import World


class DnsError(LycosaError):
    """A question that got no addresses."""


class NoSuchNameError(DnsError):
    """NXDOMAIN: the name does not exist."""


class ServerFailedError(DnsError):
    """SERVFAIL: nobody knows for now."""


class NoReplyError(DnsError):
    """The question timed out."""


Reply = list[str] | type[DnsError]


class SimResolver:
    def __init__(
        self,
        world: World | None = None,
        scripts: Mapping[str, Sequence[Reply]] | None = None,
        wild: Mapping[str, str] | None = None,
        *,
        delay_s: float = 0.0,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._world, self._scripts, self._wild = world, dict(scripts or {}), dict(wild or {})
        self._delay_s, self._sleep = delay_s, sleep
        self.asked: Counter[str] = Counter()

    async def resolve(self, name: str) -> list[str]:
        name = name.lower().rstrip(".")
        turn = self.asked[name]
        self.asked[name] += 1
        if self._delay_s:
            await self._sleep(self._delay_s)
        reply = self._reply(name, turn)
        if isinstance(reply, list):
            return list(reply)
        raise reply(f"No address for {name}: {(reply.__doc__ or '').splitlines()[0]}")

    def _reply(self, name: str, turn: int) -> Reply:
        if script := self._scripts.get(name):
            return script[min(turn, len(script) - 1)]
        for suffix, address in self._wild.items():
            if name.endswith(f".{suffix}"):
                return [address]
        host = self._world.atlas.host_of(name) if self._world else None
        if self._world is None or host is None:
            return NoSuchNameError
        return [self._world.atlas.address(host)]
