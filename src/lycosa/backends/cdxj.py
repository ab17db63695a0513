"""CDXJ: the sorted index by which replay tools (pywb, ReplayWeb.page) find a capture in WARC files.

One line for each response and revisit: the URL as a SURT key (host reversed, everything in one spelling), a 14-digit
time, and JSON with where the record lies. Keys follow the rules that Internet Archive tools have settled on, which
join more spellings than a crawler would: `www.` goes, case goes, query parameters are sorted, session ids go. They
are for looking up only and never become a URL again. Sorting is by bytes, as binary search expects, and needs memory
for a bounded number of lines however long the index is.
"""

from __future__ import annotations

import heapq
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from urllib.parse import unquote_to_bytes

from lycosa.backends.warc import Visit, Written, warc_date
from lycosa.backends.warc_check import whole_bytes
from lycosa.backends.warc_read import Record, iter_records, stored_response
from lycosa.model import Location

LINES_IN_MEMORY = 500_000
REVISIT_TYPE = "warc/revisit"
_URL = re.compile(rb"([a-z][a-z0-9+.\-]*):/+([^/?#]*)([^?#]*)(?:\?([^#]*))?", re.I)
_AUTHORITY = re.compile(rb"(?:.*@)?(\[[^\]]*\]|[^:]*)(?::([0-9]*))?", re.S)
_DEFAULT_PORTS = {b"http": b"80", b"https": b"443"}
_WWW = re.compile(rb"www[0-9]*\.")
# Session ids have a shape of their own in each framework; one of each kind, the last, is left out.
_QUERY_SESSIONS = tuple(
    re.compile(shape + rb"(?:&|$)", re.I)
    for shape in (
        rb"jsessionid=[0-9a-z]{32}",
        rb"phpsessid=[0-9a-z]{32}",
        rb"sid=[0-9a-z]{32}",
        rb"aspsessionid[a-z]{8}=[a-z]{24}",
        rb"cfid=[^&]+&cftoken=[^&]+",
    )
)
_PATH_SESSIONS = (
    re.compile(rb"(?<=/)\((?:[a-z]\([0-9a-z]{24}\))+\)/(?=[^?]+\.aspx)", re.I),
    re.compile(rb"(?<=/)\([0-9a-z]{24}\)/(?=[^?]+\.aspx)", re.I),
)
_VISIBLE = frozenset(range(0x21, 0x7F)) - frozenset(b"#%")
_ESCAPED = [bytes([byte]) if byte in _VISIBLE else b"%%%02X" % byte for byte in range(256)]


def surt(url: str) -> str:
    """The key of a URL: `https://www.Example.org:8080/B/?d=1&c` becomes `org,example:8080)/b?c&d=1`."""
    parts = _URL.match(re.sub(rb"[\t\r\n]", b"", url.strip().encode("utf-8", "replace")))
    if parts is None or not parts[2]:
        return url
    scheme, authority, path, query = parts[1].lower(), parts[2], parts[3], parts[4]
    split = _AUTHORITY.fullmatch(authority)
    name, port = (split[1], split[2]) if split else (authority, b"")
    key = b",".join(reversed(_plain_host(name).split(b".")))
    if port and port.lstrip(b"0") != _DEFAULT_PORTS.get(scheme):
        key += b":" + (port.lstrip(b"0") or b"0")
    key += b")" + _plain_path(path)
    if query and (plain := _plain_query(query)):
        key += b"?" + plain
    return key.decode("ascii")


def _plain_host(name: bytes) -> bytes:
    host = _unescape(name).strip(b"[]").replace(b"..", b".").strip(b".")
    if not host.isascii():
        with suppress(UnicodeError):
            host = host.decode("utf-8", "ignore").encode("idna")
    plain = _escape(host.lower())
    www = _WWW.match(plain)
    return plain[www.end() :] if www else plain


def _plain_path(path: bytes) -> bytes:
    kept: list[bytes] = []
    for segment in _unescape(path).split(b"/")[1:]:
        if segment == b".." and kept:
            kept.pop()
        elif segment != b".":
            kept.append(segment)
    *inner, last = kept or [b""]
    plain = _escape(b"/" + b"".join(segment + b"/" for segment in inner if segment) + last).lower()
    for shape in _PATH_SESSIONS:
        plain = _without_last(shape, plain)
    return plain[:-1] if len(plain) > 1 and plain.endswith(b"/") else plain


