"""Virtual time: it moves only when told, and always in the same order."""

import asyncio

import pytest

from lycosa.errors import LycosaError
from lycosa.sim.clock import VirtualClock
from lycosa.sim.virtual_loop import run_virtual


def test_timers_run_in_order_of_time_then_of_setting() -> None:
    clock, seen = VirtualClock(), []
    for at, name in ((3, "c"), (1, "a"), (3, "d"), (2, "b")):
        clock.call_at(at, lambda name=name: seen.append((name, clock.now())))
    clock.advance(by=2.5)
    assert seen == [("a", 1), ("b", 2)]
    clock.advance(to=10)
    assert seen[2:] == [("c", 3), ("d", 3)]
    assert clock.now() == 10


def test_a_timer_set_by_a_timer_takes_its_place_in_the_same_advance() -> None:
    clock, seen = VirtualClock(), []
    clock.call_at(1, lambda: clock.call_at(2, lambda: seen.append("inner")))
    clock.call_at(3, lambda: seen.append("last"))
    clock.advance(to=5)
    assert seen == ["inner", "last"]


def test_a_cancelled_timer_does_not_run() -> None:
    clock, seen = VirtualClock(), []
    clock.call_at(1, lambda: seen.append("no")).cancel()
    assert clock.next_due() is None
    clock.advance(by=2)
    assert seen == []


def test_wall_time_moves_with_the_clock() -> None:
    clock = VirtualClock(start_s=5, wall_at_start_s=1_000)
    clock.advance(by=60)
    assert (clock.now(), clock.wall()) == (65, 1_060)


@pytest.mark.parametrize("wrong", [{"to": 1}, {"by": -1}, {}, {"by": 1, "to": 9}])
def test_the_clock_never_goes_back_and_wants_one_argument(wrong: dict[str, float]) -> None:
    with pytest.raises(LycosaError):
        VirtualClock(start_s=2).advance(**wrong)


def test_days_of_sleeping_take_no_time_and_every_wait_follows_the_clock() -> None:
    clock = VirtualClock()

    async def work() -> list[tuple[str, float]]:
        seen = []

        async def worker(name: str, pause_s: float) -> None:
            for _ in range(3):
                await clock.sleep(pause_s)
                seen.append((name, clock.now()))

        async with asyncio.TaskGroup() as group:
            group.create_task(worker("slow", 86_400))
            group.create_task(worker("fast", 3_600))
        await asyncio.sleep(1_000_000)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(10):
                await clock.sleep(11)
        return seen

    seen = run_virtual(clock, work())
    assert seen == sorted(seen, key=lambda step: step[1])
    assert len(seen) == 6
    assert clock.now() == 3 * 86_400 + 1_000_000 + 10


def test_waiting_for_what_never_comes_is_an_error_at_once() -> None:
    async def wait() -> None:
        await asyncio.Event().wait()

    with pytest.raises(LycosaError, match="never comes"):
        run_virtual(VirtualClock(), wait())
