"""Every exception Lycosa raises on its own account.

What the web does is a value (an outcome), never an exception. These are our own failures or the user's input, and
each message is one sentence that names the remedy.

    LycosaError
    ├── BadInput (ValueError)      what was given cannot be used
    │   ├── BadUrl                 not an http(s) URL
    │   ├── BadSetting             an unknown key or a value out of range
    │   └── BadRule                a scope rule that cannot be read
    ├── StoreBusy, StoreBroken     backends.rocks: another crawl works there; no store of ours
    ├── RowBroken                  crawl.rows: written by a newer version, or damaged
    ├── WriteFailed                backends.warc: the disk is full, say; what was appended before is whole
    ├── Unreadable                 backends.warc_read: a record that is not there or not whole
    └── TableTrouble               backends.parquet
"""


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
