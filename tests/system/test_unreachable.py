"""Pages that cannot be had have an outcome that says why, also when it is robots.txt that could not be asked for."""

from __future__ import annotations

from pathlib import Path

import pytest
from crawling import NameServer, World, looking, lycosa, naming, outcomes, within
from test_hostile_crawl import BY_NAME, PACE, manners

from lycosa.sim.bestiary import unleash

HASTY = 60.0


@pytest.mark.parametrize(
    ("host", "came"),
    [
        ("missing.test", ("failed", "dns.nxdomain")),
        ("failing.test", ("parked", "dns.servfail")),
        ("silent.test", ("parked", "dns.timeout")),
        ("private.test", ("refused", "address.refused")),
    ],
)
def test_names_without_a_public_address(tmp_path: Path, host: str, came: tuple[str, str]) -> None:
    names = {"failing.test": [NameServer.SERVFAIL], "silent.test": [None], "private.test": [["10.0.0.1"]]}

    async def main() -> None:
        async with naming(NameServer(names)) as server:
            seed, world = f"http://{host}:8080/", World(server, HASTY)
            ended = await lycosa("crawl", seed, "--contact", "me@example.org", "--dir", str(tmp_path), world=world)
            assert ended.code == 0, ended.err
            assert outcomes(tmp_path)[seed] == came

    within(40, main)


@pytest.mark.parametrize(("name", "reason"), [("expired", "tls.certificate"), ("tls10-only", "tls.handshake")])
def test_hosts_without_good_tls(tmp_path: Path, name: str, reason: str) -> None:
    async def main() -> None:
        async with unleash([BY_NAME[name]], pace=PACE, first_address="127.0.73.1") as den:
            await lycosa(
                "crawl", den.url(name), *manners("127.0.0.0/8"), "--dir", str(tmp_path), world=World("", HASTY)
            )
            assert outcomes(tmp_path)[den.url(name)] == ("failed", reason)

    within(40, main)


def test_a_loop_of_two_redirects_ends_in_a_recorded_error(tmp_path: Path) -> None:
    async def main() -> None:
        async with unleash([BY_NAME["loop-2"]], pace=PACE, first_address="127.0.74.1") as den:
            await lycosa("crawl", den.url("loop-2"), *manners("127.0.0.0/8"), "--dir", str(tmp_path))
            assert ("redirected", "redirect.loop") in outcomes(tmp_path).values()

    within(40, main)


def test_an_endless_address_is_counted_as_a_trap(tmp_path: Path) -> None:
    async def main() -> None:
        async with unleash([BY_NAME["long-url"]], pace=PACE, first_address="127.0.75.1") as den:
            await lycosa("crawl", den.url("long-url"), *manners("127.0.0.0/8"), "--dir", str(tmp_path))
            with looking(tmp_path) as look:
                assert look.stats()["refused:trap.length"] == 1

    within(40, main)
