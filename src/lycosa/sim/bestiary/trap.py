"""Sites without end: pages that are well-formed, plausible, and never stop leading on."""

import re
from urllib.parse import parse_qsl, urlencode, urlsplit

from lycosa.sim.bestiary.beast import OK, Beast, Line, Serve, reply, write_links
from lycosa.sim.dice import Dice
from lycosa.sim.world import Request

WILD_SUFFIX = "wild.sim.test"
_FACETS, _VALUES = 12, 3
_LONG_URL = 100_000
_MANY_LINKS = 1_000_000
_DEEP = 100_000
_DICE = Dice("traps")


async def _calendar(line: Line, request: Request) -> None:
    asked = dict(parse_qsl(urlsplit(request.target).query)).get("month", "2024-01")
    year, _, month = asked.partition("-")
    place = int(year) * 12 + int(month) - 1 if year.isdigit() and month.isdigit() else 0
    near = (f"/cal?month={then // 12:04d}-{then % 12 + 1:02d}" for then in (place + 1, max(0, place - 1)))
    await reply(line, "200 OK", write_links(*near))


def _sessions(write: str) -> Serve:
    async def serve(line: Line, request: Request) -> None:
        stamp = f"{_DICE.number(line.base, request.target, line.turn):016x}"
        await reply(line, "200 OK", write_links(*(write.format(page=page, stamp=stamp) for page in range(5))))

    return serve


async def _facets(line: Line, request: Request) -> None:
    chosen = dict(parse_qsl(urlsplit(request.target).query))
    more = ({**chosen, f"f{n}": str(value)} for n in range(_FACETS) for value in range(_VALUES))
    await reply(line, "200 OK", write_links(*(f"/shop?{urlencode(query)}".replace("&", "&amp;") for query in more)))


async def _deep_path(line: Line, request: Request) -> None:
    await reply(line, "200 OK", write_links("a/", "a/b/"))


async def _long_url(line: Line, request: Request) -> None:
    await reply(line, "200 OK", write_links("/" + "long/" * (_LONG_URL // 5)))


async def _soft_404(line: Line, request: Request) -> None:
    near = (f"/{_DICE.number(request.target, n):x}.html" for n in range(20))
    sorry = b"<h1>Sorry</h1><p>We could not find what you were looking for.</p>"
    await reply(line, "200 OK", sorry + write_links(*near))


async def _wildcard(line: Line, request: Request) -> None:
    port = re.sub(r".*:", "", line.base)
    near = (f"http://{_DICE.number(request.host, n):x}.{WILD_SUFFIX}:{port}/" for n in range(10))
    await reply(line, "200 OK", write_links(*near))


async def _many_links(line: Line, request: Request) -> None:
    await line.send(OK + b"Connection: close\r\n\r\n<!DOCTYPE html>\n<title>All of them</title>\n")
    for start in range(0, _MANY_LINKS, 2000):
        await line.send(b"".join(b'<a href="/%d">%d</a>\n' % (n, n) for n in range(start, start + 2000)))


async def _deep_dom(line: Line, request: Request) -> None:
    await line.send(OK + b"Connection: close\r\n\r\n")
    for _ in range(_DEEP // 1000):
        await line.send(b"<div>" * 1000)
    await line.send(b"the bottom")


TRAP = (
    Beast(
        "calendar",
        "trap",
        "Has a page for every month there will ever be.",
        "A budget for the host, the depth or the pattern ends it.",
        _calendar,
    ),
    Beast(
        "session-id",
        "trap",
        "Writes a new session into every path.",
        "The session is left out of the URL, or the sameness of the pages is noticed.",
        _sessions("/page{page};jsessionid={stamp}"),
    ),
    Beast(
        "session-id-query",
        "trap",
        "Writes a new session into every query.",
        "The session is left out of the URL, or the sameness of the pages is noticed.",
        _sessions("/page{page}?PHPSESSID={stamp}"),
    ),
    Beast(
        "facets",
        "trap",
        "Offers every combination of twelve filters.",
        "A budget for query parameters ends it.",
        _facets,
    ),
    Beast(
        "deep-path",
        "trap",
        "Links one directory further down, for ever.",
        "Repeated segments and long paths are left alone.",
        _deep_path,
    ),
    Beast(
        "long-url",
        "trap",
        "Links to a URL of a hundred thousand characters.",
        "Too long, and not asked for.",
        _long_url,
    ),
    Beast(
        "soft-404",
        "trap",
        "Answers 200 to everything, and says sorry.",
        "The sameness is noticed, or a budget ends it.",
        _soft_404,
    ),
    Beast(
        "wildcard-dns",
        "trap",
        "Links to ever new names below one domain, all of which exist.",
        "A budget for the registered domain ends it.",
        _wildcard,
    ),
    Beast(
        "many-links",
        "trap",
        "Puts a million links on one page.",
        "Only so many are taken from a page.",
        _many_links,
    ),
    Beast(
        "deep-dom",
        "trap",
        "Opens a hundred thousand elements inside each other.",
        "Parsed in bounded time without running out of stack.",
        _deep_dom,
    ),
)
