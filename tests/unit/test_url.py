"""One page, one URL: parsing and joining as browsers do, and the normal form that is the key."""

from __future__ import annotations

import contextlib
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lycosa.errors import BadUrl
from lycosa.kit.keys import host_key, owner_of, url_key
from lycosa.web.url import Base, Normaliser, cut, host_of, is_web, parse, spell_escapes

normalise = Normaliser()


def same(*spellings: str) -> None:
    forms = {normalise(each) for each in spellings}
    assert len(forms) == 1, forms


def different(*pages: str) -> None:
    assert len({normalise(each) for each in pages}) == len(pages)


# Parsing


@pytest.mark.parametrize(
    ("text", "href"),
    [
        ("HTTP://Lycosa.Example", "http://lycosa.example/"),
        ("https:lycosa.example", "https://lycosa.example/"),
        ("http:\\\\lycosa.example\\den\\1", "http://lycosa.example/den/1"),
        ("  http://lycosa.example/ \x00", "http://lycosa.example/"),
        ("http://lyc\tosa.exa\nmple/a\rb", "http://lycosa.example/ab"),
        ("http://lycosa.example:080/", "http://lycosa.example/"),
        ("https://lycosa.example:443/x", "https://lycosa.example/x"),
        ("https://lycosa.example:80/x", "https://lycosa.example:80/x"),
        ("http://lycosa.example/a/./b/../c/%2E%2e/d", "http://lycosa.example/a/d"),
        ("http://lycosa.example/../../x", "http://lycosa.example/x"),
        ("http://spinnentöter.example/ü?ü#ü", "http://xn--spinnentter-yfb.example/%C3%BC?%C3%BC#%C3%BC"),
        ("http://straße.example/", "http://xn--strae-oqa.example/"),
        ("http://ｌｙｃｏｓａ。example/", "http://lycosa.example/"),
        ("http://%E1%BA%9E.example/", "http://xn--zca.example/"),
        ("http://ẞ.example/", "http://xn--zca.example/"),
        ("http://0300.0xA8.257/", "http://192.168.1.1/"),
        ("http://3232235777/", "http://192.168.1.1/"),
        ("http://[0:0:0:0:0:FFFF:10.0.0.1]/", "http://[::ffff:a00:1]/"),
        ('http://lycosa.example/a b"<>`{}', "http://lycosa.example/a%20b%22%3C%3E%60%7B%7D"),
        ("http://lycosa.example/?a b\"<>'", "http://lycosa.example/?a%20b%22%3C%3E%27"),
        ("http://lycosa.example/%zz%", "http://lycosa.example/%zz%"),
        ("http://xn--a/", "http://xn--a/"),
    ],
)
def test_text_is_read_as_browsers_read_it(text: str, href: str) -> None:
    assert parse(text) == href


@pytest.mark.parametrize(
    "text",
    [
        "", "lycosa.example", "/page", "//lycosa.example/", "http:", "http://", "http://?x", "http://:80/", "http://u@/",
        "http://lycosa example/", "http://lycosa.example:65536/", "http://lycosa.example:x/", "http://[::1/",
        "http://[1:2]/", "http://a%00b/", "http://a%2fb/", "http://a<b/", "http://256.1.1.1/", "http://1.2.3.4.5/",
        "http://0x100000000/", "http://a]b/", "http://\u00ad/",
    ],
)  # fmt: skip
def test_what_browsers_refuse_is_refused_with_a_remedy(text: str) -> None:
    with pytest.raises(BadUrl, match=r"https://example\.org/page"):
        parse(text)


def test_a_caret_in_a_path_is_escaped_but_not_in_a_query() -> None:
    assert parse("http://lycosa.example/^?^") == "http://lycosa.example/%5E?^"


