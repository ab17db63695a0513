"""What shards say to each other.

A *parcel* is what one settlement has for another shard: URLs of its hosts, rows of its ranges, answers it waits for. It
is kept in the outbox until the other shard has written it. Everything else is asked and answered, or told, and may be
lost with the connection: whoever asks says what then holds. Fields are added at the end, with defaults; anything else
needs another `VERSION`, and shards of different versions do not speak.
"""

from __future__ import annotations

import msgspec

from lycosa.crawl.lease import Candidate, RobotsAnswer
from lycosa.ports import Change

VERSION = 1


class Lost(msgspec.Struct, array_like=True, frozen=True):
    """A body that a power cut took: its claim no longer holds."""

    content_hash: bytes
    file: str
    offset: int


class Parcel(msgspec.Struct, array_like=True):
    urls: list[Candidate] = []
    rows: list[Change] = []  # claims, and hosts that joined the scope
    answers: list[RobotsAnswer] = []
    lost: list[Lost] = []


class Links(msgspec.Struct, array_like=True, tag="links", frozen=True):
    """Parcels of the outbox, up to number `last`."""

    last: int
    parcels: list[msgspec.Raw]


class Written(msgspec.Struct, array_like=True, tag="written", frozen=True):
    """Parcels up to number `last` are in the store of whoever says this."""

    last: int


class FirstWith(msgspec.Struct, array_like=True, tag="first", frozen=True):
    """Who was first with this body? The answer is a claim, or None: then the asker is, if it `keeps` the body."""

    content_hash: bytes
    keeps: bool


class Near(msgspec.Struct, array_like=True, tag="near", frozen=True):
    """Which earlier page has nearly this fingerprint, in these bands? The answer is its distance and key, or None."""

    fingerprint: int
    key: bytes
    bands: list[bytes]


class UrlAt(msgspec.Struct, array_like=True, tag="url", frozen=True):
    """Which URL has this key? The answer is its URL and the key of the page it was found on, or None."""

    key: bytes


class Enter(msgspec.Struct, array_like=True, tag="enter", frozen=True):
    """May this address be asked? Answered when it may: from then on the place is held until `Leave`."""

    place: int  # as the asker numbers its places
    address: str
    gap_s: float


class Leave(msgspec.Struct, array_like=True, tag="leave", frozen=True):
    place: int


class Holding(msgspec.Struct, array_like=True, tag="holding", frozen=True):
    """The first words on every connection: which of your addresses I am asking at this moment."""

    places: list[tuple[int, str, float]]


class PushedBack(msgspec.Struct, array_like=True, tag="pushed", frozen=True):
    """A host of this address answered 429 or 503."""

    address: str
    host: str


class Grant(msgspec.Struct, array_like=True, tag="grant", frozen=True):
    """Some pages of a budget of `total`, please. The answer is how many."""

    name: str
    total: int


class GiveBack(msgspec.Struct, array_like=True, tag="back", frozen=True):
    """Pages of a budget that are not needed here. The answer is True."""

    name: str
    pages: int


Message = (
    Links | Written | FirstWith | Near | UrlAt | Enter | Leave | Holding | PushedBack | Grant | GiveBack
)  # fmt: skip
