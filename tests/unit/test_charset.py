"""In which encoding a page is, as browsers decide it."""

from __future__ import annotations

import time

import conformance
import pytest
import webencodings
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lycosa.web.charset import Charset, charset_of_type, decode, lookup, prescan, sniff


def test_a_byte_order_mark_beats_the_header_and_the_header_beats_the_page() -> None:
    page = b"<meta charset=koi8-r>"
    assert sniff(b"\xef\xbb\xbf" + page, "text/html; charset=big5") == ("utf-8", "bom")
    assert sniff(b"\xff\xfea\x00", "text/html; charset=big5") == ("utf-16le", "bom")
    assert sniff(b"\xfe\xff\x00a", "text/html; charset=big5") == ("utf-16be", "bom")
    assert sniff(page, "text/html; charset=big5") == ("big5", "http")
    assert sniff(page, "text/html; charset=bogus") == ("koi8-r", "meta")
    assert sniff(page, "text/html") == ("koi8-r", "meta")


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("latin1", "windows-1252"),
        ("ISO-8859-1", "windows-1252"),
        ("ascii", "windows-1252"),
        (" UTF8 ", "utf-8"),
        ("gb2312", "gbk"),
        ("x-sjis", "shift_jis"),
        *[(bad, None) for bad in ("utf-7", "", None, "u" * 100)],
    ],
)
def test_labels_mean_what_browsers_take_them_for(label: str | None, name: str | None) -> None:
    assert lookup(label) == name


@pytest.mark.parametrize(
    ("content_type", "name"),
    [
        ("text/html; charset=utf-8", "utf-8"),
        ('text/html;CHARSET="Koi8-R"', "koi8-r"),
        ("text/html; charset = 'big5' ; x=y", "big5"),
        ('text/html; charset="utf-8', "utf-8"),
        ("text/html; xcharset=utf-8", None),
        ("text/html", None),
        ("text/html; charset=", None),
        (None, None),
    ],
)
def test_the_header_names_an_encoding(content_type: str | None, name: str | None) -> None:
    assert charset_of_type(content_type) == name


@pytest.mark.parametrize(
    ("page", "name"),
    [
        (b"<meta charset=koi8-r>", "koi8-r"),
        (b"<META/CHARSET='KOI8-R'/>", "koi8-r"),
        (b'<meta http-equiv="Content-Type" content="text/html; charset=koi8-r">', "koi8-r"),
        (b'<meta content="charset charset = koi8-r;" http-equiv=content-type>', "koi8-r"),
        (b"<meta content='text/html; charset=koi8-r'>", None),
        (b"<meta http-equiv=refresh content='0; charset=koi8-r'>", None),
        (b"<meta charset=bogus><meta charset=koi8-r>", "koi8-r"),
        (b"<meta charset=koi8-r charset=big5>", "koi8-r"),
        (b"<!-- <meta charset=big5> --><meta charset=koi8-r>", "koi8-r"),
        (b"<!--><meta charset=koi8-r>", "koi8-r"),
        (b"<a title='<meta charset=big5>'><meta charset=koi8-r>", "koi8-r"),
        (b"</p x='>'><!x><?y><meta charset=koi8-r>", "koi8-r"),
        (b"<metadata charset=koi8-r>", None),
        (b"<meta charset=utf-16>", "utf-8"),
        (b"<meta charset=x-user-defined>", "windows-1252"),
        (b"<meta charset=koi8-r", None),
        (b"no markup", None),
    ],
)
def test_a_declaration_is_found_without_a_parser(page: bytes, name: str | None) -> None:
    assert prescan(page) == name


def test_an_xml_declaration_counts_when_no_meta_does() -> None:
    declaration = b'<?xml version="1.0" encoding="iso-8859-2"?>'
    assert sniff(declaration + b"<html>\xb1").label == "iso-8859-2"
    assert sniff(declaration + b"<meta charset=koi8-r>").label == "koi8-r"
    assert sniff(declaration.replace(b"iso-8859-2", b"utf-16") + b"\xc3\xa9").label == "utf-8"
    assert sniff('<?xml version="1.0"?><p>é'.encode("utf-16-le")).label == "utf-16le"
    assert sniff('<?xml version="1.0"?><p>é'.encode("utf-16-be")).label == "utf-16be"


