"""Pages that would cost an HTML parser far more than their size, made harmless before it sees them.

Three shapes are quadratic or worse by the standard itself: deep nesting (each block tag searches the stack of open
elements), formatting tags left open (each paragraph opens all of them anew: 20 KB can become 800 MB), and thousands of
attributes on one tag (each is compared with all before it). A page that cannot be any of them, which a few counts
show, is returned as it is. The others are rewritten by a tokeniser that follows the standard: tags deeper than
`DEEPEST` are closed at once, formatting is dropped, attributes are capped, scripts and styles go. Links and text stay.
"""

from __future__ import annotations

import re
from collections import Counter

import numpy as np

DEEPEST = 400
_FEW_TAGS = 1_000  # no arrangement of so few tags costs more than a tenth of a second
_MANY_TAGS = 20_000  # opening tags; past this, counting is no proof
_STRAY_TAGS = 2_000  # closing tags that close nothing
_STACK_STEPS = 35_000_000  # a twentieth of a second
_REBUILT_ELEMENTS = 500_000
_HEAVY_PAGE = 100_000  # bytes; below, even a few tags that are all of it are soon copied
_LONG_STYLED = 200
_REBUILT_BYTES = 100_000_000
_FEW_OPEN, _MANY_OPEN = 30, 300
_MANY_STYLED = 500
_LONG_TAG = 9_000  # bytes: room for too many attributes
_LONGEST_NAME = 100
_MOST_TAGS = 250_000
_MANY_ATTRIBUTES = 2_000
_MOST_ATTRIBUTES = 100
_MOST_NAMED = 30_000  # links and pictures kept; a page is read up to fewer than that
_LESS, _SLASH, _GREATER = b"</>"

_Places = np.ndarray[tuple[int], np.dtype[np.int64]]
_Bytes = np.ndarray[tuple[int], np.dtype[np.uint8]]
_Flags = np.ndarray[tuple[int], np.dtype[np.bool_]]
_FORMATTING = b"b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u"
_IS_LETTER = np.zeros(256, dtype=bool)
_IS_LETTER[ord("a") : ord("z") + 1] = True
_FLAT_CODES = [
    int.from_bytes(name.encode()[:3].ljust(3, b"\0"), "big")
    for name in "area base br col hr img input link meta p li dt dd source track wbr".split()
]
_LONGEST_FORMATTING = max(map(len, _FORMATTING.split(b"|")))
_MOST_PLAIN = 3 * len(_FORMATTING.split(b"|"))  # formatting tags without attributes that a parser holds open
_STYLED = re.compile(rb"<(?:" + _FORMATTING + rb")[\s/][^>]*", re.I)  # formatting tags that carry attributes


def _pairs(after: bytes) -> _Flags:
    """By the first two letters of a tag: may it be formatting? `after` is what may follow a name of one letter."""
    table = np.zeros(1 << 16, dtype=bool)
    for name in _FORMATTING.split(b"|"):
        for first in {name[0], name[:1].upper()[0]}:
            for second in name[1:2] + name[1:2].upper() or after:
                table[first | second << 8] = True
    return table


_STYLED_PAIRS, _FORMATTING_PAIRS = _pairs(b"\t\n\x0c\r /"), _pairs(b"\t\n\x0c\r />")
_WELL_FORMED = re.compile(rb"<[a-zA-Z]+(?:\s+[^\s\"'<>/=]+(?:=\"[^\"]*\"|='[^']*'|=[^\s\"'<>=`]+)?)*+\s*/?")

_ATTRIBUTES = (  # the standard's states for attributes (13.2.5.32 to 13.2.5.39), so that a tag ends where it does there
    rb"(?:[\s/]++|[^\s/>][^\s/>=]*+(?:\s*+=\s*+(?:\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z)|[^\s>]*+))?+)*+"
)
_TOKEN = re.compile(
    rb"<(?:(/?)([a-zA-Z][^\s/>]*+)(" + _ATTRIBUTES + rb")(?:>|\Z)"
    rb"|!--(?:-?>|.*?(?:--!?>|\Z))|[!?/][^>]*+(?:>|\Z))",
    re.S,
)
_ATTRIBUTE = re.compile(rb"[\s/]*+([^\s/>][^\s/>=]*+)(?:\s*+=\s*+(?:\"([^\"]*+)\"?|'([^']*+)'?|([^\s>]*+)))?+")
_TIDY = re.compile(rb"(?:\s++[a-zA-Z][a-zA-Z0-9\-:_]*+=\"[^\"]*+\"){0,20}+\s*+")
_RAW = frozenset(b"script style xmp iframe noembed noframes textarea title plaintext".split())
_DROPPED = frozenset([*_FORMATTING.split(b"|"), *b"template svg math select frameset html head body".split()])
_VOID = frozenset(
    b"area base br col embed hr img input link meta source track wbr param basefont bgsound frame".split()
)
_NAMED = frozenset(b"a area base img link meta".split())  # worth keeping at any depth


