"""Reads WARC files record by record, gzip member by gzip member, over isal.

A damaged member is a record with a `fault`, never an exception: reading goes on at the next member, so one flipped
bit hides one record. `read_record` and `body_at` fetch a single stored answer by its location and raise `Unreadable`
when it is not there whole. Bodies are decoded up to a cap, so a small member cannot fill the memory. Nothing here
writes.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

import brotli
import msgspec
import zstandard
from isal import isal_zlib

from lycosa.backends.warc import Original
from lycosa.errors import LycosaError
from lycosa.model import Location

MAGIC = b"\x1f\x8b\x08"
PLAIN_MAGIC = MAGIC + bytes(5)  # no flags, no time: what isal and most others write
MOST_BODY_BYTES = 1 << 28
_CHUNK = 1 << 20
_STEP = 1 << 16
_HEADER_BYTES = 10
_END = b"\r\n\r\n"
BAD_GZIP = cast("type[Exception]", isal_zlib.error)  # which isal's own stub takes for an instance
_STATUS = re.compile(rb"HTTP/[0-9.]+[ \t]+([0-9]{3})")


class Unreadable(LycosaError):
    """A stored record that is not where it should be, or not whole."""


class Record(msgspec.Struct):
    """A record as it lies in the file; with a `fault`, only the offset and what could be read."""

    offset: int
    length: int  # of the gzip member
    fields: dict[str, str]  # names in lower case
    block: bytes
    fault: str = ""
    is_torn: bool = False  # the fault is that the file ends too early
    gzip_header: bytes = b""

    @property
    def kind(self) -> str:
        return self.fields.get("warc-type", "")

    @property
    def identity(self) -> str:
        return self.fields.get("warc-record-id", "")

    @property
    def is_http(self) -> bool:
        return self.fields.get("content-type", "").startswith("application/http")

    @property
    def payload(self) -> bytes:
        """The block, without its HTTP head if it has one."""
        return self.block.partition(_END)[2] if self.is_http else self.block


class Group(msgspec.Struct, frozen=True):
    """The three records of one visit, and where they begin and end."""

    start: int
    end: int
    request: Record
    answer: Record  # response or revisit
    metadata: Record


class StoredResponse(msgspec.Struct, frozen=True):
    """What a response or revisit record holds."""

    kind: str
    url: str
    date: str  # WARC-Date
    status: int
    headers: list[tuple[str, str]]
    payload: bytes  # with content coding; nothing for a revisit
    payload_digest: str
    truncated: str  # "" or why
    refers_to: Original | None  # the response a revisit stands for

    @property
    def coding(self) -> str:
        return ", ".join(value for name, value in self.headers if name.lower() == "content-encoding")


def iter_records(file: BinaryIO, start: int = 0, stop: int | None = None) -> Iterator[Record]:
    """Every record that begins in [start, stop), the damaged ones with their fault."""
    is_lost = False  # between a fault and the next record that makes sense, faults are not worth telling
    for member in _members(file, start, stop):
        if member.fault:
            if not is_lost:
                yield Record(member.offset, member.length, {}, b"", member.fault, member.fault == _TORN)
            is_lost = True
        elif not is_lost or member.content.startswith(b"WARC/1."):
            is_lost = False
            yield _record(member)


def iter_groups(path: Path) -> Iterator[Group]:
    """Every whole group of a file written by `WarcWriter`, in order; anything else is passed over."""
    with path.open("rb") as file:
        held: list[Record] = []
        for record in iter_records(file):
            held = [*held, record][-3:]
            if is_group(held):
                yield Group(held[0].offset, record.offset + record.length, *held)


def is_group(records: list[Record]) -> bool:
    """Are these a request, its answer and its metadata, tied to each other?"""
    if len(records) != 3 or any(record.fault for record in records):
        return False
    request, answer, metadata = records
    return (
        (request.kind, metadata.kind) == ("request", "metadata")
        and answer.kind in ("response", "revisit")
        and request.fields.get("warc-concurrent-to") == metadata.fields.get("warc-concurrent-to") == answer.identity
        and answer.fields.get("warc-concurrent-to") == request.identity
    )


def read_record(directory: Path, location: Location) -> StoredResponse:
    """The response or revisit at a location."""
    where = f"{location.file} has no whole record at byte {location.offset}: lycosa verify tells what is damaged"
    try:
        with (directory / location.file).open("rb") as file:
            file.seek(location.offset)
            data = file.read(location.length)
    except OSError as error:
        raise Unreadable(f"{location.file} cannot be read ({error.strerror}): is it still in {directory}?") from error
    record = next(iter_records(BytesIO(data)), None)
    if record is None or record.fault or record.length != location.length:
        raise Unreadable(where)
    if record.kind not in ("response", "revisit"):
        raise Unreadable(f"{location.file} has a {record.kind} record at byte {location.offset}, not an answer")
    return stored_response(record)


def stored_response(record: Record) -> StoredResponse:
    head = record.block.partition(_END)[0]
    status, fields = _STATUS.match(head), record.fields
    refers_to = None
    if record.kind == "revisit":
        refers_to = Original(
            fields.get("warc-refers-to-target-uri", ""),
            fields.get("warc-refers-to-date", ""),
            fields.get("warc-payload-digest", ""),
        )
    return StoredResponse(
        kind=record.kind,
        url=fields.get("warc-target-uri", ""),
        date=fields.get("warc-date", ""),
        status=int(status[1]) if status else 0,
        headers=_http_headers(head),
        payload=record.payload,
        payload_digest=fields.get("warc-payload-digest", ""),
        truncated=fields.get("warc-truncated", ""),
        refers_to=refers_to,
    )


def body_at(directory: Path, location: Location, max_bytes: int = MOST_BODY_BYTES) -> bytes:
    """The body without content coding, cut at `max_bytes`."""
    stored = read_record(directory, location)
    if stored.refers_to is not None:
        raise Unreadable(f"{stored.url} was stored as a revisit of {stored.refers_to.url}: read the body there")
    return decode(stored.payload, stored.coding, max_bytes)


def decode(payload: bytes, coding: str, max_bytes: int = MOST_BODY_BYTES) -> bytes:
    """Undo a Content-Encoding. Of damaged data as much as can be had; data not coded as it says stays as it is."""
    for name in reversed([name.strip().lower() for name in coding.split(",")]):
        if name in _DECODERS and payload:
            payload = b"".join(_DECODERS[name](payload, max_bytes)) or payload
    return payload[:max_bytes]


def _gunzip(data: bytes, max_bytes: int) -> Iterator[bytes]:
    while data.startswith(b"\x1f\x8b") and max_bytes > 0:  # members may follow each other
        inflate = zlib.decompressobj(31)
        try:
            piece = inflate.decompress(data, max_bytes)
        except zlib.error:
            yield from _in_small_steps(zlib.decompressobj(31), data, max_bytes)
            return
        yield piece
        data, max_bytes = inflate.unused_data, max_bytes - len(piece)


def _inflate(data: bytes, max_bytes: int) -> Iterator[bytes]:
    is_zlib = len(data) > 1 and data[0] & 15 == 8 and (data[0] << 8 | data[1]) % 31 == 0
    yield from _in_small_steps(zlib.decompressobj(15 if is_zlib else -15), data, max_bytes)


def _in_small_steps(inflate: zlib._Decompress, data: bytes, max_bytes: int) -> Iterator[bytes]:
    """What comes before the damage, up to 64 bytes of input."""
    for at in range(0, len(data), 64):
        try:
            piece = inflate.decompress(inflate.unconsumed_tail + data[at : at + 64], max_bytes)
        except zlib.error:
            return
        yield piece
        max_bytes -= len(piece)
        if max_bytes <= 0:
            return


def _unbrotli(data: bytes, max_bytes: int) -> Iterator[bytes]:
    decoder = brotli.Decompressor()
    try:
        while max_bytes > 0 and not decoder.is_finished():
            piece = decoder.process(data, output_buffer_limit=min(max_bytes, _CHUNK))
            if not piece and decoder.can_accept_more_data():
                return  # it wants more than there is
            yield piece
            data, max_bytes = b"", max_bytes - len(piece)
    except brotli.error:
        return


def _unzstd(data: bytes, max_bytes: int) -> Iterator[bytes]:
    reader = zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(data, read_across_frames=True)
    try:
        while max_bytes > 0 and (piece := reader.read(min(max_bytes, _CHUNK))):
            yield piece
            max_bytes -= len(piece)
    except zstandard.ZstdError:
        return


_DECODERS = {
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "deflate": _inflate,
    "br": _unbrotli,
    "zstd": _unzstd,
}

_TORN = "the file ends inside this record"


class _Member(NamedTuple):
    offset: int
    length: int
    header: bytes
    content: bytes
    fault: str


def _members(file: BinaryIO, start: int, stop: int | None) -> Iterator[_Member]:
    """Every gzip member from `start` on; after a fault, goes on where the next may begin."""
    window, base, at = b"", start, start
    while stop is None or at < stop:
        if at + _HEADER_BYTES > base + len(window):
            window, base = _read(file, at), at
            if not window:
                return
        header = window[at - base : at - base + _HEADER_BYTES]
        inflate, parts, position, fault = isal_zlib.decompressobj(31), list[bytes](), at, ""
        while not inflate.eof and not fault:
            if position >= base + len(window):
                window, base = _read(file, position), position
            # Feeding up to where the next member seems to begin leaves little behind that had to be copied back.
            low = position - base
            hint = window.find(PLAIN_MAGIC, low + 1)
            piece = window[low : hint if hint > 0 else low + _STEP]
            try:
                parts.append(inflate.decompress(piece))
            except BAD_GZIP as error:
                fault = f"its gzip data is damaged ({error})"
            else:
                position += len(piece) - len(inflate.unused_data)
                fault = "" if piece else _TORN
        yield _Member(at, position - at, header, parts[0] if len(parts) == 1 else b"".join(parts), fault)
        at = _next_magic(file, at + 1) if fault else position


def _read(file: BinaryIO, at: int) -> bytes:
    file.seek(at)
    return file.read(_CHUNK)


def _next_magic(file: BinaryIO, at: int) -> int:
    """Where the next gzip member may begin, or the end of the file."""
    while True:
        window = _read(file, at)
        found = window.find(MAGIC)
        if found >= 0:
            return at + found
        if len(window) < len(MAGIC):
            return at + len(window)
        at += len(window) - len(MAGIC) + 1


def _record(member: _Member) -> Record:
    head, _, rest = member.content.partition(_END)
    version, *lines = head.decode("utf-8", "replace").split("\r\n")
    fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    told = fields.get("content-length", "")
    size = int(told) if told.isascii() and told.isdigit() else -1
    fault = ""
    if version not in ("WARC/1.1", "WARC/1.0"):
        fault = f"begins with {version[:20]!r}, not with WARC/1.1"
    elif size < 0 or len(rest) != size + 4 or not rest.endswith(_END):
        fault = f"holds {len(rest) - 4} bytes but its Content-Length is {told!r}"
    return Record(member.offset, member.length, fields, rest[: max(size, 0)], fault, gzip_header=member.header)


def _http_headers(head: bytes) -> list[tuple[str, str]]:
    headers: list[tuple[str, str]] = []
    for line in head.decode("latin-1").split("\r\n")[1:]:
        name, colon, value = line.partition(":")
        if line[:1] in (" ", "\t") and headers:  # a folded line belongs to the one before
            headers[-1] = (headers[-1][0], f"{headers[-1][1]} {line.strip()}")
        elif colon:
            headers.append((name.strip(), value.strip()))
    return headers
