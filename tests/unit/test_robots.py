"""robots.txt as RFC 9309 has it, and as site owners write it."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lycosa.errors import BadUrl
from lycosa.web.robots import PARSED_BYTES, Group, Matcher, Robots, Rule, target_of

SITE = "https://site.example"


def may(text: str | bytes, path: str, agent: str = "Lycosa") -> bool:
    body = text.encode() if isinstance(text, str) else text
    return Robots.parse(body).allows(agent, SITE + path)


def ours(*rules: str) -> str:
    return "\n".join(["User-agent: lycosa", *rules])


# Groups


def test_without_rules_all_is_allowed() -> None:
    assert may("", "/x")
    assert may("Disallow: /", "/x"), "a rule before any group is nobody's"
    assert may(ours("Disallow:"), "/x")
    assert may("<html><body>404 not found</body></html>", "/x")


def test_our_own_group_replaces_the_group_for_all() -> None:
    text = "User-agent: *\nDisallow: /\n\nUser-agent: Lycosa\nDisallow: /private"
    assert may(text, "/x")
    assert not may(text, "/private/x")
    assert not may(text, "/x", agent="Other")


def test_groups_for_the_same_crawler_are_one() -> None:
    text = "User-agent: lycosa\nDisallow: /a\nUser-agent: b\nDisallow: /b\nUser-agent: LYCOSA\nDisallow: /c"
    assert [path for path in ("/a", "/b", "/c") if not may(text, path)] == ["/a", "/c"]


def test_agents_in_a_row_share_their_rules_across_blanks_comments_and_other_lines() -> None:
    text = "User-agent: a\n\n# one more\nSitemap: /s.xml\nCrawl-delay: 3\nUser-agent: lycosa\n\nHost: x\nDisallow: /x"
    assert not may(text, "/x", agent="a")
    assert not may(text, "/x")


def test_lines_of_other_kinds_end_no_group() -> None:
    assert not may(ours("Disallow: /a", "Sitemap: /s", "Crawl-delay: 1", "Noindex: /n", "???", "Disallow: /b"), "/b")


def test_a_crawler_is_known_by_its_product_token_without_case_or_version() -> None:
    assert not may("User-agent: LyCoSa/7.1\nDisallow: /", "/x")
    assert not may("User-agent: lycosa\nDisallow: /", "/x", agent="Lycosa/1.0 (+https://lycosa.example)")
    assert may("User-agent: lycosa-images\nDisallow: /", "/x")
    assert may("User-agent: lyco\nDisallow: /", "/x")


def test_our_group_counts_however_many_agents_stand_before_it() -> None:
    others = "".join(f"User-agent: bot-{number}/1.0\n" for number in range(4_000))
    assert not may(f"{others}Disallow: /a\n\nUser-agent: lycosa\nDisallow: /x", "/x")


# Rules


def test_the_longest_match_wins_and_allow_wins_a_tie() -> None:
    assert may(ours("Disallow: /a", "Allow: /a/b"), "/a/b/c")
    assert not may(ours("Allow: /a", "Disallow: /a/b"), "/a/b/c")
    assert may(ours("Disallow: /a", "Allow: /a"), "/a")
    assert may(ours("Allow: /a", "Disallow: /a"), "/a")
    assert not may(ours("Allow: /page", "Disallow: /*.htm"), "/page.htm")
    assert may(ours("Allow: /$", "Disallow: /"), "/")
    assert not may(ours("Allow: /aa", "Disallow: /*a*"), "/aa"), "stars count, the last one too"


def test_paths_have_case_and_start_at_the_root() -> None:
    assert may(ours("Disallow: /Private"), "/private")
    assert may(ours("Disallow: /x"), "/a/x")
    assert not may(ours("Disallow: x"), "/x"), "the missing slash is forgiven"


@pytest.mark.parametrize(
    ("pattern", "hits", "misses"),
    [
        ("/*.pdf$", ["/a.pdf", "/.pdf", "/a.pdf.pdf"], ["/a.pdf?x", "/a.pdfs", "/pdf"]),
        ("/a*b*c", ["/abc", "/a/x/b/y/c/z"], ["/acb", "/ab"]),
        ("/a*b$", ["/ab", "/axb", "/abab"], ["/abx", "/a"]),
        ("/ab*b$", ["/abb", "/abxb"], ["/ab"]),
        ("/$", ["/"], ["/a", "/?"]),
        ("*", ["/", "/x"], []),
        ("/*?", ["/?", "/x?y"], ["/x"]),
        ("/a***", ["/a", "/ab"], ["/b"]),
        ("/*$", ["/", "/x"], []),
        ("/a$b", ["/a$b", "/a$bc"], ["/a", "/ab"]),
        ("/fish", ["/fish", "/fish.html", "/fishheads/y", "/fish?id=1"], ["/Fish", "/cat/fish"]),
    ],
)
def test_a_star_is_any_text_and_a_final_dollar_sign_the_end(pattern: str, hits: list[str], misses: list[str]) -> None:
    assert [path for path in hits if may(ours(f"Disallow: {pattern}"), path)] == []
    assert [path for path in misses if not may(ours(f"Disallow: {pattern}"), path)] == []


@pytest.mark.parametrize(
    ("rule", "path", "matches"),
    [
        ("/%7Ewolf", "/~wolf", True),
        ("/~wolf", "/%7ewolf", True),
        ("/wölfe", "/w%C3%B6lfe", True),
        ("/w%c3%b6lfe", "/wölfe", True),
        ("/a b", "/a%20b", True),
        ("/a%2fb", "/a/b", False),
        ("/a/b", "/a%2Fb", False),
        ("/a%2Ab", "/a*b", True),
        ("/a%2Ab", "/axb", False),
        ("/a%24", "/a$", True),
        ("/a%24", "/a", False),
        ("/x?a=1&b", "/x?a=1&b=2", True),
        ("/a%3Fb", "/a?b", False),
    ],
)
def test_escapes_are_compared_in_one_spelling(rule: str, path: str, matches: bool) -> None:
    assert may(ours(f"Disallow: {rule}"), path) is not matches


def test_bytes_that_are_no_utf8_are_compared_escaped() -> None:
    assert not may(b"User-agent: lycosa\nDisallow: /\xe9t\xe9", "/%E9t%e9")
    assert may(b"User-agent: lycosa\nDisallow: /\xe9t\xe9", "/%C3%A9t")
    assert Robots.parse(b"Sitemap: /\xe9.xml").sitemap_urls(SITE) == [f"{SITE}/%E9.xml"]


def test_robots_txt_itself_may_always_be_fetched() -> None:
    assert may(ours("Disallow: /"), "/robots.txt")
    assert not may(ours("Disallow: /"), "/robots.txt?x")


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("http://a.example", "/"),
        ("http://a.example?b", "/?b"),
        ("http://u:p@a.example:1/b?c=http://d/#e", "/b?c=http://d/"),
        ("http://a.example#/b", "/"),
        ("http://a.example#?b", "/"),
        ("/b;c", "/b;c"),
        ("a.example/b", "/b"),
        ("", "/"),
    ],
)
def test_the_path_of_any_url_is_found(url: str, target: str) -> None:
    assert target_of(url) == target


# As owners write it


@pytest.mark.parametrize(
    "text",
    [
        "USER-AGENT: LYCOSA\nDISALLOW: /x",
        "user-agent : lycosa\n\tdisallow\t:\t/x\t",
        "useragent: lycosa\ndissallow: /x",
        "user agent: lycosa\nDisalow: /x",
        "user-agent lycosa\ndisallow /x",
        "User-agent: lycosa # us\nDisallow: /x # not this",
        "User-agent: lycosa\r\nDisallow: /x\r\n",
        "User-agent: lycosa\rDisallow: /x\r",
        "User-agent: other, lycosa\nDisallow: /x",
        "<pre>User-agent: lycosa<br>\nDisallow: /x<br>\n</pre>",
        "\ufeffUser-agent: lycosa\nDisallow: /x",
        "User-agent: lycosa\nDisallow: /x #" + "x" * 20_000,
        "User-agent: lycosa\nDisallow: /x" + " " * 20_000,
    ],
    ids=lambda text: text[:30],
)
def test_what_an_owner_evidently_meant_is_honoured(text: str) -> None:
    assert not may(text, "/x")
    assert may(text, "/y")


def test_an_overlong_rule_forbids_what_it_begins_with_but_allows_nothing() -> None:
    assert not may(ours("Disallow: /x" + "x" * 20_000), "/" + "x" * 19_000)
    assert not may(ours("Disallow: /", "Allow: /x" + "x" * 20_000), "/" + "x" * 19_000)


@pytest.mark.parametrize("mark", [b"\xef\xbb\xbf", b"\xef\xbb", b"\xef", b""])
def test_a_byte_order_mark_whole_or_torn_hides_no_line(mark: bytes) -> None:
    assert not may(mark + b"User-agent: lycosa\nDisallow: /x", "/x")
    assert not may("\ufeffUser-agent: lycosa\nDisallow: /x".encode("utf-16-le"), "/x")


def test_only_the_first_500_kib_count() -> None:
    filler = b"#" + b"x" * 998 + b"\n"
    early = b"User-agent: lycosa\n" + filler * 500 + b"Disallow: /x\n"
    assert len(early) < PARSED_BYTES
    assert not may(early, "/x")
    assert may(b"User-agent: lycosa\n" + filler * 520 + b"Disallow: /x\n", "/x")


def test_angle_brackets_in_a_rule_are_part_of_it() -> None:
    assert not may(ours("Disallow: /a", "Allow: /a/<id>"), "/a/secret")
    assert may(ours("Disallow: /<id>"), "/x")


# Beyond the RFC


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("10", 10), ("0.5", 0.5), (".5", 0.5), ("0", 0), ("3 # s", 3), ("7s", 7), ("5 seconds", 5)]
    + [(bad, None) for bad in ("-1", "soon", "", "1e9", "inf", "nan", "1,5", "٣")],
)
def test_crawl_delay_is_a_number_of_seconds(value: str, seconds: float | None) -> None:
    assert Robots.parse(ours(f"Crawl-delay: {value}").encode()).crawl_delay("Lycosa") == seconds


def test_crawl_delay_belongs_to_its_group() -> None:
    robots = Robots.parse(b"User-agent: *\nCrawl-delay: 9\nDisallow: /a\nUser-agent: lycosa\nDisallow: /b")
    assert robots.crawl_delay("Lycosa") is None
    assert robots.crawl_delay("Other") == 9


def test_sitemaps_are_found_anywhere_made_absolute_and_told_once() -> None:
    robots = Robots.parse(b"Sitemap: /a.xml\nUser-agent: x\nSITEMAP: http://b.example/b.xml\nsitemap: /a.xml\nsitemap:")
    assert robots.sitemap_urls("https://site.example/robots.txt") == [
        "https://site.example/a.xml",
        "http://b.example/b.xml",
    ]
    assert robots.sitemaps == ("/a.xml", "http://b.example/b.xml")
    assert Robots.parse(b"Sitemap: ftp://x/s.xml\nSitemap: http://[").sitemap_urls(SITE) == []
    with pytest.raises(BadUrl):
        robots.sitemap_urls("robots.txt")


# Whatever the web brings


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")))
@example(b"\xff\xfe\x00")
@example(b"user-agent: *\ncrawl-delay: \xb2")
def test_any_bytes_parse_and_the_verdict_is_always_the_same(body: bytes) -> None:
    for head in (b"", b"user-agent: *\ndisallow: "):
        verdicts = {Robots.parse(head + body).allows("Lycosa", f"{SITE}/a") for _ in range(2)}
        assert len(verdicts) == 1
        Robots.parse(head + body).sitemap_urls(f"{SITE}/robots.txt")


_PATTERNS = st.builds(str.__add__, st.sampled_from("/*"), st.text("ab*$", max_size=6))
_RULES = st.lists(st.tuples(st.booleans(), _PATTERNS), max_size=6)
_PATHS = st.text("ab", max_size=8).map("/".__add__)


def _naive(rules: list[tuple[bool, str]], path: str) -> bool:
    """RFC 9309 2.2.2 by regular expressions: of the matching rules the longest, Allow first; else allowed."""
    matching = []
    for allow, pattern in rules:
        body = pattern.removesuffix("$")
        parts = [re.escape(part.replace("$", "%24")) for part in body.split("*")]
        if re.match(".*".join(parts) + (r"\Z" if pattern.endswith("$") else ""), path):
            matching.append((len(pattern.replace("$", "%24")) - 2 * pattern.endswith("$"), allow))
    return max(matching)[1] if matching else True


@settings(max_examples=600, deadline=None)
@given(_RULES, _PATHS)
def test_verdicts_are_those_of_the_naive_reading_of_the_rfc(rules: list[tuple[bool, str]], path: str) -> None:
    lines = [f"{'Allow' if allow else 'Disallow'}: {pattern}" for allow, pattern in rules]
    assert may(ours(*lines), path) == _naive(rules, path)


def test_rules_full_of_stars_match_in_linear_time() -> None:
    paths = ["/" + "a" * 2_000, "/" + "ab" * 1_000]
    for pattern in ("/" + "*a" * 200 + "*b$", "/" + "*" * 2_000 + "b$", "/*a*a*a*a*a*a*a*a*a*a*a*c", "*****/****.js"):
        matcher = Matcher(Group((Rule(False, pattern),)))
        started = time.perf_counter()
        for path in paths:
            matcher.allows(path)
        assert time.perf_counter() - started < 0.05


@pytest.mark.parametrize(
    "body",
    [
        (b"http://" + b"sitemap" * 2_300 + b"\n") * 31,
        b"".join(b"user-agent: %d\n" % number for number in range(5_000)) + b"crawl-delay: 1\n" * 29_000,
        b"user-agent: " + b"a," * 250_000,
        (b"<" * 16_000 + b"\n") * 30,
    ],
    ids=["sitemaps", "delays", "agents", "tags"],
)
def test_hostile_files_parse_in_linear_time(body: bytes) -> None:
    started = time.perf_counter()
    Robots.parse(body)
    assert time.perf_counter() - started < 0.5
