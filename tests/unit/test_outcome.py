"""Every answer and every trouble has one outcome."""

from __future__ import annotations

import pytest

from lycosa.crawl.outcome import Failed, Fetched, Gone, Moved, Refused, Unchanged, judge
from lycosa.model import TROUBLES, Response, Timings, Trouble
from lycosa.web.headers import Headers


def answer(status: int, truncated: str = "", **headers: str) -> Response:
    fields = Headers([(name.replace("_", "-"), value) for name, value in headers.items()])
    return Response("http://a/x", status, "", "1.1", fields, b"", b"", b"", b"", truncated, "", 0.0, Timings())


@pytest.mark.parametrize(
    ("status", "kind"),
    [(200, Fetched), (404, Gone), (410, Gone), (401, Failed), (403, Failed), (500, Failed), (204, Failed)],
)
def test_the_status_decides(status: int, kind: type) -> None:
    assert type(judge(answer(status), False)) is kind


@pytest.mark.parametrize("status", [0, 99, 206, 299, 300, 305, 401, 403, 418, 451, 600, 999])
def test_odd_statuses_and_client_errors_are_not_tried_again(status: int) -> None:
    outcome = judge(answer(status), False)
    assert isinstance(outcome, Failed)
    assert outcome.is_lasting


@pytest.mark.parametrize("status", [500, 502, 504])
def test_server_errors_are_tried_again_and_push_nobody_back(status: int) -> None:
    outcome = judge(answer(status), False)
    assert isinstance(outcome, Failed)
    assert (outcome.is_lasting, outcome.pushed_back) == (False, False)


@pytest.mark.parametrize(("value", "seconds"), [("120", 120.0), ("soon", None), ("-5", None)])
def test_push_back_carries_its_retry_after(value: str, seconds: float | None) -> None:
    for status in (429, 503):
        outcome = judge(answer(status, retry_after=value), False)
        assert isinstance(outcome, Failed)
        assert outcome.pushed_back
        assert outcome.retry_after_s == seconds


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_resolved_and_lose_their_fragment(status: int) -> None:
    outcome = judge(answer(status, location="../y?q#top"), False)
    assert isinstance(outcome, Moved)
    assert outcome.target == "http://a/y?q"


@pytest.mark.parametrize(
    ("location", "reason"),
    [("", "redirect.no_location"), ("file:///etc/passwd", "redirect.bad_scheme"), ("http://[", "redirect.bad_location"),
     ("javascript:alert(1)", "redirect.bad_scheme")],
)  # fmt: skip
def test_redirects_to_nowhere_fail_for_good(location: str, reason: str) -> None:
    outcome = judge(answer(302, location=location), False)
    assert isinstance(outcome, Failed)
    assert (outcome.reason, outcome.is_lasting) == (reason, True)


def test_not_modified_counts_only_if_it_was_asked_for() -> None:
    assert isinstance(judge(answer(304), True), Unchanged)
    assert isinstance(judge(answer(304), False), Failed)


@pytest.mark.parametrize(("truncated", "kind"), [("length", Fetched), ("time", Failed), ("disconnect", Failed)])
def test_a_page_cut_by_our_own_cap_is_kept_and_one_cut_by_the_server_is_not(truncated: str, kind: type) -> None:
    assert type(judge(answer(200, truncated), False)) is kind


@pytest.mark.parametrize("kind", TROUBLES)
def test_every_trouble_has_an_outcome(kind: str) -> None:
    outcome = judge(Trouble("http://a/", kind, "", None, 0.0, Timings()), False)
    if kind in ("address.refused", "contact.missing"):
        assert outcome == Refused(kind)
    else:
        assert isinstance(outcome, Failed)
        assert (outcome.reason, outcome.is_lasting) == (kind, TROUBLES[kind])
