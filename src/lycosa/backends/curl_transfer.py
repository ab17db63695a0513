"""One exchange over libcurl: what is sent, what comes back, and where it is cut off.

A `Transfer` owns a handle that is used for one exchange after another. All that does not change is set once;
`prepare` sets the rest and forgets what was there. It keeps the head of the final answer byte for byte as libcurl
hands it over, with interim answers (1xx) and trailers only counted against the caps. libcurl neither follows
redirects, nor resolves names, nor decodes, nor keeps cookies, nor reads proxies from the environment.

One exchange is at most one request. When a kept connection turns out to be dead libcurl would silently send the
request once more on a new one; it is told not to, just before it would. It is told the same when the other end is not
the address that was chosen.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import pycurl

from lycosa.backends.decoding import Decoder, read_codings
from lycosa.errors import BadInput
from lycosa.web.addresses import read_address
from lycosa.web.headers import Headers

MOST_HEAD_BYTES = 65_536
MOST_HEAD_LINES = 200
MOST_FRAMING = 8  # times the content: a chunk of one byte takes six
FREE_FRAMING_BYTES = 131_072  # more than one read
_LONGEST_IDLE_S = 90
_LONGEST_LIFE_S = 3600
_BUFFER_BYTES = 65_536
_SHORT_LINE = 100  # bytes of a header field that is worth remembering
_BLANK = (b"\r\n", b"\n")
_STOP = -1  # what a callback of libcurl returns to end the transfer
_ACCEPT = (
    "Accept: text/html,application/xhtml+xml,*/*;q=0.8",
    "Accept-Encoding: gzip, br, zstd, deflate",
)


class Body(NamedTuple):
    payload: bytes
    decoded: bytes
    truncated: str


class Transfer:
    """A handle and the exchange it is used for at present."""

    def __init__(self, agent: str, wall: Callable[[], float], ca_file: str | None, source: str = "") -> None:
        self._wall, self._loop = wall, asyncio.get_running_loop()
        self._own_lines = [f"User-Agent: {agent}", *_ACCEPT]
        self.curl = pycurl.Curl()
        self._has_more_lines = self._is_fresh = False
        for option, value in _constant_options(ca_file).items():
            self.curl.setopt(option, value)
        if source:
            self.curl.setopt(pycurl.INTERFACE, source)
        self.curl.setopt(pycurl.HTTPHEADER, self._own_lines)
        self.curl.setopt(pycurl.PREREQFUNCTION, self._on_request)
        self.curl.setopt(pycurl.DEBUGFUNCTION, self._on_debug)
        self.curl.setopt(pycurl.HEADERFUNCTION, self._on_line)
        self.curl.setopt(pycurl.WRITEFUNCTION, self._on_body)
        self.give_up: Callable[[], None] = _nobody_waits
        self._forget()

    def _forget(self) -> None:
        self.stopped = ""  # why it was ended by us: length, headers, resend, address or what a clock says
        self.address = ""
        self.sent_at = 0.0  # Unix time; 0 while nothing was sent
        self.sent_on_loop_at = 0.0
        self.request_head = b""
        self.head_lines: list[bytes] = []
        self.is_head_whole = False
        self._headers: Headers | None = None
        self._head_bytes = self._body_bytes = 0
        self._wire_bytes = 0
        # One chunk as it came, as most answers do. More are joined: a list of single bytes would take a hundred times
        # their size.
        self._received: bytes | bytearray = b""
        self._decoder: Decoder | None = None

    def prepare(
        self, url: str, address: str, max_body: int, more: tuple[tuple[str, str], ...] = (), fresh: bool = False
    ) -> None:
        """Get ready to ask `address` for `url` with `more` header fields, on a connection of its own if `fresh`."""
        self._forget()
        self.address, self._max_body = address, max_body
        self.curl.setopt(pycurl.URL, url)
        # Any host and port of the URL, at this address and the same port: the name stays in Host and in TLS.
        self.curl.setopt(pycurl.CONNECT_TO, [f"::[{address}]:" if ":" in address else f"::{address}:"])
        if fresh or self._is_fresh:
            self.curl.setopt(pycurl.FRESH_CONNECT, int(fresh))
            self._is_fresh = fresh
        if more or self._has_more_lines:
            lines: list[str | bytes] = [*self._own_lines, *(_write_line(name, value) for name, value in more)]
            self.curl.setopt(pycurl.HTTPHEADER, lines)
            self._has_more_lines = bool(more)

    def close(self) -> None:
        self.curl.close()

    # -- what came ----------------------------------------------------------------------------------------------------

    @property
    def received_bytes(self) -> int:
        return self._head_bytes + self._body_bytes

    @property
    def headers(self) -> Headers:
        if self._headers is None:
            self._headers = Headers(_read_lines(self.head_lines[1:]))
        return self._headers

    @property
    def is_plain(self) -> bool:
        """Is it HTTP/1, where nothing comes unless something was asked?"""
        return self.is_head_whole and self.head_lines[0].startswith(b"HTTP/1")

    @property
    def head(self) -> bytes:
        return b"".join(self.head_lines)

    def body(self) -> Body:
        payload = bytes(self._received)
        if self._decoder is None:
            return Body(payload, payload, self.stopped if self.stopped == "length" else "")
        decoded = self._decoder.finish(payload)
        is_long = self.stopped == "length" or decoded.state == "full"
        truncated = "length" if is_long else "disconnect" if decoded.state == "cut" else ""
        return Body(payload, decoded.body, truncated)

    # -- libcurl calls these; they must not raise ---------------------------------------------------------------------

    def _on_request(self, remote: str, local: str, remote_port: int, local_port: int) -> int:
        """The connection stands and the request is about to be sent."""
        if self.sent_at:
            self.stopped = "resend"
        elif remote != self.address and read_address(remote) != read_address(self.address):
            self.stopped, self.address = "address", remote
        if self.stopped:
            return int(pycurl.PREREQFUNC_ABORT)
        self.sent_at, self.sent_on_loop_at = self._wall(), self._loop.time()
        return int(pycurl.PREREQFUNC_OK)

    def _on_debug(self, kind: int, data: bytes) -> None:
        if kind == pycurl.INFOTYPE_DATA_IN:
            self._wire_bytes += len(data)
            if self._wire_bytes > MOST_FRAMING * len(self._received) + FREE_FRAMING_BYTES and not self.stopped:
                # Only chunk extensions take so much; libcurl would skip them for ever. It cannot be stopped from here.
                self.stopped = "framing"
                self._loop.call_soon(self.give_up)
        elif kind == pycurl.INFOTYPE_HEADER_OUT:
            self.request_head += data

    def _on_line(self, line: bytes) -> int | None:
        self._head_bytes += len(line)
        lines = self.head_lines
        if self._head_bytes > MOST_HEAD_BYTES or len(lines) >= MOST_HEAD_LINES:
            self.stopped = "headers"
            return _STOP
        if self.is_head_whole:
            return None  # a trailer
        if lines and line.startswith(b"HTTP/") and not lines[-1].strip():
            self.head_lines = lines = []  # what came before was an interim answer
        lines.append(line)
        if line in _BLANK and not _is_interim(lines[0]):
            self.is_head_whole = True
        return None

    def _on_body(self, chunk: bytes) -> int | None:
        self._body_bytes += len(chunk)
        if not self._received:
            self._begin_body()
        room = self._max_body - len(self._received)
        if len(chunk) > room:
            chunk = chunk[:room]
            self.stopped = "length"
        if not self._received:
            self._received = chunk
        elif isinstance(self._received, bytearray):
            self._received += chunk
        else:
            self._received = bytearray(self._received) + chunk
        if self._decoder is not None and not self._decoder.feed(chunk):
            self.stopped = "length"
        return _STOP if self.stopped else None

    def _begin_body(self) -> None:
        codings = read_codings(self.headers.get_all("content-encoding"))
        self._decoder = Decoder(codings, self._max_body) if codings else None


def _nobody_waits() -> None:
    """Before the first exchange there is nothing to end."""


def _constant_options(ca_file: str | None) -> dict[int, Any]:
    options = {
        pycurl.PROTOCOLS: pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS,
        pycurl.FOLLOWLOCATION: 0,
        pycurl.PROXY: "",  # or libcurl asks the environment
        pycurl.NETRC: 0,
        pycurl.HTTP_VERSION: pycurl.CURL_HTTP_VERSION_2TLS,
        pycurl.HTTP09_ALLOWED: 0,
        pycurl.HTTP_CONTENT_DECODING: 0,
        pycurl.PATH_AS_IS: 1,
        pycurl.SSL_VERIFYPEER: 1,
        pycurl.SSL_VERIFYHOST: 2,
        pycurl.SSLVERSION: pycurl.SSLVERSION_TLSv1_2,
        pycurl.DNS_CACHE_TIMEOUT: 0,
        pycurl.MAXAGE_CONN: _LONGEST_IDLE_S,
        pycurl.MAXLIFETIME_CONN: _LONGEST_LIFE_S,
        pycurl.TCP_NODELAY: 1,
        pycurl.BUFFERSIZE: _BUFFER_BYTES,
        pycurl.NOSIGNAL: 1,
        pycurl.VERBOSE: 1,  # for the request head; nothing is printed
    }
    if ca_file is not None:
        options[pycurl.CAINFO] = ca_file
    return options


def _write_line(name: str, value: str) -> bytes:
    line = f"{name}: {value}"
    if any(letter in line for letter in "\r\n\0"):
        raise BadInput(f"the header {name[:50]!r} holds a line break: give its value on one line")
    try:
        return line.encode("latin-1")
    except UnicodeEncodeError:
        return line.encode()


def _is_interim(status_line: bytes) -> bool:
    parts = status_line.split(None, 1)
    return len(parts) > 1 and parts[1][:1] == b"1"


def _read_lines(lines: list[bytes]) -> list[tuple[str, str]]:
    """Header fields as text: UTF-8 where it is, else Latin-1; folded lines joined (RFC 9112 5.2)."""
    fields: list[tuple[str, str]] = []
    for line in lines:
        if line[:1] in (b" ", b"\t") and fields:
            name, value = fields[-1]
            fields[-1] = name, f"{value} {_read_text(line).strip()}".strip()
            continue
        field = _known_field(line) if len(line) <= _SHORT_LINE else _read_field(line)
        if field is not None:
            fields.append(field)
    return fields


def _read_field(line: bytes) -> tuple[str, str] | None:
    name, colon, value = _read_text(line).partition(":")
    return (name.rstrip(), value.strip()) if colon else None


_known_field = lru_cache(512)(_read_field)  # servers say the same things all the time


def _read_text(line: bytes) -> str:
    line = line.rstrip(b"\r\n")
    try:
        return line.decode()
    except UnicodeDecodeError:
        return line.decode("latin-1")
