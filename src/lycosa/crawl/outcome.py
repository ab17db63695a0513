"""What came of a visit, as a value. Every kind is counted, listed and documented in docs/outcomes.md.

Fetched      200: a page
Unchanged    304 to a conditional request
Moved        a redirect; its target is a task of its own
Gone         404 or 410
Forbidden    robots.txt does not allow it; nothing was requested
Refused      scope, a trap or an address that is not for us; nothing was requested
Failed       everything else, with a reason; tried again unless that is pointless
"""

from __future__ import annotations

import msgspec

from lycosa.errors import BadUrl
from lycosa.model import REFUSED, Reply, Response, Trouble
from lycosa.web.headers import read_retry_after
from lycosa.web.politeness import PUSHED_BACK
from lycosa.web.url import is_web, parse


class Fetched(msgspec.Struct, frozen=True):
    response: Response


class Unchanged(msgspec.Struct, frozen=True):
    response: Response


class Moved(msgspec.Struct, frozen=True):
    response: Response
    target: str


class Gone(msgspec.Struct, frozen=True):
    response: Response


class Forbidden(msgspec.Struct, frozen=True):
    reason: str = "robots"


class Refused(msgspec.Struct, frozen=True):
    reason: str


class Failed(msgspec.Struct, frozen=True):
    reason: str
    response: Response | None = None
    is_lasting: bool = False
    pushed_back: bool = False
    retry_after_s: float | None = None


Outcome = Fetched | Unchanged | Moved | Gone | Forbidden | Refused | Failed


def judge(reply: Reply, asked_if_changed: bool) -> Outcome:
    """The outcome of a page's request."""
    if isinstance(reply, Trouble):
        if reply.kind in REFUSED:
            return Refused(reply.kind)
        return Failed(reply.kind, is_lasting=reply.is_lasting)
    status = reply.status
    if status == 200:
        if reply.truncated in ("time", "disconnect"):
            return Failed(f"truncated.{reply.truncated}", reply)
        return Fetched(reply)
    if status in (404, 410):
        return Gone(reply)
    if status == 304:
        return Unchanged(reply) if asked_if_changed else Failed("status.304", reply, is_lasting=True)
    if status in (301, 302, 303, 307, 308):
        return _moved(reply)
    if status in PUSHED_BACK:
        wait_s = read_retry_after(reply.headers.get("retry-after"), reply.started_at)
        return Failed(f"status.{status}", reply, pushed_back=True, retry_after_s=wait_s)
    return Failed(f"status.{status}", reply, is_lasting=not 500 <= status < 600)


def _moved(response: Response) -> Outcome:
    location = response.headers.get("location")
    if not location:
        return Failed("redirect.no_location", response, is_lasting=True)
    try:
        target = parse(location, response.url).partition("#")[0]
    except BadUrl:
        return Failed("redirect.bad_location", response, is_lasting=True)
    if not is_web(target):
        return Failed("redirect.bad_scheme", response, is_lasting=True)
    return Moved(response, target)


def name_of(outcome: Outcome) -> str:
    """The name under which it is counted and shown."""
    names = {Fetched: "fetched", Unchanged: "unchanged", Moved: "redirected", Gone: "gone"}
    names |= {Forbidden: "forbidden", Refused: "refused", Failed: "failed"}
    return names[type(outcome)]
