"""Status codes used wrongly, and ways of saying "not now" (RFC 9110 15, RFC 6585)."""

from email.utils import formatdate

from lycosa.sim.bestiary.beast import Beast, Line, Serve, flood, reply, say
from lycosa.sim.world import Request

DATE_OF_429 = 4_102_444_800  # 1 January 2100: later than any test runs
_INTERIM = (
    b"HTTP/1.1 100 Continue\r\n\r\n"
    b"HTTP/1.1 102 Processing\r\n\r\n"
    b"HTTP/1.1 103 Early Hints\r\nLink: </look.css>; rel=preload\r\n\r\n"
)


def _refuse(status: str, *headers: str) -> Serve:
    async def serve(line: Line, request: Request) -> None:
        await reply(line, status, b"<p>not now</p>", *headers)

    return serve


async def _interim(line: Line, request: Request) -> None:
    await flood(line, _INTERIM * 50)


async def _flap(line: Line, request: Request) -> None:
    if line.turn % 2 == 0:
        await reply(line, "503 Service Unavailable", b"<p>back soon</p>", "Retry-After: 1")
    else:
        await reply(line, "200 OK", b"<p>here again</p>")


STATUS = (
    Beast(
        "1xx-many",
        "status",
        "Sends interim answers for ever.",
        "Skipped, but only so many.",
        _interim,
    ),
    Beast(
        "204-body",
        "status",
        "Says there is no content, and sends some.",
        "The body does not count and the connection is not used again.",
        say(b"HTTP/1.1 204 No Content\r\nContent-Length: 12\r\n\r\n<p>hello</p>", keep=True),
    ),
    Beast(
        "304-cold",
        "status",
        "Says nothing has changed to somebody who has nothing.",
        "An error; not asked again at once.",
        say(b'HTTP/1.1 304 Not Modified\r\nETag: "x"\r\n\r\n', keep=True),
    ),
    Beast(
        "206-unasked",
        "status",
        "Sends a part that nobody asked for.",
        "Kept as a part, or not at all; never as the whole.",
        say(
            b"HTTP/1.1 206 Partial Content\r\nContent-Type: text/html\r\nContent-Range: bytes 0-11/5000\r\n"
            b"Content-Length: 12\r\n\r\n<p>hello</p>",
            keep=True,
        ),
    ),
    Beast(
        "401-auth",
        "status",
        "Asks for a password.",
        "Recorded; no second try.",
        _refuse("401 Unauthorized", 'WWW-Authenticate: Basic realm="den"'),
    ),
    Beast(
        "407-auth",
        "status",
        "Asks for a password like a proxy, without being one.",
        "Recorded; no second try.",
        _refuse("407 Proxy Authentication Required", 'Proxy-Authenticate: Basic realm="den"'),
    ),
    Beast(
        "429-seconds",
        "status",
        "Asks for two minutes of peace.",
        "The whole host is left alone that long.",
        _refuse("429 Too Many Requests", "Retry-After: 120"),
    ),
    Beast(
        "429-date",
        "status",
        "Asks for peace until a date.",
        "The date is understood, and limited.",
        _refuse("429 Too Many Requests", f"Retry-After: {formatdate(DATE_OF_429, usegmt=True)}"),
    ),
    *(
        Beast(
            f"429-garbage{suffix}",
            "status",
            f"Asks for peace with Retry-After: {value}.",
            "Ignored or limited; an ordinary pause at least.",
            _refuse("429 Too Many Requests", f"Retry-After: {value}"),
        )
        for suffix, value in (("", "soon"), ("-negative", "-5"), ("-huge", "1e9"))
    ),
    Beast(
        "503-flap",
        "status",
        "Is away every other time.",
        "The host is given a pause, and then comes back.",
        _flap,
    ),
)
