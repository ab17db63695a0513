"""Durations and sizes as people write them: `2s`, `1.5h`, `500ms`, `10MB`, `500KiB`.

A bare number is seconds or bytes. Reading what was formatted gives the same value to the precision shown.
"""

from __future__ import annotations

import math
import re

from lycosa.errors import BadInput

SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
BYTES = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
BYTES |= {"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40}
_QUANTITY = re.compile(r"\s*([0-9]{1,18}(?:\.[0-9]{0,9})?)\s*([a-z]*)\s*", re.I)


def _read(text: str, units: dict[str, float], plain: str, example: str) -> float:
    found = _QUANTITY.fullmatch(text)
    unit = (found[2].lower() or plain) if found else ""
    if found is None or unit not in units:
        raise BadInput(f"{text!r} is not a quantity Lycosa knows: write {example}")
    value = float(found[1]) * units[unit]
    if not math.isfinite(value):
        raise BadInput(f"{text!r} is too large: write {example}")
    return value


def read_duration(text: str) -> float:
    """Seconds."""
    return _read(text, SECONDS, "s", "seconds like 2s, 500ms, 1.5h or 7d")


def read_size(text: str) -> int:
    """Bytes."""
    return int(_read(text, {unit: float(size) for unit, size in BYTES.items()}, "b", "bytes like 500KiB or 10MB"))


def show_duration(seconds: float) -> str:
    if seconds < 0:
        return f"-{show_duration(-seconds)}"
    for unit in ("w", "d", "h", "m", "s"):
        if seconds >= SECONDS[unit]:
            return f"{seconds / SECONDS[unit]:.4g}{unit}"
    return "0s" if seconds == 0 else f"{seconds * 1000:.4g}ms"


def show_size(size_bytes: float) -> str:
    for unit in ("TB", "GB", "MB", "kB"):
        if size_bytes >= BYTES[unit.lower()]:
            return f"{size_bytes / BYTES[unit.lower()]:.4g} {unit}"
    return f"{size_bytes:.0f} B"
