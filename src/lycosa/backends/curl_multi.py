"""Many transfers of libcurl on one event loop.

libcurl says which sockets it waits for and when it wants to be called; both are handed to the loop. Its sockets are
watched by one epoll of our own, of which the loop watches a single descriptor: that is a third cheaper than to
register every socket with the loop anew for each request, and what is ready together is handled together.

A transfer ends exactly once: with libcurl's result, by `stop`, or when all is closed. Never blocks.
"""

from __future__ import annotations

import asyncio
import select
from contextlib import suppress
from typing import Any, NamedTuple

import pycurl

from lycosa.errors import LycosaError

_MOST_EVENTS = 512


class Ended(NamedTuple):
    """How libcurl says a transfer ended: 0, or the number of an error and a sentence."""

    code: int
    said: str
    fd: int = -1  # of its connection, if that is kept


class CurlLoop:
    def __init__(self, most_connections: int) -> None:
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_MAXCONNECTS, most_connections)
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._on_socket)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._on_timer)
        self._epoll = select.epoll()
        self._watched: set[int] = set()
        self._under_way: dict[Any, asyncio.Future[Ended]] = {}
        self._timer: asyncio.Handle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_closed = False

    def start(self, curl: Any) -> asyncio.Future[Ended]:
        """Begin a transfer; whoever gives up waiting must `stop` it."""
        if self._is_closed:
            raise LycosaError("The fetcher is closed: make a new one to fetch more.")
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._loop.add_reader(self._epoll.fileno(), self._on_ready)
        ended = self._loop.create_future()
        self._under_way[curl] = ended
        self._multi.add_handle(curl)
        return ended

    def stop(self, curl: Any, ended: Ended | None = None) -> None:
        """End a transfer now, its connection with it; does nothing to one that has ended."""
        waiting = self._under_way.pop(curl, None)
        if waiting is None:
            return
        self._multi.remove_handle(curl)
        if not waiting.done():
            waiting.set_result(ended or Ended(pycurl.E_ABORTED_BY_CALLBACK, "stopped"))

    def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        for curl, waiting in list(self._under_way.items()):
            self._multi.remove_handle(curl)
            if not waiting.done():
                waiting.set_exception(LycosaError("The fetcher was closed in the middle of a request."))
        self._under_way.clear()
        self._cancel_timer()
        if self._loop is not None:
            self._loop.remove_reader(self._epoll.fileno())
        self._multi.close()
        self._epoll.close()

    # -- what libcurl asks for ----------------------------------------------------------------------------------------

    def _on_socket(self, what: int, fd: int, multi: Any, data: Any) -> None:
        if what in (pycurl.POLL_REMOVE, pycurl.POLL_NONE):
            if fd in self._watched:
                self._watched.discard(fd)
                with suppress(OSError):  # closed already
                    self._epoll.unregister(fd)
            return
        events = (select.EPOLLIN if what & pycurl.POLL_IN else 0) | (select.EPOLLOUT if what & pycurl.POLL_OUT else 0)
        if fd in self._watched:
            self._epoll.modify(fd, events)
        else:
            self._watched.add(fd)
            self._epoll.register(fd, events)

    def _on_timer(self, wait_ms: int) -> None:
        self._cancel_timer()
        if wait_ms < 0 or self._is_closed or self._loop is None:
            return
        # Never at once: libcurl must not be called from within its own callback.
        if wait_ms == 0:
            self._timer = self._loop.call_soon(self._on_time)
        else:
            self._timer = self._loop.call_later(wait_ms / 1000, self._on_time)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # -- what the event loop brings -----------------------------------------------------------------------------------

    def _on_time(self) -> None:
        self._timer = None
        self._multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)
        self._collect()

    def _on_ready(self) -> None:
        for fd, events in self._epoll.poll(0, _MOST_EVENTS):
            can_read = pycurl.CSELECT_IN if events & ~select.EPOLLOUT else 0  # an error shows itself when reading
            can_write = pycurl.CSELECT_OUT if events & select.EPOLLOUT else 0
            self._multi.socket_action(fd, can_read | can_write)
        self._collect()

    def _collect(self) -> None:
        more = 1
        while more:
            more, good, bad = self._multi.info_read()
            for curl in good:
                self._end(curl, Ended(0, "", curl.getinfo(pycurl.ACTIVESOCKET)))  # known until it is removed
            for curl, code, said in bad:
                self._end(curl, Ended(code, said))

    def _end(self, curl: Any, ended: Ended) -> None:
        waiting = self._under_way.pop(curl, None)
        if waiting is None:
            return
        self._multi.remove_handle(curl)
        if not waiting.done():
            waiting.set_result(ended)
