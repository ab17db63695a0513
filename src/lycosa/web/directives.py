"""What a page asks of robots: meta elements and X-Robots-Tag, for all of them or for one by name.

The words for everybody and the words for us add up; the strictest wins. Words for other robots do not concern us.
Opt-outs from machine learning and text mining (`noai`, TDM reservation) restrict no crawl by themselves: they are
recorded with the page, so that exports can leave it out.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping

import msgspec

from lycosa.web.dates import read_date

_WITH_VALUE = frozenset(("unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"))
_OPT_OUTS = frozenset(("noai", "noimageai", "noml"))
_KNOWN = re.compile(r"no\w+|none|all|index|follow|max-.*")
_LONGEST = 2_000
_MOST_TAGS = 100


class Directives(msgspec.Struct, frozen=True):
    """All false: the page may be followed, indexed, shown and kept."""

    noindex: bool = False
    nofollow: bool = False
    noarchive: bool = False
    nosnippet: bool = False
    max_snippet: int | None = None  # characters; None is no limit
    unavailable_after: float | None = None  # Unix time
    opt_outs: frozenset[str] = frozenset()

    def may_index(self, now: float) -> bool:
        return not self.noindex and (self.unavailable_after is None or now < self.unavailable_after)

    def told(self) -> str:
        """In the words that pages use, for whoever reads the tables; empty if the page says nothing."""
        words = [name for name in ("noindex", "nofollow", "noarchive", "nosnippet") if getattr(self, name)]
        if self.max_snippet is not None:
            words.append(f"max-snippet:{self.max_snippet}")
        if self.unavailable_after is not None:
            words.append(f"unavailable_after:{self.unavailable_after:.0f}")
        return ", ".join([*words, *sorted(self.opt_outs)])

    def snippet_limit(self) -> int | None:
        """How many characters of text may be shown: 0 for none, None for any."""
        return 0 if self.nosnippet else self.max_snippet


_NOTHING = Directives()


def read_told(told: str) -> Directives:
    """Directives from the words of `Directives.told`, which has dates as Unix time."""
    words = dict([word.partition(":")[::2] for word in told.split(", ")])
    until = words.get("unavailable_after", "")
    return Directives(
        noindex="noindex" in words,
        nofollow="nofollow" in words,
        noarchive="noarchive" in words,
        nosnippet="nosnippet" in words,
        max_snippet=_limit(words.get("max-snippet")),
        unavailable_after=float(until) if until.lstrip("-").isdigit() else None,
        opt_outs=frozenset(words) & (_OPT_OUTS | {"tdm"}),
    )


def read_directives(agent: str, meta: Mapping[str, str], x_robots_tag: Iterable[str] = (), tdm: str = "") -> Directives:
    """The directives that hold for `agent`: `meta` by lower-case name, the header's values, and TDM-Reservation."""
    us = agent.lower()
    if not x_robots_tag and not tdm and meta.keys().isdisjoint(("robots", us, "tdm-reservation")):
        return _NOTHING
    said = [pair for name in ("robots", us) if name in meta for pair in _split(meta[name])]
    said += [pair for value in itertools.islice(x_robots_tag, _MOST_TAGS) for pair in _said_to(us, value)]
    words: dict[str, str] = {}
    for word, value in said:
        words[word] = _stricter(word, words[word], value) if word in words else value
    opt_outs = _OPT_OUTS & words.keys()
    if "1" in (tdm.strip(), meta.get("tdm-reservation", "").strip()):
        opt_outs |= {"tdm"}
    return Directives(
        noindex="noindex" in words or "none" in words,
        nofollow="nofollow" in words or "none" in words,
        noarchive="noarchive" in words or "nocache" in words,
        nosnippet="nosnippet" in words,
        max_snippet=_limit(words.get("max-snippet")),
        unavailable_after=read_date(words.get("unavailable_after")),
        opt_outs=frozenset(opt_outs),
    )


def _said_to(us: str, value: str) -> list[tuple[str, str]]:
    """The words of a header value that are for us: `bot: word` speaks to that bot, and so does all behind it."""
    to_us, ours = True, []
    for word, rest in _split(value):
        name, said = word, (word, rest)
        if rest and word not in _WITH_VALUE:
            to_us = name in (us, "*", "robots")
            inner, _, inner_rest = rest.partition(":")
            said = (inner.strip().lower(), inner_rest.strip())
        if to_us:
            ours.append(said)
    return ours


def _split(text: str) -> list[tuple[str, str]]:
    """Words and their values. A date has commas of its own, so what follows one belongs to it until a word we know."""
    found: list[tuple[str, str]] = []
    for part in text[:_LONGEST].replace(";", ",").split(","):
        word, colon, value = part.strip().partition(":")
        word = word.strip().lower()
        if found and found[-1][0] == "unavailable_after" and not _KNOWN.fullmatch(word):
            found[-1] = ("unavailable_after", f"{found[-1][1]},{part}")
        elif colon:
            found.append((word, value.strip()))
        else:  # some owners write blanks where commas belong
            found += [(each, "") for each in word.split()]
    return found


def _stricter(word: str, one: str, other: str) -> str:
    if word == "max-snippet":
        limits = [limit for limit in (_limit(one), _limit(other)) if limit is not None]
        return str(min(limits)) if limits else one
    if word == "unavailable_after":
        dated = [(date, text) for text in (one, other) if (date := read_date(text)) is not None]
        return min(dated)[1] if dated else one
    return one


def _limit(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else None
