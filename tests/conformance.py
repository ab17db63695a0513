"""Reads the conformance data: facts from RFCs and from the tests of other projects, which lie beside the repository.

They are looked for in `<repo>/../shared/conformance`, or where LYCOSA_CONFORMANCE points. Where they are absent the
tests that ask for them are skipped; nothing is read before a test runs, so collecting never needs the data.
"""

from __future__ import annotations

import base64
import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest


def folder() -> Path:
    given = os.environ.get("LYCOSA_CONFORMANCE")
    return Path(given) if given else Path(__file__).resolve().parents[2] / "shared" / "conformance"


@cache
def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def document(name: str) -> dict[str, Any]:
    """The whole of `name`.json."""
    path = folder() / f"{name}.json"
    if not path.is_file():
        pytest.skip(f"no conformance data at {path}: set LYCOSA_CONFORMANCE to the folder that holds it")
    return _read(path)


def cases(name: str) -> list[dict[str, Any]]:
    return document(name)["cases"]


def raw(value: str | dict[str, str]) -> bytes:
    """The bytes a case stands for: its text, or what its base64 says."""
    return base64.b64decode(value["b64"]) if isinstance(value, dict) else value.encode("utf-8", "surrogatepass")
