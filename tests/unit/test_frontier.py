"""The frontier's promises, on a store in memory and a clock that is an argument."""

from __future__ import annotations

import contextlib
import zlib
from collections import Counter
from collections.abc import Iterable

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from lycosa.backends.memory import MemoryStore
from lycosa.crawl.budget import PageBudget
from lycosa.crawl.frontier import Frontier
from lycosa.crawl.lease import Candidate, Effect, Lease, lane_of
from lycosa.crawl.rows import FORMAT, RobotsRow, UrlRow, unpack
from lycosa.crawl.rules import Rules
from lycosa.crawl.seen import Seen
from lycosa.kit.keys import half_key, host_key
from lycosa.ports import Change

DELAY_S = 2.0


def open_frontier(store: MemoryStore, capacity: int = 8, most_pages: int = 10_000) -> tuple[Frontier, Rules]:
    rules = Rules(store, "lycosa")
    seen, budget = Seen(store, first_capacity=1_000), PageBudget(store, most_pages)
    return Frontier(store, rules, seen, budget, capacity=capacity, delay_of=lambda host: DELAY_S), rules


def allow(store: MemoryStore, rules: Rules, *origins: str) -> None:
    store.write([rules.put(RobotsRow(FORMAT, origin, "open", b"", 0.0, 1e12)) for origin in origins])


def set_rules(store: MemoryStore, rules: Rules, origin: str, text: bytes) -> None:
    store.write([rules.put(RobotsRow(FORMAT, origin, "rules", zlib.compress(text), 0.0, 1e12))])


def settle(frontier: Frontier, lease: Lease, now: float, found: tuple[Candidate, ...] = ()) -> None:
    """End a lease as the loop does for a page that was fetched."""
    host = frontier.host(lease.host)
    host.ready_at = now + DELAY_S
    row = lease.row
    if row is not None:
        row.state, row.outcome = "done", "fetched"
    frontier.settle(lease, Effect(row=row, found=found, counts=Counter(fetched=1)), now)


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


def test_a_host_is_leased_once_and_then_not_before_its_gap_has_passed(store: MemoryStore) -> None:
    frontier, rules = open_frontier(store)
    allow(store, rules, "http://a")
    frontier.offer([Candidate(f"http://a/{number}", 1) for number in range(3)], 0.0)
    first = frontier.lease(10.0)
    assert first is not None
    assert frontier.lease(1_000.0) is None
    settle(frontier, first, 20.0)
    assert frontier.lease(20.0 + DELAY_S - 0.01) is None
    assert frontier.lease(20.0 + DELAY_S) is not None


def test_a_url_offered_between_two_leases_gives_its_host_no_second_one(store: MemoryStore) -> None:
    frontier, rules = open_frontier(store)
    allow(store, rules, "http://a")
    frontier.offer([Candidate("http://a/1", 1)], 0.0)
    first = frontier.lease(10.0)
    assert first is not None
    settle(frontier, first, 10.0, (Candidate("http://a/2", 1),))
    frontier.offer([Candidate("http://a/3", 1)], 10.0)
    second = frontier.lease(100.0)
    assert second is not None
    assert frontier.lease(100.0) is None
    settle(frontier, second, 100.0)
    third = frontier.lease(200.0)
    assert third is not None
    assert {first.url, second.url, third.url} == {"http://a/1", "http://a/2", "http://a/3"}


def test_all_ports_and_schemes_of_a_host_share_one_clock(store: MemoryStore) -> None:
    frontier, rules = open_frontier(store)
    allow(store, rules, "http://a", "https://a", "http://a:8080")
    frontier.offer([Candidate(url, 0) for url in ("http://a/", "https://a/", "http://a:8080/")], 0.0)
    assert frontier.lease(1.0) is not None
    assert frontier.lease(1.0) is None


def test_rules_are_asked_for_before_the_first_page_of_each_origin(store: MemoryStore) -> None:
    frontier, _ = open_frontier(store)
    frontier.offer([Candidate("http://a:81/x", 0)], 0.0)
    lease = frontier.lease(1.0)
    assert lease is not None
    assert (lease.kind, lease.url, lease.row) == ("robots", "http://a:81/robots.txt", None)


