"""What other shards are to have: kept until they have it, in order, and not more often than needed."""

from __future__ import annotations

from lycosa.backends.memory import MemoryStore
from lycosa.crawl.budget import PageBudget
from lycosa.crawl.frontier import Frontier
from lycosa.crawl.lease import JOINED, Candidate, RobotsAnswer
from lycosa.crawl.messages import Links, Lost, Parcel
from lycosa.crawl.outbox import Outbox, read_parcel, rewritten
from lycosa.crawl.rules import Rules
from lycosa.crawl.seen import Seen
from lycosa.kit.keys import host_key, owner_of
from lycosa.web.url import cut

SHARDS = 3


def host_of_shard(shard: int, number: int = 0) -> str:
    names = (f"h{n}.example" for n in range(1000))
    return [name for name in names if owner_of(host_key(name), SHARDS) == shard][number]


def away(url: str, **more: object) -> tuple[bytes, Candidate]:
    return cut(url).key(), Candidate(url, 1, **more)  # type: ignore[arg-type]


def urls_in(links: Links | None) -> list[str]:
    return [candidate.url for each in links.parcels for candidate in read_parcel(each).urls] if links else []


def test_a_settlement_has_one_parcel_for_each_shard_in_its_own_batch() -> None:
    store = MemoryStore()
    outbox = Outbox(store, 0, SHARDS)
    found = [away(f"http://{host_of_shard(shard, n)}/") for shard in (1, 2) for n in range(3)]
    changes = outbox.route(found, [("urls", b"k", b"v")])
    assert [family for family, _, _ in changes] == ["urls", "outbox", "outbox"]
    assert list(store.scan("outbox")) == []  # nothing is written but by whoever settles
    store.write(changes)
    assert len(urls_in(outbox.take(1))) == 3
    assert outbox.take(1) is None


def test_parcels_carry_all_that_is_known_of_a_url() -> None:
    outbox = Outbox(MemoryStore(), 0, SHARDS)
    url = f"https://{host_of_shard(1)}/a"
    whole = Candidate(url, 3, f"{url}?utm_source=x", b"k" * 16, 2, "robots", "https://origin.example")
    outbox.route([(cut(url).key(), whole)], [])
    links = outbox.take(1)
    assert links is not None
    assert read_parcel(links.parcels[0]).urls == [whole]


def test_what_was_not_acknowledged_is_sent_again_also_by_the_next_process() -> None:
    store = MemoryStore()
    outbox = Outbox(store, 0, SHARDS)
    urls = [f"http://{host_of_shard(1)}/{n}" for n in range(5)]
    for url in urls:
        store.write(outbox.route([away(url)], []))
    first = outbox.take(1)
    assert urls_in(first) == urls
    assert outbox.unwritten == 5
    outbox.send_again(1)
    assert urls_in(outbox.take(1)) == urls
    outbox.acknowledge(1, 2, 0.0)
    assert outbox.unwritten == 3
    outbox.tidy()
    again = Outbox(store, 0, SHARDS)
    assert again.unwritten == 3
    last = again.take(1)
    assert urls_in(last) == urls[2:]
    assert last is not None
    again.acknowledge(1, last.last, 0.0)
    assert again.unwritten == 0
    again.tidy()
    assert list(store.scan("outbox")) == []


def test_more_parcels_than_memory_holds_are_read_from_disk_in_order() -> None:
    store = MemoryStore()
    outbox = Outbox(store, 0, SHARDS)
    urls = [f"http://{host_of_shard(1)}/{n}" for n in range(5_000)]
    for url in urls:
        store.write(outbox.route([away(url)], []))
    sent: list[str] = []
    while links := outbox.take(1):
        sent += urls_in(links)
    assert sent == urls


