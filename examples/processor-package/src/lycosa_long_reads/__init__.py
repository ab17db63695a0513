"""Finds pages that take a while to read."""

from lycosa import Findings, PageView

WORDS_A_MINUTE = 200


def long_reads(page: PageView) -> Findings | None:
    """A field for every page, a record for long ones, and links that only a script would follow."""
    if page.page is None:
        return None  # not HTML
    words = len(page.main_text.split())
    found = Findings(fields={"words": words})
    if words >= 5 * WORDS_A_MINUTE:
        found.records = [{"title": page.title, "minutes": round(words / WORDS_A_MINUTE)}]
    found.links = page.css("[data-href]::attr(data-href)").getall()
    return found
