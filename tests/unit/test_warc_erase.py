"""Erasing visits: the bytes are gone, everything else stays where it was, and the file can still be proved."""

from __future__ import annotations

import gzip
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lycosa.backends import warc_erase
from lycosa.backends.cdxj import lines_of
from lycosa.backends.warc import Original, Visit, WarcWriter
from lycosa.backends.warc_check import repair, verify
from lycosa.backends.warc_erase import CannotErase, erase, is_erased, lengths_of, read_group, visits_in, write_again
from lycosa.backends.warc_read import body_at, read_record
from lycosa.model import Location, Response, Timings
from lycosa.web.headers import Headers

ABOUT = {"software": "test"}


def response(url: str, body: bytes, at: float = 1_763_240_000.25) -> Response:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(body)
    asked = f"GET / HTTP/1.1\r\nHost: {url.split('/')[2]}\r\nUser-Agent: Lycosa\r\n\r\n".encode()
    headers = Headers([("Content-Type", "text/html"), ("Content-Length", str(len(body)))])
    return Response(url, 200, "OK", "1.1", headers, asked, head, body, body, "", "192.0.2.1", at, Timings())


def write(folder: Path, bodies: dict[str, bytes], copies: dict[str, str] | None = None) -> Path:
    writer = WarcWriter(folder, "test", ABOUT)
    first: dict[str, Original] = {}
    for number, (url, body) in enumerate(bodies.items()):
        original = first.get((copies or {}).get(url, ""))
        visit = Visit(response(url, body, 1_763_240_000.25 + number), sha256(body).digest(), original, {"depth": "1"})
        first[url] = writer.append(visit).original
    writer.close()
    [path] = folder.glob("*.warc.gz")
    return path


def spans(path: Path, url: str) -> list[tuple[int, tuple[int, int, int]]]:
    groups = [group for group in visits_in(path) if group.answer.fields["warc-target-uri"] == url]
    return [(group.start, lengths_of(group)) for group in groups]


def test_the_bytes_are_gone_and_all_other_records_are_where_they_were(tmp_path):
    secret = b"<p>a secret that nobody shall read</p>" * 50
    path = write(tmp_path, {"http://a/1": b"one", "http://a/secret": secret, "http://a/3": b"three"})
    before = [(group.start, group.end, group.answer.offset) for group in visits_in(path)]
    size = path.stat().st_size
    assert erase(path, spans(path, "http://a/secret")) == 1
    assert path.stat().st_size == size
    assert [(group.start, group.end, group.answer.offset) for group in visits_in(path)] == before
    content = gzip.decompress(path.read_bytes())
    assert b"secret" not in content
    assert [is_erased(group) for group in visits_in(path)] == [False, True, False]
    report = verify(tmp_path)
    assert (report.faults, report.records) == ([], 10)
    third = list(visits_in(path))[2].answer
    assert body_at(tmp_path, Location(path.name, third.offset, third.length)) == b"three"


def test_an_erased_visit_is_in_no_index(tmp_path):
    path = write(tmp_path, {"http://a/1": b"one", "http://a/2": b"two"})
    erase(path, spans(path, "http://a/1"))
    assert [line.split('"url": "')[1].split('"')[0] for line in lines_of(path)] == ["http://a/2"]


def test_erasing_again_changes_nothing_and_mends_what_a_crash_left_half_done(tmp_path):
    path = write(tmp_path, {"http://a/1": b"one " * 300, "http://a/2": b"two"})
    wanted = spans(path, "http://a/1")
    erase(path, wanted)
    whole = path.read_bytes()
    start = wanted[0][0]
    with path.open("r+b") as file:
        file.seek(start + 100)
        file.write(b"\xff" * 200)
    assert verify(tmp_path).faults
    erase(path, wanted)
    assert path.read_bytes() == whole
    assert repair(tmp_path) == []


def test_repair_does_not_take_what_was_erased_for_a_torn_tail(tmp_path):
    path = write(tmp_path, {"http://a/1": b"one", "http://a/2": bytes(200_000) + b"x"})
    erase(path, spans(path, "http://a/2"))
    assert repair(tmp_path) == []
    assert verify(tmp_path).faults == []


@settings(deadline=None, max_examples=200)
@given(
    st.integers(260, 140_000) | st.sampled_from([65_535, 65_540, 65_800, 65_801, 131_071, 131_400]),
    st.integers(0, 1 << 62),
)
def test_a_record_of_any_length_can_be_made(length, start):
    header = gzip.compress(b"", mtime=0)[:10]
    made = warc_erase._forgotten(b"0123456789abcdef", start, (length, 300, 300), header)
    assert len(made) == length + 600
    content = gzip.GzipFile(fileobj=BytesIO(made)).read()
    assert content.count(b"WARC/1.1\r\n") == 3


def test_a_record_that_is_too_short_is_refused_and_left(tmp_path):
    path = write(tmp_path, {"http://a/1": b"one"})
    before = path.read_bytes()
    with pytest.raises(CannotErase, match="too short"):
        erase(path, [(spans(path, "http://a/1")[0][0], (50, 300, 300))])
    assert path.read_bytes() == before


def test_files_of_others_are_left_alone(tmp_path):
    other = tmp_path / "other.warc.gz"
    other.write_bytes(gzip.compress(b"WARC/1.0\r\nWARC-Type: warcinfo\r\nContent-Length: 0\r\n\r\n\r\n\r\n"))
    assert list(visits_in(other)) == []
    with pytest.raises(CannotErase, match="not written by Lycosa"):
        erase(other, [(0, (300, 300, 300))])


def test_a_copy_is_written_again_with_the_body_and_the_next_as_a_revisit_of_it(tmp_path):
    body = b"<p>shared</p>" * 40
    urls = {"http://a/first": body, "http://b/copy": body, "http://c/copy": body}
    path = write(tmp_path, urls, {"http://b/copy": "http://a/first", "http://c/copy": "http://a/first"})
    first, second, third = visits_in(path)
    writer = WarcWriter(tmp_path, "again", ABOUT)
    payload = read_group(path, first.start).answer.payload
    kept = write_again(writer, second, payload, None)
    also = write_again(writer, third, payload, kept.written.original)
    writer.close()
    erase(path, [(group.start, lengths_of(group)) for group in (first, second, third)])
    assert verify(tmp_path).faults == []
    assert body_at(tmp_path, kept.written.location) == body
    assert read_record(tmp_path, also.written.location).refers_to.url == "http://b/copy"
    assert b"http://a/first" not in b"".join(gzip.decompress(file.read_bytes()) for file in tmp_path.glob("*.gz"))


def test_other_readers_read_an_erased_file_to_its_end(tmp_path):
    path = write(tmp_path, {"http://a/1": b"one", "http://a/2": b"two" * 30_000, "http://a/3": b"three"})
    erase(path, spans(path, "http://a/2"))
    warcio = pytest.importorskip("warcio.archiveiterator")
    with path.open("rb") as file:
        read = [(record.rec_type, record.rec_headers["WARC-Target-URI"]) for record in warcio.ArchiveIterator(file)]
    assert len(read) == 10
    assert [url for kind, url in read if kind == "response"] == ["http://a/1", warc_erase.NOWHERE, "http://a/3"]
    fastwarc = pytest.importorskip("fastwarc.warc")
    with path.open("rb") as file:
        assert sum(1 for _ in fastwarc.ArchiveIterator(file)) == 10
