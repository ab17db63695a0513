"""Chance that can be asked twice: every draw is a pure function of a seed and of what is drawn.

The same seed and the same words give the same number in any process and in any order, so nothing has to be
remembered: a world of a million hosts is a seed. Draws about different things are independent.

Never uses `hash()` (salted per process), the global `random`, or a clock.
"""

from hashlib import blake2b, shake_128
from statistics import NormalDist

_STANDARD = NormalDist()


class Dice:
    """`dice.share("size", 17)` is one fixed number; `dice.share("size", 18)` is another."""

    def __init__(self, seed: int | str) -> None:
        self._key = blake2b(str(seed).encode(), digest_size=32).digest()

    def number(self, *what: str | int) -> int:
        """A whole number of 64 bits."""
        drawn = blake2b("\x1f".join(map(str, what)).encode(), digest_size=8, key=self._key).digest()
        return int.from_bytes(drawn, "big")

    def share(self, *what: str | int) -> float:
        """Uniform in [0, 1)."""
        return (self.number(*what) >> 11) * 2.0**-53

    def pick(self, choices: int, *what: str | int) -> int:
        """Uniform in range(choices)."""
        return self.number(*what) % choices

    def normal(self, *what: str | int) -> float:
        """From the standard normal distribution."""
        # The half step keeps the argument strictly between 0 and 1.
        return _STANDARD.inv_cdf(((self.number(*what) >> 12) + 0.5) * 2.0**-52)

    def stretch(self, length_bytes: int, *what: str | int) -> bytes:
        """As many random bytes as wanted; a longer stretch begins with the shorter one."""
        return shake_128(self._key + "\x1f".join(map(str, what)).encode()).digest(length_bytes)
