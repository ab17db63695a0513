"""What a synthetic world serves: repeatable bytes, validators, redirects, files."""

import gzip
import hashlib
import os
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from lycosa.errors import LycosaError
from lycosa.sim.atlas import Kind, PageId
from lycosa.sim.plan import WorldPlan
from lycosa.sim.world import Answer, Request, World

PLAN = WorldPlan(seed=11, hosts=30, pages=900)
NOW = 1_720_000_000.0
DIGEST = """
import hashlib
from lycosa.sim.plan import WorldPlan
from lycosa.sim.world import Request, World
world, digest = World(WorldPlan(seed=11, hosts=30, pages=900)), hashlib.sha256()
for host in range(30):
    for page in list(world.truth.pages_of(host))[:6]:
        request = Request("GET", world.atlas.name(host), world.atlas.path(page), {"accept-encoding": "gzip"})
        digest.update(repr(world.answer(request, 1_720_000_000.0)).encode())
    digest.update(repr(world.answer(Request("GET", world.atlas.name(host), "/robots.txt"), 1.0)).encode())
print(digest.hexdigest())
"""


def ask(world: World, page: PageId, now: float = NOW, method: str = "GET", **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return world.answer(Request(method, world.atlas.name(page.host), world.atlas.path(page), named), now)


def find(world: World, kind: Kind) -> PageId:
    pages = (page for host in range(world.plan.hosts) for page in world.truth.pages_of(host))
    return next(page for page in pages if world.truth.kind(page) is kind)


def test_every_process_serves_the_same_bytes() -> None:
    def digest(hash_seed: str) -> str:
        env = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run([sys.executable, "-c", DIGEST], env=env, capture_output=True, text=True, check=True)
        return done.stdout

    assert digest("1") == digest("2")


def test_another_seed_is_another_world() -> None:
    page = PageId(0, 1)
    one, other = (World(replace(PLAN, seed=seed)) for seed in (1, 2))
    assert ask(one, PageId(0, 0)).body != ask(other, PageId(0, 0)).body
    assert one.atlas.path(page) != other.atlas.path(page)


def test_a_million_hosts_cost_nothing_until_asked() -> None:
    world = World(WorldPlan(hosts=1_000_000, pages=20_000_000))
    last = PageId(999_999, 0)
    assert ask(world, last).status == 200
    assert world.atlas.host_of(world.atlas.name(999_999)) == 999_999
    assert world.atlas.shape(0).size > 10_000


def test_the_cache_of_bodies_is_bounded() -> None:
    world = World(PLAN, cache_bytes=100_000)
    for host in range(30):
        ask(world, PageId(host, 0))
    assert sum(map(len, world._bodies.values())) <= 100_000
    assert ask(world, PageId(0, 0)) == ask(World(PLAN), PageId(0, 0))


def test_pages_are_about_as_large_as_planned() -> None:
    world = World(replace(PLAN, legacy_charset_share=0.0))
    unique = [p for host in range(30) for p in world.truth.pages_of(host) if world.truth.kind(p) is Kind.UNIQUE]
    sizes = [len(ask(world, page).body) for page in unique[:400]]
    assert 16_000 < sum(sizes) / len(sizes) < 25_000


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_bodies_decode_whatever_their_charset(share: float) -> None:
    world = World(replace(PLAN, legacy_charset_share=share, languages=(("ru", 1), ("el", 1), ("de", 1))))
    for host in range(6):
        answer = ask(world, PageId(host, 0))
        charset = dict(answer.headers)["Content-Type"].partition("charset=")[2]
        assert (charset == "utf-8") == (share == 0)
        assert f'<meta charset="{charset}">' in answer.body.decode(charset)


def test_validators_follow_the_version() -> None:
    world = World(replace(PLAN, validators_share=1.0, static_share=0.0, changes_per_day=5.0, changes_sigma=0.1))
    page = next(p for p in world.truth.pages_of(0) if "ETag" in dict(ask(world, p).headers))
    change = world.truth.next_change(page, NOW)
    assert change is not None
    before, after = ask(world, page, change - 1), ask(world, page, change + 1)
    tags = [dict(answer.headers)["ETag"] for answer in (before, after)]
    assert tags[0] != tags[1]
    assert before.body != after.body
    assert ask(world, page, change - 1, if_none_match=tags[0]).status == 304
    assert ask(world, page, change + 1, if_none_match=tags[0]).status == 200
    assert ask(world, page, change + 1, if_none_match=f'"other", {tags[1]}').status == 304


def test_dates_are_validators_too() -> None:
    world = World(replace(PLAN, validators_share=1.0, static_share=0.0, changes_per_day=5.0, changes_sigma=0.1))
    page = PageId(0, 0)
    change = world.truth.next_change(page, NOW)
    assert change is not None
    date = dict(ask(world, page, change + 1).headers)["Last-Modified"]
    unchanged = ask(world, page, change + 1, if_modified_since=date)
    assert (unchanged.status, unchanged.body) == (304, b"")
    assert "Content-Length" not in dict(unchanged.headers)
    old = dict(ask(world, page, change - 2).headers)["Last-Modified"]
    assert ask(world, page, change + 1, if_modified_since=old).status == 200
    assert ask(world, page, change + 1, if_modified_since="whenever").status == 200
    assert ask(world, page, change + 1, if_none_match='"stale"', if_modified_since=date).status == 200


def test_a_change_rewrites_one_paragraph_and_leaves_the_rest() -> None:
    world = World(replace(PLAN, static_share=0.0))
    change = world.truth.next_change(PageId(0, 0), NOW)
    assert change is not None
    before, after = (ask(world, PageId(0, 0), change + step).body.split(b"\n") for step in (-1, 1))
    assert len(before) == len(after)
    assert sum(one != other for one, other in zip(before, after, strict=True)) == 1


def test_head_has_the_headers_of_get_and_no_body() -> None:
    world = World(PLAN)
    get, head = ask(world, PageId(3, 0)), ask(world, PageId(3, 0), method="HEAD")
    assert head.body == b""
    assert head.headers == get.headers
    assert dict(get.headers)["Content-Length"] == str(len(get.body))


def test_some_hosts_compress_for_those_who_accept_it() -> None:
    world = World(replace(PLAN, gzip_share=1.0))
    plain, squeezed = ask(world, PageId(0, 0)), ask(world, PageId(0, 0), accept_encoding="gzip, br")
    assert dict(squeezed.headers)["Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in dict(plain.headers)
    assert gzip.decompress(squeezed.body) == plain.body


def test_redirects_and_gone_pages_answer_as_the_truth_says() -> None:
    world = World(PLAN)
    moved = find(world, Kind.REDIRECT)
    redirect = world.truth.redirect(moved)
    assert redirect is not None
    answer = ask(world, moved)
    assert answer.status == redirect.status
    assert dict(answer.headers)["Location"] == redirect.location
    assert world.truth.url(redirect.page).endswith(redirect.location)
    assert ask(world, find(world, Kind.GONE)).status in (404, 410)


def test_media_are_what_they_say() -> None:
    world = World(PLAN)
    name = world.atlas.name(0)
    image = world.answer(Request("GET", name, "/media/image-5.png"), NOW)
    paper = world.answer(Request("GET", name, "/media/paper-8.pdf"), NOW)
    assert image.body.startswith(b"\x89PNG")
    assert dict(image.headers)["Content-Type"] == "image/png"
    assert paper.body.startswith(b"%PDF")
    assert paper.body.endswith(b"%%EOF\n")
    assert world.answer(Request("GET", name, "/media/image-5.pdf"), NOW).status == 404


def test_strangers_are_turned_away() -> None:
    world = World(PLAN)
    assert world.answer(Request("GET", "h000030.sim7.test", "/"), NOW).status == 421
    assert world.answer(Request("GET", "h000001.sim9.test", "/"), NOW).status == 421
    assert world.answer(Request("POST", world.atlas.name(0), "/"), NOW).status == 405
    assert world.answer(Request("GET", world.atlas.name(0), "/no-such-page-9.html"), NOW).status == 404


def test_latency_is_fixed_per_target_and_differs_between_hosts() -> None:
    world = World(PLAN)
    hosts = [world.latency_s(host, "/") for host in range(30)]
    assert hosts == [ask(world, PageId(host, 0)).latency_s for host in range(30)]
    assert 0.01 < sorted(hosts)[15] < 0.5
    assert len(set(hosts)) == 30


@pytest.mark.parametrize("wrong", [{"exact_share": 1.5}, {"hosts": 0}, {"by": "post"}, {"gone_share": 0.9}])
def test_impossible_plans_are_refused_with_a_remedy(wrong: dict[str, Any]) -> None:
    with pytest.raises(LycosaError, match=r"give|lower"):
        WorldPlan(**wrong)


def test_bodies_in_the_cache_are_those_of_a_fresh_world() -> None:
    world = World(PLAN)
    pages = [page for host in range(5) for page in world.truth.pages_of(host)]
    digests = [[hashlib.sha256(ask(world, page).body).digest() for page in pages] for _ in range(2)]
    assert digests[0] == digests[1]
