"""Erases visits from WARC files in place: the bytes are overwritten, and the file stays valid.

A visit is three gzip members, which are replaced by three others of exactly the same lengths: records that say that
something was forgotten, and padding. So every other record stays where rows, tables and indexes say it is, group ids,
which depend on offsets, still hold, and `verify` proves the file as before. Overwriting again gives the same bytes:
what a crash left half erased is erased again, without reading it.
"""

from __future__ import annotations

import datetime
import os
import zlib
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path

import msgspec

from lycosa.backends.warc import Original, Visit, WarcWriter, Written, group_ids
from lycosa.backends.warc_check import own_id
from lycosa.backends.warc_read import (
    Group,
    StoredResponse,
    Unreadable,
    iter_groups,
    iter_records,
    stored_response,
)
from lycosa.errors import LycosaError
from lycosa.model import Response, Timings
from lycosa.web.headers import Headers

NOWHERE = "urn:lycosa:forgotten"
_DATE = "1970-01-01T00:00:00Z"
_PADDING = b"forgotten "  # not zeros: those are what a power failure leaves, and `repair` would cut there
_END = b"\r\n\r\n"
_STORED = 65_535  # bytes in one block of deflate that is not compressed
_KINDS = ("request", "response", "metadata")


class CannotErase(LycosaError):
    """A record that is too short to be overwritten by one that says so."""


def visits_in(path: Path) -> Iterator[Group]:
    """Every visit of a file that Lycosa wrote; a file of others has none that could be erased."""
    if _id_of(path) is not None:
        yield from iter_groups(path)


def lengths_of(group: Group) -> tuple[int, int, int]:
    return group.request.length, group.answer.length, group.metadata.length


def is_erased(group: Group) -> bool:
    return group.answer.fields.get("warc-target-uri") == NOWHERE


def erase(path: Path, spans: Iterable[tuple[int, tuple[int, int, int]]]) -> int:
    """Overwrite the visits that begin at these bytes, with records of these lengths; how many."""
    file_id = _id_of(path)
    if file_id is None:
        raise CannotErase(f"{path.name} was not written by Lycosa: remove the record with the tool that wrote it")
    count = 0
    with path.open("r+b") as file:
        gzip_header = file.read(10)
        for start, lengths in spans:
            file.seek(start)
            file.write(_forgotten(file_id, start, lengths, gzip_header))
            count += 1
        file.flush()
        os.fsync(file.fileno())
    return count


def _id_of(path: Path) -> bytes | None:
    with path.open("rb") as file:
        first = next(iter_records(file), None)
    return own_id(first, path.name) if first is not None else None


def _forgotten(file_id: bytes, start: int, lengths: tuple[int, int, int], gzip_header: bytes) -> bytes:
    ids = group_ids(file_id, start)
    ties = (ids[1], ids[0], ids[1])
    made = b""
    for kind, identity, tie, length in zip(_KINDS, ids, ties, lengths, strict=True):
        fields = (
            f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: {identity}\r\nWARC-Concurrent-To: {tie}\r\n"
            f"WARC-Date: {_DATE}\r\nWARC-Target-URI: {NOWHERE}\r\nContent-Type: text/plain\r\nContent-Length: "
        )
        made += _member(fields.encode(), length, gzip_header)
    return made


def _member(head: bytes, length: int, gzip_header: bytes) -> bytes:
    """A gzip member of exactly this length: a compressed head, then as much padding as is left, not compressed."""
    for digits in range(1, 11):
        for splits in (0, 1):  # one block more, where the length falls between two
            about = length - _length(len(_squeezed(head, digits, 0)), 0, splits)
            # The compressed head varies by a few bytes with the figures in it, and long padding takes several blocks.
            guess = about - 5 * (max(0, about) // (_STORED + 5))
            for size in range(max(0, guess - 8), min(guess + 9, 10**digits)):
                begin = _squeezed(head, digits, size)
                if _length(len(begin), size, splits) == length:
                    rest = (_PADDING * (size // len(_PADDING) + 1))[:size] + _END
                    content = head + b"%0*d" % (digits, size) + _END + rest
                    trailer = zlib.crc32(content).to_bytes(4, "little") + len(content).to_bytes(4, "little")
                    return gzip_header + begin + _block(b"", is_last=False) * splits + _blocks(rest) + trailer
    raise CannotErase(f"a record of {length} bytes is too short to be overwritten: remove its file")


def _length(begin: int, size: int, splits: int) -> int:
    rest = size + len(_END)
    return 18 + begin + 5 * (splits - (-rest // _STORED)) + rest


def _squeezed(head: bytes, digits: int, size: int) -> bytes:
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -15)
    return squeeze.compress(head + b"%0*d" % (digits, size) + _END) + squeeze.flush(zlib.Z_SYNC_FLUSH)


def _blocks(rest: bytes) -> bytes:
    starts = range(0, len(rest), _STORED)
    return b"".join(_block(rest[at : at + _STORED], is_last=at + _STORED >= len(rest)) for at in starts)


def _block(data: bytes, is_last: bool) -> bytes:
    size = len(data)
    return bytes([is_last]) + size.to_bytes(2, "little") + (size ^ 0xFFFF).to_bytes(2, "little") + data


# --- keeping the body for others ---


class Kept(msgspec.Struct, frozen=True):
    """A visit that was written again, because the one it referred to is to be erased."""

    url: str
    written: Written


def write_again(writer: WarcWriter, visit: Group, payload: bytes, original: Original | None) -> Kept:
    """Append a revisit again: with the payload itself, or as a revisit of another original."""
    stored = stored_response(visit.answer)
    # The head of a revisit tells the coding of the payload it stands for, so payload and head belong together.
    response = _response(visit, stored, payload)
    written = writer.append(Visit(response, sha256(payload).digest(), original, _notes(visit)))
    return Kept(stored.url, written)


def read_group(path: Path, start: int) -> Group:
    with path.open("rb") as file:
        records = []
        for record in iter_records(file, start):
            records.append(record)
            if len(records) == 3:
                break
    if len(records) < 3 or any(record.fault for record in records):
        raise Unreadable(f"{path.name} has no whole visit at byte {start}: lycosa verify tells what is damaged")
    return Group(start, records[2].offset + records[2].length, *records)


def _response(visit: Group, stored: StoredResponse, payload: bytes) -> Response:
    head = visit.answer.block.partition(_END)[0] + _END
    headers = Headers(stored.headers)
    return Response(
        url=stored.url,
        status=stored.status,
        reason="",
        version="1.1",
        headers=headers,
        request_head=visit.request.block,
        head=head,
        payload=payload,
        body=payload,
        truncated=stored.truncated,
        address=visit.answer.fields.get("warc-ip-address", ""),
        started_at=_moment(stored.date),
        timings=Timings(),
    )


def _moment(date: str) -> float:
    return datetime.datetime.fromisoformat(date).timestamp()


def _notes(visit: Group) -> dict[str, str]:
    lines = visit.metadata.block.decode("utf-8", "replace").split("\r\n")
    return {name: value for name, _, value in (line.partition(": ") for line in lines) if name}
