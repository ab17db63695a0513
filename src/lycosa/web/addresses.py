"""Addresses: which of them a crawler may connect to, and which count as one.

Only addresses of the public internet may be asked, unless the operator named a host or a range as its own. An IPv6
address that carries an IPv4 address (mapped, 6to4, Teredo, NAT64) is judged by what it carries. The ranges are the
IANA special-purpose registries (RFC 6890) as of 2025, written out here because the standard library's idea of
`is_global` differs between versions of Python, and because clouds keep their secrets at addresses of their own.

What is not an address is refused too. Nothing here resolves a name.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import NamedTuple

from lycosa.errors import BadSetting, BadUrl
from lycosa.web import url as urls

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_KNOWN_ADDRESSES = 8192
_HIGHEST_PREFIX_V6 = 64  # what one customer usually gets: the unit of the address gate

# The first range that holds an address says why it is refused.
_REFUSED = (
    ("metadata", "169.254.169.254/32 100.100.100.200/32 fd00:ec2::254/128 192.0.0.192/32 168.63.129.16/32"),
    ("unspecified", "0.0.0.0/8 ::/128"),
    ("loopback", "127.0.0.0/8 ::1/128"),
    ("private", "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7 64:ff9b:1::/48"),
    ("link-local", "169.254.0.0/16 fe80::/10"),
    ("site-local", "fec0::/10"),
    ("shared by carriers", "100.64.0.0/10"),
    ("benchmarking", "198.18.0.0/15 2001:2::/48"),
    ("documentation", "192.0.2.0/24 198.51.100.0/24 203.0.113.0/24 2001:db8::/32 3fff::/20"),
    ("multicast", "224.0.0.0/4 ff00::/8"),
    ("reserved", "192.0.0.0/24 192.88.99.0/24 240.0.0.0/4 2001::/23 100::/64 100:0:0:1::/64 5f00::/16"),
)
_RANGES: tuple[tuple[Network, str], ...] = tuple(
    (ip_network(written), why) for why, ranges in _REFUSED for written in ranges.split()
)
_GLOBAL_V6 = IPv6Network("2000::/3")  # all that has been given out for unicast
_NAT64 = IPv6Network("64:ff9b::/96")
_TEREDO = IPv6Network("2001::/32")
_IN_RESERVED = tuple(  # globally reachable islands in 2001::/23
    IPv6Network(written) for written in ("2001:1::1/128", "2001:1::2/128", "2001:1::3/128", "2001:3::/32",
                                         "2001:4:112::/48", "2001:20::/28", "2001:30::/28")
)  # fmt: skip


class Resolved(NamedTuple):
    """The addresses of a name, best first, and until when (on the asker's clock) that holds."""

    addresses: tuple[str, ...]
    expires_at: float


class NoAddress(NamedTuple):
    """A name without addresses; `kind` is `dns.nxdomain`, `dns.servfail` or `dns.timeout`."""

    kind: str
    detail: str


@lru_cache(_KNOWN_ADDRESSES)
def read_address(text: str) -> Address | None:
    """An address, with or without brackets; None for anything else, a name say."""
    try:
        return ip_address(text.strip("[]"))
    except ValueError:
        return None


@lru_cache(_KNOWN_ADDRESSES)
def refusal(address: str) -> str | None:
    """Why nobody has business asking this address; None for a public one."""
    found = read_address(address)
    if found is None:
        return "not an address"
    return next((why for each in _carried(found) if (why := _refusal(each)) is not None), None)


def _refusal(address: Address) -> str | None:
    for network, why in _RANGES:
        if address in network and not (why == "reserved" and any(address in island for island in _IN_RESERVED)):
            return why
    if isinstance(address, IPv6Address) and address not in _GLOBAL_V6:
        return "reserved"
    return None


def _carried(address: Address) -> tuple[Address, ...]:
    """What an address stands for: the IPv4 addresses inside it, or itself."""
    if isinstance(address, IPv4Address):
        return (address,)
    if address.ipv4_mapped is not None:
        return (address.ipv4_mapped,)
    if address.sixtofour is not None:
        return (address.sixtofour,)
    if address in _TEREDO and address.teredo is not None:
        return address.teredo  # relay and client
    if address in _NAT64:
        return (IPv4Address(int(address) & 0xFFFFFFFF),)
    return (address,)


class OwnHosts:
    """The hosts an operator calls its own: `example.org` (and all below it), `10.0.0.0/8`, `127.0.0.1`."""

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        self._names: set[str] = set()
        self._networks: list[Network] = []
        for pattern in patterns:
            network = _read_network(pattern)
            if network is None:
                self._names.add(_read_name(pattern))
            else:
                self._networks.append(network)
        self._remembered = lru_cache(_KNOWN_ADDRESSES)(self._covers)

    def covers(self, host: str, address: str | None) -> bool:
        """Is the host one of them, by its name or by the address it has?"""
        return bool(self._names or self._networks) and self._remembered(host, address)

    def _covers(self, host: str, address: str | None) -> bool:
        return self._has_name(host.lower().rstrip(".")) or any(map(self._has_address, (address or host, host)))

    def _has_name(self, host: str) -> bool:
        while host and self._names:
            if host in self._names:
                return True
            host = host.partition(".")[2]
        return False

    def _has_address(self, text: str) -> bool:
        found = read_address(text) if self._networks else None
        if found is None:
            return False
        # Every IPv4 address inside has to be ours, or a range of IPv6 would open IPv4 behind it.
        return all(any(each in network for network in self._networks) for each in _carried(found))


def may_connect(own: OwnHosts, host: str, address: str) -> bool:
    return refusal(address) is None or own.covers(host, address)


def group_of(address: str) -> str:
    """What shares one address gate: an IPv4 address, or the /64 of an IPv6 address."""
    found = read_address(address)
    if found is None:
        return address
    carried = found.ipv4_mapped if isinstance(found, IPv6Address) and found.ipv4_mapped else found
    if isinstance(carried, IPv4Address):
        return str(carried)
    return str(IPv6Network((int(carried), _HIGHEST_PREFIX_V6), strict=False))


def _read_network(pattern: str) -> Network | None:
    try:
        return ip_network(pattern.strip().strip("[]"), strict=False)
    except ValueError:
        return None


def _read_name(pattern: str) -> str:
    name = pattern.strip().removeprefix("*").removeprefix(".").removesuffix(".")
    try:
        host = urls.host_of(urls.parse(f"http://{name}/"))
    except BadUrl:
        host = ""
    if not host or any(letter in name for letter in "/:@?#"):
        raise BadSetting(f"{pattern!r} is no host of your own: give a name, an address or a range like 10.0.0.0/8")
    return host
