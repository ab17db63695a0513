"""The style sheet: text can be read, in light and in dark."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest

import lycosa.service

SHEET = (Path(lycosa.service.__file__).parent / "static" / "style.css").read_text()
LIGHT, DARK = (dict(re.findall(r"--([\w-]+): (#\w+);", block)) for block in re.findall(r":root \{(.*?)\}", SHEET, re.S))
PAIRS = [
    *product(("ink", "soft", "link", "visited", "accent"), ("ground", "raised")),
    ("on-accent", "accent"),
    ("mark-ink", "mark"),
]


def luminance(colour: str) -> float:
    """As WCAG 2 defines it."""
    digits = colour[1:] if len(colour) == 7 else "".join(digit * 2 for digit in colour[1:])
    shares = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize(("text", "behind"), PAIRS)
def test_text_stands_out(colours: dict[str, str], text: str, behind: str) -> None:
    brighter, darker = sorted([luminance(colours[text]), luminance(colours[behind])], reverse=True)
    assert (brighter + 0.05) / (darker + 0.05) >= 4.5


def test_both_have_the_same_colours_and_no_rule_has_one_of_its_own() -> None:
    assert LIGHT.keys() == DARK.keys()
    rules = re.sub(r":root \{.*?\}", "", SHEET, flags=re.S)
    assert re.findall(r"#[0-9a-f]{3,6}\b", rules) == []
    assert set(re.findall(r"var\(--([\w-]+)\)", rules)) <= LIGHT.keys()
    assert "url(" not in SHEET
