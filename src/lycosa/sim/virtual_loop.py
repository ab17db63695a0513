"""Runs a coroutine on virtual time: whenever every task waits, the clock jumps to the next thing that is due.

Inside, `clock.sleep`, `asyncio.sleep`, `asyncio.timeout` and `loop.call_later` all follow the virtual clock.
The order of events depends on nothing outside the program, so a run is repeatable to the last step.

Never waits for real: a program in which all tasks wait for something that no timer will bring is an error at
once. No sockets here; tests with real sockets use an ordinary loop.
"""

import asyncio
import selectors
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

from lycosa.errors import LycosaError
from lycosa.sim.clock import VirtualClock

T = TypeVar("T")


class _JumpingSelector(selectors.BaseSelector):
    """Where a loop would block, time jumps instead."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self._real = selectors.DefaultSelector()  # the loop wakes itself through a socket pair

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._real.unregister(fileobj)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._real.get_map()

    def close(self) -> None:
        self._real.close()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = self._real.select(0)
        if ready or timeout == 0:
            return ready
        due_s = self._clock.next_due()
        if timeout is None and due_s is None:
            raise LycosaError("Every task waits and no timer is left: something awaits an event that never comes.")
        loop_due_s = None if timeout is None else self._clock.now() + timeout
        self._clock.advance(to=min(at for at in (due_s, loop_due_s) if at is not None))
        return []


class _VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self, clock: VirtualClock) -> None:
        super().__init__(_JumpingSelector(clock))
        self._virtual_clock = clock

    def time(self) -> float:
        return self._virtual_clock.now()


def run_virtual(clock: VirtualClock, main: Coroutine[Any, Any, T]) -> T:
    """Like `asyncio.run`, on the clock's time."""
    with asyncio.Runner(loop_factory=lambda: _VirtualLoop(clock)) as runner:
        return runner.run(main)
