"""How the process holds its memory. A crawl runs without any of this, only slower."""

from __future__ import annotations

import contextlib
import ctypes
import gc

try:
    from lycosa import native
except ImportError:  # no compiler where it was installed
    native = None  # type: ignore[assignment]

_AT_ONCE_BYTES = 256 << 20  # by which the heap grows, though only what is touched is taken from the system
_KEPT_BYTES = 256 << 20
# M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD
_OPTIONS = {-1: _KEPT_BYTES + _AT_ONCE_BYTES, -2: _AT_ONCE_BYTES, -3: 32 << 20}


def prepare_memory() -> None:
    """As a crawl wants it: what is freed is kept, and all of it is in large pages where the system has them.

    The more a crawl remembers, the longer it would wait for what is in small ones.
    """
    _keep_freed_memory()
    if native is not None:
        native.use_large_pages()


def _keep_freed_memory() -> None:
    """Let the C library keep what is freed for the next page instead of giving it back and asking for it again.

    A page's tree is a megabyte that comes and goes: on glibc this saves a tenth of a crawl's CPU for a few megabytes.
    """
    with contextlib.suppress(OSError, AttributeError):  # another C library
        mallopt = ctypes.CDLL(None).mallopt
        for option, size_bytes in _OPTIONS.items():
            mallopt(option, size_bytes)


def keep_what_is_loaded() -> None:
    """Spare the collector what is there for good, and let it run less often: pages come and go without cycles.

    What is garbage by now stays: a few hundred kilobytes, which to find would cost ten milliseconds.
    """
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
