"""Where pages lead: the links of a page and the targets of redirects, straight from the seed.

A page links home, to its children in the tree, to the copies, redirects and gone pages attached to it, and to
popular pages of its own and other hosts. The front page of host n also links to those of hosts 8n+1 to 8n+8,
so one seed reaches every host that does not forbid it.

A link without a host belongs to whoever shows it. Pages that other hosts copy name the host in every link, so
copies lead back to where they were taken from and every link of a world leads to something its plan knows.
"""

from struct import iter_unpack
from typing import NamedTuple

from lycosa.sim.atlas import Atlas, PageId
from lycosa.sim.shape import pick_rank

_HOST_FANOUT = 8
_UNIT = 2.0**-32


class LinkTo(NamedTuple):
    host: int | None
    target: str
    nofollow: bool = False
    is_image: bool = False


class Redirect(NamedTuple):
    status: int
    location: str
    """As the header writes it."""
    page: PageId


def links_of(atlas: Atlas, page: PageId) -> list[LinkTo]:
    """In the order of the page, which must be no copy (ask for its source's links), redirect or gone page."""
    own = (LinkTo(None, atlas.path(child)) for child in _below(atlas, page))
    home = [LinkTo(None, "/")] if page.number else []
    links = [*home, *own, *_host_links(atlas, page), *_popular(atlas, page), *_media(atlas, page)]
    if not atlas.writes_full_urls(page):
        return links
    return [link if link.host is not None else link._replace(host=page.host) for link in links]


def redirect_of(atlas: Atlas, page: PageId) -> Redirect:
    shape, dice = atlas.shape(page.host), atlas.dice
    drawn = dice.number("redirect", *page)
    status = (301, 302, 307, 308)[drawn % 4]
    target = _redirect_target(atlas, page, page.number - shape.near, shape.redirect - shape.near)
    absolute = target.host != page.host or (drawn >> 8) % 2 == 0
    return Redirect(status, atlas.url(target) if absolute else atlas.path(target), target)


def _redirect_target(atlas: Atlas, page: PageId, index: int, redirects: int) -> PageId:
    dice, plan, first = atlas.dice, atlas.plan, page.number - index
    pair = index // 2
    if 2 * pair + 1 < redirects and dice.share("loop", page.host, pair) < plan.redirect_loop_share:
        return PageId(page.host, first + (index ^ 1))
    if index + 1 < redirects and dice.share("chain", *page) < plan.redirect_chain_share:
        return PageId(page.host, page.number + 1)
    host = page.host
    if dice.share("redirect afar", *page) < plan.redirect_afar_share:
        host = atlas.popular_host("redirect host", *page)
    return PageId(host, dice.pick(atlas.shape(host).tree, "redirect page", *page))


def _below(atlas: Atlas, page: PageId) -> list[PageId]:
    shape, fanout = atlas.shape(page.host), atlas.plan.tree_fanout
    inner = shape.inner(fanout)
    if page.number >= inner:
        return []
    children = range(page.number * fanout + 1, min(shape.tree, page.number * fanout + fanout + 1))
    attached = range(shape.tree + page.number, shape.gone, inner)
    return [PageId(page.host, number) for number in (*children, *attached)]


def _host_links(atlas: Atlas, page: PageId) -> list[LinkTo]:
    if page.number:
        return []
    first = page.host * _HOST_FANOUT + 1
    return [LinkTo(host, "/") for host in range(first, min(atlas.plan.hosts, first + _HOST_FANOUT))]


def _popular(atlas: Atlas, page: PageId) -> list[LinkTo]:
    plan, found = atlas.plan, []
    count = plan.links_per_page // 2 + atlas.dice.pick(plan.links_per_page + 1, "links", *page)
    raw = atlas.dice.stretch(16 * count, "links", *page)
    for cross, rel, host_share, page_share in iter_unpack("<IIII", raw):  # one draw for all: this is the hot path
        afar = cross * _UNIT < plan.cross_host_share
        host = pick_rank(host_share * _UNIT, plan.hosts, plan.host_popularity) if afar else page.host
        number = pick_rank(page_share * _UNIT, atlas.shape(host).gone, plan.page_popularity)  # orphans left out
        target = atlas.path(PageId(host, number))
        found.append(LinkTo(host if afar else None, target, rel * _UNIT < plan.nofollow_share))
    return found


def _media(atlas: Atlas, page: PageId) -> list[LinkTo]:
    drawn = atlas.dice.number("media", *page)
    count = int(atlas.plan.media_per_page + (drawn % 1000) / 1000)
    numbers = [(drawn >> (8 + 3 * n)) % 1000 for n in range(count)]
    return [
        LinkTo(None, f"/media/image-{number}.png", is_image=True)
        if number % 4
        else LinkTo(None, f"/media/paper-{number}.pdf")
        for number in numbers
    ]
