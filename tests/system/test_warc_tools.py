"""Every kind of record that Lycosa writes, judged by other people's readers."""

from __future__ import annotations

import gzip
import hashlib
import re
import subprocess
import sys
import warnings
import zlib
from pathlib import Path

import brotli
import conformance
import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator

from lycosa.backends.warc import Visit, WarcWriter
from lycosa.model import Response, Timings
from lycosa.web.headers import Headers

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # of its own older classes, when it is imported
    from fastwarc.warc import ArchiveIterator as FastIterator
    from fastwarc.warc import WarcRecordType

BIN = Path(sys.executable).parent
BODY = b"<html>\r\n\r\n" + b"words and words " * 100


def visit(body: bytes = BODY, payload: bytes | None = None, **changes) -> Visit:
    response = Response(
        url="https://example.org/a?b",
        status=200,
        reason="OK",
        version="1.1",
        headers=Headers([]),
        request_head=b"GET /a?b HTTP/1.1\r\nHost: example.org\r\n\r\n",
        head=b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n",
        payload=body if payload is None else payload,
        body=body,
        truncated="",
        address="2001:db8::1",
        started_at=1_763_240_000.25,
        timings=Timings(),
    )
    digest = hashlib.sha256(body).digest()
    return Visit(msgspec.structs.replace(response, **changes), digest, None, {"depth": "0", "found-on": "ü"})


def coded(coding: str, payload: bytes) -> Visit:
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: %s\r\nContent-Length: %d\r\n\r\n" % (coding.encode(), len(payload))
    return visit(BODY, payload, head=head, headers=Headers([("Content-Encoding", coding)]))


