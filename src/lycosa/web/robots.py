"""robots.txt as RFC 9309 has it: groups, longest match, wildcards; and beyond it Crawl-delay and Sitemap lines.

Any bytes parse; what cannot be read is left out. Matching never backtracks: a pattern is cut at its stars and the
pieces are looked for from left to right, so `Disallow: /*****a****b` costs no more than its length. Only the first
500 KiB count (2.5). Lines of other kinds never end a group (2.2.4).

Forgiving as site owners need it: misspelt keys, a missing colon, a byte order mark, Unicode paths, HTML around it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from lycosa.errors import BadUrl
from lycosa.web.url import Base, spell_escapes

PARSED_BYTES = 500 * 1024
_LONGEST_LINE = 16 * 1024  # no URL is longer
_MOST_RULES = 50_000
_MOST_AGENTS = 100_000

_LINE_ENDS = re.compile(r"\r\n?|\n")
_KEYS = {
    "user-agent": "agent", "useragent": "agent", "user agent": "agent", "user_agent": "agent", "useg-agent": "agent",
    "user-agents": "agent", "ser-agent": "agent",
    "allow": "allow",
    "disallow": "disallow", "dissallow": "disallow", "dissalow": "disallow", "disalow": "disallow",
    "diasllow": "disallow", "disallaw": "disallow", "desallow": "disallow", "disallows": "disallow",
    "crawl-delay": "delay", "crawldelay": "delay", "crawl delay": "delay",
    "sitemap": "sitemap", "site-map": "sitemap",
}  # fmt: skip
_COLONLESS = re.compile(r"(user[ -]?agent|allow|dis+all?ow|crawl-?delay|sitemap)\s+(\S.*)", re.I)
_TOKEN = re.compile(r"[a-zA-Z_\-]+")
_AGENT_SPLIT = re.compile(r"[\s,;]+")
_NO_UTF8 = re.compile(r"[\ud800-\udfff]+")
_VERSION = re.compile(r"[/*].*")
_NUMBER = re.compile(r"([0-9]{1,12}(?:\.[0-9]{0,9})?|\.[0-9]{1,9})\s*(?:s|secs?|seconds?)?", re.I)
_TAG = re.compile(r"</?(?:br|p|pre|html|body|head|title|div|span|font|h[1-6])(?:\s[^<>]{0,200})?/?>", re.I)
_PLAIN = re.compile(r"[A-Za-z0-9\-._~/?=&:@!'(),;+]*")
_NEEDS_ESCAPE = re.compile(r"[^A-Za-z0-9\-._~/?=&:@!'(),;+%#\[\]]+")


class Rule(NamedTuple):
    allow: bool
    pattern: str


class Group(NamedTuple):
    """The merged rules for one crawler, and how long it asks that crawler to wait."""

    rules: tuple[Rule, ...] = ()
    crawl_delay_s: float | None = None


def _escape(text: str) -> str:
    """A path as it is compared (2.2.3): escapes in one spelling, and all that is not plain escaped as UTF-8.

    Stars and dollar signs are escaped too: bare, they are the wildcards of rules and nothing else.
    """
    if _PLAIN.fullmatch(text):
        return text
    return spell_escapes(_NEEDS_ESCAPE.sub(_escape_run, text))


def _escape_run(run: re.Match[str]) -> str:
    try:
        octets = run[0].encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        octets = run[0].encode("utf-8", "replace")
    return "".join([f"%{octet:02X}" for octet in octets])


def _escape_rule(text: str) -> str:
    body, mark = (text[:-1], "$") if text.endswith("$") else (text, "")
    return "*".join(map(_escape, body.split("*"))) + mark


class _Pattern:
    """A rule with stars or a dollar sign, cut into the pieces between the stars."""

    __slots__ = ("anchored", "head", "last", "middle")

    def __init__(self, pattern: str) -> None:
        self.anchored = pattern.endswith("$")
        pieces = pattern.removesuffix("$").split("*")
        self.head = pieces[0]
        self.last = pieces[-1] if self.anchored and len(pieces) > 1 else ""
        self.middle = tuple(piece for piece in (pieces[1:-1] if self.last else pieces[1:]) if piece)
        self.anchored = self.anchored and (len(pieces) == 1 or bool(self.last))

    def matches(self, path: str) -> bool:
        if not path.startswith(self.head):
            return False
        at = len(self.head)
        for piece in self.middle:
            at = path.find(piece, at)
            if at < 0:
                return False
            at += len(piece)
        if not self.anchored:
            return True
        if not self.last and not self.middle:
            return at == len(path)
        return len(path) - len(self.last) >= at and path.endswith(self.last)


class Matcher:
    """One group's rules, ready to ask: longest pattern first, Allow before Disallow of the same length."""

    __slots__ = ("_lengths", "_plain", "_wild", "crawl_delay_s")

    def __init__(self, group: Group) -> None:
        self.crawl_delay_s = group.crawl_delay_s
        self._plain: dict[str, bool] = {}
        wild: dict[str, bool] = {}
        for allow, pattern in group.rules:
            store = wild if "*" in pattern or pattern.endswith("$") else self._plain
            store[pattern] = store.get(pattern, False) or allow
        self._lengths = sorted({len(pattern) for pattern in self._plain}, reverse=True)
        order = sorted(wild.items(), key=lambda item: (-len(item[0]), not item[1]))
        self._wild = [(len(pattern), allow, _Pattern(pattern)) for pattern, allow in order]

    def allows(self, path: str) -> bool:
        """May this path (with its query, escaped) be fetched?"""
        if path == "/robots.txt":
            return True
        best, allowed = -1, True
        for length in self._lengths:
            verdict = self._plain.get(path[:length]) if length <= len(path) else None
            if verdict is not None:
                best, allowed = length, verdict
                break
        for length, allow, pattern in self._wild:
            if length < best or (length == best and allowed):
                break
            if pattern.matches(path):
                return allow if length > best else allow or allowed
        return allowed


