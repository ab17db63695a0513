"""Many hosts on one address keep the address's gap, on virtual time."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from lycosa.crawl.gate import AddressGate
from lycosa.sim.clock import VirtualClock
from lycosa.sim.virtual_loop import run_virtual


async def visit(gate: AddressGate, clock: VirtualClock, address: str | None, times: list[tuple[float, float]]) -> None:
    async with gate.passage(address, 2.0):
        start = clock.now()
        await clock.sleep(0.3)
        times.append((start, clock.now()))


@pytest.mark.parametrize("addresses", [["192.0.2.1"] * 5, ["2001:db8::1", "2001:db8::2", "2001:db8::3"]])
def test_requests_to_one_address_or_one_network_of_ipv6_keep_the_gap(addresses: list[str]) -> None:
    clock, times = VirtualClock(), []

    async def run() -> None:
        gate = AddressGate(clock, 0.5)
        await asyncio.gather(*(visit(gate, clock, address, times) for address in addresses))

    run_virtual(clock, run())
    assert len(times) == len(addresses)
    gaps = [later[0] - earlier[1] for earlier, later in pairwise(times)]
    assert min(gaps) >= 0.5


def test_different_addresses_do_not_wait_for_each_other() -> None:
    clock, times = VirtualClock(), []

    async def run() -> None:
        gate = AddressGate(clock, 0.5)
        await asyncio.gather(*(visit(gate, clock, f"192.0.2.{number}", times) for number in range(5)))

    run_virtual(clock, run())
    assert {start for start, _ in times} == {clock.now() - 0.3}


def test_three_hosts_that_push_back_slow_the_address() -> None:
    clock, times = VirtualClock(), []

    async def run() -> None:
        gate = AddressGate(clock, 0.5)
        for host in ("a", "b", "c"):
            gate.pushed_back("192.0.2.1", host)
        for _ in range(2):
            await visit(gate, clock, "192.0.2.1", times)

    run_virtual(clock, run())
    assert times[1][0] - times[0][1] >= 1.0


def test_without_a_gap_nobody_waits() -> None:
    clock, times = VirtualClock(), []

    async def run() -> None:
        await asyncio.gather(*(visit(AddressGate(clock, 0.0), clock, "192.0.2.1", times) for _ in range(3)))

    run_virtual(clock, run())
    assert clock.now() == pytest.approx(times[0][1])


def test_whoever_is_not_wanted_any_more_leaves_the_line_at_once_and_holds_nobody_up() -> None:
    clock, sent = VirtualClock(), []
    gate = AddressGate(clock, 5.0)
    is_over = False

    async def ask(number: int) -> None:
        async with gate.passage("192.0.2.1", 5.0, lambda: is_over) as may_go:
            if may_go:
                sent.append(number)

    async def run() -> None:
        nonlocal is_over
        waiting = [asyncio.create_task(ask(number)) for number in range(20)]
        await clock.sleep(6.0)
        is_over = True
        await asyncio.gather(*waiting)

    run_virtual(clock, run())
    assert sent == [0]
    assert clock.now() < 7.0
