"""What comes of every answer to robots.txt (RFC 9309 2.3.1, 2.4), shown by a whole crawl of hosts that give it.

Each case is a host at an address of its own with two pages, one of which its rules forbid, if they are read. All hosts
are crawled at once, on three days: a case may answer otherwise on the second and the third.
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import re
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, cast

import conformance
import pytest
from crawling import World, looking, lycosa, once, outcomes, within

from lycosa.sim.loopback import listen_all

DAYS = 3
DAY_S = 90_000.0  # an hour more than rules are good for
RULES = b"User-agent: *\nDisallow: /x\n"
ELSEWHERE = "127.0.60.1"  # where redirects to another host lead
METADATA = "http://169.254.169.254/robots.txt"
ENDLESS_MOST = 30_000_000  # on all days: what sockets hold is read by nobody


class Said(NamedTuple):
    """One answer to robots.txt."""

    status: int = 200
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    location: str = ""
    is_endless: bool = False
    trouble: str = ""  # instead of an answer: timeout, refused, nxdomain, tls, reset; after a part of it: stuck


class Came(NamedTuple):
    """What a day's crawl made of a host: free and forbidden page, asked for or not, and what is recorded of them."""

    free: str
    free_outcome: str
    ruled: str
    ruled_outcome: str


FETCHED = Came("asked", "fetched", "asked", "fetched")
RULED = Came("asked", "fetched", "left", "forbidden")
WAITING = Came("left", "parked", "left", "parked")
FAILED = Came("left", "failed", "left", "failed")  # and no try later will do better
REFUSED = Came("left", "refused", "left", "refused")


class Case(NamedTuple):
    name: str
    days: Sequence[Sequence[Said]]  # on a day, one answer after another, the last one again and again
    expected: Sequence[Came]  # a day
    ruled: str = "/x"
    most_robots: int = 7  # requests for it on one day
    least_robots: int = 1


def on_all_days(name: str, said: Sequence[Said], came: Came, **more: Any) -> Case:
    return Case(name, [said], [came], **more)


def in_a_row(count: int, last: Said) -> list[Said]:
    return [*(Said(302, location=f"/hop{n}") for n in range(count)), last]


OF_OUR_OWN = [
    on_all_days("no robots.txt at all", [Said(404)], FETCHED, most_robots=1),
    on_all_days("a password is wanted for it", [Said(401, b"<p>Who are you?</p>")], FETCHED, most_robots=1),
    on_all_days("asked too often", [Said(429, headers=(("Retry-After", "5"),))], WAITING, least_robots=2),
    on_all_days("the server fails", [Said(500)], WAITING, least_robots=2, most_robots=3),
    on_all_days("the server fails once", [Said(503), Said(200, RULES)], RULED, least_robots=2, most_robots=2),
    on_all_days("it never answers", [Said(trouble="timeout")], WAITING, least_robots=2, most_robots=3),
    on_all_days("nobody listens", [Said(trouble="refused")], WAITING, least_robots=0),
    on_all_days("it hangs up", [Said(trouble="reset")], WAITING, least_robots=2, most_robots=3),
    on_all_days("the name does not exist", [Said(trouble="nxdomain")], WAITING, least_robots=0),
    on_all_days("no TLS where it should be", [Said(trouble="tls")], FAILED, least_robots=0),
    on_all_days("three hops away", in_a_row(3, Said(200, RULES)), RULED, least_robots=4, most_robots=4),
    on_all_days("nine hops away", in_a_row(9, Said(200, RULES)), FETCHED, most_robots=6),
    on_all_days("redirected to no URL", [Said(301, location="http://[")], FETCHED, most_robots=1),
    on_all_days("on another host", [Said(307, location="//other.host/r"), Said(200, RULES)], RULED, least_robots=2),
    on_all_days("at the metadata address", [Said(302, location=METADATA)], REFUSED),
    on_all_days("for everybody else", [Said(200, b"User-agent: Other\nDisallow: /\n")], FETCHED),
    on_all_days("for us by name", [Said(200, b"User-agent: lycosa\nDisallow: /x\n")], RULED, most_robots=1),
    on_all_days("a page that says sorry", [Said(200, b"<!DOCTYPE html><h1>Sorry</h1>")], FETCHED),
    on_all_days("packed", [Said(200, gzip.compress(RULES), (("Content-Encoding", "gzip"),))], RULED),
    on_all_days("cut off in the middle", [Said(200, RULES, (("Content-Length", "999"),))], WAITING),
    Case("stuck in the middle", [[Said(200, RULES, trouble="stuck")], [Said(404)]], [WAITING], least_robots=2),
    on_all_days("without end", [Said(200, RULES, is_endless=True)], RULED, most_robots=1),
    on_all_days("created", [Said(201, RULES)], RULED),
    Case("rules, then an error, then none", [[Said(200, RULES)], [Said(500)], [Said(410)]], [RULED, RULED, FETCHED]),
    Case("none, then rules", [[Said(404)], [Said(200, RULES)]], [FETCHED, RULED, RULED]),
    Case("unchanged since yesterday", [[Said(200, RULES)], [Said(304)]], [RULED, RULED, RULED]),
]


