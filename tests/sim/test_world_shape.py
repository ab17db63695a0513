"""The shape of a world: power laws, names, addresses, sitemaps."""

import gzip
import math
import xml.etree.ElementTree as Xml
from collections import Counter
from dataclasses import replace

import pytest

from lycosa.sim.atlas import Atlas, Kind, PageId
from lycosa.sim.links import links_of
from lycosa.sim.plan import WorldPlan
from lycosa.sim.shape import pick_rank, scale_sizes, size_of
from lycosa.sim.world import Request, World

SPACE = "{http://www.sitemaps.org/schemas/sitemap/0.9}"


def slope(points: list[tuple[float, float]]) -> float:
    """Of the least-squares line through the logarithms."""
    xs, ys = ([math.log(point[axis]) for point in points] for axis in (0, 1))
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True)) / sum((x - mean_x) ** 2 for x in xs)


@pytest.mark.parametrize(("hosts", "pages"), [(1, 50), (10, 1_000), (500, 20_000), (5_000, 60_000), (2_000, 2_000)])
def test_sizes_add_up_to_the_planned_total(hosts: int, pages: int) -> None:
    scale = scale_sizes(hosts, pages, 0.8)
    total = sum(size_of(rank, scale, 0.8) for rank in range(hosts))
    assert abs(total - pages) <= 0.02 * pages + 1


def test_host_sizes_follow_a_power_law() -> None:
    atlas = Atlas(WorldPlan(hosts=2_000, pages=200_000, size_exponent=0.8))
    points = [(rank + 1.0, float(atlas.shape(rank).size)) for rank in range(0, 200, 5)]
    assert -0.85 < slope(points) < -0.75


def test_ranks_are_picked_by_a_power_law() -> None:
    picks = Counter(pick_rank((n + 0.5) / 200_000, 1_000, 0.9) for n in range(200_000))
    assert set(picks) == set(range(1_000))
    assert -0.95 < slope([(rank + 1.5, float(picks[rank])) for rank in range(5, 900)]) < -0.85


def test_few_pages_have_most_links() -> None:
    atlas = Atlas(WorldPlan(seed=3, hosts=60, pages=2_000, robots_share=0.0))
    pages = [PageId(host, number) for host in range(60) for number in range(atlas.shape(host).size)]
    unique = [page for page in pages if atlas.kind(page) is Kind.UNIQUE]
    popularity: Counter[tuple[int, str]] = Counter()
    for page in unique:
        popularity.update(
            (page.host if link.host is None else link.host, link.target) for link in links_of(atlas, page)
        )
    counts = sorted((count for (_, target), count in popularity.items() if "/media/" not in target), reverse=True)
    assert sum(counts[: len(counts) // 10]) > sum(counts) / 3
    assert -1.4 < slope([(rank + 1.0, float(count)) for rank, count in enumerate(counts[5:500], 5)]) < -0.5


def test_kinds_have_their_planned_shares() -> None:
    plan = WorldPlan(seed=5, hosts=300, pages=12_000)
    atlas = Atlas(plan)
    kinds: Counter[Kind] = Counter()
    for host in range(plan.hosts):
        kinds.update(atlas.kind(PageId(host, number)) for number in range(atlas.shape(host).size))
    total = sum(kinds.values())
    shares = {Kind.EXACT: plan.exact_share, Kind.NEAR: plan.near_share, Kind.GONE: plan.gone_share}
    for kind, share in shares.items():
        assert abs(kinds[kind] / total - share) < 0.01


def test_names_and_paths_lead_back_to_hosts_and_pages() -> None:
    atlas = Atlas(WorldPlan(seed=9, hosts=40, pages=600))
    for host in range(40):
        assert atlas.host_of(atlas.name(host).upper() + ".") == host
        assert atlas.host_of(f"{atlas.name(host)}:8080") == host
        paths = set()
        for number in range(atlas.shape(host).size):
            page = PageId(host, number)
            assert atlas.find(host, atlas.path(page)) == page
            paths.add(atlas.path(page))
        assert len(paths) == atlas.shape(host).size
    assert atlas.name(17) == "h000017.sim4.test"
    assert atlas.host_of(atlas.address(3)) is None


def test_some_hosts_share_an_address_unless_found_by_address() -> None:
    plan = WorldPlan(hosts=400, shared_address_share=0.3)
    shared = Counter(map(Atlas(plan).address, range(400)))
    assert 200 < len(shared) < 380
    assert max(shared.values()) <= plan.hosts_per_address
    by_address = Atlas(replace(plan, by="address", port=8080))
    assert len({by_address.address(host) for host in range(400)}) == 400
    assert all(by_address.host_of(by_address.label(host)) == host for host in range(400))
    assert by_address.url(PageId(0, 0)) == "http://127.32.0.1:8080/"
    assert by_address.address(1_000).startswith("127.32.3.")


def test_sitemaps_name_all_public_pages_once() -> None:
    world = World(WorldPlan(seed=4, hosts=5, pages=900, sitemap_share=1.0, sitemap_urls=60))
    for host in range(5):

        def get(url: str, host: int = host) -> bytes:
            target = url.removeprefix(world.atlas.origin(host))
            answer = world.answer(Request("GET", world.atlas.name(host), target), 1_720_000_000.0)
            assert answer.status == 200
            return gzip.decompress(answer.body) if target.endswith(".gz") else answer.body

        robots = get("/robots.txt").decode()
        root = Xml.fromstring(get(robots.partition("Sitemap: ")[2].strip()))
        parts = [root] if root.tag == f"{SPACE}urlset" else []
        if not parts:
            parts = [Xml.fromstring(get(loc.text or "")) for loc in root.iter(f"{SPACE}loc")]
            assert any((loc.text or "").endswith(".gz") for loc in root.iter(f"{SPACE}loc"))
        named = [loc.text for part in parts for loc in part.iter(f"{SPACE}loc")]
        assert all(len(list(part)) <= 60 for part in parts)
        public = [
            world.truth.url(page)
            for page in world.truth.pages_of(host)
            if world.truth.kind(page) is Kind.UNIQUE and not world.atlas.is_private(page)
        ]
        assert sorted(filter(None, named)) == sorted(public)
        assert all(date.text and date.text.endswith("Z") for part in parts for date in part.iter(f"{SPACE}lastmod"))
