"""CDXJ: keys as other tools make them, lines that lead to records, an index in the order of its bytes."""

from __future__ import annotations

import hashlib
import json
import random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.backends.cdxj import line_of, lines_of, sorted_lines, surt, write_index
from lycosa.backends.warc import Visit, WarcWriter
from lycosa.backends.warc_read import read_record
from lycosa.model import Location, Response, Timings
from lycosa.web.headers import Headers

SESSION = "0123456789abcdef" * 2
ASPX = "abcdefghijklmnopqrstuvwx"


# What the surt package, which pywb and cdxj-indexer use, makes of each URL.
@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("http://example.org", "org,example)/"),
        ("http://example.org/#fragment", "org,example)/"),
        ("http://example.org./", "org,example)/"),
        ("http://user:secret@example.org/", "org,example)/"),
        # www and numbered www go, once
        ("http://www.example.org/", "org,example)/"),
        ("http://www12.foo.org:80/", "org,foo)/"),
        ("http://www.www.example.org/", "org,example,www)/"),
        ("http://wwwfoo.org/", "org,wwwfoo)/"),
        ("http://www.com/", "com)/"),
        # ports
        ("https://WWW2.Example.ORG:443/A/B/", "org,example)/a/b"),
        ("https://foo.org:80/", "org,foo:80)/"),
        ("http://foo.org:443/", "org,foo:443)/"),
        # addresses
        ("http://127.0.0.1:80/x", "1,0,0,127)/x"),
        ("http://10.0.0.1:81/", "1,0,0,10:81)/"),
        ("https://[::1]:81/q?", "::1:81)/q"),
        ("http://[2001:db8::1]/", "2001:db8::1)/"),
        # names in other scripts
        ("http://xn--bcher-kva.example/ü?ü", "example,xn--bcher-kva)/%c3%bc?%c3%bc"),
        ("http://bücher.example/", "example,xn--bcher-kva)/"),
        # paths
        ("http://example.org/a//b/../c/./d", "org,example)/a/c/d"),
        ("http://example.org/a/../../b", "org,example)/../b"),
        ("http://example.org/a%2Fb", "org,example)/a/b"),
        ("http://example.org/a%3Fb%23c", "org,example)/a?b%23c"),
        ("http://example.org/%", "org,example)/%25"),
        ('http://example.org/a|b{c}"<>^`[]', 'org,example)/a|b{c}"<>^`[]'),
        ("http://example.org/a b?c d", "org,example)/a%20b?c%20d"),
        ("http://example.org/%7Efoo/%C3%A9?%C3%A9=%20&x=%2520", "org,example)/~foo/%c3%a9?%c3%a9=%20&x=%20"),
        # queries
        ("http://example.org/?", "org,example)/"),
        ("http://example.org:8080/?b=2&a=1&A=0&c", "org,example:8080)/?a=0&a=1&b=2&c"),
        ("http://example.org/?a=b=c&a&a=", "org,example)/?a&a=&a=b=c"),
        ("http://example.org/?&&b&a", "org,example)/?&&a&b"),
        ("http://example.org/a;b=c?d;e", "org,example)/a;b=c?d;e"),
        # session ids
        (f"http://example.org/a?jsessionid={SESSION}", "org,example)/a"),
        (f"http://example.org/a?x=1&PHPSESSID={SESSION}&b=2", "org,example)/a?b=2&x=1"),
        (f"http://example.org/a?sid={SESSION}&a=1", "org,example)/a?a=1"),
        (f"http://example.org/a?ASPSESSIONIDABCDEFGH={ASPX}", "org,example)/a"),
        ("http://example.org/a?x&cfid=1&cftoken=2&y", "org,example)/a?x&y"),
        (f"http://example.org/(S({ASPX}))/p.aspx?x", "org,example)/p.aspx?x"),
        (f"http://example.org/a/({ASPX})/p.aspx", "org,example)/a/p.aspx"),
        # what is not a web address stays
        ("dns:example.org", "dns:example.org"),
        ("", ""),
    ],
)
def test_keys_are_those_of_other_archives(url, key):
    assert surt(url) == key


@given(st.text(max_size=40))
def test_every_url_has_a_key_without_spaces(rest):
    key = surt(f"http://www.example.org/{rest}")
    assert key.startswith("org,example)/")
    assert key.isascii()
    assert not set(key) & {" ", "\n", "\t", "#"}


def visit(url: str, **changes) -> Visit:
    body = b"<html>words"
    headers = [("Content-Type", "text/html; charset=utf-8")]
    response = Response(
        url=url,
        status=200,
        reason="OK",
        version="1.1",
        headers=Headers(headers),
        request_head=b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        head=b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n",
        payload=body,
        body=body,
        truncated="",
        address="192.0.2.1",
        started_at=1_763_240_000.9,
        timings=Timings(),
    )
    return Visit(msgspec.structs.replace(response, **changes), hashlib.sha256(body).digest())


def test_a_line_leads_to_its_record_and_is_the_same_at_once_and_later(tmp_path):
    writer = WarcWriter(tmp_path, "test", {})
    plain = visit("https://www.example.org/b?y&x")
    moved = visit(
        "https://example.org/a",
        status=301,
        headers=Headers([("Location", "/b")]),
        head=b"HTTP/1.1 301 Moved\r\nLocation: /b\r\n\r\n",
    )
    first, second = writer.append(plain), writer.append(moved)
    again = msgspec.structs.replace(visit("https://example.org/c"), revisit_of=first.original)
    third = writer.append(again)
    [path] = tmp_path.iterdir()
    at_once = [line_of(plain, first), line_of(moved, second), line_of(again, third)]
    assert list(lines_of(path)) == at_once  # also while the file is being written
    writer.close()
    assert list(lines_of(path)) == at_once
    key, stamp, told = at_once[0].split(" ", 2)
    assert (key, stamp) == ("org,example)/b?x&y", "20251115205320")
    assert json.loads(told) == {
        "url": "https://www.example.org/b?y&x",
        "mime": "text/html",
        "status": "200",
        "digest": first.original.payload_digest,
        "length": str(first.location.length),
        "offset": str(first.location.offset),
        "filename": path.name,
    }
    stored = json.loads(at_once[0].split(" ", 2)[2])
    place = Location(stored["filename"], int(stored["offset"]), int(stored["length"]))
    assert read_record(tmp_path, place).url == "https://www.example.org/b?y&x"
    assert "mime" not in json.loads(at_once[1].split(" ", 2)[2])
    revisit = json.loads(at_once[2].split(" ", 2)[2])
    assert (revisit["mime"], revisit["digest"]) == ("warc/revisit", first.original.payload_digest)


def test_an_index_is_sorted_and_complete(tmp_path):
    writer = WarcWriter(tmp_path, "test", {}, roll_bytes=3_000)
    for number in random.Random(3).sample(range(100), 20):
        writer.append(visit(f"https://example.org/{number:02d}"))
    writer.close()
    paths = sorted(tmp_path.glob("*.warc.gz"))
    assert len(paths) > 1
    assert write_index(tmp_path / "index.cdxj", paths) == 20
    lines = (tmp_path / "index.cdxj").read_bytes().splitlines()
    assert len(lines) == 20
    assert lines == sorted(lines)
    assert not (tmp_path / "index.cdxj.part").exists()


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n"))), st.integers(1, 5))
def test_sorting_with_little_memory_is_sorting_by_bytes(lines, in_memory):
    expected = sorted(lines, key=str.encode)
    assert list(sorted_lines(lines, in_memory)) == expected