# -- the cases of others -----------------------------------------------------------------------------------------------

# What we do about each thing they expect. Where they leave a choice: more than five redirects count as no file, 429 and
# a file that is not whole mean wait, and what lies behind 500 KiB does not count.
CHOSEN = {
    "allow_all": FETCHED,
    "allow_all_per_rfc_or_disallow_per_google": WAITING,
    "disallow_all_and_retry": WAITING,
    "rules_apply": RULED,
    "rules_apply_to_initial_host": RULED,
    "may_allow_all": FETCHED,
    "refuse_redirect": WAITING,
    "may_ignore_but_must_not_fail": FETCHED,
    "stop_at_limit_and_use_what_was_read": FETCHED,
    "rules_apply_or_unreachable": WAITING,
}
LASTING = {"net-tls": FAILED, "redir-private": REFUSED}  # waiting is no use


def of_others() -> list[Case]:
    return [_read_case(case) for case in conformance.cases("robots_http")]


def _read_case(case: dict[str, Any]) -> Case:
    said, expect = [_read_said(each) for each in case["robots_http"]], case["expect"]
    named = re.findall(rb"Disallow: (/\S+)", said[-1].body)
    ruled = named[-1].decode() if named else "/x"
    if expect == "scope_is_scheme_host_port":  # its other port is in a test of its own
        return Case(case["id"], [said], [Came("left", "forbidden", "left", "forbidden")])
    if expect in ("keep_cached_rules", "may_use_stale_copy"):
        return Case(case["id"], [[Said(200, RULES)], said], [RULED] * DAYS)
    if case["id"] == "flap":
        return Case(case["id"], [[each] for each in said], [RULED, RULED, FETCHED])
    retries = expect == "disallow_all_and_retry" and not said[0].trouble
    return Case(case["id"], [said], [LASTING.get(case["id"], CHOSEN[expect])], ruled, least_robots=2 if retries else 0)


def _read_said(said: dict[str, Any]) -> Said:
    headers = dict(said.get("headers", {}))
    body = said.get("body", "").encode()
    if "body_gzip" in said:
        body = gzip.compress(said["body_gzip"].encode())
    if "body_b64" in said:
        body = base64.b64decode(said["body_b64"])
    if "body_repeat" in said:
        body = "".join(text * times for text, times in said["body_repeat"]).encode()
    if "body_endless" in said:
        body = said["body_endless"].encode()
    return Said(
        said.get("status", 0),
        body,
        tuple(headers.items()),
        said.get("location", ""),
        "body_endless" in said,
        said.get("error", ""),
    )


# -- the web they live in ----------------------------------------------------------------------------------------------


