"""The registered domain: what one owner buys."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.web.domains import is_address, registered_domain


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("lycosa.com", "lycosa.com"),
        ("www.den.lycosa.com", "lycosa.com"),
        ("www.lycosa.co.uk", "lycosa.co.uk"),
        ("a.b.lycosa.com.br", "lycosa.com.br"),
        ("WWW.Lycosa.COM.", "lycosa.com"),
        ("a.lycosa.xn--p1ai", "lycosa.xn--p1ai"),
        ("a.lycosa.xn--55qx5d.cn", "lycosa.xn--55qx5d.cn"),
    ],
)
def test_a_host_belongs_to_the_domain_that_was_bought(host: str, domain: str) -> None:
    assert registered_domain(host) == domain


def test_tenants_of_a_shared_suffix_are_domains_of_their_own() -> None:
    assert registered_domain("www.alice.github.io") == "alice.github.io"
    assert registered_domain("bob.github.io") == "bob.github.io"


def test_wildcards_and_exceptions_of_the_list_hold() -> None:
    assert registered_domain("a.b.c.ck") == "b.c.ck"
    assert registered_domain("a.www.ck") == "www.ck"


@pytest.mark.parametrize("host", ["com", "co.uk", "github.io", "localhost", "intranet"])
def test_a_suffix_stands_for_itself(host: str) -> None:
    assert registered_domain(host) == host


def test_an_unknown_ending_counts_as_a_suffix() -> None:
    assert registered_domain("a.b.lycosa-test") == "b.lycosa-test"


@pytest.mark.parametrize("host", ["192.0.2.1", "[2001:db8::1]", "127.0.0.1"])
def test_the_domain_of_an_address_is_the_address(host: str) -> None:
    assert is_address(host)
    assert registered_domain(host) == host


@pytest.mark.parametrize("host", ["lycosa.com", "1.2.3", "a.1.2.3.4", "", "256.1.1.1", "[::g]"])
def test_a_name_is_no_address(host: str) -> None:
    assert not is_address(host)


@given(st.text(max_size=40) | st.lists(st.sampled_from(["a", "com", "uk", "co", "ck", "xn--p1ai", ""])).map(".".join))
def test_any_text_has_a_domain_that_is_its_own_domain(host: str) -> None:
    domain = registered_domain(host)
    assert registered_domain(domain) == domain
    assert is_address(host) or host.rstrip(".").lower().endswith(domain)
