"""The sitemaps of a host (sitemaps.org protocol): a urlset, or an index of several, every second gzipped.

They name the tree pages that are not private and the orphans, which nothing else names. Dates follow the
versions of the pages at the moment of asking.
"""

import gzip
import re
from datetime import UTC, datetime
from html import escape

from lycosa.sim.atlas import Atlas, PageId
from lycosa.sim.versions import Versions

_SPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'
_PART = re.compile(r"/sitemap-(\d{1,6})\.xml(\.gz)?")


def pages_in_sitemap(atlas: Atlas, host: int) -> list[PageId]:
    """All pages the host's sitemaps name, in order; none if it has no sitemap."""
    if not atlas.has_sitemap(host):
        return []
    shape = atlas.shape(host)
    numbers = (*range(shape.tree), *range(shape.gone, shape.size))
    return [page for number in numbers if not atlas.is_private(page := PageId(host, number))]


def sitemap_targets(atlas: Atlas, host: int) -> list[str]:
    """The sitemap files of the host, the one that robots.txt names first."""
    pages = len(pages_in_sitemap(atlas, host))
    parts = -(-pages // atlas.plan.sitemap_urls)
    if parts <= 1:
        return ["/sitemap.xml"] if pages else []
    return ["/sitemap.xml", *(_part_target(part) for part in range(parts))]


def write_sitemap(atlas: Atlas, versions: Versions, host: int, target: str, now: float) -> bytes | None:
    """The file at that target, or None if there is none."""
    targets = sitemap_targets(atlas, host)
    if target not in targets:
        return None
    if target == "/sitemap.xml" and len(targets) > 1:
        return _index([atlas.origin(host) + part for part in targets[1:]])
    found = _PART.fullmatch(target)
    first = int(found[1]) * atlas.plan.sitemap_urls if found else 0
    pages = pages_in_sitemap(atlas, host)[first : first + atlas.plan.sitemap_urls]
    xml = _urlset([(atlas.url(page), versions.at(page, now).since) for page in pages])
    return gzip.compress(xml, 6, mtime=0) if target.endswith(".gz") else xml


def _part_target(part: int) -> str:
    return f"/sitemap-{part}.xml" + (".gz" if part % 2 else "")


def _index(urls: list[str]) -> bytes:
    entries = "".join(f"<sitemap><loc>{escape(url)}</loc></sitemap>\n" for url in urls)
    return f"{_DECLARATION}<sitemapindex {_SPACE}>\n{entries}</sitemapindex>\n".encode()


def _urlset(entries: list[tuple[str, float]]) -> bytes:
    lines = []
    for url, since in entries:
        modified = datetime.fromtimestamp(int(since), UTC).isoformat().replace("+00:00", "Z")
        lines.append(f"<url><loc>{escape(url)}</loc><lastmod>{modified}</lastmod></url>\n")
    return f"{_DECLARATION}<urlset {_SPACE}>\n{''.join(lines)}</urlset>\n".encode()
