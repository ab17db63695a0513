"""Lycosa: a polite web crawler and the search engine that stands on it.

    async for page in lycosa.crawl("https://example.org/", contact="https://example.org/bot"):
        print(page.url, page.css("h1").get())

Importing this is cheap: what is named here is loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lycosa.api import crawl as crawl
    from lycosa.crawl.items import Items as Items
    from lycosa.crawl.processors import Findings as Findings
    from lycosa.crawl.view import PageView as PageView

__version__ = "0.1.0"

_LATER = {"Findings": "lycosa.crawl.processors", "Items": "lycosa.crawl.items", "PageView": "lycosa.crawl.view"}


def __getattr__(name: str) -> Any:
    if name == "crawl":
        return import_module("lycosa.crawl")  # the package, which can be called
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module 'lycosa' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), "crawl", *_LATER])