def test_half_a_surrogate_pair_becomes_a_replacement_character() -> None:
    assert parse("http://lycosa.example/\ud800") == "http://lycosa.example/%EF%BF%BD"
    assert Base("http://lycosa.example/a").join("\udcff") == "http://lycosa.example/%EF%BF%BD"
    assert normalise.links("http://lycosa.example/", ["?\udc00", "x"]) == {
        "?\udc00": "http://lycosa.example/?%EF%BF%BD",
        "x": "http://lycosa.example/x",
    }


@pytest.mark.parametrize(
    ("text", "href"),
    [
        ("http://xn--a/XN--b?c=.XN--d#XN--e", "http://xn--a/XN--b?c=.XN--d#XN--e"),
        ("http://xn--a/é", "http://xn--a/%C3%A9"),
        ("http:xn--a", "http://xn--a/"),
        ("http://b%2Exn--a/", "http://b.xn--a/"),
        ("http://xn--xn0z0/", "http://xn--xn0z0/"),
    ],
)
def test_an_ascii_host_may_hold_a_label_that_is_no_punycode(text: str, href: str) -> None:
    assert parse(text) == href


def test_only_http_and_https_can_be_fetched() -> None:
    assert is_web("http://lycosa.example/")
    assert is_web("https://lycosa.example/")
    assert not is_web("ftp://lycosa.example/")
    assert not is_web("httpx://lycosa.example/")
    for other in ("ftp://lycosa.example/", "mailto:a@b.example", "javascript:void(0)", "data:,x", "file:///etc/passwd"):
        with pytest.raises(BadUrl, match="only http and https"):
            normalise(other)


# Joining


@pytest.mark.parametrize(
    ("ref", "href"),
    [
        ("", "https://lycosa.example/den/burrow?egg=1"),
        ("#top", "https://lycosa.example/den/burrow?egg=1#top"),
        ("?egg=2", "https://lycosa.example/den/burrow?egg=2"),
        ("wolf", "https://lycosa.example/den/wolf"),
        ("./wolf/", "https://lycosa.example/den/wolf/"),
        ("..", "https://lycosa.example/"),
        ("../../../wolf", "https://lycosa.example/wolf"),
        ("/wolf", "https://lycosa.example/wolf"),
        ("\\wolf", "https://lycosa.example/wolf"),
        ("//wolf.example", "https://wolf.example/"),
        ("\\/wolf.example", "https://wolf.example/"),
        ("https:wolf", "https://lycosa.example/den/wolf"),
        ("HTTPS:?wolf", "https://lycosa.example/den/burrow?wolf"),
        ("http:wolf", "http://wolf/"),
        ("wolf:1", "wolf:1"),
        ("./wolf:1", "https://lycosa.example/den/wolf:1"),
        ("\t wo\nlf ", "https://lycosa.example/den/wolf"),
        ("wolf//spider", "https://lycosa.example/den/wolf//spider"),
        ("?a/../b", "https://lycosa.example/den/burrow?a/../b"),
    ],
)
def test_a_link_is_joined_to_its_page(ref: str, href: str) -> None:
    assert Base("https://lycosa.example/den/burrow?egg=1#web").join(ref) == href
    assert parse(ref, "https://lycosa.example/den/burrow?egg=1#web") == href


def test_a_base_without_a_path_takes_fragments_and_full_urls_only() -> None:
    base = Base("mailto:spider@lycosa.example")
    assert base.join("#x") == "mailto:spider@lycosa.example#x"
    assert base.join("http://lycosa.example") == "http://lycosa.example/"
    with pytest.raises(BadUrl, match="cannot be its base"):
        base.join("wolf")


# The normal form


def test_case_of_scheme_and_host_default_ports_and_fragments_do_not_tell_pages_apart() -> None:
    same("HTTP://LYCOSA.example:80", "http://lycosa.example/", "http://lycosa.example/#x", "http:\\\\lycosa.example")


def test_credentials_and_the_dot_after_a_host_do_not_tell_pages_apart() -> None:
    same("http://a:b@lycosa.example/", "http://lycosa.example./", "http://a@lycosa.example.:80/")
    same("http://a@[::1]:8080/", "http://[::1]:8080/")