class Robots:
    """A parsed robots.txt. `Robots.parse(b"")` allows everything."""

    __slots__ = ("_matchers", "_sections", "sitemaps")

    def __init__(self, sections: dict[str, list[_Section]], sitemaps: tuple[str, ...]) -> None:
        self._sections = sections
        self._matchers: dict[str, Matcher] = {}
        self.sitemaps = sitemaps  # as written; `sitemap_urls` makes them absolute

    @classmethod
    def parse(cls, body: bytes) -> Robots:
        reader = _Reader()
        text = _decode(body[:PARSED_BYTES])
        for line in _LINE_ENDS.split(text):
            reader.read(line)
        return cls(reader.sections(), tuple(dict.fromkeys(reader.sitemaps)))

    def matcher(self, agent: str) -> Matcher:
        """The rules for a crawler, by its product token (`Lycosa` of `Lycosa/1.0 (+https://…)`)."""
        found = self._matchers.get(agent)
        if found is None:
            found = Matcher(self._group(agent))
            if len(self._matchers) < 64:  # one crawler asks under one name; tools may ask under many
                self._matchers[agent] = found
        return found

    def _group(self, agent: str) -> Group:
        name = agent.strip().lower()
        token = _TOKEN.match(name)
        for candidate in (name, token[0] if token else name, "*"):
            if candidate in self._sections:
                sections = self._sections[candidate]
                delays = (section.delays.get(candidate) for section in sections)
                rules = tuple(rule for section in sections for rule in section.rules)
                return Group(rules, next((delay for delay in delays if delay is not None), None))
        return Group()

    def allows(self, agent: str, url: str) -> bool:
        return self.matcher(agent).allows(target_of(url))

    def crawl_delay(self, agent: str) -> float | None:
        return self.matcher(agent).crawl_delay_s

    def sitemap_urls(self, robots_url: str) -> list[str]:
        """The sitemaps as absolute http(s) URLs, in order, each once; what is no URL is left out."""
        base, found = Base(robots_url), []
        for sitemap in self.sitemaps:
            try:
                found.append(base.join(sitemap))
            except BadUrl:
                continue
        return [url for url in dict.fromkeys(found) if url.startswith(("http://", "https://"))]


def _decode(body: bytes) -> str:
    """As UTF-8, in which bytes that are none stay as they are, so that they match the same bytes escaped in a URL."""
    if body.startswith((b"\xff\xfe", b"\xfe\xff")):
        return body.decode("utf-16", "replace").lstrip("\ufeff")
    for part in (b"\xef\xbb\xbf", b"\xef\xbb", b"\xef"):  # some editors leave half of a byte order mark
        if body.startswith(part):
            body = body[len(part) :]
            break
    return body.decode("utf-8", "surrogateescape")


