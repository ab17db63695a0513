"""What lies where in a crawl's directory, and over how many shards it is divided.

DIR/shards.json     {"format": 1, "shards": N}; without it there is one shard
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from lycosa.backends.durable import sync_directory
from lycosa.errors import BadInput, LycosaError

SHARD, WARCS, TABLES, FEED, RECORDS, RANKS = "shard-00", "warc", "tables", "feed", "records", "ranks"
NOTES = "notes"  # within the store of a shard: they are of this store and no other
REPARTITION, READY = ".repartition", "ready"  # where a crawl is divided anew, and what says that all is copied
_FILE = "shards.json"
_FORMAT = 1


class LayoutBroken(LycosaError):
    """What is noted of the shards of a directory cannot be read."""


class _Noted(msgspec.Struct):
    format: int
    shards: int


def shard_name(number: int) -> str:
    return f"shard-{number:02d}"


def warc_prefix(number: int) -> str:
    """How the WARC files of a shard among others begin."""
    return f"lycosa-{number:02d}"


def shards_of(directory: Path) -> int:
    """How many shards a crawl is divided into; 0 if there is none yet."""
    try:
        noted = msgspec.json.decode((directory / _FILE).read_bytes(), type=_Noted)
    except FileNotFoundError:
        return 1 if (directory / SHARD).is_dir() else 0
    except (OSError, msgspec.MsgspecError) as error:
        raise LayoutBroken(f"{directory / _FILE} cannot be read ({error}): restore a backup") from None
    if noted.format > _FORMAT or noted.shards < 1:
        raise LayoutBroken(f"{directory / _FILE} was written by a newer version of Lycosa: use that version")
    return noted.shards


def check_whole(directory: Path) -> None:
    """BadInput while a crawl is between two divisions: what is in its place then may be of either."""
    if (directory / REPARTITION / READY).exists():
        raise BadInput(f"{directory} was being divided anew and did not come to the end: run lycosa crawl there first")


def stores_of(directory: Path) -> list[Path]:
    return [directory / shard_name(number) for number in range(shards_of(directory))]


def note_shards(directory: Path, shards: int) -> None:
    """Say how many there are: the old number or the new one, whatever happens. One is what is said by nothing."""
    file = directory / _FILE
    if shards == 1:
        file.unlink(missing_ok=True)
    else:
        fresh = directory / f".{_FILE}.new"
        with fresh.open("wb") as out:
            out.write(msgspec.json.encode(_Noted(_FORMAT, shards)))
            out.flush()
            os.fsync(out.fileno())
        fresh.rename(file)
    sync_directory(directory)
