"""Hosts whose robots.txt is the trouble (RFC 9309)."""

from lycosa.sim.bestiary.beast import Beast, Line, flood, reply, write_links
from lycosa.sim.world import Request

HUGE_BYTES = 500_000_000
_STARS = "*" * 16
LONG_PATH = "/" + "a/" * 2000 + "end.css"
_RULE = b"Disallow: /nothing/is/here/and/nothing/ever/was\n"


async def _page(line: Line, request: Request) -> None:
    await reply(line, "200 OK", write_links("/other"))


async def _huge(line: Line, request: Request) -> None:
    if request.target != "/robots.txt":
        await _page(line, request)
        return
    await line.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % HUGE_BYTES)
    await line.send(b"User-agent: *\nDisallow: /private/\n")
    await flood(line, _RULE * 400)


async def _circle(line: Line, request: Request) -> None:
    if request.target.partition("?")[0] != "/robots.txt":
        await _page(line, request)
        return
    hop = int("0" + request.target.partition("?hop=")[2])
    await reply(line, "302 Found", b"", f"Location: /robots.txt?hop={hop + 1}")


async def _flap(line: Line, request: Request) -> None:
    if request.target != "/robots.txt":
        await _page(line, request)
    elif line.turn % 3 == 0:
        await reply(line, "200 OK", b"User-agent: *\nDisallow: /private/\n")
    else:
        await reply(line, "503 Service Unavailable" if line.turn % 3 == 1 else "404 Not Found")


async def _silent(line: Line, request: Request) -> None:
    if request.target == "/robots.txt":
        await line.pause(line.pace.silence_s)
    else:
        await _page(line, request)


async def _regex_bomb(line: Line, request: Request) -> None:
    if request.target == "/robots.txt":
        rules = f"User-agent: *\nAllow: {_STARS}/****.js\nDisallow: /{'*a' * 40}*.js$\n"
        await reply(line, "200 OK", rules.encode())
    else:
        await reply(line, "200 OK", write_links(LONG_PATH))


ROBOTS = (
    Beast(
        "huge",
        "robots",
        "Has a robots.txt of half a gigabyte.",
        "The first 500 KiB or more are read and obeyed, and no more.",
        _huge,
        own_robots=True,
    ),
    Beast(
        "redirect-loop",
        "robots",
        "Redirects robots.txt for ever.",
        "Given up after five hops or a few more; as if there were none.",
        _circle,
        own_robots=True,
    ),
    Beast(
        "flap",
        "robots",
        "Has a robots.txt, then an error, then none, in turn.",
        "Every answer is taken as the standard says, for its time.",
        _flap,
        own_robots=True,
    ),
    Beast(
        "slow",
        "robots",
        "Never answers for robots.txt.",
        "Given up after a deadline; the host is left alone and other hosts go on.",
        _silent,
        own_robots=True,
    ),
    Beast(
        "regex-bomb",
        "robots",
        "Writes rules with so many wildcards that a backtracking matcher never ends.",
        "Matched in a time proportional to rule and path.",
        _regex_bomb,
        own_robots=True,
    ),
)
