"""URLs: parse and join as browsers do (WHATWG), then one normal form for each page.

`parse` and `Base.join` give the WHATWG serialisation, which is what is requested. `Normaliser` gives the form that is
the key: no fragment, no credentials, no trailing dot of the host, escapes in one spelling (RFC 3986 6.2.2), query
parameters sorted by name, tracking and session parameters gone. Trailing slashes and the case of paths stay.

Normalising is idempotent and leaves the host's owner as it was. Nothing here resolves a name or asks a server.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from operator import itemgetter
from typing import NamedTuple

import ada_url
import can_ada

from lycosa.config import SESSION, TRACKING
from lycosa.errors import BadUrl
from lycosa.kit.keys import url_key

try:
    from lycosa.native import read_links as _compiled
except ImportError:  # no compiler where it was installed
    _compiled = None  # type: ignore[assignment]

_EDGES = "".join(map(chr, range(0x21)))  # C0 controls and space, which surround a URL but are not part of it
_INNER = {9: None, 10: None, 13: None}  # tab and newlines vanish wherever they stand
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.\-]*):")
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})?")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_SLASHES = "/\\"
_SPECIAL = frozenset(("http", "https", "ws", "wss", "ftp", "file"))
_PATH_SESSION = re.compile(r"(?<!/\.)(?<!/\.\.);(?:jsessionid|phpsessid|sessionid|sid)=[^/?;]*", re.I)
# Names that may mean something else (a section, say) count as sessions only with a value that looks like a token.
_TOKEN = re.compile(r"(?:\w*sid|\w*session|zenid)=(?=[^0-9]*[0-9])[0-9A-Za-z,_\-]{16,}", re.I)
# A path that is its own normal form, and cannot be anything but a path: no dots but inside of names.
_PATH = r"[A-Za-z0-9_~\-][A-Za-z0-9_~.\-]*+(?:/[A-Za-z0-9_~\-][A-Za-z0-9_~.\-]*+)*+/?"
_SIMPLE = re.compile(f"/?{_PATH}|/")
# The same with a host before it: one whose last label has a letter first, so that it is no number, and no Punycode.
_SIMPLE_URL = re.compile(rf"https?://(?![a-z0-9.\-]*?xn--)(?:[a-z0-9\-]++\.)*[a-z][a-z0-9\-]*+(?:/|/{_PATH})")
_NORMAL_BASE = re.compile(r"https?://[a-z0-9\-]++(?:\.[a-z0-9\-]++)*+(?::[0-9]++)?(?:/[A-Za-z0-9_~.\-]*+)*+")
_UNTIDY = re.compile(r"[%?;\[\]^`|{}\\]")  # what makes a path or query need more than a copy
_ILLEGAL = {ord(letter): f"%{ord(letter):02X}" for letter in "[]^`|{}\\"}  # kept by WHATWG, not in RFC 3986
_KNOWN_NAMES = 4096
_KNOWN_LINKS = 50_000
_KNOWN_ORIGINS = 10_000
_LONGEST_KNOWN = 300  # characters: so they are 50 MB at the very most, and a fifth of that in practice
_LONGEST_AUTHORITY = 1_000  # a longer one costs the parser quadratic time, and resolves nowhere
_AUTHORITY = re.compile(r"[^:/?#\\]*:?[/\\]*([^/\\?#]*)")
_LONGEST = 1 << 20  # past this no text is looked at as a URL


def _href(text: str) -> str:
    """The WHATWG serialisation of an absolute URL."""
    if len(text) > _LONGEST_AUTHORITY:
        _check_length(text)
    if text.isascii() and "^" not in text:
        try:
            href = str(can_ada.parse(text).href)
        except ValueError:
            return _exact_href(text)
        if "/." not in href and ("%" not in text or "%" not in _authority(text)):
            return href
    return _exact_href(text)


def _check_length(text: str) -> None:
    if len(text) > _LONGEST:
        raise BadUrl(f"a text of {len(text)} characters is no URL: give one under {_LONGEST}")
    if len(_authority(text)) > _LONGEST_AUTHORITY:
        raise BadUrl(f"{_shown(text)} has no host that could be looked up: a name has at most 253 characters")


def _authority(text: str) -> str:
    """What stands where a URL has its host, as far as can be told without parsing."""
    found = _AUTHORITY.match(text)
    return found[1] if found else ""


def _exact_href(text: str) -> str:
    """The same by a newer parser that takes five times as long, where the fast one may be wrong (ADR 2)."""
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # lone surrogates become U+FFFD
    try:
        return ada_url.URL(whole).href
    except ValueError:
        raise BadUrl(f"{_shown(text)} is not a URL: write it like https://example.org/page") from None


def _shown(text: str) -> str:
    return repr(text if len(text) <= 200 else f"{text[:200]}…")


def parse(text: str, base: str | None = None) -> str:
    """The WHATWG serialisation of `text`, relative to `base` if it is relative; BadUrl when there is none."""
    return Base(base).join(text) if base is not None else _href(text)


def is_web(url: str) -> bool:
    """Can it be fetched over http or https?"""
    return url.startswith(("http://", "https://"))


class Base:
    """A page's base URL, taken apart once so that each of its links is joined by cutting strings."""

    __slots__ = ("_document", "_page", "_scheme", "directory", "href", "is_normal", "origin")

    def __init__(self, url: str, *, is_parsed: bool = False) -> None:
        href = url if is_parsed else _href(url)
        self.href = href
        self._document = href.partition("#")[0]
        self._page = self._document.partition("?")[0]
        scheme, mark, after = self._page.partition("://")
        self._scheme = scheme if mark else href.partition(":")[0]
        path_at = after.find("/")
        self.origin = f"{scheme}://{after[:path_at]}" if mark and path_at >= 0 else ""
        self.directory = self._page[: self._page.rindex("/") + 1] if self.origin else ""
        # Are its origin and directory as `Normaliser` would have them? Then so are they with a simple path behind.
        self.is_normal = scheme in ("http", "https") and _NORMAL_BASE.fullmatch(self.directory) is not None

    def join(self, ref: str) -> str:
        """The absolute URL of a link as it stands in the page."""
        ref = ref.strip(_EDGES)
        if "\n" in ref or "\t" in ref or "\r" in ref:
            ref = ref.translate(_INNER)
        named = _SCHEME.match(ref)
        if named:
            if named[1].lower() != self._scheme or self._scheme not in _SPECIAL:
                return _href(ref)
            ref = ref[named.end() :]  # the same scheme again: what follows is relative (or starts with //)
        return _href(self._absolute(ref))

    def _absolute(self, ref: str) -> str:
        first = ref[:1]
        if not self.origin:
            if first == "#" or not ref:
                return self._document + ref
            raise BadUrl(f"{_shown(ref)} is relative and {_shown(self.href)} cannot be its base: give a full URL")
        if first in _SLASHES and first:
            doubled = ref[1:2] and ref[1:2] in _SLASHES
            return f"{self._scheme}:{ref}" if doubled else self.origin + ref
        if first == "?":
            return self._page + ref
        return self._document + ref if first in ("#", "") else self.directory + ref


