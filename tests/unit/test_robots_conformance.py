"""robots.txt against the facts of others: Google's, crawler-commons', Protego's and more, as far as RFC 9309 agrees."""

from __future__ import annotations

from typing import Any

import conformance

from lycosa.errors import BadUrl
from lycosa.web.robots import Robots


def _agent(case: dict[str, Any]) -> str:
    named = case["user_agent"]
    return named if isinstance(named, str) else (named[0] if named else "*")


def _robots(case: dict[str, Any]) -> Robots:
    return Robots.parse(conformance.raw(case["robots_txt"]))


def test_every_verdict_that_agrees_with_rfc_9309_is_ours() -> None:
    known = [case for case in conformance.cases("robots_allow") if case["rfc9309"] == "consistent"]
    wrong = [case["id"] for case in known if _robots(case).allows(_agent(case), case["url"]) is not case["allowed"]]
    assert wrong == []
    assert len(known) >= 839
    assert {case["allowed"] for case in known} == {True, False}


def test_crawl_delays_are_read_as_others_read_them() -> None:
    known = conformance.cases("robots_crawl_delay")
    wrong = [case["id"] for case in known if _robots(case).crawl_delay(_agent(case)) != case["crawl_delay"]]
    assert len(known) - len(wrong) >= 46, wrong


def test_sitemaps_are_found_as_others_find_them() -> None:
    contradicts_another = {"robotsparser-sitemap-4"}  # it wants relative addresses kept, cc-sitemap-04 resolved
    wrong = []
    for case in conformance.cases("robots_sitemaps"):
        robots = _robots(case)
        try:
            found = robots.sitemap_urls(case["robots_url"])
        except BadUrl:  # no address to resolve against: as written
            found = list(robots.sitemaps)
        if found != case["sitemaps"] and case["id"] not in contradicts_another:
            wrong.append((case["id"], found))
    assert wrong == []