def target_of(url: str) -> str:
    """Path and query of a URL, escaped as rules are."""
    url = url.partition("#")[0]
    start = url.find("://")
    if start >= 0:
        start += 3
    elif url.startswith("//"):
        start = 2
    else:
        start = 0
    slash, query = url.find("/", start), url.find("?", start)
    if slash < 0 or 0 <= query < slash:
        return _escape("/" + url[query:] if query >= 0 else "/")
    return _escape(url[slash:])


class _Section:
    """Agent lines in a row and the rules under them."""

    __slots__ = ("agents", "delays", "rules")

    def __init__(self) -> None:
        self.agents: dict[str, None] = {}
        self.rules: list[Rule] = []
        self.delays: dict[str, float] = {}


class _Reader:
    """Reads lines into sections: agents gather until the first rule, and the next agent after a rule opens another."""

    def __init__(self) -> None:
        self.sitemaps: list[str] = []
        self._sections: list[_Section] = []
        self._open = False  # may a further agent line join the current section?
        self._rules = self._agents = 0

    def sections(self) -> dict[str, list[_Section]]:
        named: dict[str, list[_Section]] = {}
        for section in self._sections:
            for agent in section.agents:
                named.setdefault(agent, []).append(section)
        return named

    def read(self, line: str) -> None:
        is_cut = len(line) > _LONGEST_LINE
        if is_cut:
            line = line[:_LONGEST_LINE]
        bare = _bare_sitemap(line.strip())
        if bare:
            self.sitemaps.append(bare)
            return
        key, value = _split(line)
        if is_cut and key != "disallow" and "#" not in line:
            return  # cut short, a rule allows or names more than was meant; a Disallow only forbids more
        if key == "agent":
            self._agent(value)
        elif key in ("allow", "disallow"):
            self._open = False
            self._rule(key == "allow", value)
        elif key == "delay":
            self._delay(value)
        elif key == "sitemap" and value:
            self.sitemaps.append(_NO_UTF8.sub(_escape_run, value))

    def _agent(self, value: str) -> None:
        if not self._open:
            self._sections.append(_Section())
            self._open = True
        for name in _names(value):
            if self._agents < _MOST_AGENTS:
                self._agents += 1
                self._sections[-1].agents[name] = None

    def _rule(self, allow: bool, value: str) -> None:
        if not value or not self._sections or self._rules >= _MOST_RULES:
            return
        self._rules += 1
        pattern = _escape_rule(value)
        if pattern[0] not in "/*":
            pattern = "/" + pattern
        self._sections[-1].rules.append(Rule(allow, pattern))

    def _delay(self, value: str) -> None:
        number = _NUMBER.fullmatch(value)
        if not number or not self._sections:
            return
        section = self._sections[-1]
        if len(section.delays) == len(section.agents):
            return
        # The line speaks to the agents named since the last one of its kind, though it does not close the section.
        for agent in list(section.agents)[len(section.delays) :]:
            section.delays[agent] = float(number[1])


def _bare_sitemap(line: str) -> str | None:
    """A sitemap whose owner forgot to write `Sitemap:`."""
    low = line.lower()
    is_one = low.startswith(("http://", "https://")) and "sitemap" in low and " " not in low
    return line if is_one and low.endswith((".xml", ".xml.gz", ".txt", ".txt.gz")) else None


def _names(value: str) -> list[str]:
    """The agents a line speaks of: usually one; some owners write several, or a version behind the name."""
    name = value.strip().lower()
    if name.startswith("*"):
        return ["*"]
    words = _AGENT_SPLIT.split(name.partition("(")[0])
    bare = [_VERSION.sub("", word) for word in words]
    return [each for each in dict.fromkeys([name, *words, *bare]) if each]


def _split(line: str) -> tuple[str | None, str]:
    """Kind and value of a line; None for one that says nothing."""
    if "<" in line:
        line = _TAG.sub("", line)
    line = line.partition("#")[0].strip()
    key, colon, value = line.partition(":")
    kind = _KEYS.get(key.strip().lower()) if colon else None
    if kind is None:
        loose = _COLONLESS.fullmatch(line)
        if loose:
            kind, value = _KEYS.get(loose[1].lower()), loose[2]
    return kind, value.strip()
