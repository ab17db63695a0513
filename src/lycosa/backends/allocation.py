"""How the process holds its memory. A crawl runs without any of this, only slower."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import resource
from pathlib import Path

try:
    from lycosa import native
except ImportError:  # no compiler where it was installed
    native = None  # type: ignore[assignment]

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3  # options of `mallopt`
_KEPT_BYTES = {_TRIM_THRESHOLD: 256 << 20, _TOP_PAD: 16 << 20, _MMAP_THRESHOLD: 32 << 20}
_RESERVED_BYTES = 192 << 20  # of the heap, in large pages: less than what is kept, or freeing would give it back
_OVERCOMMIT = Path("/proc/sys/vm/overcommit_memory")


def prepare_memory() -> None:
    """As a crawl wants it: what is freed is kept for the next page, and memory is in large pages where there are any.

    A page's tree is a megabyte that comes and goes: on glibc keeping it saves a tenth of a crawl's CPU for a few
    megabytes. And the more a crawl remembers, the longer it would wait for what is in small pages (ADR 18).
    """
    with contextlib.suppress(OSError, AttributeError):  # another C library
        mallopt = ctypes.CDLL(None).mallopt
        for option, size_bytes in _KEPT_BYTES.items():
            mallopt(option, size_bytes)
        if native is not None and _may_reserve():
            mallopt(_TOP_PAD, _RESERVED_BYTES)
            native.use_large_pages()
            mallopt(_TOP_PAD, _KEPT_BYTES[_TOP_PAD])


def follow_growth() -> None:
    """Now and then: what the heap has grown by is to be in large pages as well."""
    if native is not None:
        native.follow_heap()


def _may_reserve() -> bool:
    """Is memory counted only where it is touched? Elsewhere what is reserved would be missing."""
    limits = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    is_strict = _OVERCOMMIT.exists() and _OVERCOMMIT.read_text().strip() == "2"
    return not is_strict and all(limit == resource.RLIM_INFINITY for limit in limits)


def keep_what_is_loaded() -> None:
    """Spare the collector what is there for good, and let it run less often: pages come and go without cycles.

    What is garbage by now stays: a few hundred kilobytes, which to find would cost ten milliseconds.
    """
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
