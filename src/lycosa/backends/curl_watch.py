"""The deadlines of one exchange, which libcurl has not all of: connecting, first byte, least rate, all of it.

One timer an exchange: it goes off when the next deadline could have passed, looks, and is set again. An exchange
that ends in time never sees it go off.
"""

from __future__ import annotations

import asyncio

from lycosa.backends.curl_transfer import Transfer
from lycosa.config import Fetch

LEAST_RATE = 100  # bytes a second
_WINDOWS = 3  # the rate is looked at so many times within the time for all of it: every 10 s by default


class Watch:
    """Ends the transfer with what ran out: `connect`, `first_byte`, `slow` or `total`."""

    def __init__(self, settings: Fetch, transfer: Transfer, connect_s: float, total_at: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._transfer = transfer
        self._connect_at, self._total_at = self._loop.time() + connect_s, total_at
        self._first_byte_s, self._window_s = settings.first_byte_timeout, settings.timeout / _WINDOWS
        self._window_from = 0.0
        self._window_bytes = 0
        self._timer = self._loop.call_at(min(self._while_connecting(self._loop.time()), total_at), self._look)

    def end(self) -> None:
        self._timer.cancel()

    def _look(self) -> None:
        now = self._loop.time()
        over, again_at = self._judge(now)
        if now >= self._total_at:
            over = "total"
        if over:
            self._transfer.stopped = self._transfer.stopped or over
            self._transfer.give_up()
        else:
            self._timer = self._loop.call_at(min(again_at, self._total_at), self._look)

    def _judge(self, now: float) -> tuple[str, float]:
        """What ran out, if anything, and when to look again."""
        transfer = self._transfer
        if not transfer.sent_at:
            return ("connect" if now >= self._connect_at else ""), self._while_connecting(now)
        if not transfer.received_bytes:
            first_byte_at = transfer.sent_on_loop_at + self._first_byte_s
            return ("first_byte" if now >= first_byte_at else ""), first_byte_at
        is_slow = False
        if not self._window_from:
            self._window_from, self._window_bytes = now, transfer.received_bytes
        elif now >= self._window_from + self._window_s:
            is_slow = transfer.received_bytes - self._window_bytes < LEAST_RATE * self._window_s
            self._window_from, self._window_bytes = now, transfer.received_bytes
        return ("slow" if is_slow else ""), self._window_from + self._window_s

    def _while_connecting(self, now: float) -> float:
        # The request may leave at any moment, and its first byte is due so much later.
        return min(self._connect_at, now + self._first_byte_s)