def _spell(found: re.Match[str]) -> str:
    digits = found[1]
    if digits is None:
        return "%25"  # a stray percent sign, or it could become an escape once its neighbours are decoded
    letter = chr(int(digits, 16))
    return letter if letter in _UNRESERVED else f"%{digits.upper()}"


def spell_escapes(text: str) -> str:
    """Percent-escapes in their one spelling: unreserved characters bare, all others in upper case."""
    return _ESCAPE.sub(_spell, text) if "%" in text else text


class Cut(NamedTuple):
    """A normalised URL cut in two: its host, and all of it but the host."""

    host: str
    rest: str

    def key(self) -> bytes:
        return url_key(self.host, self.rest)


def cut(url: str) -> Cut:
    """Host and rest of a URL that `parse` or `Normaliser` made; ports and schemes belong to the rest."""
    start = url.index("://") + 3
    slash = url.index("/", start)
    at = url.rfind("@", start, slash) + 1 or start
    if url[at] == "[":
        end = url.index("]", at) + 1
    else:
        colon = url.find(":", at, slash)
        end = slash if colon < 0 else colon
    return Cut(url[at:end], url[:start] + url[end:])


def host_of(url: str) -> str:
    start = url.index("://") + 3
    authority = url[start : url.index("/", start)]
    return cut(url).host if ":" in authority or "@" in authority else authority


class _Names:
    """Parameter names to drop: exact names and prefixes or infixes with a star, case left aside."""

    def __init__(self, patterns: Iterable[str]) -> None:
        wanted = sorted({pattern.lower() for pattern in patterns if pattern})
        self._exact = frozenset(name for name in wanted if "*" not in name)
        stars = [re.escape(name).replace(r"\*", ".*") for name in wanted if "*" in name]
        self._like = re.compile("|".join(stars) or r"(?!)", re.S)
        self.known: dict[str, bool] = {}  # a site has few parameter names, and asks about them on every link

    def __contains__(self, name: str) -> bool:
        known = self.known.get(name)
        if known is None:
            low = name.lower()
            known = low in self._exact or self._like.fullmatch(low) is not None
            if len(self.known) >= _KNOWN_NAMES:
                self.known.clear()
            if len(name) < 64:
                self.known[name] = known
        return known


_name = itemgetter(0)


