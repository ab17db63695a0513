"""Redirects that circle, grow, lack a target, or point where no crawler may go (RFC 9110 15.4).

The forbidden places are forms of the canary's address, so that a test can see whether anybody fell for them.
"""

import ipaddress
from collections.abc import Callable

from lycosa.sim.bestiary.beast import Beast, Line, Serve, reply, say
from lycosa.sim.world import Request


def _to(write: Callable[[Line, Request], str]) -> Serve:
    async def serve(line: Line, request: Request) -> None:
        await reply(line, "302 Found", b"", f"Location: {write(line, request)}")

    return serve


def _to_fixed(url: str) -> Serve:
    return _to(lambda line, request: url)


def _at_canary(spell: Callable[[int], str]) -> Serve:
    """Redirect to the canary, its address spelled from its number."""

    def write(line: Line, request: Request) -> str:
        address, _, port = line.canary.partition(":")
        return f"http://{spell(int(ipaddress.ip_address(address)))}:{port}/secret"

    return _to(write)


async def _cookie_wall(line: Line, request: Request) -> None:
    if "passed=1" in request.headers.get("cookie", ""):
        await reply(line, "200 OK", b"<p>welcome</p>")
    else:
        await reply(line, "302 Found", b"", f"Location: {request.target}", "Set-Cookie: passed=1")


_NEVER = "Never followed; recorded as a redirect to nowhere."
_REFUSED = "Refused on this hop as on the first, after all spellings are undone."

REDIRECT = (
    Beast(
        "loop-2",
        "redirect",
        "Sends A to B and B to A.",
        "Left after a few hops, and recorded.",
        _to(lambda line, request: "/b" if request.target != "/b" else "/a"),
    ),
    Beast(
        "loop-growing",
        "redirect",
        "Adds a parameter with every redirect.",
        "Left after a few hops.",
        _to(lambda line, request: f"{request.target}{'&' if '?' in request.target else '?'}more=1"),
    ),
    Beast(
        "loop-self-cookie",
        "redirect",
        "Redirects to itself until a cookie comes back.",
        "Allowed once if cookies are kept, else left.",
        _cookie_wall,
    ),
    Beast(
        "no-location",
        "redirect",
        "Redirects without saying where.",
        "Taken as the last answer.",
        say(b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n", keep=True),
    ),
    Beast(
        "dup-location",
        "redirect",
        "Redirects to two places at once.",
        "The first, or neither; the same every time.",
        say(b"HTTP/1.1 302 Found\r\nLocation: /one\r\nLocation: /two\r\nContent-Length: 0\r\n\r\n", keep=True),
    ),
    *(
        Beast(
            f"to-{name}",
            "redirect",
            f"Redirects to a {name}: URL.",
            _NEVER,
            _to_fixed(url),
        )
        for name, url in (
            ("file", "file:///etc/passwd"),
            ("gopher", "gopher://127.0.0.1:70/1"),
            ("data", "data:text/html,<p>made here</p>"),
            ("javascript", "javascript:alert(1)"),
        )
    ),
    *(
        Beast(
            f"to-loopback{suffix}",
            "redirect",
            f"Redirects to a loopback address, {how}.",
            _REFUSED,
            _at_canary(spell),
        )
        for suffix, how, spell in (
            ("", "plainly", lambda n: str(ipaddress.IPv4Address(n))),
            ("-v6", "that of IPv6", lambda n: "[::1]"),
            ("-zero", "as the unspecified one", lambda n: "0.0.0.0"),
            ("-decimal", "as one number", str),
            ("-hex", "in hexadecimal and two parts", lambda n: f"0x{n >> 24:x}.0x{n & 0xFFFFFF:x}"),
            ("-octal", "in octal", lambda n: ".".join(f"0{byte:o}" for byte in n.to_bytes(4, "big"))),
        )
    ),
    Beast(
        "to-metadata",
        "redirect",
        "Redirects to the address where clouds keep their secrets.",
        _REFUSED,
        _to_fixed("http://169.254.169.254/latest/meta-data/"),
    ),
    Beast(
        "to-metadata-v6",
        "redirect",
        "Redirects to the IPv6 address where clouds keep their secrets.",
        _REFUSED,
        _to_fixed("http://[fd00:ec2::254]/latest/meta-data/"),
    ),
    Beast(
        "mapped-v6",
        "redirect",
        "Redirects to an IPv4 loopback address dressed as IPv6.",
        _REFUSED,
        _at_canary(lambda n: f"[::ffff:{ipaddress.IPv4Address(n)}]"),
    ),
    Beast(
        "mapped-v6-nat64",
        "redirect",
        "Redirects to an IPv4 loopback address behind the NAT64 prefix.",
        _REFUSED,
        _at_canary(lambda n: f"[64:ff9b::{n >> 16:x}:{n & 0xFFFF:x}]"),
    ),
    Beast(
        "cross-robots",
        "redirect",
        "Redirects to another host, which forbids everything.",
        "That host's robots.txt is asked for first, and obeyed.",
        _to(lambda line, request: f"http://{line.canary}/away"),
    ),
)
