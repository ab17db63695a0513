"""Names of a world, with failures to order."""

import asyncio

import pytest

from lycosa.sim.clock import VirtualClock
from lycosa.sim.plan import WorldPlan
from lycosa.sim.resolver import DnsError, NoReplyError, NoSuchNameError, ServerFailedError, SimResolver
from lycosa.sim.virtual_loop import run_virtual
from lycosa.sim.world import World

WORLD = World(WorldPlan(hosts=10, shared_address_share=0.0))


def test_names_of_the_world_have_their_addresses_and_others_do_not_exist() -> None:
    async def run() -> None:
        resolver = SimResolver(WORLD)
        assert await resolver.resolve("h000003.sim.test") == ["127.32.0.4"]
        assert await resolver.resolve("H000003.SIM.test.") == ["127.32.0.4"]
        with pytest.raises(NoSuchNameError, match="NXDOMAIN"):
            await resolver.resolve("h000010.sim2.test")
        assert resolver.asked == {"h000003.sim.test": 2, "h000010.sim2.test": 1}

    asyncio.run(run())


def test_a_script_answers_in_turn_and_its_last_line_stays() -> None:
    async def run() -> None:
        scripts = {
            "flaky.test": [ServerFailedError, NoReplyError, ["127.0.41.1"]],
            "moving.test": [["203.0.113.5"], ["127.0.0.1"]],
            "many.test": [[f"127.0.41.{n}" for n in range(60)]],
        }
        resolver = SimResolver(scripts=scripts)
        for failure in (ServerFailedError, NoReplyError):
            with pytest.raises(failure):
                await resolver.resolve("flaky.test")
        assert [await resolver.resolve("flaky.test") for _ in range(2)] == [["127.0.41.1"]] * 2
        assert [await resolver.resolve("moving.test") for _ in range(3)] == [
            ["203.0.113.5"],
            *[["127.0.0.1"]] * 2,
        ]
        assert len(await resolver.resolve("many.test")) == 60

    asyncio.run(run())


def test_every_name_below_a_wild_suffix_exists() -> None:
    async def run() -> None:
        resolver = SimResolver(WORLD, wild={"wild.sim.test": "127.0.41.9"})
        assert await resolver.resolve("anything.at.all.wild.sim.test") == ["127.0.41.9"]
        with pytest.raises(DnsError):
            await resolver.resolve("wild.sim.test")

    asyncio.run(run())


def test_answers_take_virtual_time() -> None:
    clock = VirtualClock()
    resolver = SimResolver(WORLD, delay_s=2.5, sleep=clock.sleep)
    assert run_virtual(clock, resolver.resolve("h000000.sim.test")) == ["127.32.0.1"]
    assert clock.now() == 2.5
