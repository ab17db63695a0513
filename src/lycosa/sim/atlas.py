"""What exists in a world: hosts with names and addresses, pages with kinds and paths, and which is a copy of
which.

The pages of a host are numbered, and a kind is a range of numbers:

    0 … tree | exact copies | near copies | redirects | gone | orphans … size

Number 0 is the front page. `tree` pages hang together so that each can be reached from the front page; the
others are each linked from one tree page that is not private, except orphans, which only the sitemap names.
Every question is answered from the seed in constant time; a bounded cache is all that is ever held.
"""

import re
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from lycosa.errors import LycosaError
from lycosa.sim.dice import Dice
from lycosa.sim.plan import HTTP_PORT, WorldPlan
from lycosa.sim.shape import pick_rank, scale_sizes, size_of
from lycosa.sim.words import LONG_WORD, lexicon

_FIRST_BLOCK, _BLOCK = 32, 256 * 254  # addresses from 127.32.0.1, leaving 127.0.0.0/11 to others
MAX_HOSTS = (255 - _FIRST_BLOCK) * _BLOCK
_NAME = re.compile(r"h(\d{6,9})\.")
_NUMBER = re.compile(r"\d{1,9}")
_SECTIONS = 12
_STYLES = (
    "/{section}/{slug}-{number}.html",
    "/{section}/{number}-{slug}/",
    "/{section}/view?id={number}&of={slug}",
)


class PageId(NamedTuple):
    host: int
    number: int


class Kind(StrEnum):
    UNIQUE = "unique"
    EXACT = "exact"
    NEAR = "near"
    REDIRECT = "redirect"
    GONE = "gone"


