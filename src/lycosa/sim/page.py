"""A page as HTML: title, navigation, paragraphs with links among them, pictures, footer.

The text is a function of seed, page and version: each version rewrites one paragraph, in turn, and leaves the
rest. A near copy is its source with a few words replaced, an exact copy is its source. Links do not change
with versions.
"""

from html import escape
from math import exp

from lycosa.sim.atlas import Atlas, Kind, PageId
from lycosa.sim.links import LinkTo, links_of
from lycosa.sim.words import Lexicon, lexicon, write_prose

_PARAGRAPH_WORDS = 60
_LEAST_WORDS = 150
_LINK_BYTES = 75
_FRAME_BYTES = 700
_STYLE = "body{font:16px/1.5 serif;max-width:60em;margin:auto}nav li{display:inline}"


def render_page(atlas: Atlas, page: PageId, version: int) -> bytes:
    """The body of a page that answers 200."""
    source = atlas.source(page)
    tongue = lexicon(atlas.language(source.host))
    links = links_of(atlas, source)
    title = tongue.title(atlas.dice, *source)
    paragraphs = _write(atlas, page, version, len(links))
    charset = charset_of(atlas, source.host)
    html = _lay_out(_head(atlas, source, title, charset), title, paragraphs, _anchors(atlas, source, tongue, links))
    return html.encode(charset, "xmlcharrefreplace")


def charset_of(atlas: Atlas, host: int) -> str:
    if atlas.dice.share("legacy charset", host) < atlas.plan.legacy_charset_share:
        return lexicon(atlas.language(host)).tongue.legacy_charset
    return "utf-8"


def is_noindex(atlas: Atlas, page: PageId) -> bool:
    """Front pages are always for the index."""
    source = atlas.source(page)
    return source.number > 0 and atlas.dice.share("noindex", *source) < atlas.plan.noindex_share


def canonical_of(atlas: Atlas, page: PageId) -> str | None:
    """A copy carries its source's canonical link, as copies do."""
    source = atlas.source(page)
    return atlas.url(source) if atlas.dice.share("canonical", *source) < atlas.plan.canonical_share else None


def _write(atlas: Atlas, page: PageId, version: int, links: int) -> list[str]:
    dice, plan, source = atlas.dice, atlas.plan, atlas.source(page)
    tongue = lexicon(atlas.language(source.host))
    sigma = plan.page_bytes_sigma
    wanted_bytes = plan.page_bytes * exp(sigma * dice.normal("bytes", *source) - sigma * sigma / 2)
    words = max(_LEAST_WORDS, int((wanted_bytes - _FRAME_BYTES - _LINK_BYTES * links) / tongue.bytes_per_word))
    count = max(2, round(words / _PARAGRAPH_WORDS))
    edits = _edits(atlas, page, count) if atlas.kind(page) is Kind.NEAR else {}
    written = []
    for i in range(count):
        revision = max(0, version - (version - i) % count)
        raw = dice.stretch(2 * (words // count), "text", *source, i, revision)
        text = tongue.draw(raw)
        for place, word in edits.get(i, ()):
            spot = place % len(text)
            text[spot] = word if word != text[spot] else tongue.words[-1]
        written.append(write_prose(text, raw))
    return written


def _edits(atlas: Atlas, page: PageId, paragraphs: int) -> dict[int, list[tuple[int, str]]]:
    """Which words a near copy replaces: paragraph -> (place, new word)."""
    words = lexicon(atlas.language(atlas.source(page).host)).words
    edits: dict[int, list[tuple[int, str]]] = {}
    for n in range(max(1, atlas.plan.near_edits)):
        drawn = atlas.dice.number("edit", *page, n)
        word = words[len(words) // 2 + (drawn >> 40) % (len(words) // 2)]
        edits.setdefault(drawn % paragraphs, []).append(((drawn >> 20) % 1000, word))
    return edits


def _head(atlas: Atlas, source: PageId, title: str, charset: str) -> str:
    lines = [f'<meta charset="{charset}">', f"<title>{title}</title>", f"<style>{_STYLE}</style>"]
    if is_noindex(atlas, source):
        lines.append('<meta name="robots" content="noindex">')
    if canonical := canonical_of(atlas, source):
        lines.append(f'<link rel="canonical" href="{escape(canonical)}">')
    head = "\n".join(lines)
    return f'<!DOCTYPE html>\n<html lang="{atlas.language(source.host)}">\n<head>\n{head}\n</head>\n'


def _anchors(atlas: Atlas, source: PageId, tongue: Lexicon, links: list[LinkTo]) -> list[str]:
    names = tongue.draw(atlas.dice.stretch(4 * len(links) + 2, "anchors", *source))
    written = []
    for n, link in enumerate(links):
        href = escape(link.target if link.host is None else atlas.origin(link.host) + link.target)
        text = f"{names[2 * n]} {names[2 * n + 1]}"
        if link.is_image:
            written.append(f'<img src="{href}" alt="{text}">')
        else:
            rel = ' rel="nofollow"' if link.nofollow else ""
            written.append(f'<a href="{href}"{rel}>{text}</a>')
    return written


def _lay_out(head: str, title: str, paragraphs: list[str], anchors: list[str]) -> str:
    menu, rest = anchors[:10], anchors[10:]
    items = "".join(f"<li>{anchor}</li>" for anchor in menu)
    blocks = []
    for n, text in enumerate(paragraphs):
        blocks.append(f"<p>{text} {rest[n]}</p>\n" if n < len(rest) else f"<p>{text}</p>\n")
    related = "".join(f"<li>{anchor}</li>" for anchor in rest[len(paragraphs) :])
    return (
        f"{head}<body>\n<header><nav><ul>{items}</ul></nav></header>\n<main><article>\n<h1>{title}</h1>\n"
        f"{''.join(blocks)}</article>\n<aside><ul>{related}</ul></aside></main>\n"
        "<footer><small>A page that nobody wrote.</small></footer>\n</body>\n</html>\n"
    )
