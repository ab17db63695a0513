"""An HTML page read in one pass: links and metadata at once, headings and text when asked for.

A page whose tags nest as they stand is read by `web.plain`, in C where that was compiled. For any other the tree is
built by Lexbor, exactly as browsers build it, and walked once (`web.tree`). Both tell `Elements` what they find, and
both find the same. What `noscript` holds is meant for readers like us, so its links count, but it has no say over the
page (no base, no refresh). Links stay as they stand in the page, with the kind of element that named them;
`web.url.Normaliser.links` makes URLs of them, relative to `Page.base`.

Any bytes give a page. All that a server controls is capped: bytes parsed, depth and cost of the tree (`web.taming`),
number and length of links, metadata and text; what a cap cut off is said in `Page.cut`.
"""

from __future__ import annotations

from lycosa.web import charset as charsets
from lycosa.web.page import Page
from lycosa.web.plain import read_plain
from lycosa.web.tree import read_tree

PARSED_BYTES = 4_000_000


def read_page(body: bytes, url: str, content_type: str | None = None) -> Page:
    """Read the bytes of a page found at `url`; `content_type` is the HTTP header."""
    charset = charsets.sniff(body, content_type)
    page = Page(base=url, charset=charset)
    if len(body) > PARSED_BYTES:
        body = body[:PARSED_BYTES]
        page.cut_early.append("length")
    html = _as_utf8(body, charset)
    if not read_plain(html, page):
        read_tree(html, page)
    return page


def _as_utf8(body: bytes, charset: charsets.Charset) -> bytes:
    """What the parser takes. Bad bytes in UTF-8 it replaces itself."""
    if charset.label == "utf-8":
        return body.removeprefix(b"\xef\xbb\xbf")
    return charsets.decode(body, charset).encode("utf-8", "replace")
