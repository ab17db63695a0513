"""The truth about a world agrees with what an independent reader finds in it."""

import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

import pytest

from lycosa.sim.atlas import Kind, PageId
from lycosa.sim.plan import WorldPlan
from lycosa.sim.robots import RobotsState
from lycosa.sim.truth import Link
from lycosa.sim.world import Answer, Request, World

PLAN = WorldPlan(seed=23, hosts=25, pages=700, page_bytes=4_000, closed_share=0.05, broken_robots_share=0.05)
NOW = 1_720_000_000.0


class Reader(HTMLParser):
    """Links, canonical, noindex and visible words, by the standard library's parser."""

    def __init__(self, url: str, html: str) -> None:
        super().__init__()
        self.url, self.links, self.words = url, [], []
        self.canonical, self.noindex, self._skip = None, False, False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        at = dict(attrs)
        if tag == "a":
            self.links.append(Link(urljoin(self.url, at["href"] or ""), at.get("rel") == "nofollow", False))
        elif tag == "img":
            self.links.append(Link(urljoin(self.url, at["src"] or ""), False, True))
        elif tag == "link" and at.get("rel") == "canonical":
            self.canonical = at["href"]
        elif tag == "meta" and at.get("name") == "robots":
            self.noindex = "noindex" in (at["content"] or "")
        self._skip = tag == "style"

    def handle_data(self, data: str) -> None:
        if not self._skip:
            self.words += data.split()


def fetch(world: World, url: str) -> Answer:
    parts = urlsplit(url)
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    return world.answer(Request("GET", parts.netloc, target), NOW)


def read(world: World, url: str) -> Reader:
    answer = fetch(world, url)
    charset = dict(answer.headers)["Content-Type"].partition("charset=")[2]
    return Reader(url, answer.body.decode(charset))


def allowed_by_text(robots: str, target: str) -> bool:
    """RFC 9309 for the group of all robots: the longest rule wins."""
    best, mine = (0, True), False
    for line in robots.splitlines():
        field, _, value = (part.strip() for part in line.partition(":"))
        if field == "User-agent":
            mine = value == "*"
        elif mine and value and field in ("Allow", "Disallow"):
            pattern = re.escape(value).replace(r"\*", ".*").replace(r"\$", "$")
            if re.match(pattern, target):
                best = max(best, (len(value), field == "Allow"))
    return best[1]


@pytest.fixture(scope="module")
def world() -> World:
    return World(PLAN)


def shown_pages(world: World) -> list[PageId]:
    pages = (page for host in range(world.plan.hosts) for page in world.truth.pages_of(host))
    return [page for page in pages if world.truth.kind(page) not in (Kind.REDIRECT, Kind.GONE)]


def test_links_canonical_and_noindex_are_those_in_the_html(world: World) -> None:
    for page in shown_pages(world):
        reader = read(world, world.truth.url(page))
        assert Counter(reader.links) == Counter(world.truth.links(page))
        assert reader.canonical == world.truth.canonical(page)
        assert reader.noindex == world.truth.is_noindex(page)


@pytest.mark.parametrize("obedient", [True, False])
def test_a_crawl_of_the_served_pages_finds_what_the_walk_says(world: World, obedient: bool) -> None:
    queue, seen = world.seeds(), set(world.seeds())
    pages, redirects, gone = set(), set(), set()
    while queue:
        url = queue.pop()
        if obedient and not world.truth.allows(url):
            continue
        answer = fetch(world, url)
        found = []
        if answer.status == 200 and dict(answer.headers)["Content-Type"].startswith("text/html"):
            pages.add(url)
            found = [link.url for link in read(world, url).links if not link.nofollow]
        elif 300 <= answer.status < 400:
            redirects.add(url)
            found = [urljoin(url, dict(answer.headers)["Location"])]
        elif answer.status in (404, 410):
            gone.add(url)
        queue += (link for link in dict.fromkeys(found) if link not in seen)
        seen.update(found)
    reach = world.truth.walk(world.seeds(), robots=obedient, sitemaps=False)
    assert pages == reach.pages.keys()
    assert redirects == reach.redirects.keys()
    assert gone == reach.gone


def test_every_page_is_reachable_from_one_seed(world: World) -> None:
    reach = world.truth.walk(world.seeds(), robots=False)
    assert {world.truth.url(page) for page in shown_pages(world)} == reach.pages.keys()


