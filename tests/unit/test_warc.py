"""WARC files: what is written can be read back, a torn tail costs one group, and no flipped bit goes unseen."""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import shutil
import subprocess
import sys
import textwrap
import zlib
from pathlib import Path
from uuid import UUID

import brotli
import msgspec
import pytest
import zstandard
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from lycosa.backends import warc_check, warc_read
from lycosa.backends.warc import Original, Visit, WarcWriter, WriteFailed, group_ids
from lycosa.backends.warc_check import repair, verify
from lycosa.backends.warc_read import Unreadable, body_at, iter_groups, iter_records, read_record
from lycosa.model import Location, Response, Timings
from lycosa.web.headers import Headers

ABOUT = {"software": "Lycosa/1", "robots": "obey", "operator": "https://example.org/bot"}
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nServer: x\r\n\r\n"
ASK = b"GET /a HTTP/1.1\r\nHost: example.org\r\n\r\n"
BODY = b"<html>" + b"a page of words " * 40


def visit(body: bytes = BODY, payload: bytes | None = None, revisit_of: Original | None = None, **changes) -> Visit:
    response = Response(
        url="https://example.org/a",
        status=200,
        reason="OK",
        version="1.1",
        headers=Headers([("Content-Type", "text/html")]),
        request_head=ASK,
        head=HEAD,
        payload=body if payload is None else payload,
        body=body,
        truncated="",
        address="192.0.2.1",
        started_at=1_763_240_000.123456,
        timings=Timings(),
    )
    response = msgspec.structs.replace(response, **changes)
    return Visit(response, hashlib.sha256(body).digest(), revisit_of, {"depth": "2", "charset": "utf-8"})


def coded(body: bytes, coding: str, payload: bytes, **changes) -> Visit:
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: %s\r\nContent-Length: %d\r\n\r\n" % (coding.encode(), len(payload))
    headers = Headers([("Content-Encoding", coding), ("Content-Length", str(len(payload)))])
    return visit(body, payload, head=head, headers=headers, **changes)


def writer(directory: Path, **options) -> WarcWriter:
    return WarcWriter(directory, "test", ABOUT, **options)


def write(directory: Path, *visits: Visit, **options) -> list:
    one = writer(directory, **options)
    written = [one.append(each) for each in visits]
    one.close()
    return written


def only_file(directory: Path) -> Path:
    [path] = directory.glob("*.warc.gz")
    return path


def records(path: Path) -> list[warc_read.Record]:
    with path.open("rb") as file:
        return list(iter_records(file))


def test_a_visit_is_read_back_as_it_was_stored(tmp_path):
    [written] = write(tmp_path, visit())
    stored = read_record(tmp_path, written.location)
    assert (stored.kind, stored.url, stored.status) == ("response", "https://example.org/a", 200)
    assert stored.date == "2025-11-15T20:53:20.123456Z"
    assert stored.headers == [("Content-Type", "text/html"), ("Server", "x")]
    assert stored.payload == BODY
    assert stored.payload_digest == f"sha256:{hashlib.sha256(BODY).hexdigest()}"
    assert body_at(tmp_path, written.location) == BODY


def test_a_file_begins_with_what_it_is_and_who_made_it(tmp_path):
    write(tmp_path, visit())
    first = records(only_file(tmp_path))[0]
    assert first.kind == "warcinfo"
    assert first.fields["warc-filename"] == only_file(tmp_path).name
    for line in (b"software: Lycosa/1", b"format: WARC File Format 1.1", b"robots: obey", b"lycosa-format: 1"):
        assert line in first.block.split(b"\r\n")


