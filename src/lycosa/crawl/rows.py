"""What is kept on disk, row by row. Every row begins with the version of its format.

Rows are MessagePack arrays: fields may be added at the end with a default, and older rows still read; anything else
needs a new version and a migration.
"""

from __future__ import annotations

from typing import Literal, TypeVar

import msgspec

from lycosa.errors import LycosaError
from lycosa.web.politeness import Pace

FORMAT = 1
State = Literal["queued", "done", "parked", "dropped"]
Kind = Literal["page", "robots"]


class RowBroken(LycosaError):
    """A row that cannot be read: written by a newer version, or damaged."""


class UrlRow(msgspec.Struct, array_like=True):
    """All that is known of a URL. It is also the exact form of the set of URLs seen."""

    format: int
    url: str  # the normal form
    request: str  # the spelling that is requested, empty if it is the normal form
    state: State
    depth: int
    lane: int
    found_at: float
    found_on: bytes = b""  # the key of the page that linked here first
    hops: int = 0  # redirects that led here
    kind: Kind = "page"
    purpose: str = ""  # for kind robots: the origin whose rules this redirect holds
    outcome: str = ""
    reason: str = ""
    status: int = 0
    fetched_at: float = 0.0
    content_hash: bytes = b""
    content_type: str = ""
    size: int = 0
    etag: str = ""
    last_modified: str = ""
    failures: int = 0
    visits: int = 0
    next_at: float = 0.0
    redirect_to: str = ""
    canonical: str = ""
    alias_of: str = ""
    near_of: str = ""
    warc_file: str = ""
    warc_offset: int = 0
    warc_length: int = 0
    queue_key: bytes = b""


class HostRow(msgspec.Struct, array_like=True):
    """All that is remembered of a host: its clock, its pace, and how much waits for it."""

    format: int
    name: str
    pace: Pace = Pace()
    ready_at: float = 0.0
    queued: int = 0
    waiting_key: bytes = b""  # its place among the hosts that wait for their turn
    crawl_delay_s: float | None = None
    requests: int = 0
    answered: int = 0
    first_at: float = 0.0
    last_at: float = 0.0
    address: str = ""
    queue_from: bytes = b""  # nothing of its queue is before this


class RobotsRow(msgspec.Struct, array_like=True):
    """The rules of an origin, or why there are none yet."""

    format: int
    origin: str
    state: Literal["rules", "open", "closed"]  # closed: unreachable, so nothing may be fetched
    body: bytes = b""
    fetched_at: float = 0.0
    expires_at: float = 0.0
    retry_at: float = 0.0
    failures: int = 0
    ask_url: str = ""  # where a redirect on the same host leads
    hops: int = 0
    reason: str = ""
    etag: str = ""
    last_modified: str = ""


class LeaseRow(msgspec.Struct, array_like=True):
    """A request that is about to be sent: what a crash leaves behind."""

    format: int
    host: str
    url: str
    at: float
    kind: Kind = "page"


_Row = TypeVar("_Row", UrlRow, HostRow, RobotsRow, LeaseRow)
_encode = msgspec.msgpack.Encoder().encode
_BEFORE_URL = 4  # bytes of a UrlRow: three say how many fields there are, one the format
_decoders = {kind: msgspec.msgpack.Decoder(kind) for kind in (UrlRow, HostRow, RobotsRow, LeaseRow)}


def is_row_of(url: str, stored: bytes) -> bool:
    """Is this the row of a URL? Only looks at how it begins; False is no certain answer."""
    return stored.startswith(_encode(url), _BEFORE_URL)


def read_text(stored: bytes | None) -> str:
    """A value of `meta` that is text; empty if there is none."""
    try:
        return (stored or b"").decode()
    except UnicodeDecodeError as error:
        raise RowBroken(f"what is stored cannot be read ({error}): run lycosa verify") from None


def read_counts(stored: bytes | None) -> dict[str, int]:
    """A value of `meta` that is a table of counts."""
    try:
        return msgspec.msgpack.decode(stored, type=dict[str, int]) if stored else {}
    except msgspec.MsgspecError as error:
        raise RowBroken(f"the stored counts cannot be read ({error}): run lycosa verify") from None


def pack(row: msgspec.Struct) -> bytes:
    return _encode(row)


def unpack(data: bytes, kind: type[_Row]) -> _Row:
    try:
        row: _Row = _decoders[kind].decode(data)  # type: ignore[assignment]
    except msgspec.MsgspecError as error:
        raise RowBroken(f"a stored {kind.__name__} cannot be read ({error}): run lycosa verify") from None
    if row.format > FORMAT:
        raise RowBroken(
            "this crawl was written by a newer version of Lycosa: use that version, or start a new directory"
        )
    return row
