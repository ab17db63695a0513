"""Lycosa: a polite web crawler and the search engine that stands on it."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("lycosa")
except PackageNotFoundError:  # run from a source tree that is not installed
    __version__ = "0"