def test_a_group_is_request_response_metadata_and_they_name_each_other(tmp_path):
    [written] = write(tmp_path, visit())
    path = only_file(tmp_path)
    [group] = iter_groups(path)
    assert group.start == written.group_start
    assert group.end == path.stat().st_size
    assert (group.answer.offset, group.answer.length) == (written.location.offset, written.location.length)
    assert group.request.block == ASK
    assert group.answer.block == HEAD + BODY
    assert group.metadata.block == b"depth: 2\r\ncharset: utf-8\r\n"
    assert {record.fields["warc-ip-address"] for record in (group.request, group.answer)} == {"192.0.2.1"}


def test_one_group_is_one_write(tmp_path, monkeypatch):
    one = writer(tmp_path)
    one.append(visit())
    sizes = []
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: sizes.append(len(data)) or real(fd, data))
    one.append(visit())
    one.close()
    assert len(sizes) == 1


def test_names_tell_prefix_time_and_number_and_files_roll_over(tmp_path):
    written = write(tmp_path, *[visit()] * 3, roll_bytes=1)
    names = [each.location.file for each in written]
    assert names == [f"test-20251115205320-0000{number}.warc.gz" for number in range(3)]
    assert verify(tmp_path).faults == []
    assert [body_at(tmp_path, each.location) for each in written] == [BODY] * 3


def test_a_new_run_never_appends_to_an_old_file(tmp_path):
    write(tmp_path, visit())
    before = only_file(tmp_path).read_bytes()
    [written] = write(tmp_path, visit())
    assert written.location.file == "test-20251115205320-00001.warc.gz"
    assert (tmp_path / "test-20251115205320-00000.warc.gz").read_bytes() == before


def test_a_writer_that_wrote_nothing_leaves_no_file(tmp_path):
    one = writer(tmp_path)
    one.sync()
    one.close()
    assert list(tmp_path.iterdir()) == []


def test_a_revisit_keeps_the_head_and_points_at_the_original(tmp_path):
    one = writer(tmp_path)
    first = one.append(visit())
    again = one.append(visit(url="https://example.org/b", revisit_of=first.original))
    one.close()
    stored = read_record(tmp_path, again.location)
    assert stored.kind == "revisit"
    assert stored.payload == b""
    assert stored.headers == [("Content-Type", "text/html"), ("Server", "x")]
    assert stored.refers_to == msgspec.structs.replace(first.original, coding="")
    assert again.original == first.original
    record = list(iter_groups(only_file(tmp_path)))[1].answer
    assert record.fields["warc-profile"] == "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
    assert verify(tmp_path).faults == []
    with pytest.raises(Unreadable, match=r"revisit of https://example\.org/a"):
        body_at(tmp_path, again.location)


def test_a_revisit_coded_otherwise_tells_the_coding_of_the_stored_payload(tmp_path):
    one = writer(tmp_path)
    first = one.append(coded(BODY, "gzip", gzip.compress(BODY)))
    one.append(coded(BODY, "br", brotli.compress(BODY), revisit_of=first.original))
    one.append(visit(revisit_of=first.original))
    one.append(coded(BODY, "gzip", gzip.compress(BODY), revisit_of=first.original))
    one.close()
    _, other, plain, same = (group.answer.block for group in iter_groups(only_file(tmp_path)))
    assert b"\r\nX-Crawl-Content-Encoding: br\r\n" in other
    assert b"\r\nX-Crawl-Content-Length: " in other
    assert other.endswith(b"\r\nContent-Encoding: gzip\r\n\r\n")
    assert plain.endswith(b"\r\nContent-Encoding: gzip\r\n\r\n")
    assert b"\r\nContent-Encoding: gzip\r\n" in same
    assert b"X-Crawl" not in same


def test_a_payload_digest_is_over_the_payload_as_stored(tmp_path):
    payload = gzip.compress(BODY)
    [written] = write(tmp_path, coded(BODY, "gzip", payload))
    stored = read_record(tmp_path, written.location)
    assert stored.payload == payload
    assert stored.payload_digest == f"sha256:{hashlib.sha256(payload).hexdigest()}"
    assert written.original.coding == "gzip"
    assert body_at(tmp_path, written.location) == BODY