def tame(html: bytes) -> bytes:
    """The page (in UTF-8) itself when it is harmless, else one that says the same at bounded cost."""
    return flatten(html) if _is_suspect(html) else html


def _is_suspect(html: bytes) -> bool:
    """Cheap proofs of harmlessness first: most pages are past after a few looks at each tag."""
    if _has_long_tag(html):
        return True
    letters = np.frombuffer(html, dtype=np.uint8)
    starts = letters[:-3] == _LESS
    count = int(np.count_nonzero(starts))
    if count <= _FEW_TAGS and len(html) < _HEAVY_PAGE:
        return False
    tags = starts.nonzero()[0]
    first, second = letters.take(tags + 1), letters.take(tags + 2)
    names = first | second.astype(np.uint16) << 8
    is_styled = _STYLED_PAIRS.take(names)
    styled = tags[is_styled]
    if (len(styled) + _MOST_PLAIN) * count > _REBUILT_ELEMENTS:
        styled = _with_attributes(letters, styled)
    may_rebuild = (len(styled) + _MOST_PLAIN) * count > _REBUILT_ELEMENTS
    if len(html) >= _HEAVY_PAGE and _styled_bytes(html, tags, is_styled) * count > _REBUILT_BYTES:
        return True
    if count <= _STRAY_TAGS and not may_rebuild:
        return False
    is_closing = first == _SLASH
    closing = int(np.count_nonzero(is_closing))
    opening = count - closing
    if opening > _MANY_TAGS or closing > opening + _STRAY_TAGS:
        return True
    if opening * count > _STACK_STEPS and _depth_bound(letters, tags, is_closing) * count > _STACK_STEPS:
        return True
    if not may_rebuild:
        return False
    ends = _FORMATTING_PAIRS.take(second | letters.take(tags + 3).astype(np.uint16) << 8) & is_closing
    if np.count_nonzero(_FORMATTING_PAIRS.take(names)) - np.count_nonzero(ends) > _FEW_OPEN:
        return _open_formatting(html, styled) * count > _REBUILT_ELEMENTS
    return len(styled) > _MANY_STYLED and _open_formatting(html, styled) > _MANY_OPEN


def _with_attributes(letters: _Bytes, tags: _Places) -> _Places:
    """Those of the tags whose name is not followed by `>` at once."""
    at = tags + 1
    for _ in range(_LONGEST_FORMATTING):
        at = at + _IS_LETTER.take(letters.take(at, mode="clip") | 0x20)
    styled: _Places = tags[letters.take(at, mode="clip") != _GREATER]
    return styled


def _styled_bytes(html: bytes, tags: _Places, is_styled: _Flags) -> int:
    """How long the long formatting tags are, all together: a parser that opens them anew copies their attributes."""
    sizes = np.diff(tags, append=len(html))[is_styled]
    if int(sizes[sizes > _LONG_STYLED].sum()) * len(tags) <= _REBUILT_BYTES:  # with the text behind them
        return 0
    found = (_STYLED.match(html, at) for at in tags[is_styled].tolist())
    return sum(len(tag[0]) for tag in found if tag and len(tag[0]) > _LONG_STYLED)


def _depth_bound(letters: _Bytes, tags: _Places, is_closing: _Flags) -> int:
    """At most how deep the tags can nest: for each name how many are open at once, all names added up.

    A closing tag counts only against an opening one of its name before it. Names are told apart by three letters, and
    those that cannot nest by themselves are left out: a thousand `<br>` in a row are no depth.
    """
    name_at = np.minimum(tags + np.where(is_closing, 2, 1), len(letters) - 3)
    lower = [letters[name_at + letter] | 0x20 for letter in range(3)]
    second_counts = _IS_LETTER[lower[1]]
    third_counts = second_counts & _IS_LETTER[lower[2]]
    codes = lower[0].astype(np.int64) << 16 | np.where(second_counts, lower[1], 0).astype(np.int64) << 8
    codes |= np.where(third_counts, lower[2], 0)
    order = np.argsort(codes, kind="stable")
    codes, steps = codes[order], np.where(is_closing, -1, 1)[order]
    starts = np.flatnonzero(np.append(True, codes[1:] != codes[:-1]))
    # Each name's run of steps lies below the one before, so that one running minimum serves them all.
    level = np.cumsum(steps) - np.repeat(np.arange(len(starts)) * 4 * len(tags), np.diff(np.append(starts, len(tags))))
    floor = level - steps
    floor = np.minimum.accumulate(np.minimum(level, np.where(np.isin(np.arange(len(tags)), starts), floor, level)))
    deepest = np.maximum.reduceat(level - floor, starts)
    return int(deepest[~np.isin(codes[starts], _FLAT_CODES)].sum())


