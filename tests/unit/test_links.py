"""The links of a page have the same normal forms whether they are read in C or in Python."""

from __future__ import annotations

import sys
import time
import tracemalloc
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lycosa import errors
from lycosa.web import url as urls
from lycosa.web.url import Base, Normaliser

pytestmark = pytest.mark.skipif(urls._compiled is None, reason="lycosa.native was not compiled here")

BASES = [
    "http://a.example/",
    "http://a.example/b/c.html",
    "http://a.example/b/c/d/?q=1#f",
    "https://1.2.3.4:8080/d/e?q",
    "https://a.example:443/x/",
    "http://a.example/wiki/Caf%C3%A9_(x)",
    "http://a.example/b//c",
    "http://a.example/b/.hidden/c",
    "http://a.example/b/..;x/c",
    "http://a.example/%2e%2e/c",
    "http://a.example/b\\c/d",
    "http://a.example/b c",
    "http://u@b.example/x/",
    "http://xn--zca.example/%7e/x",
    "http://a.example./x/y",
    "http://[::1]/x/y",
    "http://a.example",
    "ftp://a.example/x/y",
    "file:///x/y",
    "mailto:x@a.example",
    "http://a.example/" + "x/" * 600,
]
PIECES = r"""
a B 9 ab - _ ~ . .. ./ ../ / // : ? # & = % %7e %2F %2e ; @ [ \ ü 漢 + | xn-- xn--a example www. .com .1 1.2.3.4 0x7f
:80 :8080 http:// https:// HTTP: http: https: h: hxxp: mailto: javascript: data: ftp:// ws:// a.b: -: 1: page.html
utm_source=1 sid=0123456789abcdef sid= a=1 b=2 a=1&b=2 b=1&a=2 page=3 ?page=3 a=0123456789012345678 =1 a=b=c ab=1
/s/page-1.html a.example https://1.2.3.4:8080 https://1.2.3.4:8080/x http://u@b.example/x http://a.example./x
http://[::1]/x http://xn--zca.example/x https://a.example:443/x
""".split()
PIECES += [" ", "\t", "\n", "\0", "\ud800", "\x7f"]
LONG = ["http://" + "a" * size + ".example/x" for size in (240, 982, 983, 984, 1_100)]
LONG += ["http://a.example/" + "x" * size for size in (282, 283, 284, 982, 983, 984)]

refs = st.lists(st.sampled_from(PIECES), max_size=7).map("".join) | st.text(max_size=12) | st.sampled_from(LONG)
bases = (
    st.sampled_from(BASES)
    | st.lists(st.sampled_from(PIECES), max_size=5).map(lambda all_of: "http://a.example/" + "".join(all_of))
    | refs
)


def read(links: Callable[[str, list[str]], dict[str, str]], base: str, said: list[str]) -> object:
    try:
        return list(links(base, said).items())
    except errors.BadUrl as error:
        return str(error)


@given(st.lists(st.tuples(bases, st.lists(refs, max_size=12)), max_size=4))
@settings(max_examples=1_500, deadline=None)
@example([(base, [*PIECES, *LONG]) for base in BASES])
@example([("http://a.example/x?" + "q" * (1 << 20), ["a"])])
def test_links_are_the_same_in_c_and_in_python(pages: list[tuple[str, list[str]]]) -> None:
    one, other = Normaliser(), Normaliser()
    for base, said in pages * 2:  # the second time from memory
        assert read(one.links, base, said) == read(other._links, base, said), base


@pytest.mark.parametrize(
    ("ref", "url"),
    [
        ("/x", "http://a.example/x"),
        ("/", "http://a.example/"),
        ("x/y.html#z", "http://a.example/b/c/x/y.html"),
        ("./x", "http://a.example/b/c/x"),
        ("../x", "http://a.example/b/x"),
        ("../../../../x", "http://a.example/x"),
        ("../", "http://a.example/b/"),
        ("#z", "http://a.example/b/c/d.html"),
        ("", "http://a.example/b/c/d.html"),
        ("https://b.example/x/", "https://b.example/x/"),
        ("mailto:x@a.example", None),
        ("javascript:void(0)", None),
        ("?a=1&b=2", "http://a.example/b/c/d.html?a=1&b=2"),
        ("x?b=1", "http://a.example/b/c/x?b=1"),
    ],
)
def test_simple_links_are_nothing_to_think_about(ref: str, url: str | None) -> None:
    normal, base = Normaliser(), "http://a.example/b/c/d.html"
    normal.links(base, ["?a&b"])
    normal._learn = lambda base, target: pytest.fail(target)  # type: ignore[method-assign]
    assert normal.links(base, [ref]).get(ref) == url


