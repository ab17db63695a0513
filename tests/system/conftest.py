"""What tests of whole commands share."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from small_crawl import crawl_once


@pytest.fixture(scope="session")
def small_web_crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made once for all tests of a worker: not to be changed."""
    directory = tmp_path_factory.mktemp("small") / "crawl"
    crawl_once(directory)
    return directory


@pytest.fixture
def crawl(small_web_crawled: Path, tmp_path: Path) -> Path:
    """A crawl of one's own."""
    shutil.copytree(small_web_crawled, tmp_path / "crawl")
    return tmp_path / "crawl"
