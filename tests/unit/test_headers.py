"""HTTP response headers, read leniently: nonsense is as good as absence."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lycosa.web.headers import (
    ContentType,
    Headers,
    Validators,
    looks_like_html,
    read_content_type,
    read_link_header,
    read_max_age,
    read_retry_after,
    read_validators,
)

NOW = 1_700_000_000.0  # Tue, 14 Nov 2023 22:13:20 GMT


def test_names_have_no_case_and_the_first_value_counts() -> None:
    headers = Headers([("X-Web", " silk "), ("x-WEB", "orb"), (" Odd ", "x")])
    assert headers.get("x-web") == "silk"
    assert headers.get_all("X-Web") == ["silk", "orb"]
    assert headers.get("odd") == "x"
    assert headers.get("none") is None
    assert headers.get_all("none") == []
    assert headers.pairs[1] == ("x-WEB", "orb")


def test_an_overlong_value_is_cut() -> None:
    assert len(Headers([("a", "x" * 1_000_000)]).get("a") or "") < 20_000


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("text/html", ContentType("text/html", None)),
        (" Text/HTML ; charset=UTF-8", ContentType("text/html", "utf-8")),
        ("application/rss+xml;x", ContentType("application/rss+xml", None)),
        ("text/html, text/html", ContentType("text/html", None)),
        ("html", ContentType("", None)),
        ("", ContentType("", None)),
        (None, ContentType("", None)),
    ],
)
def test_a_content_type_is_a_media_type_and_an_encoding(value: str | None, expected: ContentType) -> None:
    assert read_content_type(value) == expected


def test_kinds_of_content_are_told_apart() -> None:
    html, xhtml, feed, plain = map(
        read_content_type, ["text/html", "application/xhtml+xml", "application/atom+xml", "text/plain"]
    )
    assert (html.is_html, html.is_xml, html.is_text) == (True, False, True)
    assert (xhtml.is_html, xhtml.is_xml, xhtml.is_text) == (True, True, False)
    assert (feed.is_html, feed.is_xml, feed.is_text) == (False, True, False)
    assert (plain.is_html, plain.is_xml, plain.is_text) == (False, False, True)


def test_a_page_is_known_by_how_it_begins() -> None:
    for body in (b"<!DOCTYPE html>", b"\xef\xbb\xbf \n<HTML lang=x>", b"<!-- x -->", b"<p>x", b"<body>"):
        assert looks_like_html(body), body
    for body in (b"", b"{}", b"%PDF-1.4", b"<?xml version='1.0'?>", b"plain <html>", b"\x89PNG"):
        assert not looks_like_html(body), body


def test_validators_are_sent_back_as_they_came_and_bad_ones_never() -> None:
    date = "Tue, 14 Nov 2023 22:13:20 GMT"
    found = read_validators(Headers([("ETag", 'W/"x1"'), ("Last-Modified", date)]))
    assert found.request_headers() == [("If-None-Match", 'W/"x1"'), ("If-Modified-Since", date)]
    for etag in ("x1", '"a"b"', '"\r\nX: y"', '"' + "x" * 9_999 + '"', "W/x"):
        bad = read_validators(Headers([("ETag", etag), ("Last-Modified", "soon")]))
        assert bad == Validators(None, None)
        assert bad.request_headers() == []


@pytest.mark.parametrize(
    ("fields", "seconds"),
    [
        ([("Cache-Control", "public, max-age=60")], 60.0),
        ([("Cache-Control", 'MAX-AGE="60", x="a,b"')], 60.0),
        ([("Cache-Control", "max-age=60"), ("Expires", "0")], 60.0),
        ([("Cache-Control", "no-cache")], 0.0),
        ([("Cache-Control", "x"), ("Cache-Control", "no-store")], 0.0),
        ([("Cache-Control", "max-age=soon")], None),
        ([("Cache-Control", "s-maxage=9")], None),
        ([("Expires", "Tue, 14 Nov 2023 22:14:20 GMT")], 60.0),
        ([("Expires", "Tue, 14 Nov 2023 22:14:20 GMT"), ("Date", "Tue, 14 Nov 2023 22:14:10 GMT")], 10.0),
        ([("Expires", "Tue, 14 Nov 2000 22:14:20 GMT")], 0.0),
        ([("Expires", "0")], 0.0),
        ([], None),
    ],
)
def test_freshness_is_cache_control_then_expires(fields: list[tuple[str, str]], seconds: float | None) -> None:
    assert read_max_age(Headers(fields), NOW) == seconds


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120.0),
        (" 120 ", 120.0),
        ("Tue, 14 Nov 2023 22:14:20 GMT", 60.0),
        ("86400", 86_400.0),
        ("86401", 86_400.0),
        ("9" * 400, 86_400.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 86_400.0),
        *[(bad, None) for bad in ("0", "-5", "1.5", "soon", "", "٣", None, "Tue, 14 Nov 2000 22:14:20 GMT")],
    ],
)
def test_retry_after_is_seconds_or_a_date_and_at_most_a_day(value: str | None, seconds: float | None) -> None:
    assert read_retry_after(value, NOW) == seconds


@given(st.text() | st.integers().map(str), st.floats(0, 1e10))
def test_retry_after_is_never_past_nor_beyond_a_day(value: str, now: float) -> None:
    seconds = read_retry_after(value, now)
    assert seconds is None or 0 < seconds <= 86_400


@pytest.mark.parametrize(
    ("value", "targets"),
    [
        ('<https://a.example/x>; rel="canonical"', ["https://a.example/x"]),
        ("</x>;rel=canonical", ["/x"]),
        ('<a>; rel="next", <b>; title="x, y"; REL="Alternate Canonical"', ["b"]),
        ('<a,b;c> ; type="t" ; rel = canonical , <d>;rel=canonical', ["a,b;c", "d"]),
        ('<a>; title="; rel=canonical"', []),
        ("<a>", []),
        ("https://a.example/x; rel=canonical", []),
        ("<a; rel=canonical", []),
        ("", []),
    ],
)
def test_link_targets_are_found_by_their_relation(value: str, targets: list[str]) -> None:
    assert read_link_header(Headers([("Link", value)]), "canonical") == targets


@given(st.text(), st.text(), st.floats(0, 1e10))
@example("\x00", "max-age=²", 0.0)
def test_any_header_is_read(name: str, value: str, now: float) -> None:
    names = (name, "ETag", "Last-Modified", "Cache-Control", "Expires", "Date", "Link", "Content-Type")
    headers = Headers([(each, value) for each in names])
    read_validators(headers)
    assert (read_max_age(headers, now) or 0) >= 0
    assert all(isinstance(target, str) for target in read_link_header(headers, "canonical"))
    assert read_content_type(value).media_type.isascii()


@pytest.mark.parametrize(
    "value", [", " * 8_000, "<" * 16_000, "<a>" + ";rel" * 4_000, '<a>;rel="' * 1_700, "a=" * 8_000, " ," * 8_000]
)
def test_hostile_headers_cost_no_more_than_their_length(value: str) -> None:
    headers = Headers([("Link", value), ("Cache-Control", value)] * 5)
    started = time.perf_counter()
    read_link_header(headers, "canonical")
    read_max_age(headers, NOW)
    read_content_type(value)
    assert time.perf_counter() - started < 0.3