def test_whole_urls_behind_an_origin_that_was_met_are_simple_too() -> None:
    normal, met, other = Normaliser(), "https://1.2.3.4:8080/x", "https://1.2.3.4:8081/x"
    for base in ("http://a.example/", "https://1.2.3.4:8080/"):
        normal.links(base, [])
    asked: list[str] = []
    normal._learn = lambda base, target: asked.append(target)  # type: ignore[method-assign,func-returns-value]
    assert normal.links("http://a.example/", [met, other]) == {met: met}
    assert asked == [other]


@pytest.mark.parametrize(
    "ref", ["?b=1&a=2", "?sid=0123456789abcdef", "?utm_source=1", "?a&&b", "?", "x?", "a b", "..", "//b", "/é"]
)
def test_others_are_left_to_python(ref: str) -> None:
    normal, base, asked = Normaliser(), "http://a.example/b/c/d.html", list[str]()
    normal.links(base, ["?a&b&sid&utm_source"])
    learn = normal._learn
    normal._learn = lambda base, target: (asked.append(target), learn(base, target))[1]  # type: ignore[method-assign]
    normal.links(base, [ref, ref, f"{ref}#x"])
    assert asked == [ref]


def test_hostile_links_cost_no_more_than_their_length() -> None:
    normal, base = Normaliser(), "http://a.example/b/c"
    normal.links(base, [])
    size = 1 << 20
    said = [start * (size // len(start)) for start in ("a", "/a", "../", "a.", "?a&", "a=1&", "#", "\0", "\ud800", ":")]
    said += ["http://" + "a." * (size // 2), "?" + "a=1&" * (size // 4) + "a"]
    started = time.perf_counter()
    found = normal.links(base, said)
    assert time.perf_counter() - started < 2
    assert found == normal._links(base, said)


def test_nothing_is_kept_and_nothing_lost() -> None:
    normal, base = Normaliser(), "http://a.example/b/c.html"
    said = [*PIECES, *LONG, "/known?b=1&a=2", "x#y"]
    for _ in range(3):
        normal.links(base, said)
    counts = [sys.getrefcount(each) for each in (*said, base, None)]
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(200):
            normal.links(base, said)
        assert tracemalloc.get_traced_memory()[0] - before < 5_000
    finally:
        tracemalloc.stop()
    assert max(abs(sys.getrefcount(each) - count) for each, count in zip((*said, base, None), counts, strict=True)) < 10


def test_what_goes_wrong_in_python_comes_out() -> None:
    normal, base = Normaliser(), "http://a.example/b/c.html"
    normal.links(base, [])
    with pytest.raises(TypeError):
        normal.links(base, ["x", 1])  # type: ignore[list-item]

    def stumble(base: str, target: str) -> None:
        said.clear()  # and the list is gone meanwhile
        raise ZeroDivisionError(target)

    normal._learn = stumble  # type: ignore[method-assign]
    said = ["x", "a b", "y"]
    with pytest.raises(ZeroDivisionError):
        normal.links(base, said)


def test_a_page_on_a_known_origin_is_not_parsed_again() -> None:
    base = "http://a.example/b/c.html"
    for name in Base.__slots__:
        assert getattr(Base(base, is_parsed=True), name) == getattr(Base(base), name)


def test_when_links_are_forgotten_their_origins_are_not_unless_they_are_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(urls, "_KNOWN_LINKS", 50)
    monkeypatch.setattr(urls, "_KNOWN_ORIGINS", 10)
    normal = Normaliser()
    for number in range(100):
        normal.links("http://a.example/", [f"/{number}/x"])
        assert sum(map(len, normal._known.values())) <= 51
        assert "http://a.example" in normal._known
    for number in range(100):
        normal.links(f"http://{number}.a.example/", ["/x"])
        assert len(normal._known) <= 60
