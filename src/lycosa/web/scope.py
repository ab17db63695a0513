"""Which URLs belong to a crawl. Every refusal has a name, and names are what reports count.

A rule is written `host:example.org`, `domain:example.org` (all hosts under it), `path:/docs/`, `re:PATTERN`, or as the
beginning of a URL, `https://example.org/docs/`. A rule that starts with `/` is a path, a bare name a host or any host
below it.

Exclude rules win. With include rules exactly what one of them matches is crawled; a rule that names no host counts only
inside the hosts that `mode` allows. Seeds are always in scope: whoever names a page wants it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

import msgspec

from lycosa.errors import BadInput, BadRule
from lycosa.web.domains import registered_domain
from lycosa.web.url import Normaliser, cut, parse

Mode = Literal["host", "domain", "web"]
RuleKind = Literal["host", "domain", "below", "path", "prefix", "re"]
_LONGEST_RULE = 2_000
_as_rows_have_it = Normaliser((), ()).of_href  # rules are compared with normal forms, so they need their spelling
_NAME = re.compile(r"[a-z0-9_\-.]+|\[[0-9a-f:.]+\]")
_NOT_A_NAME = re.compile(r"[/?#@\\]|:(?![0-9a-fA-F:.]*\])")  # a path, a port or credentials behind it: not a bare name
_MEDIA = frozenset(
    "7z aac ai aif apk avi avif bin bmp bz2 cab class css csv dat deb dll dmg doc docx dotx eot eps exe flac flv gif "
    "gz heic ico ics iso jar jpeg jpg js json jxl key m3u8 m4a m4v mid mkv mov mp3 mp4 mpeg mpg msi odp ods odt ogg "
    "ogv opus otf pdf pkg png ppt pptx ps psd rar rpm rtf so svg swf tar tgz tif tiff torrent ttf wasm wav webm "
    "webmanifest webp wma wmv woff woff2 xls xlsx xz zip zst".split()
)


class Rule(msgspec.Struct, frozen=True):
    """One include or exclude rule; `read_rule` makes it from text."""

    kind: RuleKind
    value: str
    pattern: re.Pattern[str] | None = None

    @property
    def names_host(self) -> bool:
        return self.kind in ("host", "domain", "below", "prefix")

    def matches(self, url: str, host: str) -> bool:
        match self.kind:
            case "host":
                return host == self.value
            case "domain":
                return registered_domain(host) == self.value
            case "below":
                return host == self.value or host.endswith(f".{self.value}")
            case "prefix":
                return url.startswith(self.value)
            case "path":
                return url.startswith(self.value, url.index("/", url.index("://") + 3))
            case "re":
                return self.pattern is not None and self.pattern.search(url) is not None


def read_rule(text: str) -> Rule:
    text = text.strip()
    kind, colon, value = text.partition(":")
    if not text or len(text) > _LONGEST_RULE:
        raise BadRule(
            "an empty or very long rule matches nothing: write host:NAME, domain:NAME, /PATH, re:PATTERN or a URL"
        )
    if colon and kind == "re":
        try:
            return Rule("re", value, re.compile(value))
        except (re.error, RecursionError, OverflowError) as error:
            raise BadRule(f"{text!r} is not a regular expression: {error}") from None
    try:
        if text.startswith("/") or (colon and kind == "path"):
            path = text if text.startswith("/") else value
            return Rule("path", _as_rows_have_it(parse(path, "http://x/"))[len("http://x") :])
        if text.startswith(("http://", "https://")):
            return Rule("prefix", _as_rows_have_it(parse(text)))
        given = value if colon and kind in ("host", "domain") else text
        name = cut(parse(f"http://{given}/")).host.rstrip(".")
        if not _NAME.fullmatch(name) or _NOT_A_NAME.search(given):
            raise BadRule(given)
    except (BadInput, ValueError):
        hint = "write host:NAME, domain:NAME, /PATH, re:PATTERN or a URL"
        raise BadRule(f"{text!r} is not a scope rule: {hint}") from None
    if colon and kind == "domain":
        return Rule("domain", registered_domain(name))
    return Rule("host" if colon and kind == "host" else "below", name)


class Scope(msgspec.Struct):
    """What a crawl may reach. `refusal` is None for a URL in scope, else the name of the reason."""

    mode: Mode = "host"
    homes: set[str] = msgspec.field(default_factory=set)  # of the seeds: hosts, or registered domains in mode `domain`
    include: tuple[Rule, ...] = ()
    exclude: tuple[Rule, ...] = ()
    max_depth: int | None = None
    with_media: bool = False

    def refusal(self, url: str, host: str, depth: int) -> str | None:
        if self.max_depth is not None and depth > self.max_depth:
            return "scope.depth"
        if self.exclude and any(rule.matches(url, host) for rule in self.exclude):
            return "scope.exclude"
        if depth == 0:
            return None
        if not self.with_media and is_media(url):
            return "scope.media"
        if not self.include:
            return None if self.is_home(host) else f"scope.{self.mode}"
        for rule in self.include:
            if rule.matches(url, host) and (rule.names_host or self.is_home(host)):
                return None
        return "scope.include"

    def is_home(self, host: str) -> bool:
        return self.mode == "web" or self._home_of(host) in self.homes

    def join(self, host: str) -> None:
        """Count a host among those of the seeds: one of them redirects there."""
        self.homes.add(self._home_of(host))

    def _home_of(self, host: str) -> str:
        return host if self.mode == "host" else registered_domain(host)


def make_scope(
    mode: Mode, seeds: Iterable[str], include: Iterable[str] = (), exclude: Iterable[str] = (), **limits: int | None
) -> Scope:
    """The scope of a crawl from its seeds (normalised URLs) and its rules as written."""
    rules = tuple(map(read_rule, include)), tuple(map(read_rule, exclude))
    scope = Scope(mode, set(), *rules, max_depth=limits.get("max_depth"), with_media=bool(limits.get("with_media")))
    for seed in seeds:
        scope.join(cut(seed).host)
    return scope


def is_media(url: str) -> bool:
    """Does the address look like something other than a page: a picture, a film, an archive, a program?"""
    path = url.partition("?")[0]
    name = path.rpartition("/")[2]
    return "." in name and name.rpartition(".")[2].lower() in _MEDIA and path.count("/") > 2