class Host:
    """A case being served."""

    def __init__(self, case: Case, address: str) -> None:
        self.case, self.address = case, address
        self.port = self.day = 0
        self.asked: list[Counter[str]] = [Counter() for _ in range(DAYS)]
        self.robots: Counter[int] = Counter()  # by day
        self.sent_bytes = 0

    @property
    def trouble(self) -> str:
        return self.case.days[0][0].trouble

    @property
    def base(self) -> str:
        scheme = "https" if self.trouble == "tls" else "http"
        name = f"n{self.address.rpartition('.')[2]}.nowhere.test" if self.trouble == "nxdomain" else self.address
        return f"{scheme}://{name}:{self.port}"

    def pages(self, day: int) -> tuple[str, str]:
        """The free page and the one its rules may forbid."""
        return f"{self.base}/free-{day}", f"{self.base}{self.case.ruled}/{day}"

    def say(self) -> Said:
        answers = self.case.days[min(self.day, len(self.case.days) - 1)]
        self.robots[self.day] += 1
        return answers[min(self.robots[self.day] - 1, len(answers) - 1)]

    def came(self, day: int, recorded: dict[str, str]) -> Came:
        free, ruled = self.pages(day)
        paths = [url[len(self.base) :] for url in (free, ruled)]
        asked = ["asked" if self.asked[day][path] else "left" for path in paths]
        return Came(asked[0], recorded.get(free, "unknown"), asked[1], recorded.get(ruled, "unknown"))


class Hosts:
    """All of them, with the one where redirects to another host lead."""

    def __init__(self, cases: Sequence[Case], first: str) -> None:
        start = first.rpartition(".")[0]
        self.every = [Host(case, f"{start}.{n + 1}") for n, case in enumerate(cases)]
        self._by_address = {host.address: host for host in self.every}
        self._tasks: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        addresses = [ELSEWHERE, *(host.address for host in self.every if host.trouble != "refused")]
        sockets, port = listen_all(addresses)
        for host in self.every:
            host.port = port
        async with AsyncExitStack() as stack:
            for listener in sockets:
                await stack.enter_async_context(await asyncio.start_server(self._talk, sock=listener))
            try:
                yield
            finally:
                for task in self._tasks:
                    task.cancel()
                await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._tasks.add(cast("asyncio.Task[None]", asyncio.current_task()))
        with suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            if await reader.readexactly(1) == b"G":  # and not the hello of TLS
                head = await reader.readuntil(b"\r\n\r\n")
                await self._answer(writer, head.split(b" ")[1].decode())
            else:
                writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    async def _answer(self, writer: asyncio.StreamWriter, path: str) -> None:
        address = writer.get_extra_info("sockname")[0]
        if address == ELSEWHERE:  # the path names the host that sent us here
            address, path = path.strip("/"), "/robots.txt"
        host = self._by_address[address]
        if re.search(r"/(free-)?\d$", path):
            host.asked[host.day][path] += 1
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<p>hello</p>")
        else:
            await self._say(writer, host, host.say())
        await writer.drain()

    async def _say(self, writer: asyncio.StreamWriter, host: Host, said: Said) -> None:
        if said.trouble == "timeout":
            await asyncio.sleep(60)
        if said.trouble and said.trouble != "stuck":
            return
        lines = [
            f"HTTP/1.1 {said.status} Said",
            "Connection: close",
            *(f"{name}: {value}" for name, value in said.headers),
        ]
        if said.location:
            is_away = "//other" in said.location
            lines.append(f"Location: {f'http://{ELSEWHERE}:{host.port}/{host.address}' if is_away else said.location}")
        writer.write("\r\n".join([*lines, "\r\n"]).encode() + said.body)
        if said.trouble == "stuck":
            await asyncio.sleep(60)
        while said.is_endless:
            await writer.drain()
            writer.write(b"# and so on\n" * 1000)
            host.sent_bytes += 12_000


