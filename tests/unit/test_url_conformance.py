"""URLs against the facts of others: WHATWG's and RFC 3986's examples, and ada, the parser of Node.js, as an oracle."""

from __future__ import annotations

from collections.abc import Callable

import ada_url
import conformance
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lycosa.errors import BadUrl
from lycosa.web.url import Base, Normaliser, parse


def _or_none(read: Callable[[], str]) -> str | None:
    try:
        return read()
    except BadUrl:
        return None


def test_whatwg_http_urls_are_accepted_and_refused_as_the_standard_says() -> None:
    known = [case for case in conformance.cases("url_wpt") if case["http"]]
    wrong = [
        (case["id"], got)
        for case in known
        if (got := _or_none(lambda case=case: parse(case["input"], case["base"]))) != case.get("href")
    ]
    assert wrong == []
    assert sum("href" in case for case in known) >= 244
    assert sum(bool(case.get("failure")) for case in known) >= 198


def test_references_resolve_as_rfc_3986_says() -> None:
    known = conformance.cases("url_resolve")
    wrong = []
    for case in known:
        got = _or_none(lambda case=case: parse(case["ref"], case["base"]))
        if got is None or got not in (case["expect"], case.get("alt_expect")):
            wrong.append((case["id"], got))
    assert wrong == []
    assert len(known) >= 64


def test_international_names_become_ascii_as_the_standard_says() -> None:
    known = [case for case in conformance.cases("url_toascii") if not case.get("disputed")]
    wrong = []
    for case in known:
        got = _or_none(lambda case=case: parse(f"https://{case['input']}/x"))
        if got != (f"https://{case['output']}/x" if case["output"] is not None else None):
            wrong.append((case["id"], got))
    assert wrong == []
    assert len(known) >= 33


def test_equivalent_urls_collapse_and_others_stay_apart() -> None:
    normalise = Normaliser()
    decided_otherwise = {"eq-11", "eq-17"}  # sorted parameters, and no dot after the host: ours to choose
    wrong = []
    for group in conformance.document("url_normalize")["equivalence"]:
        forms = {normalise(url) for url in group["urls"]}
        collapsed = len(forms) == 1
        if group["id"] in decided_otherwise:
            assert collapsed
        elif collapsed != group["equivalent"]:
            wrong.append((group["id"], forms))
    assert wrong == []


# The oracle


def _ada(text: str, base: str | None = None) -> str | None:
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # browsers see no lone surrogates
    try:
        return ada_url.URL(whole, base=base).href
    except ValueError:
        return None


_BASES = st.sampled_from(
    [
        "http://a.example/b/c?d#e",
        "https://u:p@a.example:8080/b/c/",
        "http://a.example",
        "https://[::1]/x",
        "http://xn--bcher-kva.example/a;p=1/b?x=/y",
        "http://a.example/a//b/.c/d",
    ]
)
_ODD = st.sampled_from(
    [
        "http:", "https:", "HTTP:", "ftp:", "file:", "mailto:", "x:", "//", "/", "\\", "\t", "\n", " ", "\x00",
        ".", "..", "%2e", "%2E%2e", "..%2e", ".a", "@", ":", ":80", ":443", ":0", ":99999", "[", "]", "[::1]",
        "[::1.2.3.4]", "xn--", "xn--bcher-kva", "XN--A", "bücher", "ß", "。", "日本", "\u00ad", "0x7f", "1", "256",
        "99999999999", "?", "#", "&", "=", "%", "%zz", "%41", "%00", "^", "|", "<", '"', "'", "`", "{", "~",
        "\x7f", "\ud800", "a", "b.example", "C|",
    ]
)  # fmt: skip
_REFS = st.lists(_ODD, max_size=8).map("".join)
_STABLE = st.characters(max_codepoint=0x2FF)  # letters whose IDNA mapping differs in no version of Unicode


def _is_of_the_web(text: str, base: str | None) -> bool:
    """Other schemes are never fetched, and their opaque paths are spelt differently from version to version."""
    href = _ada(text, base)
    return href is None or href.startswith(("http://", "https://"))


@settings(max_examples=1500, deadline=None)
@given(_REFS | st.text(_STABLE, max_size=20), _BASES)
@example("/.well-known/../private", "http://a.example/")
@example(".b/..", "http://a.example/b/c")
@example(".1//.", "http://a.example/b/c")
@example("https:xn--;", "http://a.example/")
@example("^`", "http://a.example/")
def test_links_join_as_ada_joins_them(ref: str, base: str) -> None:
    if _is_of_the_web(ref, base):
        assert _or_none(lambda: Base(base).join(ref)) == _ada(ref, base)


@settings(max_examples=1500, deadline=None)
@given(
    st.text(max_size=30)
    | _REFS
    | _REFS.map("http://".__add__)
    | st.text(_STABLE, max_size=20).map("http://".__add__)
    | st.text(max_size=30).map("https://a.example/".__add__)
)
@example("http://a.example/.b/../c")
@example("http://x\tn--a/\ud83d\ude00")
def test_texts_parse_as_ada_parses_them(text: str) -> None:
    if _is_of_the_web(text, None):
        assert _or_none(lambda: parse(text)) == _ada(text)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from([".", "..", ".a", "a.", "%2e", "%2E.", "...", "", "a", ".%2ea"]), max_size=7))
def test_no_dot_segment_is_left_in_a_path(segments: list[str]) -> None:
    href = parse("http://a.example/" + "/".join(segments))
    assert href == _ada("http://a.example/" + "/".join(segments))
    assert not {".", ".."} & set(href.split("/"))
