"""The registered domain of a host: what one owner buys, and so what one budget covers.

From the public suffix list as it is shipped with `publicsuffixlist`; nothing is fetched. Private suffixes count, so
`alice.github.io` and `bob.github.io` are two domains. The registered domain of an address is the address, and a name
that is itself a suffix stands for itself.
"""

from __future__ import annotations

import ipaddress
from functools import cache, lru_cache

from publicsuffixlist import PublicSuffixList


@cache
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()  # 60 ms once, and only where domains matter


def is_address(host: str) -> bool:
    """Is it an address (IPv6 in brackets, as in URLs) and not a name?"""
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


@lru_cache(maxsize=65_536)
def registered_domain(host: str) -> str:
    """`www.example.co.uk` is under `example.co.uk`."""
    if is_address(host):
        return host
    name = host.rstrip(".").lower()
    return str(_suffixes().privatesuffix(name) or name)
