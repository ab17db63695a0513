"""The pages that ranking starts from: the seeds of the crawl, or what the user trusts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lycosa.backends.graph_files import LinkGraph
from lycosa.backends.graph_pages import NONE, find
from lycosa.backends.graph_rows import keys_of
from lycosa.cli.opened import host_name
from lycosa.errors import BadInput, BadRule
from lycosa.kit.keys import host_key
from lycosa.search.graph import Ints
from lycosa.web.url import Normaliser


def named_pages(graph: LinkGraph, normal: Normaliser, names: Sequence[str]) -> list[Ints]:
    """The pages of each name: a URL is one page, a host all of its pages. BadInput for a name without any."""
    groups = []
    for name in names:
        try:
            group = _pages_at(graph, normal(name)) if "://" in name else _pages_of(graph, host_name(name))
        except BadRule:
            raise BadInput(
                f"{name!r} is no host: trust one like example.org, or a page with https:// before it"
            ) from None
        if not len(group):
            raise BadInput(
                f"{name!r} is no page or host that this crawl has fetched: trust one that lycosa pages lists"
            )
        groups.append(group)
    return groups


def seed_pages(graph: LinkGraph, seeds: Sequence[str]) -> list[Ints]:
    """The page of each seed that has one."""
    return [group for group in (_pages_at(graph, seed) for seed in seeds) if len(group)]


def _pages_at(graph: LinkGraph, url: str) -> Ints:
    places, is_known = find(graph.keys, keys_of([url]))
    pages: Ints = graph.pages[places[is_known]].astype(np.int64)
    found: Ints = pages[pages != NONE]
    return found


def _pages_of(graph: LinkGraph, host: str) -> Ints:
    place = np.flatnonzero(graph.host_keys == host_key(host))
    found: Ints = np.flatnonzero(np.isin(graph.page_hosts, place))
    return found


def trusted_hosts(graph: LinkGraph, groups: Sequence[Ints]) -> list[Ints]:
    """The hosts of these pages."""
    return [np.unique(graph.page_hosts[group]).astype(np.int64) for group in groups]
