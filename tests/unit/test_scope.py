"""Which URLs belong to a crawl; every refusal has a name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.errors import BadRule, BadUrl
from lycosa.web.scope import Rule, Scope, is_media, make_scope, read_rule
from lycosa.web.url import Normaliser, host_of

SEED = "https://www.example.org/start"
normal = Normaliser()


def refusal(scope: Scope, url: str, depth: int = 1) -> str | None:
    return scope.refusal(url, host_of(url), depth)


def test_host_scope_stays_on_the_hosts_of_the_seeds() -> None:
    scope = make_scope("host", [SEED])
    assert refusal(scope, "https://www.example.org/a") is None
    assert refusal(scope, "https://example.org/a") == "scope.host"
    assert refusal(scope, "https://other.org/") == "scope.host"


def test_host_scope_compares_names_not_ports_or_schemes() -> None:
    scope = make_scope("host", [SEED])
    assert refusal(scope, "http://www.example.org:8080/a") is None


def test_domain_scope_takes_all_hosts_of_a_registered_domain() -> None:
    scope = make_scope("domain", ["https://www.example.co.uk/"])
    assert refusal(scope, "https://blog.example.co.uk/") is None
    assert refusal(scope, "https://other.co.uk/") == "scope.domain"


def test_domain_scope_on_an_address_is_that_address() -> None:
    scope = make_scope("domain", ["http://192.0.2.1/"])
    assert refusal(scope, "http://192.0.2.1/x") is None
    assert refusal(scope, "http://192.0.2.2/x") == "scope.domain"


def test_web_scope_takes_all_hosts() -> None:
    assert refusal(make_scope("web", [SEED]), "https://anything.net/") is None


def test_depth_is_limited_and_zero_means_the_seeds_alone() -> None:
    assert refusal(make_scope("host", [SEED], max_depth=2), "https://www.example.org/a", 2) is None
    assert refusal(make_scope("host", [SEED], max_depth=2), "https://www.example.org/a", 3) == "scope.depth"
    assert refusal(make_scope("host", [SEED], max_depth=0), SEED, 0) is None
    assert refusal(make_scope("host", [SEED], max_depth=0), SEED, 1) == "scope.depth"


def test_seeds_are_always_in_scope_even_as_media_or_outside_the_include_rules() -> None:
    scope = make_scope("host", [SEED], include=["/docs/"])
    assert refusal(scope, "https://elsewhere.net/paper.pdf", 0) is None


def test_exclude_rules_win_over_include_rules_and_seeds() -> None:
    scope = make_scope("host", [SEED], include=["/docs/"], exclude=["/docs/private/"])
    assert refusal(scope, "https://www.example.org/docs/a") is None
    assert refusal(scope, "https://www.example.org/docs/private/a") == "scope.exclude"
    assert refusal(scope, "https://www.example.org/docs/private/a", 0) == "scope.exclude"


def test_with_include_rules_only_what_one_matches_is_crawled() -> None:
    scope = make_scope("host", [SEED], include=["/docs/", "/blog/"])
    assert refusal(scope, "https://www.example.org/blog/1") is None
    assert refusal(scope, "https://www.example.org/shop/1") == "scope.include"


def test_a_rule_that_names_no_host_counts_only_at_home() -> None:
    scope = make_scope("host", [SEED], include=["/docs/", r"re:\d+$"])
    assert refusal(scope, "https://other.org/docs/1") == "scope.include"


def test_a_rule_that_names_a_host_widens_the_scope() -> None:
    scope = make_scope("host", [SEED], include=["host:www.example.org", "docs.other.org", "https://third.org/manual/"])
    assert refusal(scope, "https://www.example.org/x") is None
    assert refusal(scope, "https://docs.other.org/x") is None
    assert refusal(scope, "https://third.org/manual/x") is None
    assert refusal(scope, "https://third.org/blog") == "scope.include"


@pytest.mark.parametrize(
    ("rule", "inside", "outside"),
    [
        ("host:example.org", "http://example.org/x", "http://www.example.org/x"),
        ("host:EXAMPLE.org.", "http://example.org/x", "http://example.com/x"),
        ("domain:example.org", "http://a.b.example.org/", "http://notexample.org/"),
        ("domain:www.example.co.uk", "http://shop.example.co.uk/", "http://other.co.uk/"),
        ("example.org", "http://sub.example.org/", "http://badexample.org/"),
        ("example.org", "http://example.org:8080/", "http://example.org.evil.net/"),
        ("path:/docs/", "http://any.net/docs/a", "http://any.net/a/docs/"),
        ("/docs", "http://any.net/docs-old", "http://any.net/?/docs"),
        ("https://example.org/a/", "https://example.org/a/b", "http://example.org/a/b"),
        (r"re:/tag/\w+$", "http://x.org/tag/web", "http://x.org/tag/web/2"),
        ("host:[2001:db8::1]", "http://[2001:db8::1]/x", "http://[2001:db8::2]/x"),
        ("münchen.de", "http://xn--mnchen-3ya.de/", "http://muenchen.de/"),
        ("/ä b", "http://x.org/%C3%A4%20b/c", "http://x.org/a"),
    ],
)
def test_each_kind_of_rule_matches_what_it_says(rule: str, inside: str, outside: str) -> None:
    made = read_rule(rule)
    assert made.matches(inside, host_of(inside))
    assert not made.matches(outside, host_of(outside))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "re:(",
        "re:[",
        "host:",
        "domain:",
        "host:a b",
        "ftp://x/",
        "http://",
        "a/b",
        "x" * 2_001,
        "ho st",
        "*.org",
    ],
)
def test_what_is_no_rule_is_refused_with_the_remedy(text: str) -> None:
    with pytest.raises(BadRule, match=r"host:NAME|regular expression"):
        read_rule(text)


@given(st.text(max_size=60) | st.text(max_size=20).map(lambda tail: f"re:{tail}") | st.text("ab.:/[]-@?#", max_size=12))
def test_any_text_is_a_rule_or_a_bad_rule(text: str) -> None:
    try:
        rule = read_rule(text)
    except BadRule as refused:
        assert "rule" in str(refused) or "regular expression" in str(refused)  # noqa: PT017 either way is right
    else:
        assert isinstance(rule, Rule)
        if rule.kind != "re":
            assert rule.matches("http://example.org/x", "example.org") in (True, False)


@given(st.text(max_size=40), st.sampled_from(["host", "domain", "web"]), st.integers(0, 5))
def test_every_normalised_url_is_in_scope_or_refused_by_name(tail: str, mode: str, depth: int) -> None:
    scope = make_scope(mode, [SEED], ["/a", "b.org"], ["domain:c.org", "re:x$", "https://d.org/"], max_depth=3)
    for start in ("http://", "https://www.example.org/", "https://www.example.org"):
        try:
            url = normal(start + tail)
        except BadUrl:
            continue
        assert (refusal(scope, url, depth) or "scope.").startswith("scope.")


@pytest.mark.parametrize(
    "url", ["http://x.org/a.pdf", "http://x.org/A.JPG", "http://x.org/f.tar.gz?v=1.html", "http://x.org/b/script.js"]
)
def test_links_to_media_are_recorded_but_not_fetched_unless_asked_for(url: str) -> None:
    assert is_media(url)
    assert refusal(make_scope("web", [SEED]), url) == "scope.media"
    assert refusal(make_scope("web", [SEED], with_media=True), url) is None


@pytest.mark.parametrize(
    "url",
    [
        "http://x.zip/",
        "http://x.org/pdf",
        "http://x.org/a.html",
        "http://x.org/?f=a.pdf",
        "http://x.org/v1.2",
        "http://x.so/a",
    ],
)
def test_pages_are_not_taken_for_media(url: str) -> None:
    assert not is_media(url)
