"""A made-up web of many hosts as files: any number of hosts and pages of any size, the same bytes for the same seed.

Every page can be reached: page n of a host links to pages 3n+1 to 3n+3. The other links lead anywhere on the host, and
every fifth to another one. Pages read like documentation: menu, sections, paragraphs, a list, a footer. Paragraphs are
drawn from a stock, so that half a million pages are made in minutes; two pages of 20 KB share less than one of them.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, partial
from multiprocessing import Pool
from pathlib import Path

STOCK = 6_000  # paragraphs
CHILDREN = 3
BYTES_A_LINK = 500
MOST_LINKS = 200
ROBOTS = "User-agent: *\nDisallow: /forbidden/\n"


@dataclass(frozen=True)
class MadeWeb:
    """Everything that a page depends on."""

    hosts: int
    pages: int
    page_kb: int = 20
    seed: int = 1
    origin: str = "http://{address}:8290"

    @property
    def name(self) -> str:
        scheme = self.origin.partition(":")[0]
        return f"{scheme}-{self.hosts}x{self.pages}-{self.page_kb}kb-{self.seed}"

    @property
    def addresses(self) -> list[str]:
        return [self.address(host) for host in range(self.hosts)]

    def address(self, host: int) -> str:
        return f"127.1.{host // 250}.{host % 250 + 1}"

    def path(self, page: int) -> str:
        return f"/part-{page % 17}/page-{page}.html" if page else "/"

    def url(self, host: int, page: int = 0) -> str:
        return self.origin.format(address=self.address(host)) + self.path(page)

    def reachable(self) -> set[tuple[str, str]]:
        """Address and path of every page."""
        paths = [self.path(page) for page in range(self.pages)]
        return {(address, path) for address in self.addresses for path in paths}

    def page(self, host: int, page: int) -> str:
        dice = random.Random(f"{self.seed} {host} {page}")
        size = int(self.page_kb * 1000 * dice.uniform(0.6, 1.4))
        stock = paragraphs(self.seed)
        title = f"{dice.choice(stock)[:40].rsplit(' ', 1)[0]} {host}-{page}"
        links = self._links(dice, host, page, min(MOST_LINKS, max(10, size // BYTES_A_LINK)))
        parts = [_HEAD.format(title=title, menu="".join(f'<li><a href="{next(links)}">{n}</a></li>' for n in range(8)))]
        length = len(parts[0])
        while length < size:
            link, text = next(links, None), dice.choice(stock)
            anchor = f' See <a class="reference" href="{link}">{text[:18]}</a>.' if link else ""
            heading = f'<h2 id="s{length}">{text[5:30]}</h2>\n' if dice.random() < 0.2 else ""
            parts.append(f"{heading}<p>{text}{anchor}</p>\n")
            length += len(parts[-1])
        rest = "".join(f'<li><a href="{link}">more</a></li>\n' for link in links)
        parts.append(f'<ul class="simple">\n{rest}</ul></div>\n<div class="footer">&copy; nobody</div></body></html>\n')
        return "".join(parts)

    def _links(self, dice: random.Random, host: int, page: int, count: int) -> Iterator[str]:
        below = range(CHILDREN * page + 1, min(self.pages, CHILDREN * page + CHILDREN + 1))
        yield from map(self.path, below)
        for number in range(count - len(below)):
            target = dice.randrange(self.pages)
            yield self.url(dice.randrange(self.hosts), target) if number % 5 == 4 else self.path(target)

    def write(self, directory: Path) -> Path:
        """The folder of all hosts, each a folder of files; one that was written before is used again."""
        files, done = directory / self.name, directory / f"{self.name}.done"
        if not done.exists():
            files.mkdir(parents=True, exist_ok=True)
            with Pool() as pool:
                for _ in pool.imap_unordered(partial(_write_host, self, files), range(self.hosts)):
                    pass
            done.touch()
        return files


def _write_host(web: MadeWeb, files: Path, host: int) -> None:
    root = files / web.address(host)
    for part in range(min(17, web.pages)):
        (root / f"part-{part}").mkdir(parents=True, exist_ok=True)
    (root / "robots.txt").write_text(ROBOTS)
    for page in range(web.pages):
        (root / (web.path(page)[1:] or "index.html")).write_text(web.page(host, page))


@cache
def paragraphs(seed: int) -> list[str]:
    """Texts of 20 to 90 words; words are as frequent as in a language."""
    dice = random.Random(f"{seed} stock")
    syllables = [first + then for first in "bdfgklmnprstvz" for then in ("a", "e", "i", "o", "u", "en", "or", "ist")]
    words = sorted({"".join(dice.choices(syllables, k=dice.choice((1, 2, 2, 3, 4)))) for _ in range(30_000)})
    dice.shuffle(words)
    weights = list(itertools.accumulate(1 / (rank + 2) for rank in range(len(words))))
    return [
        " ".join(dice.choices(words, cum_weights=weights, k=dice.randrange(20, 90))).capitalize() for _ in range(STOCK)
    ]


_HEAD = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width"><style>p {{ color: #111 }}</style></head>
<body><div class="sidebar"><ul>{menu}</ul></div>
<div class="body" role="main"><h1>{title}</h1>
"""