def test_only_sitemaps_name_orphans(world: World) -> None:
    orphans = {world.truth.url(page) for page in shown_pages(world) if world.atlas.is_orphan(page)}
    assert orphans
    assert orphans.isdisjoint(world.truth.walk(world.seeds(), robots=False, sitemaps=False).pages)
    assert orphans <= world.truth.walk(world.seeds(), robots=False, sitemaps=True).pages.keys()


def test_the_robots_verdict_is_that_of_the_text() -> None:
    world, states = World(replace(PLAN, hosts=80, broken_robots_share=0.1)), set()
    for host in range(world.plan.hosts):
        rules, answer = world.truth.robots(host), fetch(world, world.atlas.origin(host) + "/robots.txt")
        states.add(rules.state)
        assert answer.status == {RobotsState.ABSENT: 404, RobotsState.BROKEN: 503}.get(rules.state, 200)
        for page in world.truth.pages_of(host):
            media = [link.url for link in world.truth.links(page) if "/media/" in link.url]
            for url in (world.truth.url(page), *media):
                if urlsplit(url).netloc != world.atlas.name(host) or answer.status != 200:
                    continue
                target = url.removeprefix(world.atlas.origin(host))
                assert world.truth.allows(url) == allowed_by_text(answer.body.decode(), target), target
    assert states == set(RobotsState)


def test_robots_keep_an_obedient_crawler_from_private_pages_only() -> None:
    world = World(replace(PLAN, closed_share=0.0, broken_robots_share=0.0, robots_share=1.0))
    private = {world.truth.url(page) for page in shown_pages(world) if world.atlas.is_private(page)}
    everything = world.truth.walk(world.seeds(), robots=False).pages.keys()
    obedient = world.truth.walk(world.seeds(), robots=True)
    lost = everything - obedient.pages.keys()
    assert lost
    assert lost <= private
    assert lost <= obedient.forbidden


def test_exact_copies_are_equal_and_near_copies_differ_in_a_few_words(world: World) -> None:
    kinds = Counter(map(world.truth.kind, shown_pages(world)))
    assert kinds[Kind.EXACT] > 20
    assert kinds[Kind.NEAR] > 20
    for page in shown_pages(world):
        kind, source = world.truth.kind(page), world.truth.source(page)
        url, original = world.truth.url(page), world.truth.url(source)
        if kind is Kind.UNIQUE:
            assert source == page
        elif kind is Kind.EXACT:
            assert fetch(world, url).body == fetch(world, original).body
        else:
            words, others = read(world, url).words, read(world, original).words
            differing = sum(one != other for one, other in zip(words, others, strict=True))
            assert 1 <= differing <= PLAN.near_edits


def test_unique_pages_are_unlike_each_other(world: World) -> None:
    texts = [read(world, world.truth.url(page)).words for page in shown_pages(world)[:40]]
    shingles = [{tuple(words[n : n + 4]) for n in range(len(words) - 3)} for words in texts]
    for n, one in enumerate(shingles):
        for other in shingles[n + 1 :]:
            assert len(one & other) < 0.2 * len(one)


def test_redirects_come_in_all_kinds_and_end_or_circle() -> None:
    world = World(replace(PLAN, pages=3_000, redirect_share=0.2))
    pages = [page for host in range(25) for page in world.truth.pages_of(host)]
    moved = [page for page in pages if world.truth.kind(page) is Kind.REDIRECT]
    steps = [(page, step) for page in moved if (step := world.truth.redirect(page))]
    assert {step.status for _, step in steps} == {301, 302, 307, 308}
    assert any(step.page.host != page.host for page, step in steps)
    assert any(world.truth.kind(step.page) is Kind.REDIRECT for _, step in steps)
    assert any(step.location.startswith("/") for _, step in steps)
    ends = [world.truth.end_of_redirects(page) for page in moved]
    circles = ends.count(None)
    assert 0 < circles < len(moved) / 2
    assert all(world.truth.kind(end) is Kind.UNIQUE for end in ends if end)


def test_walks_can_follow_nofollow_links(world: World) -> None:
    strict, loose = (world.truth.walk(world.seeds(), nofollow=nofollow) for nofollow in (False, True))
    assert strict.pages.keys() <= loose.pages.keys()
    assert any(link.nofollow for page in shown_pages(world) for link in world.truth.links(page))