def _has_long_tag(html: bytes) -> bool:
    """Is there a tag with thousands of attributes? Looks at a few places, not at every byte."""
    step, start = _LONG_TAG // 2, 0
    while start < len(html) - step:
        end = html.find(b">", start)
        end = len(html) if end < 0 else end
        if end - start > step:
            opened = html.rfind(b"<", max(0, start - step), start + step)
            if opened >= 0 and end - opened > _LONG_TAG:
                tag = _TOKEN.match(html[opened : opened + 20 * _LONG_TAG])
                # More words than attributes: values may have blanks in them. That only costs a rewrite.
                if tag is None or (tag[3] is not None and len(tag[3].replace(b"/", b" ").split()) > _MANY_ATTRIBUTES):
                    return True
            start = end
        start += step
    return False


def _open_formatting(html: bytes, tags_at: _Places) -> int:
    """How many formatting elements a parser may come to hold open: three of each distinct tag with attributes."""
    found = (_STYLED.match(html, at) for at in tags_at.tolist())
    tags = Counter(tag[0] for tag in found if tag)
    return sum(min(3, count) if _WELL_FORMED.fullmatch(tag) else count for tag, count in tags.items())


class _Flattener:
    """Writes tags so that every one is closed in order and none stands deeper than `DEEPEST`."""

    def __init__(self, html: bytes) -> None:
        self.html = html
        self.out: list[bytes] = []
        self.stack: list[bytes] = []
        self.open: Counter[bytes] = Counter()
        self.named_left = _MOST_NAMED

    def begin(self, name: bytes, attributes: bytes) -> None:
        if name in _NAMED:
            self.named_left -= 1
            if self.named_left < 0:
                return
        if len(self.stack) >= DEEPEST:
            if name in _NAMED:
                self.out.append(b"<%b%b></%b>" % (name, _plain_attributes(attributes), name))
            return
        self.out.append(b"<%b%b>" % (name, _plain_attributes(attributes)))
        if name not in _VOID:
            self.stack.append(name)
            self.open[name] += 1

    def end(self, name: bytes) -> None:
        while self.open[name]:
            top = self.stack.pop()
            self.open[top] -= 1
            self.out.append(b"</%b>" % top)
            if top == name:
                return

    def raw(self, name: bytes, at: int) -> int:
        """Leave out an element whose content is no markup, but for a title. Returns the position behind it."""
        end = re.compile(rb"</%b[\s/>]" % name, re.I).search(self.html, at)
        if end is None:
            return len(self.html)
        if name == b"title":
            self.out.append(b"<title>%b</title>" % self.html[at : end.start()].replace(b"<", b"&lt;"))
        return self.html.find(b">", end.start()) + 1 or len(self.html)


def flatten(html: bytes) -> bytes:
    """The page with bounded nesting: what is deeper than `DEEPEST` stands side by side."""
    flat, at = _Flattener(html), 0
    scan, out, stack = _TOKEN.search, flat.out, flat.stack
    left = _MOST_TAGS
    while (token := scan(html, at)) is not None:
        left -= 1
        if left < 0:
            return b"".join(out)  # no page for people has so many; the rest is not read
        start, end = token.span()
        if start > at:
            out.append(html[at:start].replace(b"<", b"&lt;"))
        at = end
        closing, name, attributes = token.groups()
        if name is None or len(name) > _LONGEST_NAME:
            continue
        name = name.lower()
        if closing:
            flat.end(name)
        elif name in _RAW:
            at = flat.raw(name, at)
        elif len(stack) < DEEPEST or name in _NAMED:
            if name not in _DROPPED:
                flat.begin(name, attributes)
        elif out[-1] != b" ":
            out.append(b" ")
    out.append(html[at:].replace(b"<", b"&lt;"))
    return b"".join(out)


def _plain_attributes(attributes: bytes) -> bytes:
    """At most `_MOST_ATTRIBUTES` of them, quoted so that they can be read in one way only."""
    if _TIDY.fullmatch(attributes):
        return attributes
    kept: dict[bytes, bytes] = {}
    at = 0
    while len(kept) < _MOST_ATTRIBUTES and (found := _ATTRIBUTE.match(attributes, at)):
        at = found.end()
        name = found[1].lower()
        if b"<" not in name and b'"' not in name and b"'" not in name:
            kept.setdefault(name, (found[2] or found[3] or found[4] or b"").replace(b'"', b"&quot;"))
    return b"".join([b' %b="%b"' % pair for pair in kept.items()])