class Story(NamedTuple):
    hosts: dict[str, Host]
    recorded: list[dict[str, str]]  # outcomes by URL, a day


async def tell(cases: Sequence[Case], first: str, directory: Path) -> Story:
    """Crawl all hosts on three days."""
    hosts = Hosts(cases, first)
    recorded = []
    async with hosts.serving():
        for day in range(DAYS):
            pages = [page for host in hosts.every for page in host.pages(day)]
            for host in hosts.every:
                host.day = day
            ended = await lycosa(
                *("crawl", *pages, "--dir", str(directory), "--delay", "0s", "--json"),
                *("-s", 'polite.own_hosts=["127.0.0.0/8", "nowhere.test"]', "-s", "fetch.first_byte_timeout=0.3"),
                *("-s", "fetch.timeout=2s"),
                world=World(nameserver="127.0.0.1:1", times=60.0, ahead_s=day * DAY_S),
            )
            assert ended.summary["state"] == "finished"
            with looking(directory) as look:
                recorded.append({page: look.explain(page)["outcome"] for page in pages})
    return Story({host.case.name: host for host in hosts.every}, recorded)


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Story:
    return once(tmp_path_factory, "robots-ours", lambda folder: _told(OF_OUR_OWN, "127.0.61.0", folder))


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Story:
    return once(tmp_path_factory, "robots-others", lambda folder: _told(of_others(), "127.0.62.0", folder))


def _told(cases: Sequence[Case], first: str, directory: Path) -> Story:
    return asyncio.run(asyncio.wait_for(tell(cases, first, directory), 60))


def judge(story: Story, name: str) -> None:
    host = story.hosts[name]
    case = host.case
    came = [host.came(day, story.recorded[day]) for day in range(DAYS)]
    expected = [case.expected[min(day, len(case.expected) - 1)] for day in range(DAYS)]
    if case.expected[0] in (
        WAITING,
        FAILED,
        REFUSED,
    ):  # a host that failed all day yesterday is not asked so often today
        came, expected = came[:1], expected[:1]
    assert came == expected
    assert case.least_robots <= host.robots[0] <= case.most_robots
    assert host.sent_bytes < ENDLESS_MOST
    assert all(count == 1 for asked in host.asked for count in asked.values()), "a page was asked for twice"


@pytest.mark.parametrize("name", [case.name for case in OF_OUR_OWN])
def test_an_answer_to_robots_txt_leads_to_what_it_should(name: str, ours: Story) -> None:
    judge(ours, name)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "known_case" not in metafunc.fixturenames:
        return
    file = conformance.folder() / "robots_http.json"
    names: list[Any] = [case["id"] for case in conformance.cases("robots_http")] if file.is_file() else []
    missing = pytest.param("", marks=pytest.mark.skip(reason=f"no conformance data at {file}"))
    metafunc.parametrize("known_case", names or [missing])


def test_a_known_answer_to_robots_txt_leads_to_what_the_standard_says(known_case: str, others: Story) -> None:
    judge(others, known_case)


def test_the_rules_of_one_port_say_nothing_of_another(tmp_path: Path) -> None:
    async def main() -> None:
        closed, free = on_all_days("closed", [Said(200, b"User-agent: *\nDisallow: /\n")], WAITING), OF_OUR_OWN[0]
        one, two = Hosts([closed], "127.0.64.0"), Hosts([free], "127.0.64.0")
        async with one.serving(), two.serving():
            pages = [*one.every[0].pages(0), *two.every[0].pages(0)]
            own = 'polite.own_hosts=["127.0.0.0/8"]'
            await lycosa("crawl", *pages, "--dir", str(tmp_path / "crawl"), "--delay", "0s", "-s", own)
            assert [outcomes(tmp_path / "crawl")[page][0] for page in pages] == ["forbidden"] * 2 + ["fetched"] * 2
            assert (sum(one.every[0].asked[0].values()), sum(two.every[0].asked[0].values())) == (0, 2)

    within(30, main)
