"""In which encoding are these bytes? As browsers decide it, and with the reason kept.

Byte order mark, then the HTTP header, then the declaration in the first kilobyte (WHATWG HTML 13.2.3.2 prescan), then
what the bytes themselves say: valid UTF-8 is UTF-8, pure ASCII is the web's default windows-1252, the rest is guessed
by statistics. Labels are WHATWG's, so `latin1` means windows-1252. Decoding never fails: bad bytes become U+FFFD.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import cchardet
import webencodings

PRESCAN_BYTES = 1024
LATE_BYTES = 16 * 1024  # a browser that meets a declaration later than the first kilobyte starts over; so do we
GUESS_BYTES = 64 * 1024
_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16le"), (b"\xfe\xff", "utf-16be"))
_PLAINLY_UTF8 = re.compile(  # how most pages of today begin: no need to look further
    rb"\s*+(?:<!doctype[^<>]*+>\s*+)?+(?:<html[^<>]*+>\s*+)?+(?:<head>\s*+)?+<meta\s+charset=[\"']?utf-8[\"']?\s*/?>",
    re.I,
)
_SPACE = b"\t\n\x0c\r "
_PARAMETER = re.compile(r"(?:^|[;,\s])charset\s*=\s*(?:\"([^\"]*)(?:\"|$)|'([^']*)'|([^\s;\"']+))", re.I)
_XML_DECLARATION = re.compile(rb"<\?xml[^>]*?\sencoding\s*=\s*[\"']?([A-Za-z0-9._:\-]{1,40})", re.I)


class Charset(NamedTuple):
    """The WHATWG name of an encoding, and what decided for it: bom, http, meta, utf-8, ascii, guess or default."""

    label: str
    reason: str


def lookup(label: str | None) -> str | None:
    """The encoding a label stands for, or None for a label no browser knows."""
    found = webencodings.lookup(label.strip()) if label and len(label) < 64 else None
    return found.name if found else None


def charset_of_type(content_type: str | None) -> str | None:
    """The charset parameter of a Content-Type, as an encoding."""
    found = _PARAMETER.search(content_type[:1024]) if content_type else None
    return lookup(found[1] or found[2] or found[3]) if found else None


def sniff(body: bytes, content_type: str | None = None) -> Charset:
    for mark, label in _BOMS:
        if body.startswith(mark):
            return Charset(label, "bom")
    declared = charset_of_type(content_type)
    if declared:
        return Charset(declared, "http")
    if _PLAINLY_UTF8.match(body):
        return Charset("utf-8", "meta")
    declared = prescan(body[:PRESCAN_BYTES])
    if declared is None and len(body) > PRESCAN_BYTES and b"charset" in body[:LATE_BYTES].lower():
        declared = prescan(body[:LATE_BYTES])
    if declared:
        return Charset(declared, "meta")
    return _by_bytes(body)


def _by_bytes(body: bytes) -> Charset:
    if body.isascii():
        return Charset("windows-1252", "ascii")
    sample = body[:GUESS_BYTES]
    try:
        sample[: _whole_characters(sample)].decode("utf-8")
        return Charset("utf-8", "utf-8")
    except UnicodeDecodeError:
        if _is_mostly_utf8(sample):
            return Charset("utf-8", "utf-8")
        guessed = lookup(cchardet.detect(sample)["encoding"])
        if guessed is None or guessed == "utf-8":
            return Charset("windows-1252", "default")
        return Charset(guessed, "guess")


def _is_mostly_utf8(sample: bytes) -> bool:
    """A UTF-8 page with a few bad bytes in it, as pasted text leaves them."""
    text = sample.decode("utf-8", "replace")
    bad = text.count("\ufffd")
    return len(text) - len(text.encode("ascii", "ignore")) - bad > 10 * bad


def _whole_characters(sample: bytes) -> int:
    """Where to cut so that no UTF-8 character is halved by the end of the sample."""
    if len(sample) < GUESS_BYTES:
        return len(sample)
    for back in range(1, 4):
        if sample[-back] & 0xC0 == 0xC0:
            return len(sample) - back
        if sample[-back] < 0x80:  # ASCII
            break
    return len(sample)


def decode(body: bytes, charset: Charset) -> str:
    """The text; every undecodable byte is U+FFFD, a byte order mark is dropped."""
    for mark, _ in _BOMS:
        if charset.reason == "bom" and body.startswith(mark):
            body = body[len(mark) :]
            break
    if charset.label == "utf-8":
        return body.decode("utf-8", "replace")
    encoding = webencodings.lookup(charset.label) or webencodings.UTF8
    return str(encoding.codec_info.decode(body, "replace")[0])


def prescan(head: bytes) -> str | None:
    """The encoding declared by a meta element or else by XML, read without a parser, as the standard lays it down."""
    if head.startswith((b"<\x00?\x00x\x00", b"\x00<\x00?\x00x")):
        return "utf-16be" if head[0] == 0 else "utf-16le"
    return _prescan_meta(head) or _prescan_xml(head)


def _prescan_xml(head: bytes) -> str | None:
    found = _XML_DECLARATION.match(head)
    return _readable(lookup(found[1].decode("ascii"))) if found else None


def _readable(label: str | None) -> str | None:
    """A page that could be read this far is not UTF-16; and x-user-defined means windows-1252 here."""
    if label is not None and label.startswith("utf-16"):
        return "utf-8"
    return "windows-1252" if label == "x-user-defined" else label


def _prescan_meta(head: bytes) -> str | None:
    at = 0
    while 0 <= at < len(head):
        at = head.find(b"<", at)
        if at < 0:
            return None
        if head.startswith(b"<!--", at):
            end = head.find(b"-->", at + 2)
            at = end + 3 if end >= 0 else -1
        elif head[at : at + 5].lower() == b"<meta" and head[at + 5 : at + 6] in _META_NEXT:
            at, label = _read_meta(head, at + 5)
            if label:
                return label
        elif _TAG_OPEN.match(head, at):
            at = _skip_tag(head, at)
        elif head[at + 1 : at + 2] in (b"!", b"/", b"?"):
            at = head.find(b">", at)
        else:
            at += 1
    return None


_META_NEXT = frozenset(bytes([letter]) for letter in _SPACE + b"/")
_TAG_OPEN = re.compile(rb"</?[a-zA-Z]")
_TAG_NAME_END = re.compile(rb"[\t\n\x0c\r >]")
_META_CHARSET = re.compile(rb"charset", re.I)


def _skip_tag(head: bytes, at: int) -> int:
    end = _TAG_NAME_END.search(head, at + 1)
    if end is None:
        return -1
    at, name = end.start(), b" "
    while name and at >= 0:
        at, name, _ = _attribute(head, at)
    return at


def _read_meta(head: bytes, at: int) -> tuple[int, str | None]:
    """Position after the element and the encoding it declares."""
    said: dict[bytes, bytes] = {}
    name = b" "
    while name:
        at, name, value = _attribute(head, at)
        if at < 0:
            return at, None
        if name:
            said.setdefault(name, value)
    label = lookup(said[b"charset"].decode("latin-1")) if b"charset" in said else None
    if b"charset" not in said and said.get(b"http-equiv") == b"content-type":
        label = _charset_in(said.get(b"content", b""))
    return at, _readable(label)


def _charset_in(content: bytes) -> str | None:
    """The encoding in `text/html; charset=…`, by the standard's own lenient algorithm."""
    at = 0
    while True:
        found = _META_CHARSET.search(content, at)
        if found is None:
            return None
        rest = content[found.end() :].lstrip(_SPACE)
        if rest.startswith(b"="):
            break
        at = found.end()
    rest = rest[1:].lstrip(_SPACE)
    if rest[:1] in (b'"', b"'"):
        quoted, closed, _ = rest[1:].partition(rest[:1])
        return lookup(quoted.decode("latin-1")) if closed else None
    return lookup(re.split(rb"[\t\n\x0c\r ;]", rest, maxsplit=1)[0].decode("latin-1"))


_ATTRIBUTE = re.compile(
    rb"[\t\n\x0c\r /]*+([^\t\n\x0c\r />][^\t\n\x0c\r />=]*+)"
    rb"(?:[\t\n\x0c\r ]*+=[\t\n\x0c\r ]*+(?:\"([^\"]*+)(?:\"|\Z)|'([^']*+)(?:'|\Z)|([^\t\n\x0c\r >]*+)))?+"
)


def _attribute(head: bytes, at: int) -> tuple[int, bytes, bytes]:
    """Position after it, name and value of the next attribute in lower case; no name at the end of the tag."""
    found = _ATTRIBUTE.match(head, at)
    if found is not None and found.end() == len(head):
        return -1, b"", b""  # cut short: what it would have said is unknown
    if found is None:
        end = head.find(b">", at)
        return (end + 1 if end >= 0 else -1), b"", b""
    return found.end(), found[1].lower(), (found[2] or found[3] or found[4] or b"").lower()
