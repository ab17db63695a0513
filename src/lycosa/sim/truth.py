"""What a world holds, straight from its plan: the answers a crawler is judged against.

Nothing here renders or parses a page. `walk` follows links the way a perfect crawler would and says what it
must have fetched, been redirected by, found gone, or kept out of.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import urlsplit

from lycosa.sim.atlas import Atlas, Kind, PageId
from lycosa.sim.links import Redirect, links_of, redirect_of
from lycosa.sim.page import canonical_of, is_noindex
from lycosa.sim.robots import RobotsRules, robots_of
from lycosa.sim.sitemaps import pages_in_sitemap
from lycosa.sim.versions import Version, Versions


class Link(NamedTuple):
    url: str
    nofollow: bool
    is_image: bool


@dataclass
class Reach:
    """What a walk met, by URL. Media files count as fetched files, not pages."""

    pages: dict[str, PageId] = field(default_factory=dict)
    files: set[str] = field(default_factory=set)
    redirects: dict[str, Redirect] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    forbidden: set[str] = field(default_factory=set)


class Truth:
    def __init__(self, atlas: Atlas, versions: Versions) -> None:
        self._atlas, self._versions = atlas, versions

    def pages_of(self, host: int) -> Iterator[PageId]:
        """Every page of the host, redirects and gone ones included."""
        return (PageId(host, number) for number in range(self._atlas.shape(host).size))

    def kind(self, page: PageId) -> Kind:
        return self._atlas.kind(page)

    def source(self, page: PageId) -> PageId:
        """The page it was made from; itself if it is no copy."""
        return self._atlas.source(page)

    def url(self, page: PageId) -> str:
        return self._atlas.url(page)

    def page_at(self, url: str) -> PageId | None:
        host, target = self._place(url)
        return None if host is None else self._atlas.find(host, target)

    def links(self, page: PageId) -> list[Link]:
        """As absolute URLs, in the order of the page; none for redirects and gone pages."""
        if self.kind(page) in (Kind.REDIRECT, Kind.GONE):
            return []
        origin = self._atlas.origin
        return [
            Link(origin(page.host if host is None else host) + target, nofollow, is_image)
            for host, target, nofollow, is_image in links_of(self._atlas, self.source(page))
        ]

    def redirect(self, page: PageId) -> Redirect | None:
        return redirect_of(self._atlas, page) if self.kind(page) is Kind.REDIRECT else None

    def end_of_redirects(self, page: PageId, most: int = 20) -> PageId | None:
        """The page a chain ends at, or None if it goes in a circle."""
        for _ in range(most):
            step = self.redirect(page)
            if step is None:
                return page
            page = step.page
        return None

    def robots(self, host: int) -> RobotsRules:
        return robots_of(self._atlas, host)

    def allows(self, url: str) -> bool:
        host, target = self._place(url)
        return host is not None and self.robots(host).allows(target)

    def is_noindex(self, page: PageId) -> bool:
        return is_noindex(self._atlas, page)

    def canonical(self, page: PageId) -> str | None:
        return canonical_of(self._atlas, page)

    def changes_per_s(self, page: PageId) -> float:
        return self._versions.rate_per_s(page)

    def version(self, page: PageId, now: float) -> Version:
        return self._versions.at(page, now)

    def next_change(self, page: PageId, now: float) -> float | None:
        return self._versions.next_change(page, now)

    def walk(
        self, seeds: Iterable[str], *, robots: bool = True, sitemaps: bool = True, nofollow: bool = False
    ) -> Reach:
        """Everything reachable; `nofollow=True` follows such links too."""
        reach, queue, hosts = Reach(), deque(seeds), set[int]()
        seen = set(queue)
        while queue:
            url = queue.popleft()
            host, target = self._place(url)
            if host is None:
                continue
            found = self._visit(reach, url, host, target, robots=robots, nofollow=nofollow)
            if sitemaps and host not in hosts:
                hosts.add(host)
                if not robots or self.robots(host).allows("/sitemap.xml"):
                    found = [*found, *(self.url(page) for page in pages_in_sitemap(self._atlas, host))]
            for link in found:
                if link not in seen:
                    seen.add(link)
                    queue.append(link)
        return reach

    def _visit(self, reach: Reach, url: str, host: int, target: str, *, robots: bool, nofollow: bool) -> list[str]:
        page = self._atlas.find(host, target)
        if robots and not self.robots(host).allows(target):
            reach.forbidden.add(url)
        elif page is None and target.startswith("/media/"):
            reach.files.add(url)
        elif page is None or self.kind(page) is Kind.GONE:
            reach.gone.add(url)
        elif (redirect := self.redirect(page)) is not None:
            reach.redirects[url] = redirect
            return [self.url(redirect.page)]
        else:
            reach.pages[url] = page
            return [link.url for link in self.links(page) if nofollow or not link.nofollow]
        return []

    def _place(self, url: str) -> tuple[int | None, str]:
        parts = urlsplit(url)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        return self._atlas.host_of(parts.netloc), target
