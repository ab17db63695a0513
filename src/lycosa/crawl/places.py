"""Which shard a row belongs to: the one rule by which stores are divided, read as one, and divided anew."""

from __future__ import annotations

from lycosa.kit.keys import host_key, owner_of, text_key
from lycosa.web.url import host_of

_BY_HOST = frozenset({"urls", "queue", "hosts", "leases"})  # their keys begin with that of the host
_LATER = {"waiting": -8, "asleep": 8, "due": 8}  # where the key of the host stands in the key
SORTED = _BY_HOST | {"content"}  # families whose keys are in the order of their shards


def owner_of_row(family: str, key: bytes, shards: int) -> int | None:
    """None for rows that belong to no range: `meta`, `seen` and `outbox`."""
    if shards == 1:
        return 0
    if family in _BY_HOST or family == "content":
        return owner_of(int.from_bytes(key[:8], "big"), shards)
    if family in _LATER:
        at = _LATER[family] % len(key)
        return owner_of(int.from_bytes(key[at : at + 8], "big"), shards)
    if family == "near":
        return owner_of(text_key(key), shards)
    if family == "robots":
        return owner_of(host_key(host_of(f"{key.decode()}/")), shards)
    return None
