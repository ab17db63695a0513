"""Sitemaps as crawler-commons tests them."""

from conformance import cases, raw

from lycosa.web.sitemap import read_sitemap


def test_all_sitemaps_of_crawler_commons_are_read_as_expected() -> None:
    failed = []
    known = cases("sitemaps")
    for case in known:
        found = [entry.url for entry in read_sitemap(raw(case["body"]), case["url"], case["content_type"]).entries]
        right = len(found) == case["count"] if case["urls"] is None else set(found) == set(case["urls"])
        if not right and not (case.get("policy") == "reject-ok" and not found):
            failed.append(case["id"])
    assert failed == []
    assert len(known) == 45