def test_what_was_cut_short_says_why(tmp_path):
    [written] = write(tmp_path, visit(truncated="length"))
    assert read_record(tmp_path, written.location).truncated == "length"


def test_a_chunked_head_tells_the_truth_about_the_payload(tmp_path):
    head = b"HTTP/1.1 200 OK\r\ntransfer-encoding : gzip, chunked\r\nContent-Length: 7\r\nA: b\r\n\r\n"
    [written] = write(tmp_path, visit(head=head))
    headers = dict(read_record(tmp_path, written.location).headers)
    assert headers == {
        "X-Crawl-transfer-encoding": "gzip, chunked",
        "X-Crawl-Content-Length": "7",
        "A": "b",
        "Content-Length": str(len(BODY)),
    }


@pytest.mark.parametrize(
    ("head", "stored"),
    [
        (b"HTTP/2 200 \r\nserver: x\r\n\r\n", b"HTTP/1.1 200 OK\r\nserver: x\r\n\r\n"),
        (b"HTTP/2 200\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n"),
        (b"ICY 200 OK\r\nA: b\r\n\r\n", b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n"),
        (b"HTTP/1.0 200\r\nA: b\r\n\r\n", b"HTTP/1.0 200\r\nA: b\r\n\r\n"),
        (b"HTTP/1.1 200 Fine\nA: b\nC: d\n\n", b"HTTP/1.1 200 Fine\r\nA: b\r\nC: d\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\nA: b", b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\nA: b\r\n \r\n\xa0\r\nC: d\r\n\r\n", b"HTTP/1.1 200 OK\r\nA: b\r\nC: d\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\nA: b\rC\r\n\r\n", b"HTTP/1.1 200 OK\r\nA: b C\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\nA: \xff\xfe\x00\r\nfolded\r\n x\r\n\r\n", None),
        (b"", b"HTTP/1.1 200 OK\r\n\r\n"),
    ],
)
def test_a_head_that_readers_would_stumble_over_is_made_readable_and_any_other_kept(tmp_path, head, stored):
    write(tmp_path, visit(head=head))
    [group] = iter_groups(only_file(tmp_path))
    assert group.answer.block == (head if stored is None else stored) + BODY


def test_an_http2_request_is_written_as_1_1_and_the_metadata_tells(tmp_path):
    write(tmp_path, visit(version="2", request_head=b"GET /a HTTP/2\r\nHost: example.org\r\n\r\n"))
    [group] = iter_groups(only_file(tmp_path))
    assert group.request.block == ASK
    assert b"http-version: 2\r\n" in group.metadata.block


def test_no_value_can_smuggle_a_line_into_a_record(tmp_path):
    evil = "x\r\nWARC-Type: warcinfo\r\n\r\n"
    one = WarcWriter(tmp_path, "test", {"software": evil, evil: "x"})
    response = msgspec.structs.replace(visit().response, url=f"https://example.org/{evil}", truncated=evil)
    one.append(Visit(response, hashlib.sha256(BODY).digest(), None, {evil: evil, "lone": "\ud800"}))
    one.close()
    assert [record.kind for record in records(only_file(tmp_path))] == ["warcinfo", "request", "response", "metadata"]
    assert verify(tmp_path).faults == []


lines = st.binary(max_size=40)


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=st.binary(max_size=3000), lines=st.lists(lines, max_size=6), status=st.integers(100, 999))
@example(body=b"\r\n\r\n", lines=[b"\x85", b"Transfer-Encoding: chunked"], status=200)
@example(body=b"WARC/1.1\r\n", lines=[b"\r", b"\x1c", b":", b"\xe2\x80\x83"], status=204)
def test_any_head_and_any_body_come_back(tmp_path, body, lines, status):
    shutil.rmtree(tmp_path)
    head = b"HTTP/1.1 %d\r\n" % status + b"".join(b"%b\r\n" % line for line in lines) + b"\r\n"
    [written] = write(tmp_path, visit(body, head=head, status=status))
    stored = read_record(tmp_path, written.location)
    assert stored.payload == body
    assert stored.status == status
    assert verify(tmp_path).faults == []
    assert len(list(iter_groups(only_file(tmp_path)))) == 1
    if not re.search(rb"[^\x20-\x7e]|transfer-encoding", b"".join(lines), re.I) and b"" not in map(bytes.strip, lines):
        assert head in records(only_file(tmp_path))[2].block


# --- decoding ---


def codings() -> list[tuple[str, bytes]]:
    raw = zlib.compressobj(9, zlib.DEFLATED, -15)
    return [
        ("gzip", gzip.compress(BODY)),
        ("x-gzip", gzip.compress(BODY[:100]) + gzip.compress(BODY[100:])),
        ("deflate", zlib.compress(BODY)),
        ("deflate", raw.compress(BODY) + raw.flush()),
        ("br", brotli.compress(BODY)),
        ("zstd", zstandard.compress(BODY)),
        ("identity", BODY),
        ("unheard-of", BODY),
        ("gzip, br", brotli.compress(gzip.compress(BODY))),
    ]


@pytest.mark.parametrize(("coding", "payload"), codings(), ids=[f"{n}-{c[0]}" for n, c in enumerate(codings())])
def test_bodies_come_without_their_coding(tmp_path, coding, payload):
    [written] = write(tmp_path, coded(BODY, coding, payload))
    assert body_at(tmp_path, written.location) == BODY
    assert body_at(tmp_path, written.location, max_bytes=100) == BODY[:100]


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_a_bomb_is_cut_at_the_cap(coding):
    zeros = bytes(30_000_000)
    bomb = {
        "gzip": lambda: gzip.compress(zeros),
        "deflate": lambda: zlib.compress(zeros),
        "br": lambda: brotli.compress(zeros, quality=5),
        "zstd": lambda: zstandard.compress(zeros),
    }[coding]()
    assert warc_read.decode(bomb, coding, 1_000_000) == bytes(1_000_000)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_data_that_is_not_what_it_says_stays_as_it_is(coding):
    assert warc_read.decode(b"<html>plain", coding) == b"<html>plain"


def test_of_a_body_cut_short_the_beginning_is_had():
    body = os.urandom(5_000)
    for coding, payload in (("gzip", gzip.compress(body)), ("deflate", zlib.compress(body))):
        assert body.startswith(warc_read.decode(payload[:3_000], coding)[:2_000])
        damaged = payload[:3_000] + b"\xff" * 500 + payload[3_500:]
        assert body[:2_000] == warc_read.decode(damaged, coding)[:2_000]


# --- torn and damaged files ---


def three_groups(directory: Path) -> tuple[bytes, list]:
    """A file with three small groups, the last a revisit; the bytes of it, and what the writer told."""
    one = WarcWriter(directory, "test", ABOUT, new_id=lambda: UUID(int=7))
    written = [one.append(visit(b"one")), one.append(visit(b"two", url="https://example.org/b"))]
    written.append(one.append(visit(b"one", url="https://example.org/c", revisit_of=written[0].original)))
    one.close()
    path = only_file(directory)
    data = path.read_bytes()
    path.unlink()
    return data, written


def test_a_file_torn_at_any_byte_of_the_last_group_loses_that_group_only(tmp_path):
    data, written = three_groups(tmp_path)
    path = tmp_path / written[0].location.file
    last = written[-1].group_start
    for end in range(last, len(data)):
        path.write_bytes(data[:end])
        told = repair(tmp_path)
        assert path.read_bytes() == data[:last]
        assert len(told) == (end > last)
        path.unlink()
    path.write_bytes(data)
    assert repair(tmp_path) == []
    assert path.read_bytes() == data


@pytest.mark.parametrize("tail", [b"x", bytes(5000), b"\x1f\x8b\x08" + bytes(50), b"WARC/1.1\r\n", os.urandom(3000)])
def test_what_follows_the_last_group_is_cut(tmp_path, tail):
    data, written = three_groups(tmp_path)
    path = tmp_path / written[0].location.file
    path.write_bytes(data + tail)
    assert repair(tmp_path) == [f"{path.name}: cut {len(tail)} bytes of an unfinished group at byte {len(data)}"]
    assert path.read_bytes() == data
    assert verify(tmp_path).faults == []


def test_a_hole_that_a_power_failure_left_is_cut_with_what_follows(tmp_path):
    data, written = three_groups(tmp_path)
    path = tmp_path / written[0].location.file
    hole = written[1].group_start
    path.write_bytes(data[:hole] + bytes(700) + data[hole + 700 :])
    assert len(repair(tmp_path)) == 1
    assert path.read_bytes() == data[:hole]


@pytest.mark.parametrize("keep", [0, 1, 10, 100, -1])
def test_a_file_without_a_whole_first_record_is_removed(tmp_path, keep):
    data, written = three_groups(tmp_path)
    path = tmp_path / written[0].location.file
    path.write_bytes(data[:keep] if keep >= 0 else bytes(4096))
    assert repair(tmp_path) == [f"{path.name}: removed, for not even its first record was whole"]
    assert not path.exists()


def test_a_file_with_nothing_but_its_first_record_stays(tmp_path):
    data, written = three_groups(tmp_path)
    path = tmp_path / written[0].location.file
    path.write_bytes(data[: written[0].group_start])
    assert repair(tmp_path) == []
    assert path.read_bytes() == data[: written[0].group_start]


def test_a_copy_of_the_file_inside_a_payload_is_not_taken_for_groups(tmp_path):
    """A crawl may fetch its own archive: whole groups then lie, byte for byte, inside a block that does not shrink."""
    data, written = three_groups(tmp_path)
    path = tmp_path / written[0].location.file
    torn = zlib.compress(b"WARC/1.1\r\n" + data + bytes(1000), 0, wbits=31)[:-100]
    assert data in torn
    path.write_bytes(data + torn)
    assert len(repair(tmp_path)) == 1
    assert path.read_bytes() == data


def test_repair_reads_only_the_end_and_still_finds_the_last_group(tmp_path, monkeypatch):
    monkeypatch.setattr(warc_check, "UNSYNCED_BYTES", 3_000)
    one = writer(tmp_path)
    for number in range(50):
        last = one.append(visit(os.urandom(20_000 if number % 2 else 10)))
    one.close()
    path = only_file(tmp_path)
    os.truncate(path, path.stat().st_size - 1)
    assert len(repair(tmp_path)) == 1
    assert path.stat().st_size == last.group_start


def test_damage_that_no_crash_does_is_left_for_verify(tmp_path):
    data, written = three_groups(tmp_path)
    path = tmp_path / written[0].location.file
    damaged = bytearray(data)
    damaged[written[1].location.offset + 50] ^= 1
    path.write_bytes(damaged)
    assert "left as it is" in repair(tmp_path)[0]
    assert path.read_bytes() == damaged


def test_older_files_are_looked_at_too(tmp_path):
    data, written = three_groups(tmp_path)
    old = tmp_path / written[0].location.file
    old.write_bytes(data[:-5])
    os.utime(old, (0, 0))
    write(tmp_path, visit())
    assert len(repair(tmp_path)) == 1
    assert old.read_bytes() == data[: written[2].group_start]


def test_repair_leaves_alone_what_is_being_written_and_what_is_not_ours(tmp_path):
    one = writer(tmp_path)
    one.append(visit())
    live = only_file(tmp_path)
    [group] = iter_groups(live)
    with live.open("ab") as file:
        file.write(live.read_bytes()[group.start : group.start + 200])
    foreign = tmp_path / "other.warc.gz"
    foreign.write_bytes(
        gzip.compress(b"WARC/1.0\r\nWARC-Type: warcinfo\r\nContent-Length: 0\r\n\r\n\r\n\r\n") + b"rest"
    )
    before = live.read_bytes(), foreign.read_bytes()
    assert repair(tmp_path) == []
    assert (live.read_bytes(), foreign.read_bytes()) == before
    assert not [fault for fault in verify(tmp_path).faults if fault.startswith(live.name)]
    one.close()
    assert len(repair(tmp_path, prefix="elsewhere")) == 0
    assert len(repair(tmp_path, prefix="test")) == 1


def test_a_hidden_file_left_by_a_crash_is_removed(tmp_path):
    left = tmp_path / ".test-20251115205320-00000.warc.gz.part"
    left.write_bytes(b"x")
    repair(tmp_path)
    assert not left.exists()


def test_a_newer_format_is_refused_in_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr("lycosa.backends.warc.FORMAT", 2)
    write(tmp_path, visit())
    with pytest.raises(Unreadable, match="has format 2, this version knows 1: use the newer Lycosa"):
        repair(tmp_path)


def test_every_flipped_bit_that_changes_anything_is_found(tmp_path):
    data, written = three_groups(tmp_path)
    path = tmp_path / written[0].location.file
    path.write_bytes(data)
    contents = [(record.offset, record.fields, record.block) for record in records(path)]
    edges = {at for offset, *_ in contents for at in range(offset - 9, offset + 11)}  # gzip trailers and headers
    bits = [at * 8 + bit for at in range(len(data)) for bit in range(8) if at in edges or bit == at % 8]
    unseen = 0
    for bit in bits:
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        if not verify(tmp_path).faults:
            unseen += 1
            assert [(record.offset, record.fields, record.block) for record in records(path)] == contents
    assert unseen <= 8 * len(contents)  # the bits that fill the last byte of each deflate stream


def test_damage_hides_one_record_and_reading_goes_on(tmp_path):
    data, written = three_groups(tmp_path)
    path = tmp_path / written[0].location.file
    damaged = bytearray(data)
    damaged[written[0].location.offset + 60] ^= 16
    path.write_bytes(damaged)
    report = verify(tmp_path)
    assert [fault.split(":")[0] for fault in report.faults if "refers to" not in fault] == [
        f"{path.name} at byte {written[0].location.offset}"
    ]
    assert any("refers to no stored response" in fault for fault in report.faults)  # the third group's original
    assert [group.start for group in iter_groups(path)] == [each.group_start for each in written[1:]]
    assert body_at(tmp_path, written[1].location) == b"two"
    with pytest.raises(Unreadable, match="lycosa verify"):
        read_record(tmp_path, written[0].location)


def test_verify_counts_and_tells_how_far_it_is(tmp_path):
    write(tmp_path, *[visit(os.urandom(500_000)) for _ in range(8)], roll_bytes=2_000_000)
    told: list[tuple[int, int]] = []
    report = verify(tmp_path, lambda done, total: told.append((done, total)))
    size = sum(path.stat().st_size for path in tmp_path.iterdir())
    files = len(list(tmp_path.glob("*.warc.gz")))
    assert files > 1
    assert (report.files, report.records, report.bytes, report.faults) == (files, files + 8 * 3, size, [])
    assert len(told) >= 3
    assert told == sorted(told)
    assert told[-1] == (size, size)


def test_verify_finds_a_torn_file_and_a_revisit_of_nothing(tmp_path):
    lost = Original("https://example.org/lost", "2025-01-01T00:00:00.000000Z", "sha256:" + "0" * 64)
    write(tmp_path, visit(revisit_of=lost))
    assert "refers to no stored response" in verify(tmp_path).faults[0]
    path = only_file(tmp_path)
    os.truncate(path, path.stat().st_size - 3)
    assert any("the file ends inside this record" in fault for fault in verify(tmp_path).faults)


def test_verify_finds_groups_that_were_moved_or_left_out(tmp_path):
    data, written = three_groups(tmp_path)
    path = tmp_path / written[0].location.file
    one, two = written[1].group_start, written[2].group_start
    path.write_bytes(data[:one] + data[two:])
    assert any("as written here" in fault for fault in verify(tmp_path).faults)


def test_records_of_other_tools_are_read_and_their_digests_checked(tmp_path):
    block = b"HTTP/1.1 200 OK\r\n\r\nhello"

    def foreign(digest: str) -> bytes:
        head = f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Payload-Digest: {digest}\r\nContent-Length: {len(block)}\r\n"
        record = head.encode() + b"Content-Type: application/http\r\n\r\n" + block + b"\r\n\r\n"
        return gzip.compress(record, mtime=1) * 30

    path = tmp_path / "other.warc.gz"
    path.write_bytes(foreign("sha1:VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N"))
    assert len(records(path)) == 30
    assert all("warcinfo" in fault for fault in verify(tmp_path).faults)
    path.write_bytes(foreign("sha1:" + "A" * 32))
    assert sum("payload does not" in fault for fault in verify(tmp_path).faults) == 30


def test_a_location_that_is_not_there_is_unreadable(tmp_path):
    [written] = write(tmp_path, visit())
    with pytest.raises(Unreadable, match="is it still in"):
        read_record(tmp_path, Location("gone.warc.gz", 0, 10))
    start = written.group_start
    request = Location(written.location.file, start, written.location.offset - start)
    with pytest.raises(Unreadable, match="a request record"):
        read_record(tmp_path, request)
    for wrong in (written.location.offset + 1, 10**9):
        with pytest.raises(Unreadable, match="no whole record"):
            read_record(tmp_path, Location(written.location.file, wrong, written.location.length))


def test_ids_depend_on_the_file_and_the_offset():
    ids = group_ids(b"f" * 16, 0)
    assert all(
        re.fullmatch(r"<urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}>", i) for i in ids
    )
    others = {*ids, *group_ids(b"f" * 16, 1), *group_ids(b"g" * 16, 0)}
    assert len(others) == 9


# --- a full disk ---

FILL = """
    import pathlib, resource, sys
    sys.path.insert(0, sys.argv[1])
    from test_warc import writer, visit, WriteFailed
    directory = pathlib.Path(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), resource.RLIM_INFINITY))
    one = writer(directory)
    count = 0
    try:
        while True:
            one.append(visit())
            count += 1
    except WriteFailed as error:
        print(error)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    one.append(visit())
    one.close()
    print(count + 1)
"""


@pytest.mark.parametrize("limit", [50, 5_000, 5_100, 5_200])
def test_a_full_disk_is_one_clear_sentence_and_leaves_no_torn_group(tmp_path, limit):
    command = [sys.executable, "-c", textwrap.dedent(FILL), str(Path(__file__).parent), str(tmp_path), str(limit)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    sentence, count = done.stdout.splitlines()
    assert sentence.startswith(f"cannot write WARC files in {tmp_path}: File too large; make room there")
    assert verify(tmp_path).faults == []
    assert len(list(iter_groups(only_file(tmp_path)))) == int(count)
    assert [path.name for path in tmp_path.iterdir()] == [only_file(tmp_path).name]


def test_a_failing_sync_gives_the_file_up_and_the_next_append_starts_another(tmp_path, monkeypatch):
    one = writer(tmp_path)
    first = one.append(visit())

    def fail(fd: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as broken:
        broken.setattr(os, "fdatasync", fail)
        with pytest.raises(WriteFailed, match="Input/output error"):
            one.sync()
    second = one.append(visit())
    one.close()
    assert first.location.file != second.location.file
    assert verify(tmp_path).faults == []
