"""Servers that misbehave, each in one way: the bestiary.

`async with unleash(BEASTS) as den:` lets them loose on loopback, each at an address of its own;
`den.url("gzip-bomb")` says where. Every beast tells in a sentence what it does and what a sane crawler makes
of it. They are bounded: they stop when the client leaves, at a cap of bytes, and when the den closes.
"""

from lycosa.sim.bestiary.beast import Beast, Pace
from lycosa.sim.bestiary.body import BODY
from lycosa.sim.bestiary.den import Den, unleash
from lycosa.sim.bestiary.encoding import ENCODING
from lycosa.sim.bestiary.headers import HEADERS
from lycosa.sim.bestiary.redirect import REDIRECT
from lycosa.sim.bestiary.robots import ROBOTS
from lycosa.sim.bestiary.status import STATUS
from lycosa.sim.bestiary.tls import TLS
from lycosa.sim.bestiary.trap import TRAP

BEASTS: tuple[Beast, ...] = (*BODY, *ENCODING, *HEADERS, *STATUS, *REDIRECT, *TRAP, *ROBOTS, *TLS)

__all__ = ["BEASTS", "Beast", "Den", "Pace", "unleash"]