def _plain_query(query: bytes) -> bytes:
    plain = _escape(_unescape(query))
    for shape in _QUERY_SESSIONS:
        plain = _without_last(shape, plain)
    parameters = [parameter.split(b"=", 1) for parameter in plain.lower().split(b"&")]
    return b"&".join(b"=".join(parameter) for parameter in sorted(parameters))


def _without_last(shape: re.Pattern[bytes], text: bytes) -> bytes:
    found = list(shape.finditer(text))
    return text[: found[-1].start()] + text[found[-1].end() :] if found else text


def _unescape(text: bytes) -> bytes:
    """Until nothing is escaped any more: pages escape twice, and each spelling should find the same capture."""
    while (plain := unquote_to_bytes(text)) != text:
        text = plain
    return text


def _escape(text: bytes) -> bytes:
    return b"".join(_ESCAPED[byte] for byte in text)


def line_of(visit: Visit, written: Written) -> str:
    """The line of a visit that was just appended."""
    response = visit.response
    kind = REVISIT_TYPE if visit.revisit_of else _media_type(response.headers.get("content-type"))
    date, digest = warc_date(response.started_at), written.original.payload_digest
    return _line(response.url, date, kind, (f"{response.status:03d}", digest), written.location)


def lines_of(path: Path) -> Iterator[str]:
    """The lines of one WARC file, in the order of its records; damaged and half written records have none."""
    stop = whole_bytes(path)
    with path.open("rb") as file:
        for record in iter_records(file, 0, stop):
            if record.kind in ("response", "revisit") and record.is_http and not record.fault:
                yield _line_of_record(record, path.name)


def _line_of_record(record: Record, name: str) -> str:
    stored = stored_response(record)
    told = next((value for field, value in stored.headers if field.lower() == "content-type"), None)
    kind = REVISIT_TYPE if record.kind == "revisit" else _media_type(told)
    place = Location(name, record.offset, record.length)
    return _line(stored.url, stored.date, kind, (f"{stored.status:03d}", stored.payload_digest), place)


def _media_type(content_type: str | None) -> str | None:
    return None if content_type is None else content_type.partition(";")[0].strip()


def _line(url: str, date: str, kind: str | None, told: tuple[str, str], place: Location) -> str:
    stamp = re.sub(r"[^0-9]", "", date)[:14]
    fields = {
        "url": url,
        "mime": kind,
        "status": told[0],
        "digest": told[1],
        "length": str(place.length),
        "offset": str(place.offset),
        "filename": place.file,
    }
    return f"{surt(url)} {stamp} {json.dumps({name: value for name, value in fields.items() if value is not None})}"


def write_index(out: Path, warc_files: Iterable[Path], keep: Callable[[str], bool] | None = None) -> int:
    """Write the sorted index of these files, or what `keep` says of it, and return its number of lines.

    `out` appears only when it is complete.
    """
    unfinished = out.with_name(f"{out.name}.part")
    count = 0
    try:
        with unfinished.open("wb") as file:
            lines = (line for path in warc_files for line in lines_of(path))
            for line in sorted_lines(lines if keep is None else filter(keep, lines)):
                file.write(line.encode() + b"\n")
                count += 1
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(out)
    finally:
        unfinished.unlink(missing_ok=True)
    return count


def sorted_lines(lines: Iterable[str], in_memory: int = LINES_IN_MEMORY) -> Iterator[str]:
    """The lines in the order of their bytes; past `in_memory` of them, sorted runs go through temporary files."""
    rest, runs = iter(lines), list[Iterator[str]]()
    with tempfile.TemporaryDirectory(prefix="lycosa-") as folder:
        while len(run := sorted(islice(rest, in_memory))) == in_memory:
            path = Path(folder, str(len(runs)))
            path.write_text("".join(f"{line}\n" for line in run), encoding="utf-8", newline="\n")
            runs.append(_lines_in(path))
        # Code points sort as their UTF-8 bytes do.
        yield from heapq.merge(*runs, run)


def _lines_in(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8", newline="\n") as file:
        yield from (line.removesuffix("\n") for line in file)