class Normaliser:
    """The normal form of URLs, with the parameters that never tell pages apart.

    The lists are names, case left aside, where `*` stands for anything: `utm_*`.
    """

    def __init__(self, tracking: Iterable[str] = TRACKING, session: Iterable[str] = SESSION) -> None:
        self._dropped = _Names([*tracking, *session])
        self._known: dict[str, dict[str, str]] = {}  # by origin: pages of one site have the same menus
        self._remembered = 0
        self._page: tuple[str, Base] | None = None  # the last one whose links were asked for

    def __call__(self, text: str, base: str | None = None) -> str:
        """The normal form of a URL of the web; BadUrl for anything else."""
        return self.of_href(parse(text, base))

    def of_href(self, href: str) -> str:
        """The same for what `parse` or `Base.join` returned: the hot path."""
        if not href.startswith(("http://", "https://")):
            raise BadUrl(f"{_shown(href)} is not a page of the web: only http and https URLs are crawled")
        url = href.partition("#")[0]
        slash = url.index("/", 8)
        authority = url[:slash]
        if "@" in authority or authority[-1] == "." or ".:" in authority:
            authority = self._plain_authority(authority)
        rest = url[slash:]
        if _UNTIDY.search(rest):
            rest = self._plain_rest(rest)
        return authority + rest

    def links(self, base: str, refs: list[str]) -> dict[str, str]:
        """Each usable link of a page, as it stands there: its normal form. Repeats cost nothing."""
        slash = base.find("/", 8)
        rooted = self._known.get(base[:slash]) if slash > 0 else None
        if rooted is None or _compiled is None:
            return self._links(base, refs)
        whole = self._meanings("")
        before = len(rooted) + len(whole)
        found = _compiled(refs, base, slash, self._known, rooted, whole, self._dropped.known, self._learn)
        self._make_room(len(rooted) + len(whole) - before)
        return self._links(base, refs) if found is None else found

    def _links(self, base: str, refs: list[str]) -> dict[str, str]:
        """The same where nothing was compiled, for the first page of an origin, and for one with an odd URL."""
        rooted, whole = self._meanings(self._joined(base).origin), self._meanings("")
        before = len(rooted) + len(whole)
        found: dict[str, str] = {}
        forms: dict[str, str | None] = {}  # by what stands before the fragment
        for ref in refs:
            if ref in found:
                continue
            target = ref.partition("#")[0]
            url = rooted.get(target) or whole.get(target)
            if url is None:
                if target not in forms:
                    forms[target] = self._learn(base, target)
                url = forms[target]
            if url is not None:
                found[ref] = url
        self._make_room(len(rooted) + len(whole) - before)
        return found

    def _joined(self, base: str) -> Base:
        """The page whose links are asked for. Most have a simple path on an origin that was parsed before: that is its
        own serialisation."""
        page = self._page
        if page is None or page[0] != base:
            slash = base.find("/", 8)
            is_parsed = slash > 0 and base[:slash] in self._known and _SIMPLE.fullmatch(base, slash) is not None
            page = self._page = base, Base(base, is_parsed=is_parsed)
        return page[1]

    def _meanings(self, origin: str) -> dict[str, str]:
        """What is known of links that begin with a slash: they mean the same on every page of an origin. Those that are
        whole URLs, under no origin, mean the same everywhere."""
        known = self._known.get(origin)
        if known is None:
            known = self._known[origin] = {}
            self._remembered += 1
        return known

    def _learn(self, base: str, target: str) -> str | None:
        """The normal form of a link that is not known; one that means the same on other pages is, from now on."""
        joined = self._joined(base)
        url = self._form(joined, target)
        if url is not None and len(target) < _LONGEST_KNOWN:
            if target[:1] == "/" and target[1:2] not in ("/", "\\"):
                self._meanings(joined.origin)[target] = url
            elif target.startswith(("http://", "https://")):
                self._meanings("")[target] = url
        return url

    def _make_room(self, learned: int) -> None:
        """After a page: forget links once they are too many, and origins only if they are."""
        self._remembered += learned
        if self._remembered >= _KNOWN_LINKS:
            if len(self._known) >= _KNOWN_ORIGINS:
                self._known.clear()
            for meanings in self._known.values():
                meanings.clear()
            self._remembered = len(self._known)

    def _form(self, base: Base, ref: str) -> str | None:
        if base.is_normal and _SIMPLE.fullmatch(ref):
            return (base.origin if ref[0] == "/" else base.directory) + ref
        if len(ref) <= _LONGEST_AUTHORITY and _SIMPLE_URL.fullmatch(ref):
            return ref
        try:
            return self.of_href(base.join(ref))
        except BadUrl:
            return None

    @staticmethod
    def _plain_authority(authority: str) -> str:
        """Without credentials and without the dot that ends a full name."""
        scheme, _, rest = authority.partition("://")
        rest = rest.rpartition("@")[2]
        host, colon, port = rest.partition(":") if "[" not in rest else (rest, "", "")
        host = host.removesuffix(".")
        if not host or host[-1] == ".":
            raise BadUrl(f"{_shown(authority)} names no host that could be looked up: take away the dots at its end")
        return f"{scheme}://{host}{colon}{port}"

    def _plain_rest(self, rest: str) -> str:
        path, mark, query = spell_escapes(rest.translate(_ILLEGAL)).partition("?")
        if ";" in path:
            path = _PATH_SESSION.sub("", path)
        if not query:
            return path + mark
        named = [(pair.partition("=")[0], pair) for pair in query.split("&") if pair]
        dropped = self._dropped
        kept = [at for at in named if at[0] not in dropped and not (len(at[1]) > 19 and _TOKEN.fullmatch(at[1]))]
        if not kept:
            return path if named else path + mark
        kept.sort(key=_name)  # by name only: the order of equal names may mean something
        return f"{path}?{'&'.join([pair for _, pair in kept])}"