def test_a_late_declaration_still_counts_as_a_browser_starts_over() -> None:
    assert sniff(b" " * 2_000 + b"<meta charset=koi8-r>") == ("koi8-r", "meta")
    assert sniff(b" " * 20_000 + b"<meta charset=koi8-r>") == ("windows-1252", "ascii")


def test_undeclared_bytes_speak_for_themselves() -> None:
    assert sniff("<p>Spinnentöter</p>".encode()) == ("utf-8", "utf-8")
    assert sniff(b"<p>plain</p>") == ("windows-1252", "ascii")
    assert sniff(b"") == ("windows-1252", "ascii")
    assert sniff("Тарантул живёт в норе и ждёт добычу ночью".encode("cp1251") * 9) == ("windows-1251", "guess")
    assert sniff("蜘蛛は糸で巣を作ります".encode("shift_jis") * 9) == ("shift_jis", "guess")


def test_a_few_bad_bytes_or_a_cut_character_leave_utf8_what_it_is() -> None:
    assert sniff("Spinnentöter ".encode() * 50 + b"\xff") == ("utf-8", "utf-8")
    assert sniff("é".encode() * 40_000) == ("utf-8", "utf-8")
    assert sniff(b"x" + "é".encode() * 40_000) == ("utf-8", "utf-8")
    for cut_at in range(1, 4):  # the one character that is not ASCII lies across the end of what is looked at
        assert sniff(b"x" * (65_536 - cut_at) + "🕷".encode() + b"x" * 99) == ("utf-8", "utf-8")


def test_decoding_drops_the_mark_and_replaces_bad_bytes() -> None:
    assert decode(b"\xef\xbb\xbfa\xff", Charset("utf-8", "bom")) == "a\ufffd"
    assert decode(b"\xff\xfea\x00", Charset("utf-16le", "bom")) == "a"
    assert decode(b"\x80\xe9", Charset("windows-1252", "default")) == "€é"


_MARKUP = st.lists(st.sampled_from(b"<meta|charset=|<!--|>|'|\"|/| |\xff|\xc3|=|koi8-r".split(b"|"))).map(b"".join)


@settings(max_examples=300, deadline=None)
@given(
    st.binary(max_size=300) | _MARKUP,
    st.none() | st.text(max_size=40) | st.sampled_from(sorted(webencodings.LABELS)).map("a/b; charset={}".format),
)
@example(bytes(range(256)), "a/b; charset=utf-16")
@example(b"\x1b$B\xff~{", "a/b; charset=hz-gb-2312")
def test_any_bytes_become_text(body: bytes, content_type: str | None) -> None:
    charset = sniff(body, content_type)
    assert lookup(charset.label) == charset.label
    assert charset.reason in {"bom", "http", "meta", "utf-8", "ascii", "guess", "default"}
    assert isinstance(decode(body, charset), str)


@pytest.mark.parametrize("label", sorted(set(webencodings.LABELS.values())))
def test_every_encoding_of_the_web_decodes_without_failing(label: str) -> None:
    text = decode(b"a" + bytes(range(256)) + b"\x81", Charset(label, "http"))
    assert text


@pytest.mark.parametrize("body", [b"<meta " * 200_000, b"<" * 500_000, b"<!--" * 200_000, b"<a b='" * 90_000])
def test_hostile_markup_costs_little(body: bytes) -> None:
    started = time.perf_counter()
    sniff(body)
    assert time.perf_counter() - started < 0.2


def test_pages_are_sniffed_as_html5lib_sniffs_them() -> None:
    known = [case for case in conformance.cases("charset") if case["id"].startswith("h5")]
    wrong = []
    for case in known:
        got = sniff(conformance.raw(case["body"])).label
        if got != lookup(case["encoding"]):
            wrong.append((case["id"], got, case["encoding"]))
    assert wrong == []
    assert len(known) >= 82
    assert len({case["encoding"].lower() for case in known}) > 3
