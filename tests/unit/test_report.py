"""What the log of requests proves: the judge finds every short gap and every overlap, and nothing else."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.crawl import report
from lycosa.crawl.report import Required, attention, judge_politeness, refusals
from lycosa.web.url import host_of

AT = 1_763_240_000.0


def request(start: float, end: float | None, host: str = "a.example", **more) -> dict:
    row = {
        "host": host, "url": f"http://{host}/x", "address": "192.0.2.1", "started_at": AT + start,
        "ended_at": None if end is None else AT + end, "status": 200, "kind": "page", "outcome": "fetched", "bytes": 10,
    }  # fmt: skip
    return row | more


def robots(start: float, end: float, host: str = "a.example", **more) -> dict:
    return request(start, end, host, kind="robots", outcome="robots", **more)


def judged(rows: Iterable[dict], delay_s: float = 2.0, crawl_delay_s: float = 0.0, address_delay_s: float = 0.5):
    return judge_politeness(rows, lambda host: Required(delay_s, crawl_delay_s), address_delay_s)


def test_gaps_run_from_the_end_of_an_answer_to_the_start_of_the_next_request():
    told = judged([robots(0, 1), request(3, 8), request(10.5, 11)])
    [host] = told.hosts
    assert told.is_polite
    assert (host.requests, host.least_gap_s, host.most_at_once, host.required_gap_s) == (3, 2.0, 1, 2.0)


def test_a_gap_that_is_too_short_is_a_violation():
    told = judged([robots(0, 1), request(2.9, 3)])
    assert (told.is_polite, told.hosts[0].violations) == (False, 1)
    assert told.hosts[0].least_gap_s == pytest.approx(1.9)


def test_rounding_to_microseconds_is_no_violation():
    assert judged([robots(0, 1), request(2.999_9, 4)]).is_polite


def test_two_requests_at_once_are_a_violation_even_where_there_is_no_delay():
    told = judged([robots(0, 1), request(1, 5), request(2, 3)], delay_s=0, address_delay_s=0)
    assert (told.hosts[0].most_at_once, told.hosts[0].violations) == (2, 1)
    assert judged([robots(0, 1), request(1, 5), request(5, 6)], delay_s=0, address_delay_s=0).is_polite


def test_a_long_request_that_is_recorded_after_a_short_one_is_put_in_order():
    rows = [robots(0, 1), request(4, 5), request(3, 60)]  # by their ends, as they are recorded
    told = judged(sorted(rows, key=lambda row: row["ended_at"]))
    assert (told.hosts[0].most_at_once, told.hosts[0].least_gap_s) == (2, -56.0)


def test_crawl_delay_binds_from_the_last_robots_txt_on():
    early = [robots(0, 1), request(3, 4), request(6, 7)]  # when the host asked for nothing yet
    late = [robots(100, 101), request(111, 112), request(122, 123)]
    assert judged([*early, *late], crawl_delay_s=10).is_polite
    assert judged([*early, *late, request(128, 129)], crawl_delay_s=10).hosts[0].violations == 1
    assert judged(early, crawl_delay_s=10).hosts[0].violations == 2


def test_hosts_that_share_an_address_keep_its_gap():
    rows = [robots(0, 1, "a.example"), robots(1.2, 1.4, "b.example")]
    told = judged(rows)
    assert [host.violations for host in told.hosts] == [0, 0]
    assert (told.addresses[0].violations, told.is_polite) == (1, False)
    assert judged([rows[0], robots(1.5, 2, "b.example")]).is_polite
    assert judged(rows, delay_s=0).is_polite, "own hosts without a delay pass the gate"


def test_addresses_of_one_ipv6_network_are_one():
    rows = [robots(0, 1, "a.example", address="2001:db8::1"), robots(1.2, 2, "b.example", address="2001:db8::2")]
    assert len(judged(rows).addresses) == 1


def test_an_interrupted_request_counts_and_its_end_is_never_guessed_later_than_its_start():
    told = judged([robots(0, 1), request(3, None, outcome="interrupted"), request(9, 10)])
    assert (told.interrupted, told.hosts[0].least_gap_s, told.is_polite) == (1, 2.0, True)
    again = judged([robots(0, 1), request(3, None, outcome="interrupted"), request(4, 5)])
    assert again.hosts[0].violations == 1


def test_robots_txt_comes_before_anything_else():
    assert not judged([request(0, 1), robots(3, 4)]).robots_first
    assert not judged([request(0, 1), robots(3, 4)]).is_polite


def test_an_empty_log_is_polite():
    assert judged([]).is_polite


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 300), st.integers(1, 60)), max_size=40), st.randoms())
def test_the_judge_agrees_with_looking_at_all_requests_at_once(rows: list[tuple[int, int, int]], dice: random.Random):
    log = [request(start, start + took, f"{host}.example") for host, start, took in rows]
    told = {host.name: host for host in judged(sorted(log, key=lambda row: (row["ended_at"], dice.random()))).hosts}
    for name, host in told.items():
        own = sorted((row["started_at"], row["ended_at"]) for row in log if row["host"] == name)
        gaps = [start - max(end for _, end in own[:at]) for at, (start, _) in enumerate(own) if at]
        assert host.least_gap_s == (min(gaps) if gaps else None)
        assert host.violations == sum(gap < 2.0 for gap in gaps)
        assert host.most_at_once == max(sum(begin <= start < end for begin, end in own) for start, _ in own)


def test_memory_is_bounded_by_hosts_and_not_by_requests(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(report, "HELD_ROWS", 10)
    read = 0

    def rows() -> Iterable[dict]:
        nonlocal read
        for read in range(1, 1_001):
            yield request(3.0 * read, 3.0 * read + 1) | {"kind": "robots" if read == 1 else "page"}

    for count, _ in enumerate(report._Order().sort(rows())):
        assert read - count <= 11
    told = judged(rows())
    assert (told.requests, told.is_polite) == (1_000, True)


def test_what_comes_too_late_to_be_put_in_order_is_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(report, "HELD_ROWS", 1)
    assert judged([robots(10, 11), request(20, 21), request(0, 30)]).out_of_order == 1


def test_attention_goes_by_requests_and_counts_what_came():
    rows = [
        robots(0, 1, "b.example"),
        request(1, 2, "a.example"),
        request(2, 5, "a.example", outcome="status.500", status=500, bytes=0),
        request(3, None, "a.example", outcome="interrupted", status=None, bytes=0),
    ]
    first, second = attention(rows)
    assert (first.host, first.requests, first.pages, first.errors, first.bytes) == ("a.example", 3, 1, 2, 10)
    assert (first.mean_s, first.worst_s) == (2.0, 3.0)
    assert (second.host, second.errors) == ("b.example", 0)
    assert [told.host for told in attention(rows, since=AT + 1)] == ["a.example"]


def test_refusals_are_counted_by_rule_with_examples_and_hosts():
    rows = [{"source": "http://a/", "target": f"http://x/{number}", "refused": "scope.host"} for number in range(5)]
    rows.append({"source": "http://b/", "target": "http://x/0", "refused": "scope.host"})
    rows.append({"source": "http://b/", "target": "http://b/ok", "refused": None})
    first, second = refusals(rows, {"refused:robots": 2, "fetched": 9, "refused:scope.host": 6}, host_of, 5)
    assert (first.rule, first.count, first.hosts) == ("scope.host", 6, {"a": 5, "b": 1})
    assert first.examples == ["http://x/0", "http://x/1", "http://x/2"]
    assert (second.rule, second.count, second.examples) == ("robots", 2, [])
