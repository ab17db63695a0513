"""Writes what was fetched as WARC 1.1 (ISO 28500:2017), each record a gzip member of its own.

A visit is one group of three records, request, then response or revisit, then metadata, written with one `write`:
a crash can tear only the last group, and `warc_check.repair` cuts it off. The ids of a group's records are derived
from the file's own id and the group's offset, so the start of a group can be told from any bytes that look like one.
Files begin with a warcinfo record, are synced before the next one is begun, and are never opened again for appending.

Heads are kept as received, with these exceptions, which readers need: line ends are CRLF, a status line other than
HTTP/1.x (HTTP/2, say) is made up from the status, and since payloads are stored without transfer coding, a
Transfer-Encoding and the Content-Length beside it become X-Crawl-Transfer-Encoding and X-Crawl-Content-Length (as
Common Crawl names them) and the true Content-Length is added.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from hashlib import blake2b, sha256
from http import HTTPStatus
from pathlib import Path
from uuid import UUID, uuid4

import msgspec
from isal import igzip_lib

from lycosa.backends.durable import sync_directory
from lycosa.errors import LycosaError
from lycosa.model import Location, Response

FORMAT = 1  # of what is ours in a file: the order in a group and the ids. The rest is WARC.
FORMAT_FIELD = "lycosa-format"
REVISIT_PROFILE = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
CONFORMS_TO = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"
UNNAMED = ".part"  # ends the hidden name of a file whose first record is being written
_END = b"\r\n\r\n"
_REASONS = {status.value: status.phrase for status in HTTPStatus}
# Every line has something visible in it: some readers take a line of other bytes for the end of the head.
_LINES = rb"(?:[^!-~\r\n]*+[!-~][^\r\n]*+\r\n)*+\r\n"
_TIDY_ANSWER = re.compile(rb"HTTP/1\.[01] [0-9]{3}(?: [^\r\n]*+)?+\r\n" + _LINES)
_TIDY_ASK = re.compile(rb"[A-Z]+ [^ \r\n]+ HTTP/1\.[01]\r\n" + _LINES)
_STATUS_LINE = re.compile(rb"HTTP/1\.[01] [0-9]{3}(?: .*)?", re.S)
_ASK_LINE = re.compile(rb"([A-Z]+ [^ ]+) HTTP/[0-9.]+")
_UNTRUE = re.compile(rb"^(?=(?:transfer-encoding|content-length)[ \t]*:)", re.I | re.M)
_CODED_OTHERWISE = re.compile(rb"^(?=(?:content-encoding|content-length)[ \t]*:)", re.I | re.M)
_NOT_A_NAME = re.compile(r"[^!#$%&'*+.^_`|~0-9A-Za-z\-]+")


class WriteFailed(LycosaError):
    """The store could not be written. What had been appended before is whole."""


class Original(msgspec.Struct, frozen=True):
    """The stored response that a revisit stands for."""

    url: str
    date: str  # its WARC-Date
    payload_digest: str
    coding: str = ""  # its Content-Encoding


class Visit(msgspec.Struct, frozen=True):
    """An answer to be stored, and what is known about it."""

    response: Response
    content_hash: bytes  # SHA-256 of `response.body`
    revisit_of: Original | None = None
    metadata: Mapping[str, str] = {}


class Written(msgspec.Struct, frozen=True):
    """Where the response or revisit record lies, where its group begins, and what later revisits of it refer to."""

    location: Location
    group_start: int
    original: Original


class WarcWriter:
    """Appends visits to one file at a time; not safe for use by several threads at once."""

    def __init__(
        self,
        directory: Path,
        prefix: str,
        about: Mapping[str, str],
        *,
        roll_bytes: int = 1_000_000_000,
        new_id: Callable[[], UUID] = uuid4,
        level: int = 1,  # 2 saves one byte in a hundred, and costs a tenth more
    ) -> None:
        self._directory = directory
        self._prefix = prefix
        self._about = about
        self._roll_bytes = roll_bytes
        self._new_id = new_id
        self._level = level
        self._serial = 0
        self._fd = -1
        self._name = ""
        self._file_id = b""
        self._end = 0
        self._is_entry_synced = True  # is the file's name safely in its directory?
        directory.mkdir(parents=True, exist_ok=True)

    def append(self, visit: Visit) -> Written:
        """Write one group. On WriteFailed nothing of it is left, and appending may be tried again."""
        if self._fd >= 0 and self._end >= self._roll_bytes:
            self.close()
        if self._fd < 0:
            self._open(visit.response.started_at)
        start = self._end
        ids = group_ids(self._file_id, start)
        request, answer, about, original = _group(visit, ids, self._level)
        self._write(request + answer + about)
        location = Location(self._name, start + len(request), len(answer))
        return Written(location, start, original)

    def sync(self) -> None:
        """Return once everything appended is on disk."""
        if self._fd < 0:
            return
        try:
            os.fdatasync(self._fd)
            if not self._is_entry_synced:
                sync_directory(self._directory)
        except OSError as error:
            # The kernel may have dropped the pages it could not write: this file cannot be trusted with more.
            self._abandon()
            raise self._failed(error) from error
        self._is_entry_synced = True

    def close(self) -> None:
        """Sync and close the file; the next append starts another one."""
        self.sync()
        if self._fd >= 0:
            self._abandon()

    def _open(self, now: float) -> None:
        stamp = time.strftime("%Y%m%d%H%M%S", time.gmtime(now))
        while (path := self._directory / f"{self._prefix}-{stamp}-{self._serial:05d}.warc.gz").exists():
            self._serial += 1
        self._serial += 1
        unnamed = path.with_name(f".{path.name}{UNNAMED}")
        identity = self._new_id()
        try:
            self._fd = os.open(unnamed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
            self._name, self._end, self._file_id, self._is_entry_synced = path.name, 0, identity.bytes, False
            lock(self._fd)
            self._write(_warcinfo(identity, path.name, now, self._about, self._level))
            # Under its name it is locked and begins well, so that `repair` can tell it from what a crash left.
            unnamed.rename(path)
        except (OSError, WriteFailed) as error:
            unnamed.unlink(missing_ok=True)
            if self._fd >= 0:
                self._abandon()
            raise (error if isinstance(error, WriteFailed) else self._failed(error)) from error

    def _write(self, data: bytes) -> None:
        """Append all of `data`, or leave the file as it was."""
        written = 0
        try:
            while written < len(data):  # the first write takes it all unless the disk is full
                written += os.write(self._fd, data[written:] if written else data)
        except OSError as error:
            self._cut_back()
            raise self._failed(error) from error
        except BaseException:
            self._cut_back()
            raise
        self._end += written

    def _cut_back(self) -> None:
        try:
            os.ftruncate(self._fd, self._end)
            os.lseek(self._fd, self._end, os.SEEK_SET)
        except OSError:
            self._abandon()  # with its torn tail, which `repair` cuts; the next append starts another file

    def _abandon(self) -> None:
        fd, self._fd = self._fd, -1
        os.close(fd)

    def _failed(self, error: OSError) -> WriteFailed:
        return WriteFailed(
            f"cannot write WARC files in {self._directory}: {error.strerror or error}; "
            "make room there or choose another directory, then start the crawl again"
        )


def lock(fd: int) -> None:
    """Say that a file is being written, for as long as it is open."""
    with contextlib.suppress(OSError):  # a file system without locks: then nobody will ask either
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


def is_being_written(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    fcntl.flock(fd, fcntl.LOCK_UN)
    return False


def group_ids(file_id: bytes, start: int) -> tuple[str, str, str]:
    """The record ids of the group that begins at `start` (UUIDs of version 8, RFC 9562)."""
    text = blake2b(start.to_bytes(8, "big"), digest_size=48, key=file_id).hexdigest()
    return _urn(text[:32]), _urn(text[32:64]), _urn(text[64:])


def _urn(digits: str) -> str:
    return f"<urn:uuid:{digits[:8]}-{digits[8:12]}-8{digits[13:16]}-a{digits[17:20]}-{digits[20:]}>"


def digest(data: bytes) -> str:
    return f"sha256:{sha256(data).hexdigest()}"


def warc_date(at: float) -> str:
    """Unix time as WARC-Date, with microseconds."""
    seconds, micros = divmod(round(at * 1_000_000), 1_000_000)
    return f"{_date(seconds)}.{micros:06d}Z"


@lru_cache(16)
def _date(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))


@lru_cache(64)
def _field_name(name: str) -> str:
    return _NOT_A_NAME.sub("-", name)


def _group(visit: Visit, ids: tuple[str, str, str], level: int) -> tuple[bytes, bytes, bytes, Original]:
    response = visit.response
    date, url = warc_date(response.started_at), _one_line(response.url)
    same = f"WARC-Date: {date}\r\nWARC-Target-URI: {url}\r\n"
    if response.address:
        same += f"WARC-IP-Address: {_one_line(response.address)}\r\n"
    asked = _tidy_ask(response.request_head)
    fields = f"{same}WARC-Concurrent-To: {ids[1]}\r\nContent-Type: application/http; msgtype=request\r\n"
    request = _record("request", ids[0], fields, (asked,), level)
    block, fields, original = _answer(visit, url, date)
    kind = "revisit" if visit.revisit_of else "response"
    fields = f"{same}{fields}WARC-Concurrent-To: {ids[0]}\r\nContent-Type: application/http; msgtype=response\r\n"
    answer = _record(kind, ids[1], fields, block, level)
    notes = "".join(f"{_field_name(name)}: {_one_line(value)}\r\n" for name, value in visit.metadata.items())
    if not response.version.startswith("1"):
        notes += f"http-version: {_one_line(response.version)}\r\n"  # which the made-up status line does not tell
    known = notes.encode("utf-8", "replace")
    fields = f"{same}WARC-Concurrent-To: {ids[1]}\r\nContent-Type: application/warc-fields\r\n"
    return request, answer, _record("metadata", ids[2], fields, (known,), level), original


def _answer(visit: Visit, url: str, date: str) -> tuple[tuple[bytes, ...], str, Original]:
    """The block of the response or revisit record in parts, the fields only it has, and what it is an instance of."""
    response, original = visit.response, visit.revisit_of
    payload = response.payload
    # Without content coding the payload is the body, and its hash is known: the bytes are not hashed twice.
    is_plain = payload is response.body or payload == response.body
    stored = f"sha256:{visit.content_hash.hex()}" if is_plain else digest(payload)
    head = _true_head(_tidy_answer(response), payload)
    fields = f"WARC-Truncated: {_one_line(response.truncated)}\r\n" if response.truncated else ""
    if original is None:
        coding = _one_line(", ".join(response.headers.get_all("content-encoding")))
        return (head, payload), f"{fields}WARC-Payload-Digest: {stored}\r\n", Original(url, date, stored, coding)
    if stored != original.payload_digest:
        head = _coded_like(head, original)
    fields += (
        f"WARC-Profile: {REVISIT_PROFILE}\r\nWARC-Refers-To-Target-URI: {_one_line(original.url)}\r\n"
        f"WARC-Refers-To-Date: {original.date}\r\nWARC-Payload-Digest: {original.payload_digest}\r\n"
    )
    return (head,), fields, original


def _coded_like(head: bytes, original: Original) -> bytes:
    """Same body, other coding: replay serves this head with the original's payload, so it must tell that one's."""
    told = _CODED_OTHERWISE.sub(b"X-Crawl-", head)
    if not original.coding:
        return told
    return told[:-2] + f"Content-Encoding: {_one_line(original.coding)}\r\n\r\n".encode("utf-8", "replace")


def _true_head(head: bytes, payload: bytes) -> bytes:
    if b"\ntransfer-encoding" not in head.lower():
        return head
    return _UNTRUE.sub(b"X-Crawl-", head)[:-2] + b"Content-Length: %d\r\n\r\n" % len(payload)


def _tidy_answer(response: Response) -> bytes:
    head = response.head
    if _TIDY_ANSWER.fullmatch(head):
        return head
    lines = _visible_lines(head)
    if not lines or not _STATUS_LINE.fullmatch(lines[0]):
        if lines and lines[0][:4].upper() in (b"HTTP", b"ICY "):
            lines.pop(0)
        reason = _one_line(response.reason) or _REASONS.get(response.status, "")
        lines.insert(0, f"HTTP/1.1 {response.status:03d} {reason}".encode("utf-8", "replace"))
    return b"\r\n".join(lines) + _END


def _tidy_ask(head: bytes) -> bytes:
    if _TIDY_ASK.fullmatch(head):
        return head
    lines = _visible_lines(head) or [b""]
    lines[0] = _ASK_LINE.sub(rb"\1 HTTP/1.1", lines[0])
    return b"\r\n".join(lines) + _END


def _visible_lines(head: bytes) -> list[bytes]:
    """The lines with anything visible in them, a lone CR read as a space (RFC 9112 2.2)."""
    lines = (line.rstrip(b"\r").replace(b"\r", b" ") for line in head.split(b"\n"))
    return [line for line in lines if re.search(rb"[!-~]", line)]


def _one_line(text: str) -> str:
    return text if text.isprintable() else "".join(each if each.isprintable() else " " for each in text).strip()


def _record(kind: str, identity: str, fields: str, block: tuple[bytes, ...], level: int) -> bytes:
    """A record, compressed. Its block is in parts, so that a page is copied once."""
    checked = sha256()
    for part in block:
        checked.update(part)
    head = (
        f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: {identity}\r\n{fields}"
        f"WARC-Block-Digest: sha256:{checked.hexdigest()}\r\nContent-Length: {sum(map(len, block))}\r\n\r\n"
    ).encode("utf-8", "replace")
    return igzip_lib.compress(b"".join((head, *block, _END)), level, igzip_lib.COMP_GZIP)


def _warcinfo(identity: UUID, name: str, now: float, about: Mapping[str, str], level: int) -> bytes:
    told = {**about, "format": "WARC File Format 1.1", "conformsTo": CONFORMS_TO, FORMAT_FIELD: str(FORMAT)}
    block = "".join(f"{_field_name(key)}: {_one_line(value)}\r\n" for key, value in told.items())
    data = block.encode("utf-8", "replace")
    fields = f"WARC-Date: {warc_date(now)}\r\nWARC-Filename: {name}\r\nContent-Type: application/warc-fields\r\n"
    return _record("warcinfo", f"<urn:uuid:{identity}>", fields, (data,), level)
