"""`lycosa sim`: the simulated web, for trying things out without bothering anybody."""

from __future__ import annotations

import asyncio
import json
import signal

import click

from lycosa.cli.options import as_json
from lycosa.sim.plan import WorldPlan
from lycosa.sim.server import Serving, serve
from lycosa.sim.world import World

_SHOWN_SEEDS = 5


@click.group()
def sim() -> None:
    """A synthetic web on loopback addresses."""


@sim.command("serve")
@click.option("--hosts", type=click.IntRange(1, 8_000), default=20, show_default=True, help="How many hosts.")
@click.option(
    "--pages", type=click.IntRange(1, 100_000_000), default=400, show_default=True, help="Pages on all of them."
)
@click.option("--seed", type=int, default=1, show_default=True, help="The same seed gives the same bytes.")
@click.option("--port", type=click.IntRange(0, 65_535), default=8180, show_default=True, help="0 for any free one.")
@click.option(
    "--latency", type=click.FloatRange(0, 60), default=0.0, show_default=True, help="Times the latency of its hosts."
)
@as_json
def serve_world(hosts: int, pages: int, seed: int, port: int, latency: float, as_json: bool) -> None:
    """Serve a synthetic web until interrupted. Each host has an address of its own under 127.0.0.0/8."""
    world = World(WorldPlan(seed=seed, hosts=hosts, pages=pages))
    asyncio.run(_serve(world, port, latency, as_json))


async def _serve(world: World, port: int, latency: float, as_json: bool) -> None:
    async with serve(world, port, how=Serving(latency=latency, keep_log=False)) as served:
        seeds = served.seeds(world.atlas.plan.hosts)
        if as_json:
            click.echo(json.dumps({"port": served.port, "seeds": seeds}))
        else:
            click.echo(f"{len(seeds)} hosts on port {served.port}; stop with Ctrl-C")
            for seed in seeds[:_SHOWN_SEEDS]:
                click.echo(f"  {seed}")
            if len(seeds) > _SHOWN_SEEDS:
                click.echo(f"  … and {len(seeds) - _SHOWN_SEEDS} more (all with --json)")
        stopped = asyncio.Event()
        for sign in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(sign, stopped.set)
        await stopped.wait()
    if not as_json:
        click.echo(f"{served.requests} requests answered")