def test_a_url_that_was_sent_lately_is_not_sent_again_but_rules_are() -> None:
    store = MemoryStore()
    outbox, seen, rules = Outbox(store, 0, SHARDS), Seen(store), Rules(store, "lycosa")
    frontier = Frontier(store, rules, seen, PageBudget(store, 10), capacity=1, delay_of=lambda _: 1.0, outbox=outbox)
    page = away(f"http://{host_of_shard(1)}/popular")[1]
    asked = away(f"http://{host_of_shard(1)}/robots.txt", kind="robots", purpose="http://a.example")[1]
    for _ in range(2):
        assert frontier.offer([page, asked], 0.0) == 0  # none of it is queued here
    assert urls_in(outbox.take(1)) == [page.url, asked.url, asked.url]


def test_rows_of_other_ranges_travel_and_hosts_that_join_are_told_to_all() -> None:
    outbox = Outbox(MemoryStore(), 0, SHARDS)
    claimed: list[bytes] = []
    outbox.on_claim = claimed.append
    own, other = b"\x00" * 32, b"\xff" * 32
    joined = ("meta", JOINED + b"www.example", b"")
    kept = outbox.route([], [("content", own, b"1"), ("content", other, b"2"), joined])
    assert [change for change in kept if change[0] != "outbox"] == [("content", own, b"1"), joined]
    assert claimed == [own]
    parcels = {shard: read_parcel(links.parcels[0]) for shard in (1, 2) if (links := outbox.take(shard))}
    assert parcels[1].rows == [joined]
    assert parcels[2].rows == [("content", other, b"2"), joined]


def test_answers_and_lost_bodies_go_to_their_owners() -> None:
    outbox = Outbox(MemoryStore(), 0, SHARDS)
    answer = RobotsAnswer(f"http://{host_of_shard(2)}", "http://elsewhere.example/robots.txt", 1.0, status=404)
    lost = [Lost(b"\xff" * 32, "a.warc.gz", 7), Lost(b"\x00" * 32, "b.warc.gz", 8)]
    outbox.route([], [], [answer], lost)
    links = outbox.take(2)
    assert links is not None
    parcel = read_parcel(links.parcels[0])
    assert (parcel.answers, parcel.lost) == ([answer], lost[:1])
    assert outbox.take(1) is None


def test_parcels_that_have_arrived_are_kept_for_a_minute() -> None:
    store = MemoryStore()
    outbox = Outbox(store, 0, SHARDS)
    for number in range(300):
        store.write(outbox.route([away(f"http://{host_of_shard(1)}/{number}")], []))
    while links := outbox.take(1):
        outbox.acknowledge(1, links.last, 1_000.0)
    assert outbox.unwritten == 0
    assert len(list(store.scan("outbox"))) == 300
    outbox.acknowledge(1, 300, 1_061.0)
    assert len(list(store.scan("outbox"))) == 0


def test_of_large_parcels_few_are_in_memory_and_all_are_sent_in_order() -> None:
    store = MemoryStore()
    outbox = Outbox(store, 0, SHARDS)
    host = host_of_shard(1)
    for number in range(40):
        store.write(outbox.route([away(f"http://{host}/{number}/{'x' * 1_000_000}")], []))
    [pile] = [pile for shard, pile in outbox._piles.items() if shard == 1]
    found = []
    while links := outbox.take(1):
        assert sum(len(value) for _, value in pile._fresh) <= 10_000_000
        found += [int(url.split("/")[3]) for url in urls_in(links)]
    assert found == list(range(40))


def test_parcels_can_be_rewritten_where_they_lie() -> None:
    store = MemoryStore()
    outbox = Outbox(store, 0, SHARDS)
    keep, drop = f"http://{host_of_shard(1)}/keep", f"http://{host_of_shard(1)}/drop"
    for url in (keep, drop):
        store.write(outbox.route([away(url)], []))
    places = [key for key, _ in store.scan("outbox")]
    store.write(rewritten(store, lambda each: Parcel([url for url in each.urls if url.url == keep])))
    assert rewritten(store, lambda each: each) == []
    assert [key for key, _ in store.scan("outbox")] == places  # numbers are counted by both ends
    assert urls_in(Outbox(store, 0, SHARDS).take(1)) == [keep]
