"""What is forgotten does not come back from what shards have for each other."""

from __future__ import annotations

from lycosa.crawl.claims import Claim, Claims
from lycosa.crawl.forget import Target, without
from lycosa.crawl.lease import JOINED, Candidate, RobotsAnswer
from lycosa.crawl.messages import Lost, Parcel


def claim_of(url: str, offset: int) -> Claim:
    return Claim(1, url, "2026-01-31T00:00:00Z", "sha1:X", "", "a.warc.gz", offset, 100)


CLAIMS = Claims(None)  # type: ignore[arg-type]
OWN, ERASED, OTHER = (
    CLAIMS.claim(bytes([number]) * 32, claim_of(url, number * 100))
    for number, url in enumerate(("http://gone/x", "http://stays/copy", "http://stays/y"), 1)
)
JOIN = ("meta", JOINED + b"gone", b"")
LOST = Lost(b"h" * 32, "a.warc.gz", 5)
PARCEL = Parcel(
    [Candidate("http://gone/x", 1), Candidate("http://gone/y", 1), Candidate("http://stays/", 1)],
    [OWN, ERASED, OTHER, JOIN],
    [RobotsAnswer("http://gone", "http://b/robots.txt", 1.0), RobotsAnswer("http://stays", "http://b/r", 1.0)],
    [LOST],
)


def is_erased(claim: Claim) -> bool:
    return claim.offset == 200


def test_of_a_host_nothing_is_left() -> None:
    left = without(Target(host="gone"), PARCEL, is_erased)
    assert [each.url for each in left.urls] == ["http://stays/"]
    assert left.rows == [OTHER, JOIN]
    assert [each.origin for each in left.answers] == ["http://stays"]
    assert left.lost == [LOST]


def test_of_a_page_it_is_the_page_alone_and_bodies_that_go_with_it() -> None:
    left = without(Target(url="http://gone/x"), PARCEL, is_erased)
    assert [each.url for each in left.urls] == ["http://gone/y", "http://stays/"]
    assert left.rows == [OTHER, JOIN]
    assert len(left.answers) == 2
