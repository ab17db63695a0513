"""Questions to name servers, by c-ares (aiodns)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import aiodns
import pycares

from lycosa.web.addresses import NoAddress

_TRIES = 2
_NO_SORT = 1 << 7  # ARES_AI_NOSORT, which pycares does not name: sorting opens a socket for each address

_KINDS = {
    pycares.errno.ARES_ENOTFOUND: "dns.nxdomain",
    pycares.errno.ARES_ENODATA: "dns.nxdomain",  # the name exists, without addresses
    pycares.errno.ARES_EBADNAME: "dns.nxdomain",  # no name at all
    pycares.errno.ARES_ENONAME: "dns.nxdomain",
    pycares.errno.ARES_ETIMEOUT: "dns.timeout",
}


class NameServers:
    """The system's, or those given as `host` or `host:port`. To be made where a loop runs."""

    def __init__(self, nameservers: Sequence[str], timeout_s: float) -> None:
        self._channel = aiodns.DNSResolver(
            nameservers=nameservers or None,
            timeout=timeout_s,
            tries=_TRIES,
            flags=pycares.ARES_FLAG_NOSEARCH | pycares.ARES_FLAG_EDNS,
        )

    async def ask(self, host: str) -> Any:
        """What they know of a name, with `nodes` and `cnames`; or NoAddress."""
        try:
            return await self._channel.getaddrinfo(host, flags=_NO_SORT)
        except aiodns.error.DNSError as error:
            number, *said = error.args
            return NoAddress(_KINDS.get(number, "dns.servfail"), str(said[0]) if said else str(number))
        except (UnicodeError, ValueError):
            return NoAddress("dns.nxdomain", f"{host[:300]!r} is not a name that can be looked up")

    async def aclose(self) -> None:
        await self._channel.close()
