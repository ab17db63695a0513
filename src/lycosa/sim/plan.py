"""The settings of a synthetic web: how many hosts and pages, and what share of each oddity.

Shares are between 0 and 1. A plan is a value: two worlds with equal plans serve equal bytes. Nothing here
draws or computes; `atlas` turns a plan into hosts and pages.
"""

from dataclasses import dataclass, fields

from lycosa.errors import LycosaError

HTTP_PORT = 80


@dataclass(frozen=True)
class WorldPlan:
    seed: int = 1
    hosts: int = 20
    pages: int = 400
    """In all; the largest hosts hold most of them. Kept to within rounding, at least one a host."""

    # Where it is found
    by: str = "name"
    """`name`: http://h000017.sim4.test/; `address`: http://127.32.0.18/, and no host shares its address."""
    port: int = HTTP_PORT
    hosts_per_domain: int = 4
    shared_address_share: float = 0.2
    hosts_per_address: int = 8

    # Shape
    size_exponent: float = 0.8
    """Size of the n-th host is proportional to n to the minus this."""
    host_popularity: float = 0.9
    page_popularity: float = 0.8
    """A link picks the n-th host or page with a probability proportional to n to the minus this."""
    tree_fanout: int = 8
    links_per_page: int = 16
    """On top of those that make every page reachable."""
    cross_host_share: float = 0.3
    nofollow_share: float = 0.05
    media_per_page: float = 1.0

    # Kinds of page
    exact_share: float = 0.05
    near_share: float = 0.05
    redirect_share: float = 0.04
    gone_share: float = 0.03
    orphan_share: float = 0.03
    """Of the pages of hosts with a sitemap: named there and linked from nowhere."""
    copies_from_afar_share: float = 0.5
    near_edits: int = 2
    redirect_loop_share: float = 0.1
    redirect_chain_share: float = 0.2
    redirect_afar_share: float = 0.3
    noindex_share: float = 0.03
    canonical_share: float = 0.3
    page_bytes: int = 20_000
    page_bytes_sigma: float = 0.6
    languages: tuple[tuple[str, float], ...] = (
        ("en", 0.6),
        ("de", 0.1),
        ("fr", 0.1),
        ("es", 0.1),
        ("ru", 0.1),
    )
    legacy_charset_share: float = 0.05

    # Manners
    robots_share: float = 0.5
    closed_share: float = 0.02
    """Hosts that forbid everything."""
    broken_robots_share: float = 0.01
    """Hosts whose robots.txt answers 503."""
    private_share: float = 0.1
    """Of the pages that lead nowhere further: they live under /private/."""
    crawl_delay_share: float = 0.1
    crawl_delay_s: int = 2
    sitemap_share: float = 0.3
    sitemap_urls: int = 500

    # Answers
    gzip_share: float = 0.3
    validators_share: float = 0.8
    latency_median_s: float = 0.08
    latency_sigma: float = 0.7

    # Time
    epoch: float = 1_700_000_000.0
    """Unix time at which every page is at version 0."""
    static_share: float = 0.3
    changes_per_day: float = 0.1
    """The median of those that change at all."""
    changes_sigma: float = 1.5

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name.endswith("_share") and not 0 <= value <= 1:
                raise LycosaError(f"{field.name} is {value}: give a share between 0 and 1.")
        for name in (
            "hosts",
            "pages",
            "tree_fanout",
            "hosts_per_domain",
            "hosts_per_address",
            "sitemap_urls",
        ):
            if getattr(self, name) < 1:
                raise LycosaError(f"{name} is {getattr(self, name)}: give at least 1.")
        if self.by not in ("name", "address"):
            raise LycosaError(f"by is {self.by!r}: give 'name' or 'address'.")
        if self.exact_share + self.near_share + self.redirect_share + self.gone_share + self.orphan_share > 1:
            raise LycosaError("The shares of the kinds of page sum to more than 1: lower one of them.")
