"""Folders of real documentation as a web: each folder a host, its files as they are.

What can be reached is read off the disk with the standard library's parser, which no crawler here uses.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit


@dataclass(frozen=True)
class RealWeb:
    roots: tuple[Path, ...]
    origin: str = "http://{address}:8290"

    @property
    def addresses(self) -> list[str]:
        return [f"127.2.0.{number}" for number in range(1, len(self.roots) + 1)]

    def seeds(self) -> list[str]:
        starts = map(_front, self.roots)
        return [
            self.origin.format(address=address) + front for address, front in zip(self.addresses, starts, strict=True)
        ]

    def reachable(self) -> set[tuple[str, str]]:
        """Address and path of every HTML page that links lead to; a folder and its index are one page."""
        return {
            (address, path) for address, root in zip(self.addresses, self.roots, strict=True) for path in _walk(root)
        }


def file_of(root: Path, path: str) -> Path | None:
    file = root / unquote(path).lstrip("/")
    if file.is_dir():
        file /= "index.html"
    return file if file.is_file() and file.suffix in (".html", ".htm", ".xhtml") else None


def _front(root: Path) -> str:
    if file_of(root, "/"):
        return "/"
    pages = sorted(root.rglob("index.html")) or sorted(root.rglob("*.html"))
    if not pages:
        raise SystemExit(f"{root} holds no HTML page")
    return f"/{min(pages, key=lambda page: len(page.parts)).relative_to(root)}"


def _walk(root: Path) -> set[str]:
    found: dict[Path, str] = {}
    todo = [_front(root)]
    while todo:
        path = todo.pop()
        file = file_of(root, path)
        if file is None or file in found:
            continue
        found[file] = path
        reader = _Anchors()
        reader.feed(file.read_text("utf-8", "replace"))
        for href in reader.hrefs:
            with contextlib.suppress(ValueError):
                parts = urlsplit(urldefrag(urljoin(f"http://here{path}", href.strip())).url)
                if parts.scheme == "http" and parts.netloc == "here":
                    todo.append(parts.path or "/")
    return {plain_path(path) for path in found.values()}


def plain_path(path: str) -> str:
    """One name for a page: no query, no escapes, and a folder instead of its index."""
    path = unquote(path.partition("?")[0])
    return path.removesuffix("index.html") if path.endswith("/index.html") else path


class _Anchors(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.hrefs: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("a", "area"):
            self.hrefs += [value for name, value in attrs if name == "href" and value]
