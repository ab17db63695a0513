"""The robots.txt of each host, as rules (the truth) and as text (what is served).

A host has none, has one that opens everything, forbids some paths, forbids all, or answers 503, which forbids
all too (RFC 9309 2.3.1.4). The verdict is computed from the rules directly, never by parsing the text, so it
can judge a parser. Host 0 is always open enough to start from.
"""

from enum import StrEnum
from typing import NamedTuple

from lycosa.sim.atlas import Atlas


class RobotsState(StrEnum):
    ABSENT = "absent"
    RULES = "rules"
    OPEN = "open"
    CLOSED = "closed"
    BROKEN = "broken"


class RobotsRules(NamedTuple):
    state: RobotsState
    crawl_delay_s: int | None = None
    sitemap: str | None = None
    hides_pdf: bool = False
    opens: str | None = None
    """Under /private/, a longer prefix that is allowed after all."""
    names_other_bot: bool = False
    newline: str = "\n"

    def allows(self, target: str) -> bool:
        """For any robot that the file does not name."""
        if target == "/robots.txt":
            return True
        if self.state in (RobotsState.CLOSED, RobotsState.BROKEN):
            return False
        if self.state is not RobotsState.RULES:
            return True
        if self.hides_pdf and target.endswith(".pdf"):
            return False
        if self.opens and target.startswith(self.opens):
            return True
        return not target.startswith("/private/")


def robots_of(atlas: Atlas, host: int) -> RobotsRules:
    dice, plan = atlas.dice, atlas.plan
    state = _state(atlas, host)
    if state in (RobotsState.ABSENT, RobotsState.BROKEN):
        return RobotsRules(state)
    drawn = dice.number("robots details", host)
    return RobotsRules(
        state,
        crawl_delay_s=plan.crawl_delay_s if dice.share("crawl delay", host) < plan.crawl_delay_share else None,
        sitemap=f"{atlas.origin(host)}/sitemap.xml" if atlas.has_sitemap(host) else None,
        hides_pdf=drawn % 2 == 0,
        opens=f"/private/{'bcdst'[(drawn >> 8) % 5]}" if (drawn >> 4) % 3 == 0 else None,
        names_other_bot=(drawn >> 16) % 3 == 0,
        newline="\r\n" if (drawn >> 24) % 5 == 0 else "\n",
    )


def write_robots(rules: RobotsRules) -> str:
    lines = ["# a made-up host", ""]
    if rules.names_other_bot:
        lines += ["User-agent: otherbot", "Disallow: /", ""]
    lines.append("User-agent: *")
    if rules.state is RobotsState.CLOSED:
        lines.append("Disallow: /")
    elif rules.state is RobotsState.RULES:
        lines.append("Disallow: /private/")
        lines += [f"Allow: {rules.opens}"] if rules.opens else []
        lines += ["Disallow: /*.pdf$"] if rules.hides_pdf else []
    else:
        lines.append("Disallow:")
    if rules.crawl_delay_s is not None:
        lines.append(f"Crawl-delay: {rules.crawl_delay_s}")
    if rules.sitemap:
        lines += ["", f"Sitemap: {rules.sitemap}"]
    return rules.newline.join([*lines, ""])


def _state(atlas: Atlas, host: int) -> RobotsState:
    plan, drawn = atlas.plan, atlas.dice.share("robots", host)
    if host and drawn < plan.broken_robots_share:
        return RobotsState.BROKEN
    if host and drawn < plan.broken_robots_share + plan.closed_share:
        return RobotsState.CLOSED
    if drawn < plan.robots_share:
        return RobotsState.RULES
    # A sitemap can only be found through robots.txt, so its host has one.
    return RobotsState.OPEN if atlas.has_sitemap(host) else RobotsState.ABSENT