def test_without_rules_a_host_waits_and_is_never_crawled_blind(store: MemoryStore) -> None:
    frontier, rules = open_frontier(store)
    store.write([rules.put(RobotsRow(FORMAT, "http://a", "closed", retry_at=500.0))])
    frontier.offer([Candidate("http://a/x", 0)], 0.0)
    assert frontier.lease(1.0) is None
    assert frontier.next_ready() == 500.0
    lease = frontier.lease(500.0)
    assert lease is not None
    assert lease.kind == "robots"


def test_what_robots_txt_has_come_to_forbid_is_dropped_when_its_turn_comes(store: MemoryStore) -> None:
    frontier, rules = open_frontier(store)
    frontier.offer([Candidate(f"http://a/private/{number}", 1) for number in range(50)], 0.0)
    frontier.offer([Candidate("http://a/open", 1)], 0.0)
    set_rules(store, rules, "http://a", b"User-agent: *\nDisallow: /private/")
    lease = frontier.lease(1.0)
    assert lease is not None
    assert lease.url == "http://a/open"
    assert frontier.stats["forbidden"] == 50
    assert frontier.stats["queued"] == 1


@pytest.mark.parametrize(("delay_s", "is_asked"), [(300, True), (301, False)])
def test_a_host_that_wants_more_than_five_minutes_is_left_alone(
    store: MemoryStore, delay_s: int, is_asked: bool
) -> None:
    frontier, rules = open_frontier(store)
    set_rules(store, rules, "http://a", b"User-agent: *\nCrawl-delay: %d" % delay_s)
    frontier.offer([Candidate(f"http://a/{number}", 1) for number in range(50)], 0.0)
    assert (frontier.lease(1.0) is not None) is is_asked
    assert frontier.stats["parked"] == frontier.stats["parked:robots.delay"] == (0 if is_asked else 50)
    assert frontier.stats["queued"] == (50 if is_asked else 0)
    if not is_asked:
        rows = [unpack(value, UrlRow) for _, value in store.scan("urls")]
        assert {(row.state, row.outcome, row.reason) for row in rows} == {("parked", "", "robots.delay")}
        assert {row.queue_key for row in rows} == {b""}
        assert frontier.next_ready() is None


def test_a_long_crawl_delay_that_is_set_aside_parks_nobody(store: MemoryStore) -> None:
    rules = Rules(store, "lycosa")
    seen, budget = Seen(store, first_capacity=1_000), PageBudget(store, 10)
    frontier = Frontier(
        store, rules, seen, budget, capacity=8, delay_of=lambda _: DELAY_S, crawl_delay_of=lambda host, wish_s: None
    )
    set_rules(store, rules, "http://a", b"User-agent: *\nCrawl-delay: 900")
    frontier.offer([Candidate("http://a/x", 1)], 0.0)
    assert frontier.lease(1.0) is not None


def test_at_the_end_a_long_crawl_delay_is_the_reason(store: MemoryStore) -> None:
    frontier, rules = open_frontier(store)
    set_rules(store, rules, "http://a", b"User-agent: *\nCrawl-delay: 900")
    allow(store, rules, "http://b")
    frontier.offer([Candidate("http://a/x", 1), Candidate("http://b/x", 1)], 0.0)
    slow = frontier.host("a")
    slow.crawl_delay_s = 900.0
    store.write(frontier.retimed(slow))
    assert frontier.park("waiting") == 2
    rows = [unpack(value, UrlRow) for _, value in store.scan("urls")]
    assert {(row.url, row.reason) for row in rows} == {("http://a/x", "robots.delay"), ("http://b/x", "waiting")}


def test_a_url_is_queued_once_however_often_it_is_offered(store: MemoryStore) -> None:
    frontier, _ = open_frontier(store)
    assert frontier.offer([Candidate("http://a/x", 1), Candidate("http://a/x", 2)], 0.0) == 1
    again, _ = open_frontier(store)  # a new process: nothing in its caches
    assert again.offer([Candidate("http://a/x", 1), Candidate("http://a/y", 1)], 0.0) == 1
    assert again.stats["known"] == 2