def test_escapes_have_one_spelling_and_reserved_characters_keep_theirs() -> None:
    same("http://a.example/%7euser", "http://a.example/%7Euser", "http://a.example/~user")
    same("http://a.example/%c3%a9|^", "http://a.example/%C3%A9%7C%5E", "http://a.example/é|^")
    same("http://a.example/?x[]={1}", "http://a.example/?x%5b%5D=%7B1%7D")
    different("http://a.example/a%2Fb", "http://a.example/a/b")
    different("http://a.example/?a=1%262", "http://a.example/?a=1&2")
    different("http://a.example/%2541", "http://a.example/A")
    assert spell_escapes("%41%2f%zz") == "A%2F%25zz"


def test_slashes_and_case_of_paths_and_an_empty_query_tell_pages_apart() -> None:
    different("http://a.example/x", "http://a.example/x/", "http://a.example/X", "http://a.example//x")
    different("http://a.example/", "http://a.example/?")
    different("http://a.example/", "https://a.example/", "http://a.example:8080/")


def test_parameters_are_sorted_by_name_and_equal_names_keep_their_order() -> None:
    assert normalise("http://a.example/?b=1&a=2&&a=1&") == "http://a.example/?a=2&a=1&b=1"
    same("http://a.example/?b&a=", "http://a.example/?a=&b")
    different("http://a.example/?a=1&a=2", "http://a.example/?a=2&a=1")


@pytest.mark.parametrize(
    "parameter", ["utm_source=x", "UTM_medium", "%75tm_x=1", "gclid=1", "fbclid=1", "PHPSESSID=1", "jsessionid=2"]
)
def test_tracking_and_session_parameters_do_not_tell_pages_apart(parameter: str) -> None:
    assert normalise(f"http://a.example/?{parameter}") == "http://a.example/"
    assert normalise(f"http://a.example/?z=1&{parameter}&b") == "http://a.example/?b&z=1"
    different(f"http://a.example/?x{parameter}", "http://a.example/")


def test_sessions_in_paths_go_and_ambiguous_names_go_only_with_a_token() -> None:
    same("http://a.example/x;jsessionid=4F2A?b=1", "http://a.example/x?b=1")
    same("http://a.example/?sid=0a1b2c3d4e5f6a7b8c9d", "http://a.example/")
    different("http://a.example/?sid=news", "http://a.example/?sid=sport", "http://a.example/")
    different("http://a.example/x;v=1", "http://a.example/x")


def test_the_lists_of_parameters_are_the_operators() -> None:
    own = Normaliser(tracking=("ref", "x*z"), session=())
    assert own("http://a.example/?REF=1&xyz=1&utm_a=1&xz=2") == "http://a.example/?utm_a=1"


def test_links_of_a_page_are_joined_and_normalised_and_the_unusable_left_out() -> None:
    found = normalise.links("http://a.example/b/", ["c", "c#d", "c", "mailto:x@y", "http://[", "?b&a", "//A.example."])
    assert found == {
        "c": "http://a.example/b/c",
        "c#d": "http://a.example/b/c",
        "?b&a": "http://a.example/b/?a&b",
        "//A.example.": "http://a.example/",
    }


_PIECES = st.sampled_from(
    (
        "a B 9 ab - _ ~ . .. / // : ? # % %7e %2F ; @ [ \\ ü xn-- xn--a example www. .com .1 1.2.3.4 0x7f :80 :8080 "
        "http:// https:// HTTP:"
    ).split()
)


@given(
    st.lists(_PIECES, max_size=8).map("".join),
    st.sampled_from(
        ["http://a.example/", "https://1.2.3.4:81/d/e?q", "http://xn--zca.example/%7e/x", "http://u@b.example/x/"]
    ),
)
@settings(max_examples=500)
def test_short_cuts_for_simple_links_lead_where_the_long_way_does(ref: str, base: str) -> None:
    links = Normaliser()
    try:
        expected = links.of_href(Base(base).join(ref.partition("#")[0]))
    except BadUrl:
        expected = None
    for _ in range(2):  # the second time from memory
        assert links.links(base, [ref]).get(ref) == expected


