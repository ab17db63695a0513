"""What an answer to robots.txt leads to (RFC 9309 2.3.1): rules, none, or waiting. Never crawling blind."""

from __future__ import annotations

import pytest

from lycosa.backends.memory import MemoryStore
from lycosa.crawl.rules import FRESH_S, STALE_S, Rules, origin_of
from lycosa.model import Response, Timings, Trouble
from lycosa.web.headers import Headers

ORIGIN = "http://a.example:8080"
NOW = 1_000_000.0


def answer(status: int, body: bytes = b"", **headers: str) -> Response:
    fields = Headers([(name.replace("_", "-"), value) for name, value in headers.items()])
    return Response(f"{ORIGIN}/robots.txt", status, "", "1.1", fields, b"", b"", body, body, "", "", NOW, Timings())


def trouble(kind: str) -> Trouble:
    return Trouble(f"{ORIGIN}/robots.txt", kind, "", None, NOW, Timings())


@pytest.fixture
def rules() -> Rules:
    return Rules(MemoryStore(), "Lycosa")


def allows(rules: Rules, path: str) -> bool | None:
    """None: nothing may be fetched yet."""
    matcher = rules.matcher(ORIGIN)
    return None if matcher is None else matcher.allows(path)


def test_an_origin_never_asked_is_closed_and_wants_its_robots_txt(rules: Rules) -> None:
    assert allows(rules, "/") is None
    assert rules.wants(ORIGIN, NOW) == f"{ORIGIN}/robots.txt"


def test_rules_hold_for_a_day_and_are_then_asked_for_again(rules: Rules) -> None:
    rules.put(rules.after(ORIGIN, answer(200, b"User-agent: *\nDisallow: /x"), NOW)[0])
    assert allows(rules, "/x") is False
    assert allows(rules, "/y") is True
    assert rules.wants(ORIGIN, NOW + FRESH_S - 1) is None
    assert rules.wants(ORIGIN, NOW + FRESH_S) is not None


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 418, 451])
def test_a_client_error_means_no_restriction(rules: Rules, status: int) -> None:
    rules.put(rules.after(ORIGIN, answer(status), NOW)[0])
    assert allows(rules, "/x") is True


@pytest.mark.parametrize("status", [429, 500, 501, 502, 503, 504, 520, 599])
def test_too_many_requests_and_server_errors_mean_wait(rules: Rules, status: int) -> None:
    rules.put(rules.after(ORIGIN, answer(status), NOW)[0])
    assert allows(rules, "/x") is None
    assert rules.wants(ORIGIN, NOW + 1) is None
    assert rules.wants(ORIGIN, rules.closed_until(ORIGIN)) is not None


@pytest.mark.parametrize("kind", ["timeout.total", "connect.refused", "dns.nxdomain", "tls.certificate"])
def test_no_answer_means_wait_longer_each_time(rules: Rules, kind: str) -> None:
    waits = []
    for _ in range(5):
        row, _ = rules.after(ORIGIN, trouble(kind), NOW)
        rules.put(row)
        waits.append(row.retry_at - NOW)
    assert waits == sorted(waits)
    assert waits[0] == 10.0
    assert waits[-1] > 600.0
    assert allows(rules, "/x") is None


def test_a_failed_refresh_keeps_the_last_rules_for_seven_days(rules: Rules) -> None:
    rules.put(rules.after(ORIGIN, answer(200, b"User-agent: *\nDisallow: /x"), NOW)[0])
    rules.put(rules.after(ORIGIN, answer(503), NOW + FRESH_S)[0])
    assert allows(rules, "/x") is False
    assert allows(rules, "/y") is True
    rules.put(rules.after(ORIGIN, answer(503), NOW + STALE_S + 1)[0])
    assert allows(rules, "/y") is None
    rules.put(rules.after(ORIGIN, answer(404), NOW + STALE_S + 2)[0])
    assert allows(rules, "/x") is True


def test_redirects_on_the_same_host_are_followed_five_times_and_then_mean_no_rules(rules: Rules) -> None:
    for hop in range(5):
        row, elsewhere = rules.after(ORIGIN, answer(301, location=f"/r{hop}"), NOW)
        rules.put(row)
        assert elsewhere is None
        assert rules.wants(ORIGIN, NOW) == f"{ORIGIN}/r{hop}"
        assert allows(rules, "/") is None
    rules.put(rules.after(ORIGIN, answer(301, location="/r5"), NOW)[0])
    assert allows(rules, "/") is True


def test_a_redirect_to_another_host_is_a_task_of_that_host_and_its_answer_counts_here(rules: Rules) -> None:
    row, elsewhere = rules.after(ORIGIN, answer(302, location="http://b.example/robots.txt"), NOW)
    rules.put(row)
    assert elsewhere == "http://b.example/robots.txt"
    assert allows(rules, "/x") is None
    assert rules.wants(ORIGIN, NOW) is None
    rules.put(rules.after(ORIGIN, answer(200, b"User-agent: lycosa\nDisallow: /x"), NOW)[0])
    assert allows(rules, "/x") is False


def test_rules_survive_a_restart_without_asking_again() -> None:
    store = MemoryStore()
    before = Rules(store, "Lycosa")
    store.write([before.put(before.after(ORIGIN, answer(200, b"User-agent: *\nDisallow: /x"), NOW)[0])])
    after = Rules(store, "Lycosa")
    assert after.wants(ORIGIN, NOW + 60) is None
    assert allows(after, "/x") is False


def test_ports_and_schemes_have_rules_of_their_own() -> None:
    assert len({origin_of(url) for url in ("http://a/x", "https://a/x", "http://a:81/x")}) == 3
