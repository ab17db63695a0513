"""Which kept connection the other side has closed in the meantime.

libcurl looks only once a second whether the connections it keeps are still alive. A server that hangs up just when it
is asked again (after five seconds of silence, say, by a crawler that waits five seconds) would get a request on a dead
connection every other time. So the socket is looked at right before: there is nothing to read on a connection that is
well, and looking takes nothing away.

A descriptor may belong to something else by now. Then the answer may be wrong, which costs a new connection or
changes nothing.
"""

from __future__ import annotations

import select


class KeptSockets:
    def __init__(self, most: int) -> None:
        self._most = most
        self._known: dict[tuple[str, str], int] = {}  # by origin and address, oldest first

    def note(self, origin: str, address: str, fd: int) -> None:
        """The connection that carried the last answer; -1 if it is closed."""
        if fd >= 0:
            self._known[origin, address] = fd
            if len(self._known) > self._most:
                del self._known[next(iter(self._known))]

    def is_dead(self, origin: str, address: str) -> bool:
        fd = self._known.pop((origin, address), -1)
        return fd >= 0 and not _is_quiet(fd)


def _is_quiet(fd: int) -> bool:
    look = select.poll()
    look.register(fd, select.POLLIN)
    return not look.poll(0)  # neither bytes, nor the end, nor an error, nor closed