def test_a_url_is_cut_into_its_host_and_the_rest() -> None:
    assert cut("http://a.example:8080/x?y") == ("a.example", "http://:8080/x?y")
    assert cut("https://u:p@[::1]:1/") == ("[::1]", "https://:1/")
    assert host_of("http://a.example/@b:c") == "a.example"
    assert cut("http://a.example/x").key() == url_key("a.example", "http:///x")
    assert len({cut(f"http{s}://a.example{p}/").key() for s in ("", "s") for p in ("", ":8080")}) == 4


# Whatever the web brings

_PIECES = st.sampled_from(
    r"""http: https: // / \ . .. %2e %2E%2e @ : :80 :8080 [::1] ? # & = ; % %zz %41 %2F %26 %25 utm_x=1 ;sid=1 sid=
    ;jsessionid=9 0123456789abcdef a b.example é ß 。 xn-- xn--bcher-kva 0x7f 1 | ^ { [ ]""".split()
)
_URLS = st.builds(
    lambda host, rest: f"http://{host}/{rest}",
    st.sampled_from(["a.example", "u@a.example.", "a.example.:8080", "[::1]", "u:p@[::1]:1", "xn--a", "0x7f..", "é."]),
    st.lists(_PIECES, max_size=8).map("".join),
)


@settings(max_examples=500, deadline=None)
@given(_URLS | st.text(max_size=30).map("http://".__add__))
@example("http://a.example/x/..;jsessionid=1")
@example("http://a.example/%2e;sid=1/b")
@example("http://0x7f../")
@example("http://7.../")
def test_normalising_twice_changes_nothing_and_the_owner_of_the_host_stays(text: str) -> None:
    try:
        once = normalise(text)
    except BadUrl:
        return
    again = normalise(once)
    assert again == once
    for owners in (1, 2, 7, 64, 1000):
        assert owner_of(host_key(host_of(again)), owners) == owner_of(host_key(host_of(once)), owners)
    assert "#" not in once
    assert "@" not in once.partition("://")[2].partition("/")[0]


@settings(max_examples=300, deadline=None)
@given(st.text() | st.text().map("http://".__add__) | _URLS, st.none() | st.just("http://a.example/b?c"))
@example("\ud800", "http://a.example/")
@example("http://\udfff/", None)
def test_any_text_normalises_or_is_a_bad_url(text: str, base: str | None) -> None:
    try:
        form = normalise(text, base)
    except BadUrl:
        return
    assert is_web(form)
    assert len(cut(form).key()) == 16


@pytest.mark.parametrize(
    "text",
    [
        "http://a.example/" + "../" * 100_000,
        "http://a.example/?" + "a&" * 100_000,
        "http://a.example/" + "%" * 200_000,
        "http://a.example/" + ";sid=" * 50_000,
        "http://" + "@" * 200_000,
        "http://" + "xn--." * 50_000,
        "http://a" + "\u0301\u0323" * 50_000,
        "http://" + "".join(map(chr, range(0x4E00, 0x9FFF))) * 2,
        "http:/\t/a" + "\u0301\u0323" * 50_000,
        "http://a" + "%CC%81%CC%A3" * 80_000,
        "http://xn--" + "b" * 400_000 + "-" + "a" * 50_000,
    ],
    ids="dots parameters percent sessions at labels accents ideographs tab escapes punycode".split(),
)
def test_hostile_urls_cost_no_more_than_their_length(text: str) -> None:
    started = time.perf_counter()
    with contextlib.suppress(BadUrl):
        normalise(text)
    assert time.perf_counter() - started < 0.5


def test_a_text_of_a_megabyte_is_no_url() -> None:
    with pytest.raises(BadUrl, match="give one under"):
        parse("http://a.example/" + "x" * (1 << 20))
