"""What is measured on: made-up documentation pages, the same bytes everywhere, or files named on the command line."""

from __future__ import annotations

import random
from pathlib import Path
from typing import NamedTuple


class Sample(NamedTuple):
    name: str
    url: str
    body: bytes


def documentation_page(sections: int, seed: int = 11) -> Sample:
    """A page as documentation generators write it: many small tags, a link for every 400 bytes."""
    dice = random.Random(seed)

    def say(count: int) -> str:
        return " ".join("".join(dice.choices("abcdefghij", k=dice.randint(2, 9))) for _ in range(count))

    def link(href: str, text: str, kind: str = "reference internal") -> str:
        return f'<a class="{kind}" href="{href}" title="{say(1)}">{text}</a>'

    def code(text: str) -> str:
        return f'<code class="xref"><span class="pre">{text}</span></code>'

    menu = "".join(f'<li class="toctree-l1">{link(f"../{say(1)}.html", say(2))}</li>\n' for _ in range(12))
    parts = []
    for number in range(sections):
        tokens = "".join(f'<span class="n">{say(1)}</span><span class="o">.</span><span class="mi">7</span>\n' * 6)
        parts += [
            f'<section id="s{number}">\n<h2>{say(3)}{link(f"#s{number}", "¶", "headerlink")}</h2>\n',
            f"<p>{say(18)} {link(f'{say(1)}.html#{say(1)}', code(say(1)))} {say(25)}\n{say(12)} <em>{say(2)}</em>\n",
            f'<div class="highlight"><pre><span></span>{tokens}</pre></div>\n',
            f'<ul class="simple">\n<li><p>{say(6)} {code(say(1))}</p></li>\n',
            f"<li><p>{link(f'https://{say(1)}.example/{say(1)}?q={number}', say(2))}</p></li>\n</ul>\n</section>\n",
        ]
    body = (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8" />\n<title>{say(5)}</title>\n'
        '<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="../_static/a.css" />\n'
        '<link rel="next" href="next.html" /><script src="../_static/a.js"></script>\n</head><body>\n'
        f'<div class="sphinxsidebar" role="navigation"><ul>\n{menu}</ul></div>\n<div class="body" role="main">\n'
        f'<h1>{say(4)}</h1>\n{"".join(parts)}</div>\n<div class="footer">&copy; {say(3)}</div></body></html>\n'
    ).encode()
    return Sample(f"documentation {len(body) // 1000} KB", "https://docs.example/library/page.html", body)


def samples(files: list[str]) -> list[Sample]:
    """The named files, or else the two sizes that the bars speak of."""
    url = "https://example.org/docs/page"
    named = [Sample(Path(file).name, url, Path(file).read_bytes()) for file in files]
    return named or [documentation_page(13), documentation_page(66)]


def words(count: int, seed: int = 7) -> str:
    """A text of about six letters a word."""
    dice = random.Random(seed)
    return " ".join("".join(dice.choices("abcdefghijklmnop", k=dice.randint(2, 9))) for _ in range(count))
