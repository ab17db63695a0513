"""How many files and connections the process may hold open: the store keeps its tables, and hosts their connections."""

from __future__ import annotations

import contextlib
import resource

_ENOUGH = 65_536


def open_files() -> int:
    """As many as the system allows now."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _ENOUGH if soft == resource.RLIM_INFINITY else min(soft, _ENOUGH)


def allow_many_open_files() -> None:
    """Have as many as the system lets us have without asking anybody. Most begin with 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _ENOUGH if hard == resource.RLIM_INFINITY else min(hard, _ENOUGH)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):  # then with as many as there are
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
