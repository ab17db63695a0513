"""What the page shows: a search with its filters, and the addresses of its neighbours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import quote_plus

from lycosa.search.answer import DEEPEST, Request

# In this order, so that the same search has the same address.
_KEPT = ("q", "site", "lang", "after", "before", "fold", "limit", "offset")
FILTERS = ("site", "lang", "after", "before")


class Shown(NamedTuple):
    request: Request
    given: Mapping[str, str]  # as they stand in the address

    @property
    def is_question(self) -> bool:
        """Is there anything to look for? Filters alone list what they leave."""
        return bool(self.request.query.strip()) or any(self.given.get(name) for name in FILTERS)

    @property
    def number(self) -> int:
        """Of this page of results, from 1."""
        return self.request.offset // self.request.limit + 1

    def page(self, number: int) -> str:
        return self.address(offset=str((number - 1) * self.request.limit))

    def has_page(self, number: int) -> bool:
        return number >= 1 and (number - 1) * self.request.limit < DEEPEST

    def address(self, **changes: str) -> str:
        """The same search with these parameters changed; an empty one is dropped, and a changed search begins anew."""
        told = {**self.given, "offset": "", **changes}
        pairs = [(name, told[name]) for name in _KEPT if told.get(name) and (name, told[name]) != ("offset", "0")]
        return "/search" + "".join(
            [f"{'&' if at else '?'}{name}={quote_plus(value)}" for at, (name, value) in enumerate(pairs)]
        )
