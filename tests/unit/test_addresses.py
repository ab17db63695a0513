"""Which addresses a crawler may ask, and which count as one."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from lycosa.errors import BadSetting
from lycosa.web.addresses import OwnHosts, group_of, may_connect, read_address, refusal

NOBODY = OwnHosts()


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("127.0.0.1", "loopback"),
        ("127.255.255.254", "loopback"),
        ("::1", "loopback"),
        ("[::1]", "loopback"),
        ("0.0.0.0", "unspecified"),
        ("0.1.2.3", "unspecified"),
        ("::", "unspecified"),
        ("10.1.2.3", "private"),
        ("172.16.0.1", "private"),
        ("172.31.255.255", "private"),
        ("192.168.1.1", "private"),
        ("fd12:3456::1", "private"),
        ("64:ff9b:1::1", "private"),
        ("169.254.1.1", "link-local"),
        ("fe80::1", "link-local"),
        ("fe80::1%eth0", "link-local"),
        ("fec0::1", "site-local"),
        ("169.254.169.254", "metadata"),
        ("fd00:ec2::254", "metadata"),
        ("100.100.100.200", "metadata"),
        ("100.64.0.1", "shared by carriers"),
        ("100.127.255.255", "shared by carriers"),
        ("198.18.0.1", "benchmarking"),
        ("192.0.2.7", "documentation"),
        ("2001:db8::7", "documentation"),
        ("224.0.0.1", "multicast"),
        ("ff02::1", "multicast"),
        ("240.0.0.1", "reserved"),
        ("255.255.255.255", "reserved"),
        ("192.0.0.1", "reserved"),
        ("1000::1", "reserved"),
        ("::127.0.0.1", "reserved"),  # the long dead IPv4-compatible form
        ("::8.8.8.8", "reserved"),
        ("::ffff:127.0.0.1", "loopback"),
        ("::ffff:10.0.0.1", "private"),
        ("::ffff:169.254.169.254", "metadata"),
        ("64:ff9b::7f00:1", "loopback"),
        ("64:ff9b::a9fe:a9fe", "metadata"),
        ("2002:7f00:1::1", "loopback"),
        ("2002:c0a8:101::", "private"),
        ("2001:0:7f00:1::f7f7:f7f7", "loopback"),  # Teredo by a loopback relay
        ("2001:0:808:808::80ff:fffe", "loopback"),  # Teredo to a loopback client
        ("example.org", "not an address"),
        ("", "not an address"),
        ("127.1", "not an address"),
        ("0x7f000001", "not an address"),
    ],
)
def test_addresses_that_are_refused_and_why(address: str, why: str) -> None:
    assert refusal(address) == why
    assert not may_connect(NOBODY, "example.org", address)


@pytest.mark.parametrize(
    "address",
    [
        "8.8.8.8",
        "1.1.1.1",
        "172.15.255.255",
        "172.32.0.1",
        "100.63.255.255",
        "100.128.0.1",
        "169.253.1.1",
        "223.255.255.255",
        "2606:4700::1111",
        "2a00:1450:4001::1",
        "::ffff:8.8.8.8",
        "64:ff9b::808:808",
        "2002:808:808::1",
    ],
)
def test_public_addresses_are_not_refused(address: str) -> None:
    assert refusal(address) is None
    assert may_connect(NOBODY, "example.org", address)


# Where we differ from the standard library on purpose, or where its versions differ among themselves.
STRICTER_V4 = [
    ipaddress.ip_network(written)
    for written in ("224.0.0.0/4", "192.88.99.0/24", "192.0.0.0/24", "168.63.129.16/32", "100.64.0.0/10")
]
UNSETTLED_V6 = [
    ipaddress.ip_network(written)
    for written in (
        "::ffff:0:0/96",
        "64:ff9b::/96",
        "64:ff9b:1::/48",
        "2002::/16",
        "2001::/23",
        "3fff::/20",
        "5f00::/16",
        "100::/62",
        "fec0::/10",
    )
]


@given(st.ip_addresses(v=4))
@example(ipaddress.IPv4Address("224.0.0.1"))
def test_ipv4_agrees_with_the_standard_library_but_for_a_few_ranges(address: ipaddress.IPv4Address) -> None:
    if any(address in network for network in STRICTER_V4):
        assert refusal(str(address)) is not None
    else:
        assert (refusal(str(address)) is None) == address.is_global


@given(st.ip_addresses(v=6))
def test_what_ipv6_allows_the_standard_library_calls_global(address: ipaddress.IPv6Address) -> None:
    assume(not any(address in network for network in UNSETTLED_V6))
    if refusal(str(address)) is None:
        assert address.is_global
    elif address.is_global:  # never given out, or multicast
        assert address not in ipaddress.ip_network("2000::/3")


@given(st.ip_addresses(v=4))
def test_an_address_in_disguise_is_judged_like_the_plain_one(address: ipaddress.IPv4Address) -> None:
    high, low = int(address) >> 16, int(address) & 0xFFFF
    for disguise in (f"::ffff:{address}", f"64:ff9b::{high:x}:{low:x}", f"2002:{high:x}:{low:x}::1"):
        assert refusal(disguise) == refusal(str(address))


@given(st.ip_addresses())
def test_brackets_change_nothing(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    assert refusal(f"[{address}]") == refusal(str(address))
    assert read_address(f"[{address}]") == address


@given(st.text(max_size=40))
def test_any_text_gets_a_verdict(text: str) -> None:
    assert (refusal(text) is None) <= (read_address(text) is not None)
    assert isinstance(group_of(text), str)


def test_own_names_cover_themselves_and_all_below() -> None:
    own = OwnHosts(["example.org", ".intra.test", "*.wild.test", "Bücher.example", "localhost"])
    for host in (
        "example.org",
        "www.example.org",
        "a.b.example.org",
        "EXAMPLE.org.",
        "intra.test",
        "x.intra.test",
        "y.wild.test",
        "xn--bcher-kva.example",
        "localhost",
    ):
        assert own.covers(host, None), host
        assert may_connect(own, host, "127.0.0.1")
    for host in ("notexample.org", "example.org.evil.test", "org", "evil.test", "127.0.0.1"):
        assert not own.covers(host, None), host
        assert not may_connect(own, host, "127.0.0.1")


def test_own_ranges_cover_hosts_by_their_address() -> None:
    own = OwnHosts(["10.0.0.0/8", "127.0.0.1", "[::1]", "fd00::/8"])
    assert own.covers("anything.test", "10.9.8.7")
    assert own.covers("anything.test", "::ffff:10.9.8.7")
    assert own.covers("127.0.0.1", None)
    assert own.covers("[::1]", None)
    assert own.covers("box.test", "fd12::1")
    assert not own.covers("anything.test", None)
    assert not own.covers("anything.test", "11.0.0.1")
    assert not own.covers("127.0.0.2", "127.0.0.2")


def test_an_own_range_of_ipv6_does_not_open_the_ipv4_behind_it() -> None:
    own = OwnHosts(["64:ff9b::/96"])
    assert not may_connect(own, "evil.test", "64:ff9b::7f00:1")


@pytest.mark.parametrize("pattern", ["", "http://example.org", "example.org:8080", "10.0.0.0/99", "a/b", "user@host"])
def test_patterns_that_mean_nothing_are_refused_with_the_remedy(pattern: str) -> None:
    with pytest.raises(BadSetting, match=r"give a name, an address or a range"):
        OwnHosts([pattern])


def test_what_shares_one_gate() -> None:
    assert group_of("8.8.8.8") == group_of("::ffff:8.8.8.8") == "8.8.8.8"
    assert group_of("2606:4700::1") == group_of("2606:4700::ffff:1") == "2606:4700::/64"
    assert group_of("2606:4700:0:1::1") != group_of("2606:4700::1")


@given(st.ip_addresses(v=6), st.integers(0, 2**64 - 1))
def test_one_gate_for_all_of_a_64(address: ipaddress.IPv6Address, below: int) -> None:
    assume(address.ipv4_mapped is None)
    neighbour = ipaddress.IPv6Address(int(address) >> 64 << 64 | below)
    assume(neighbour.ipv4_mapped is None)
    assert group_of(str(address)) == group_of(str(neighbour))
