"""How long to leave a host alone: pace, backing off, coming back, and what operators may change.

The gap before the next request is the largest of three: the configured delay times a factor that follows how fast the
host answers, its Crawl-delay, and the wait that 429 and 503 have built up. A new host starts at twice the delay and
earns the delay itself with five fast answers; slow answers lengthen it. 429 and 503 double the wait up to five minutes;
it halves again after every stretch of successes. Everything is arithmetic on values: time is an argument.

`polite.delay` of zero (own hosts only) stays zero under the factor, but a host that answers 429 is left alone even so.
"""

from __future__ import annotations

import math

import msgspec

NEW_HOST_FACTOR = 2.0
FAST_ANSWERS = 5
FAST_S = 0.2
SLOW_S = 1.0
SLOWEST_FACTOR = 8.0
LONGEST_BACKOFF_S = 300.0
FIRST_BACKOFF_S = 1.0
SUCCESSES_TO_HALVE = 5
PARKING_CRAWL_DELAY_S = 300.0
PUSHED_BACK = frozenset((429, 503))

_EARNED = NEW_HOST_FACTOR ** (-1 / FAST_ANSWERS)  # five of these make one of that
_LOST = 1.25


class Pace(msgspec.Struct, frozen=True):
    """What is remembered of a host's answers. The default is a host never asked."""

    factor: float = NEW_HOST_FACTOR
    backoff_s: float = 0.0
    successes: int = 0  # in a row, since it last pushed back
    wait_until: float = 0.0  # Retry-After: nothing before this moment

    def gap_s(self, delay_s: float, crawl_delay_s: float | None = None) -> float:
        """Seconds from the end of one answer to the start of the next request."""
        return max(delay_s * self.factor, crawl_delay_s or 0.0, self.backoff_s)

    def ready_at(self, ended_at: float, delay_s: float, crawl_delay_s: float | None = None) -> float:
        return max(ended_at + self.gap_s(delay_s, crawl_delay_s), self.wait_until)


def after_answer(pace: Pace, status: int, took_s: float) -> Pace:
    """The pace after an answer that was no push-back (for those, `after_push_back`)."""
    factor = pace.factor
    if took_s < FAST_S:
        factor = max(1.0, factor * _EARNED)
    elif took_s > SLOW_S:
        factor = min(SLOWEST_FACTOR, factor * _LOST)
    if status >= 500:  # a failing server has earned nothing
        return msgspec.structs.replace(pace, factor=max(factor, pace.factor), successes=0)
    successes, backoff_s = pace.successes + 1, pace.backoff_s
    if backoff_s and successes >= SUCCESSES_TO_HALVE:
        successes, backoff_s = 0, backoff_s / 2 if backoff_s / 2 >= FIRST_BACKOFF_S else 0.0
    return msgspec.structs.replace(pace, factor=factor, successes=successes, backoff_s=backoff_s)


def after_push_back(
    pace: Pace, now: float, delay_s: float, crawl_delay_s: float | None = None, retry_after_s: float | None = None
) -> Pace:
    """The pace after a 429 or 503: twice the gap there was, and nothing before Retry-After has passed."""
    doubled = 2 * max(pace.gap_s(delay_s, crawl_delay_s), FIRST_BACKOFF_S / 2)
    wait_until = max(pace.wait_until, now + retry_after_s) if retry_after_s else pace.wait_until
    backoff_s = max(pace.backoff_s, min(LONGEST_BACKOFF_S, doubled))
    return msgspec.structs.replace(pace, backoff_s=backoff_s, successes=0, wait_until=wait_until)


def after_failure(pace: Pace) -> Pace:
    """The pace after no answer at all (refused, reset, timed out): slower, as after a slow answer."""
    return msgspec.structs.replace(pace, factor=min(SLOWEST_FACTOR, pace.factor * _LOST), successes=0)


def is_parked_by(crawl_delay_s: float | None) -> bool:
    """Does the host ask for so long a wait that a finite crawl should rather leave it?"""
    return crawl_delay_s is not None and crawl_delay_s > PARKING_CRAWL_DELAY_S


class Override(msgspec.Struct, frozen=True):
    """What an operator has set for one host, until `effective_until` (Unix time) if that is given."""

    max_rps: float | None = None
    crawl_delay_s: float | None = None
    paused: bool = False
    effective_until: float | None = None

    def is_in_force(self, now: float) -> bool:
        return self.effective_until is None or now < self.effective_until

    def is_usable(self) -> bool:
        """Are its numbers times and rates? What comes as JSON may hold NaN, which no comparison stops."""
        gap_s = self.gap_s()
        return gap_s is None or (math.isfinite(gap_s) and gap_s >= 0)

    def gap_s(self) -> float | None:
        """The gap it asks for; None if it only pauses."""
        gaps = [1.0 / self.max_rps] if self.max_rps else []
        gaps += [self.crawl_delay_s] if self.crawl_delay_s is not None else []
        return max(gaps) if gaps else None

    def shortens(self, delay_s: float, crawl_delay_s: float | None) -> bool:
        """Would it go below what the host may expect? Allowed on own hosts only."""
        gap_s = self.gap_s()
        return gap_s is not None and gap_s < max(delay_s, crawl_delay_s or 0.0)


ADDRESS_HOSTS = 3
ADDRESS_WINDOW_S = 600.0


class AddressTrouble(msgspec.Struct, frozen=True):
    """Which hosts of one address have pushed back lately: three within ten minutes slow the whole address."""

    seen: tuple[tuple[str, float], ...] = ()

    def after_push_back(self, host: str, now: float) -> AddressTrouble:
        recent = [(name, at) for name, at in self.seen if name != host and now - at < ADDRESS_WINDOW_S]
        return AddressTrouble((*recent[-(ADDRESS_HOSTS - 1) :], (host, now)))

    def slows_address(self, now: float) -> bool:
        return sum(now - at < ADDRESS_WINDOW_S for _, at in self.seen) >= ADDRESS_HOSTS


def address_gap_s(address_delay_s: float, host_delay_s: float, trouble: AddressTrouble, now: float) -> float:
    """The gap between requests to one address, whatever the host; never above a host's own delay unless in trouble."""
    gap_s = min(address_delay_s, host_delay_s)
    return max(2 * gap_s, FIRST_BACKOFF_S) if trouble.slows_address(now) else gap_s