class HostShape(NamedTuple):
    """Where each range of page numbers ends."""

    tree: int
    exact: int
    near: int
    redirect: int
    gone: int
    size: int

    def inner(self, fanout: int) -> int:
        """How many tree pages have children; the front page always counts."""
        return max(1, -(-(self.tree - 1) // fanout))


class Atlas:
    def __init__(self, plan: WorldPlan) -> None:
        if plan.hosts > MAX_HOSTS:
            raise LycosaError(f"hosts is {plan.hosts}: at most {MAX_HOSTS} have a loopback address of their own.")
        self.plan, self.dice = plan, Dice(plan.seed)
        self._scale = scale_sizes(plan.hosts, plan.pages, plan.size_exponent)
        self._slugs = [word for word in lexicon("en").words if len(word) >= LONG_WORD]
        self.shape = lru_cache(4096)(self._shape)
        self._style = lru_cache(4096)(self._style_of)

    # -- hosts

    def name(self, host: int) -> str:
        domain = host // self.plan.hosts_per_domain
        return f"h{host:06d}.sim{domain or ''}.test"

    def address(self, host: int) -> str:
        plan = self.plan
        if plan.by == "name" and self.dice.share("shares address", host) < plan.shared_address_share:
            host -= host % plan.hosts_per_address
        block, place = divmod(host, _BLOCK)
        return f"127.{_FIRST_BLOCK + block}.{place // 254}.{place % 254 + 1}"

    def label(self, host: int) -> str:
        """The host as links write it, without port."""
        return self.name(host) if self.plan.by == "name" else self.address(host)

    def origin(self, host: int) -> str:
        return f"http://{self.label(host)}" + (f":{self.plan.port}" if self.plan.port != HTTP_PORT else "")

    def host_of(self, label: str) -> int | None:
        """The host of a name, or of an address where links are written with addresses; a port is ignored."""
        label = label.partition(":")[0].lower().rstrip(".")
        if named := _NAME.match(label):
            host = int(named[1])
        elif self.plan.by == "address" and re.fullmatch(r"127(\.\d{1,3}){3}", label):
            _, second, third, fourth = map(int, label.split("."))
            host = (second - _FIRST_BLOCK) * _BLOCK + third * 254 + fourth - 1
        else:
            return None
        known = 0 <= host < self.plan.hosts and label in (self.name(host), self.address(host))
        return host if known else None

    def has_sitemap(self, host: int) -> bool:
        return self.dice.share("sitemap", host) < self.plan.sitemap_share

    def language(self, host: int) -> str:
        drawn = self.dice.share("language", host) * sum(weight for _, weight in self.plan.languages)
        for code, weight in self.plan.languages:
            drawn -= weight
            if drawn < 0:
                return code
        return self.plan.languages[-1][0]

    def _shape(self, host: int) -> HostShape:
        plan = self.plan
        size = size_of(host, self._scale, plan.size_exponent)

        def some(share: float, what: str) -> int:
            return int(size * share + self.dice.share("round", what, host))  # fractions become chances

        counts = [
            some(plan.exact_share, "exact"),
            some(plan.near_share, "near"),
            some(plan.redirect_share, "redirect"),
            some(plan.gone_share, "gone"),
            some(plan.orphan_share, "orphan") if self.has_sitemap(host) else 0,
        ]
        if sum(counts) >= size:
            counts = [0] * len(counts)
        ends = [size - sum(counts)]
        for count in counts:
            ends.append(ends[-1] + count)
        return HostShape(*ends)

    # -- pages

    def kind(self, page: PageId) -> Kind:
        shape = self.shape(page.host)
        for end, kind in (
            (shape.tree, Kind.UNIQUE),
            (shape.exact, Kind.EXACT),
            (shape.near, Kind.NEAR),
            (shape.redirect, Kind.REDIRECT),
            (shape.gone, Kind.GONE),
        ):
            if page.number < end:
                return kind
        return Kind.UNIQUE

    def is_orphan(self, page: PageId) -> bool:
        return page.number >= self.shape(page.host).gone

    def is_private(self, page: PageId) -> bool:
        """Only tree pages without children, so that a crawler which keeps out loses nothing else."""
        return self._hides(page, self.dice.number("path", *page))

    def path(self, page: PageId) -> str:
        host, number = page
        if number == 0:
            return "/"
        drawn = self.dice.number("path", host, number)
        section = "private" if self._hides(page, drawn) else self._slugs[(host * 31 + drawn % _SECTIONS) % 400]
        return self._style(host).format(
            section=section, slug=self._slugs[(drawn >> 8) % len(self._slugs)], number=number
        )

    def _hides(self, page: PageId, drawn: int) -> bool:
        shape = self.shape(page.host)
        leaf = shape.inner(self.plan.tree_fanout) <= page.number < shape.tree
        return leaf and (drawn >> 32) * 2.0**-32 < self.plan.private_share

    def _style_of(self, host: int) -> str:
        return _STYLES[(0, 0, 0, 0, 0, 1, 1, 1, 2, 2)[self.dice.pick(10, "style", host)]]

    def url(self, page: PageId) -> str:
        return self.origin(page.host) + self.path(page)

    def find(self, host: int, target: str) -> PageId | None:
        """The page that a request target names, if it is one."""
        found = _NUMBER.search(target)
        page = PageId(host, int(found[0])) if found else PageId(host, 0)
        return page if page.number < self.shape(host).size and self.path(page) == target else None

    def source(self, page: PageId) -> PageId:
        """The page whose text this one shows: itself, unless it is a copy."""
        if self.kind(page) not in (Kind.EXACT, Kind.NEAR):
            return page
        if self.dice.share("copied from afar", *page) < self.plan.copies_from_afar_share:
            host = self.popular_host("copied from", *page)
            shape = self.shape(host)
            full = range(shape.inner(self.plan.tree_fanout) | 1, shape.tree, 2)
            if full:  # else the host is too small to be copied
                return PageId(host, full[self.dice.pick(len(full), "copied page", *page)])
        tree = self.shape(page.host).tree
        return PageId(page.host, 1 + self.dice.pick(tree - 1, "copied page", *page) if tree > 1 else 0)

    def writes_full_urls(self, page: PageId) -> bool:
        """Every second page without children does; other hosts copy only these, so no copy's link breaks."""
        return page.number % 2 == 1 and page.number >= self.shape(page.host).inner(self.plan.tree_fanout)

    def popular_host(self, *what: str | int) -> int:
        return pick_rank(self.dice.share("host", *what), self.plan.hosts, self.plan.host_popularity)
