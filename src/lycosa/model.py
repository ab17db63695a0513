"""The values that cross boundaries: what is asked, what comes back, and where it was put."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from lycosa.web.headers import Headers


class Timings(msgspec.Struct, frozen=True):
    """Seconds since the request began, phase by phase; 0 for a phase that did not happen."""

    resolve_s: float = 0.0
    connect_s: float = 0.0
    tls_s: float = 0.0
    first_byte_s: float = 0.0
    total_s: float = 0.0


def _never() -> bool:
    return False


class Ask(msgspec.Struct, frozen=True):
    """One GET request. `url` is absolute, WHATWG-serialised and without fragment."""

    url: str
    headers: tuple[tuple[str, str], ...] = ()  # beside the crawler's own: conditional requests
    max_body: int | None = None  # a smaller cap than the configured one (robots.txt)
    gap_s: float = 0.0  # the least gap of the host: what the gap of its address never exceeds
    is_withdrawn: Callable[[], bool] = _never  # asked again and again while the address is waited for


class Response(msgspec.Struct, frozen=True):
    """An answer with a status line, whatever the status."""

    url: str
    status: int
    reason: str
    version: str  # "1.0", "1.1" or "2"
    headers: Headers
    request_head: bytes  # as sent
    head: bytes  # as received: status line, header lines, empty line
    payload: bytes  # the body without transfer coding, with content coding: what a WARC keeps
    body: bytes  # the body without any coding: what is hashed and read
    truncated: str  # "" or why it is not whole: "length", "time", "disconnect"
    address: str
    started_at: float  # Unix time
    timings: Timings


class Trouble(msgspec.Struct, frozen=True):
    """No answer, and why. `kind` is one of `TROUBLES`."""

    url: str
    kind: str
    detail: str
    address: str | None  # the address that was tried; None if none was
    started_at: float
    timings: Timings

    @property
    def is_lasting(self) -> bool:
        """Is trying again soon pointless?"""
        return TROUBLES[self.kind]


# Every kind of trouble, and whether it lasts.
TROUBLES: dict[str, bool] = {
    "url.unusable": True,  # neither http nor https, or a host no client can ask for
    "dns.nxdomain": True,  # the name does not exist
    "dns.servfail": False,  # its servers failed to say
    "dns.timeout": False,
    "address.refused": True,  # it resolves to an address that is not for us: private, loopback, metadata
    "contact.missing": True,  # it is not our own, and there is no contact for its owner
    "connect.refused": False,
    "connect.timeout": False,
    "connect.unreachable": False,
    "tls.certificate": True,  # expired, self-signed, for another name
    "tls.handshake": True,  # no common version or cipher
    "timeout.first_byte": False,
    "timeout.total": False,
    "closed.empty": False,  # the connection ended before an answer
    "closed.early": False,  # or before the whole of it
    "protocol": False,  # what came is not HTTP
    "headers.too_large": True,
    "internal": True,  # our own code stumbled; the log says where
    "withdrawn": False,  # never sent: the crawl ends, or the host is paused
}

# Those in which it is us who will not ask.
REFUSED = frozenset(("address.refused", "contact.missing"))

Reply = Response | Trouble


class Location(msgspec.Struct, frozen=True):
    """Where a record lies: a file of the store, relative to it, and the bytes in it."""

    file: str
    offset: int
    length: int