VISITS = {
    "plain": visit(),
    "empty": visit(b"", status=204, head=b"HTTP/1.1 204 No Content\r\n\r\n"),
    "no headers": visit(head=b"HTTP/1.1 200 OK\r\n\r\n"),
    "gzip": coded("gzip", gzip.compress(BODY)),
    "brotli": coded("br", brotli.compress(BODY)),
    "truncated": visit(truncated="length"),
    "chunked": visit(head=b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nServer: x\r\n\r\n"),
    "http2": visit(version="2", head=b"HTTP/2 404 \r\nserver: x\r\n\r\n", status=404),
    "http2 request": visit(version="2", request_head=b"GET /a?b HTTP/2\r\nHost: example.org\r\n\r\n"),
    "redirect": visit(b"", status=301, head=b"HTTP/1.1 301 Moved\r\nLocation: /b\r\n\r\n"),
    "line feeds": visit(head=b"HTTP/1.0 200 OK\nServer: x\n\n"),
    "odd header": visit(head=b"HTTP/1.1 200 OK\r\nX: \xff\xe9\r\n folded\r\nnocolon\r\n:\r\n\r\n"),
    "binary": visit(bytes(range(256)) * 300),
}


@pytest.fixture
def stored(tmp_path) -> Path:
    """One file with a group of each kind, and a revisit of each."""
    writer = WarcWriter(tmp_path, "test", {"software": "Lycosa/1", "robots": "obey"})
    for each in VISITS.values():
        written = writer.append(each)
        writer.append(msgspec.structs.replace(each, revisit_of=written.original))
    writer.close()
    [path] = tmp_path.iterdir()
    return path


def run(*command: Path | str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, timeout=60)


def warcio_check(path: Path) -> subprocess.CompletedProcess[str]:
    """`warcio check`, without the brotli module, which it expects to be another one of that name (warcio issue 73)."""
    script = "import sys; sys.modules['brotli'] = None; from warcio.cli import main; main()"
    return run(sys.executable, "-c", script, "check", "-v", path)


def test_warcio_checks_every_digest(stored):
    done = warcio_check(stored)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("digest pass") == 1 + len(VISITS) * 5  # all but the revisits, which it passes over


def test_fastwarc_checks_every_digest(stored):
    done = run(BIN / "fastwarc", "check", "--verify-payloads", "--quiet", stored)
    failed = set(re.findall(r"<urn:uuid:[^>]+>", done.stdout + done.stderr))
    with stored.open("rb") as file:
        revisits = {record.record_id for record in FastIterator(file, record_types=WarcRecordType.revisit)}
    assert len(revisits) == len(VISITS)
    # A revisit's payload digest is the original's, which it takes for an error.
    assert {identity.strip("<>") for identity in failed} <= {identity.strip("<>") for identity in revisits}


def test_the_judges_do_judge(stored):
    """A digest in hexadecimal digits is compared, not passed over."""
    member = stored.read_bytes()
    records, at = [], 0
    while at < len(member):
        inflate = zlib.decompressobj(31)
        records.append(inflate.decompress(member[at:]))
        at = len(member) - len(inflate.unused_data)
    records[2] = records[2].replace(b"words and words", b"words and w0rds")
    stored.write_bytes(b"".join(gzip.compress(record) for record in records))
    assert "payload digest failed" in warcio_check(stored).stdout
    assert run(BIN / "fastwarc", "check", "--quiet", stored).returncode != 0


def test_warcio_reads_the_same_payloads_and_heads(stored):
    expected = [each for each in VISITS.values() for _ in range(2)]
    with stored.open("rb") as file:
        answers = [
            (record.rec_type, record.http_headers.get_statuscode(), record.raw_stream.read())
            for record in ArchiveIterator(file)
            if record.rec_type in ("response", "revisit")
        ]
    for each, (kind, status, payload) in zip(expected, answers, strict=True):
        assert status == str(each.response.status)
        assert payload == (each.response.payload if kind == "response" else b"")


def test_fastwarc_reads_the_same_payloads_and_heads(stored):
    with stored.open("rb") as file:
        found = [
            (record.http_headers.status_code, record.reader.read())
            for record in FastIterator(file, record_types=WarcRecordType.response, parse_http=True)
        ]
    assert found == [(each.response.status, each.response.payload) for each in VISITS.values()]


def test_the_neutral_checker_finds_no_fault_in_the_structure(stored):
    script = conformance.folder() / "check.py"
    if not script.is_file():
        pytest.skip(f"no conformance checks at {script}")
    done = run(sys.executable, script, "--warc", stored)
    assert done.returncode == 0, done.stdout


def test_the_structure_is_what_the_standard_asks(stored):
    data = stored.read_bytes()
    records: list[tuple[dict[str, str], bytes]] = []
    while data:
        inflate = zlib.decompressobj(31)
        content = inflate.decompress(data)
        assert inflate.eof
        data = inflate.unused_data
        head, _, rest = content.partition(b"\r\n\r\n")
        version, *lines = head.decode().split("\r\n")
        assert version == "WARC/1.1"
        fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        assert len(fields) == len(lines)
        assert rest[int(fields["content-length"]) :] == b"\r\n\r\n"
        records.append((fields, rest[:-4]))
    kinds = [fields["warc-type"] for fields, _ in records]
    assert kinds == ["warcinfo", *["request", "response", "metadata", "request", "revisit", "metadata"] * len(VISITS)]
    ids = [fields["warc-record-id"] for fields, _ in records]
    assert len(set(ids)) == len(ids)
    for fields, _ in records[1:]:
        assert re.fullmatch(r"<urn:uuid:[0-9a-f-]{36}>", fields["warc-record-id"])
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", fields["warc-date"])
        assert fields["warc-target-uri"] == "https://example.org/a?b"
        assert fields["warc-ip-address"] == "2001:db8::1"
        assert fields["warc-concurrent-to"] in ids


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=st.binary(max_size=500), lines=st.lists(st.binary(max_size=20), max_size=5))
@example(body=b"\r\n\r\n", lines=[b"\x85", b"\xa0", b" ", b"\x1c", b"a: b"])
@example(body=b"", lines=[b"\xe2\x80\x83", b"\r", b"Transfer-Encoding:chunked", b"\x0b: x"])
@example(body=b"x", lines=[b"a: b", b" c", b"\t", b":", b"\x00"])
def test_other_readers_find_the_body_after_any_head(tmp_path, body, lines):
    for old in tmp_path.iterdir():
        old.unlink()
    head = b"HTTP/1.1 200 OK\r\n" + b"".join(b"%b\r\n" % line for line in lines) + b"\r\n"
    writer = WarcWriter(tmp_path, "test", {})
    writer.append(visit(body, head=head))
    writer.close()
    [path] = tmp_path.iterdir()
    with path.open("rb") as file:
        [payload] = [
            r.raw_stream.read() for r in ArchiveIterator(file, check_digests="raise") if r.rec_type == "response"
        ]
    assert payload == body
    with path.open("rb") as file:
        [found] = [r.reader.read() for r in FastIterator(file, record_types=WarcRecordType.response, parse_http=True)]
    assert found == body
