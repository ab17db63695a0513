"""The process: lease a URL, visit it, settle the outcome. `loop.py` is the main loop.

The package can be called: `lycosa.crawl(…)` is `lycosa.api.crawl(…)`, though this package has that name too.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    def __call__(self, *seeds: str, **how: Any) -> Any:
        return import_module("lycosa.api").crawl(*seeds, **how)


sys.modules[__name__].__class__ = _Callable
