"""Every exception Lycosa raises on its own account.

What the web does is a value (an outcome), never an exception. These are our own failures or the user's input, and
each message is one sentence that names the remedy.

    LycosaError
    ├── BadInput (ValueError)      what was given cannot be used
    │   ├── BadUrl                 not an http(s) URL
    │   ├── BadSetting             an unknown key or a value out of range
    │   └── BadRule                a scope rule that cannot be read
    ├── DiskFull                   no room is left; with room made, all goes on
    ├── StoreBusy, StoreBroken,    backends.rocks: another crawl works there; no store of ours or a damaged one;
    │   StoreDenied                no permission
    ├── RowBroken                  crawl.rows: written by a newer version, or damaged
    ├── WriteFailed                backends.warc: the disk is full, say; what was appended before is whole
    ├── Unreadable                 backends.warc_read: a record that is not there or not whole
    ├── CannotErase                backends.warc_erase: the record of a page to be forgotten
    ├── JournalTrouble             backends.journal: the rows on their way into tables
    ├── TableTrouble               backends.parquet
    ├── IndexTrouble, IndexBusy    backends.tantivy_index: damaged, say; another process writes it
    ├── ArraysBroken               backends.array_file: damaged, or of another version
    ├── RankingFailed              cli.rank: the disk is full, say
    ├── LayoutBroken               backends.layout: how many shards there are cannot be told
    ├── NobodyThere                backends.control: no crawl runs in a directory
    ├── DnsError and below         sim.resolver: what a made-up name server says
    ├── PeerAway                   ports: another shard does not answer
    └── ShardsDie                  supervisor: a process dies whenever it is started
"""

from errno import EDQUOT, ENOSPC


class LycosaError(Exception):
    """The root: catching it catches all that Lycosa raises deliberately."""


class BadInput(LycosaError, ValueError):
    """What the user or a file gave cannot be used; the message says what to give instead."""


class BadUrl(BadInput):
    """Not a URL that can be fetched over http or https."""


class BadSetting(BadInput):
    """An unknown setting, or a value it cannot take."""


class BadRule(BadInput):
    """A scope rule that cannot be read."""


class DiskFull(LycosaError):
    """No room is left on the disk. What was settled is whole, and with room made the crawl goes on."""


def is_disk_full(error: BaseException | None) -> bool:
    """Is a lack of room behind this failure? Then waiting for room helps."""
    while error is not None:
        if isinstance(error, DiskFull) or (isinstance(error, OSError) and error.errno in (ENOSPC, EDQUOT)):
            return True
        error = error.__cause__
    return False