def test_urls_that_share_a_key_are_told_apart(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lycosa.crawl.frontier.url_key", lambda host, rest: half_key(host) + b"the same")
    urls = [Candidate(f"http://a/{number}", 1) for number in range(6)]
    frontier, _ = open_frontier(store)
    assert frontier.offer(urls[:2], 0.0) == 2
    assert frontier.offer(urls[2:4], 0.0) == 2
    again, _ = open_frontier(store)
    assert again.offer(urls[3::-1], 0.0) == 0
    assert again.offer(urls[::-1], 0.0) == 2
    assert {unpack(row, UrlRow).url for _, row in store.scan("urls")} == {each.url for each in urls}


def test_rules_that_lie_elsewhere_are_asked_for_again(store: MemoryStore) -> None:
    rules_of_b = Candidate("http://a/rules", 0, kind="robots", purpose="http://b", hops=1)
    frontier, rules = open_frontier(store)
    assert frontier.offer([rules_of_b], 0.0) == 1
    allow(store, rules, "http://a")
    lease = frontier.lease(10.0)
    assert lease is not None
    settle(frontier, lease, 20.0)
    assert frontier.offer([rules_of_b], 30.0) == 1


def test_seeds_and_redirect_targets_go_before_what_is_far_away() -> None:
    assert lane_of(0, "http://a/", 0) == lane_of(9, "http://a/", 1) == 0
    assert lane_of(1, "http://a/x", 0) < lane_of(5, "http://a/x", 0) < lane_of(9, "http://a/x", 0)


def test_a_large_host_does_not_keep_others_waiting(store: MemoryStore) -> None:
    frontier, rules = open_frontier(store, capacity=2)
    hosts = [f"h{number}" for number in range(6)]
    allow(store, rules, *(f"http://{host}" for host in hosts))
    for host in hosts:
        frontier.offer([Candidate(f"http://{host}/{number}", 1) for number in range(100)], 0.0)
    served: dict[str, int] = dict.fromkeys(hosts, 0)
    now = 0.0
    for _ in range(240):
        lease = frontier.lease(now)
        if lease is None:
            now += DELAY_S
            continue
        served[lease.host] += 1
        settle(frontier, lease, now)
    assert all(count > 0 for count in served.values()), served


def test_a_crash_loses_no_url_and_leaves_the_hosts_under_way_alone_for_their_gap(store: MemoryStore) -> None:
    frontier, rules = open_frontier(store)
    allow(store, rules, "http://a")
    frontier.offer([Candidate("http://a/x", 0)], 0.0)
    assert frontier.lease(100.0) is not None
    after, _ = open_frontier(store)  # the process died with the lease
    assert [row.url for row in after.interrupted()] == ["http://a/x"]
    after.recover(101.0)
    gap_s = 2 * DELAY_S  # a new host's gap is twice the delay
    assert after.lease(101.0 + gap_s - 0.01) is None
    lease = after.lease(101.0 + gap_s)
    assert lease is not None
    assert lease.url == "http://a/x"


def test_a_registered_domain_gets_its_pages_and_no_more_over_all_its_hosts_and_restarts(store: MemoryStore) -> None:
    frontier, rules = open_frontier(store, most_pages=5)
    for number in range(4):
        allow(store, rules, f"http://h{number}.example.org")
        frontier.offer([Candidate(f"http://h{number}.example.org/{page}", 1) for page in range(5)], 0.0)
    now, fetched = 0.0, 0
    for turn in range(60):
        if turn == 10:
            frontier, rules = open_frontier(store, most_pages=5)
            frontier.recover(now)
        lease = frontier.lease(now)
        now += DELAY_S
        if lease is not None:
            settle(frontier, lease, now)
            fetched += 1
    assert fetched == 5
    assert frontier.stats["refused"] == 15
    assert frontier.next_ready() is None


def test_what_still_waits_when_a_crawl_ends_is_parked_with_a_reason(store: MemoryStore) -> None:
    frontier, _ = open_frontier(store)
    frontier.offer([Candidate(f"http://a/{number}", 1) for number in range(3)], 0.0)
    assert frontier.park("waiting") == 3
    rows = [unpack(value, UrlRow) for _, value in store.scan("urls")]
    assert {(row.state, row.reason) for row in rows} == {("parked", "waiting")}
    assert frontier.lease(1e9) is None
    assert (frontier.stats["queued"], frontier.stats["parked"]) == (0, 3)


def test_memory_full_of_hosts_that_wait_for_long_hides_nobody_in_line(store: MemoryStore) -> None:
    frontier, rules = open_frontier(store, capacity=3)
    names = [f"slow{number}" for number in range(3)] + ["ready"]
    allow(store, rules, *(f"http://{name}" for name in names))
    for name in names:
        frontier.offer([Candidate(f"http://{name}/", 0)], 0.0)
    for name in names[:3]:
        host = frontier.host(name)
        host.ready_at = 5_000.0
        store.write(frontier.retimed(host))
    frontier._line.activate(10.0)
    assert frontier.active_hosts == 3
    assert frontier.has_ready(10.0 + 120.0)  # although all that are in memory wait for longer
    lease = frontier.lease(11.0)
    assert lease is not None
    assert lease.host == "ready"
    settle(frontier, lease, 12.0)
    assert frontier.lease(20.0) is None
    assert not frontier.has_ready(20.0 + 120.0)


def test_hosts_that_cannot_be_asked_for_long_give_their_place_to_others() -> None:
    store = MemoryStore()
    frontier, rules = open_frontier(store, capacity=6)
    allow(
        store, rules, *[f"http://slow{number}" for number in range(6)], *[f"http://live{number}" for number in range(4)]
    )
    frontier.offer([Candidate(f"http://slow{number}/{page}", 0) for number in range(6) for page in range(2)], 0.0)
    for lease in frontier.leases(1.0, 10):
        frontier.host(lease.host).ready_at = 1000.0  # Retry-After, say
        row = lease.row
        assert row is not None
        row.state = "done"
        frontier.settle(lease, Effect(row=row), 2.0)
    frontier.offer([Candidate(f"http://live{number}/", 0) for number in range(4)], 3.0)
    assert sorted(lease.host for lease in frontier.leases(4.0, 10)) == ["live0", "live1", "live2", "live3"]
    assert frontier.next_ready() == 1000.0
    again, _ = open_frontier(store, capacity=20)
    again.recover(5.0)
    assert len([lease for lease in again.leases(1001.0, 10) if lease.host.startswith("slow")]) == 6


def test_an_origin_without_rules_keeps_no_other_port_of_its_host_waiting() -> None:
    store = MemoryStore()
    frontier, rules = open_frontier(store)
    store.write([rules.put(RobotsRow(FORMAT, "http://a:81", "closed", retry_at=10_000.0))])
    allow(store, rules, "http://a")
    frontier.offer([Candidate("http://a:81/", 1), Candidate("http://a/x", 1)], 0.0)
    lease = frontier.lease(1.0)
    assert lease is not None
    assert lease.url == "http://a/x"
    assert frontier.stats["delayed"] == 1


class MortalStore(MemoryStore):
    """Dies at a write."""

    lives = 1_000_000

    def write(self, changes: Iterable[Change]) -> None:
        if self.lives <= 0:
            raise RuntimeError("killed")
        self.lives -= 1
        super().write(list(changes))


@pytest.mark.parametrize("lives", range(1, 8))
def test_parking_can_be_killed_at_any_write_and_no_host_is_stuck(lives: int) -> None:
    store = MortalStore()
    frontier, rules = open_frontier(store)
    allow(store, rules, "http://a", "http://b")
    frontier.offer([Candidate(url, 0) for url in ("http://a/1", "http://a/2", "http://b/1")], 0.0)
    store.lives = lives
    with contextlib.suppress(RuntimeError):
        frontier.park("waiting")
    store.lives = 1_000_000
    again, _ = open_frontier(store)
    again.offer([Candidate("http://a/new", 0), Candidate("http://b/new", 0)], 5.0)
    asked = set()
    for now in range(10, 100, 10):
        for lease in again.leases(float(now), 10):
            asked.add(lease.url)
            settle(again, lease, float(now))
    assert asked >= {"http://a/new", "http://b/new"}
    assert again.stats["queued"] == 0


def test_places_that_are_only_held_refuse_nobody_for_good() -> None:
    store = MemoryStore()
    frontier, rules = open_frontier(store, most_pages=1)
    allow(store, rules, "http://a.d.org", "http://b.d.org")
    frontier.offer([Candidate("http://a.d.org/", 0), Candidate("http://b.d.org/", 0)], 0.0)
    [first] = frontier.leases(1.0, 5)
    row = first.row
    assert row is not None
    row.state, row.outcome = "done", "failed"
    frontier.settle(first, Effect(row=row, counts=Counter(failed=1)), 2.0)
    assert len(frontier.leases(100.0, 5)) == 1


def test_a_clock_that_was_set_back_lengthens_no_wait() -> None:
    store = MemoryStore()
    frontier, rules = open_frontier(store)
    allow(store, rules, "http://a")
    frontier.offer([Candidate(f"http://a/{number}", 0) for number in range(3)], 86_400.0)
    lease = frontier.lease(86_400.0)
    assert lease is not None
    frontier.host("a").last_at = 86_400.0
    settle(frontier, lease, 86_400.0)
    again, _ = open_frontier(store)
    assert again.lease(0.0) is None
    assert again.lease(60.0) is not None


def test_a_lease_given_back_is_as_if_it_had_never_been() -> None:
    store = MemoryStore()
    frontier, rules = open_frontier(store)
    allow(store, rules, "http://a")
    frontier.offer([Candidate("http://a/1", 0)], 0.0)
    lease = frontier.lease(1.0)
    assert lease is not None
    frontier.give_back(lease)
    assert frontier.interrupted() == []
    again = frontier.lease(1.0)
    assert again is not None
    assert again.url == lease.url


class FrontierUnderFire(RuleBasedStateMachine):
    """Any order of offers, leases, settlements, waits and crashes."""

    @initialize()
    def open(self) -> None:
        self.store = MemoryStore()
        self.now = 1_000.0
        self.offered: set[str] = set()
        self.done: set[str] = set()
        self.leases: dict[str, Lease] = {}
        self.free_at: dict[str, float] = {}
        self.frontier, self.rules = open_frontier(self.store, capacity=3)
        allow(self.store, self.rules, *(f"http://h{number}" for number in range(5)))

    @rule(host=st.integers(0, 4), path=st.integers(0, 30), depth=st.integers(0, 8))
    def offer(self, host: int, path: int, depth: int) -> None:
        url = f"http://h{host}/{path}"
        self.frontier.offer([Candidate(url, depth)], self.now)
        self.offered.add(url)

    @rule()
    def lease(self) -> None:
        lease = self.frontier.lease(self.now)
        if lease is not None:
            assert lease.kind == "page"
            assert lease.host not in self.leases, "two leases of one host"
            assert self.now >= self.free_at.get(lease.host, 0.0), "a lease before the gap has passed"
            assert lease.url not in self.done, "fetched twice"
            self.leases[lease.host] = lease

    @rule(which=st.integers(0, 4), links=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 30)), max_size=4))
    def settle(self, which: int, links: list[tuple[int, int]]) -> None:
        lease = self.leases.pop(f"h{which}", None)
        if lease is not None:
            found = tuple(Candidate(f"http://h{host}/{path}", 1) for host, path in links)
            self.offered |= {candidate.url for candidate in found}
            settle(self.frontier, lease, self.now, found)
            self.done.add(lease.url)
            self.free_at[lease.host] = self.now + DELAY_S

    @rule(seconds=st.floats(0, 5))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def crash(self) -> None:
        self.frontier, self.rules = open_frontier(self.store, capacity=3)
        self.frontier.recover(self.now)
        for host in self.leases:
            self.free_at[host] = self.now + DELAY_S
        self.leases.clear()

    @invariant()
    def every_url_is_done_or_queued(self) -> None:
        if not hasattr(self, "store"):
            return
        rows = [unpack(value, UrlRow) for _, value in self.store.scan("urls")]
        assert {row.url for row in rows} == self.offered
        queued = {row.url for row in rows if row.state == "queued"}
        assert queued == self.offered - self.done
        assert self.frontier.stats["queued"] == len(queued) == len(list(self.store.scan("queue")))

    def teardown(self) -> None:
        """Everything offered is fetched in the end."""
        if not hasattr(self, "store"):
            return
        for lease in self.leases.values():
            settle(self.frontier, lease, self.now)
            self.done.add(lease.url)
        for _ in range(5_000):
            lease = self.frontier.lease(self.now)
            if lease is not None:
                settle(self.frontier, lease, self.now)
                self.done.add(lease.url)
            elif self.frontier.next_ready() is None:
                break
            else:
                self.now += DELAY_S
        assert self.done == self.offered
        assert not list(self.store.scan("waiting"))


TestFrontierUnderFire = FrontierUnderFire.TestCase
TestFrontierUnderFire.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


def test_keys_of_hosts_begin_the_keys_of_their_urls(store: MemoryStore) -> None:
    frontier, _ = open_frontier(store)
    frontier.offer([Candidate("http://a/x", 0)], 0.0)
    (key, _), *_ = store.scan("urls")
    assert key.startswith(host_key("a").to_bytes(8, "big"))
