"""What a page asks of robots: meta elements and X-Robots-Tag, for all of them or for one by name.

The words for everybody and the words for us add up; the strictest wins. Words for other robots do not concern us.
Opt-outs from machine learning and text mining (`noai`, TDM reservation) restrict no crawl by themselves: they are
recorded with the page, so that exports can leave it out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import msgspec

from lycosa.web.dates import read_date

_WITH_VALUE = frozenset(("unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"))
_OPT_OUTS = frozenset(("noai", "noimageai", "noml"))
_NAMED = re.compile(r"\s*([a-zA-Z0-9_.\-]+)\s*:\s*(.*)", re.S)
_LONGEST = 2_000


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

    def snippet_limit(self) -> int | None:
        """How many characters of text may be shown: 0 for none, None for any."""
        return 0 if self.nosnippet else self.max_snippet


def read_directives(agent: str, meta: Mapping[str, str], x_robots_tag: Iterable[str] = (), tdm: str = "") -> Directives:
    """The directives that hold for `agent`: `meta` by lower-case name, the header's values, and TDM-Reservation."""
    us = agent.lower()
    said = [meta[name] for name in ("robots", us) if name in meta]
    said += [words for words in (_words_for(us, value) for value in x_robots_tag) if words]
    words: dict[str, str] = {}
    for text in said:
        for word, value in _split(text):
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


def _words_for(us: str, value: str) -> str:
    """The directives of a header value if they are for us: `bot: words` is for that bot alone."""
    named = _NAMED.match(value)
    if named is None or named[1].lower() in _WITH_VALUE:
        return value
    return named[2] if named[1].lower() in (us, "*", "robots") else ""


def _split(text: str) -> list[tuple[str, str]]:
    """Words and their values. A date has commas of its own, so what follows one belongs to it until a word we know."""
    found: list[tuple[str, str]] = []
    for part in text[:_LONGEST].split(","):
        word, _, value = part.strip().partition(":")
        word = word.strip().lower()
        if (
            found
            and found[-1][0] == "unavailable_after"
            and not re.fullmatch(r"no\w+|none|all|index|follow|max-.*", word)
        ):
            found[-1] = ("unavailable_after", f"{found[-1][1]},{part}")
        elif word:
            found.append((word, value.strip()))
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
