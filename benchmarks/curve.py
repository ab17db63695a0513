"""A small line chart as SVG text, without a library: one panel for each measure, sizes on a logarithmic axis."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple
from xml.sax.saxutils import escape

_WIDE, _HIGH, _LEFT, _TOP, _BOTTOM = 420, 260, 48, 34, 34
_COLOURS = ("#1f5fa8", "#c2571a", "#3c7d3c", "#7a4a9e", "#a03050", "#6b6b00", "#00757a", "#555555")
_MOST_AT_THEIR_END = 2  # names of more lines would lie on each other


class Line(NamedTuple):
    name: str
    values: list[float]


def millions(size: int) -> str:
    return f"{size / 1e6:g} M"


def draw(sizes: list[int], panels: dict[str, list[Line]], label: Callable[[int], str] = millions) -> str:
    """Every panel beside the one before; each begins at zero, so that heights can be compared."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDE * len(panels)}" height="{_HIGH}" '
        f'viewBox="0 0 {_WIDE * len(panels)} {_HIGH}" font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for number, (title, lines) in enumerate(panels.items()):
        parts += [f'<g transform="translate({number * _WIDE},0)">', *_panel(sizes, title, lines, label), "</g>"]
    return "\n".join([*parts, "</svg>", ""])


def _panel(sizes: list[int], title: str, lines: list[Line], label: Callable[[int], str]) -> list[str]:
    most = _round_up(max(value for line in lines for value in line.values))
    low, high = math.log(min(sizes)), math.log(max(sizes)) or 1.0
    right, floor = _WIDE - 20, _HIGH - _BOTTOM

    def x(size: int) -> float:
        return _LEFT + (right - _LEFT) * ((math.log(size) - low) / ((high - low) or 1.0))

    def y(value: float) -> float:
        return floor - (floor - _TOP) * value / most

    parts = [f'<text x="{_LEFT}" y="18" font-size="13" font-weight="bold">{escape(title)}</text>']
    for step in range(5):
        value = most * step / 4
        parts.append(f'<line x1="{_LEFT}" x2="{right}" y1="{y(value):.1f}" y2="{y(value):.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value:g}</text>')
    for size in sizes:
        parts.append(f'<text x="{x(size):.1f}" y="{floor + 16}" text-anchor="middle">{escape(label(size))}</text>')
    for index, line in enumerate(lines):
        colour = _COLOURS[index % len(_COLOURS)]
        places = [(x(size), y(value)) for size, value in zip(sizes, line.values, strict=True)]
        path = " ".join(f"{left:.1f},{top:.1f}" for left, top in places)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{left:.1f}" cy="{top:.1f}" r="3" fill="{colour}"/>' for left, top in places]
        left, top = places[-1][0], places[-1][1] + (16 if index == 0 else -8)
        if len(lines) > _MOST_AT_THEIR_END:
            left, top = right, _TOP + 12 + 13 * index
        place = f'x="{left:.1f}" y="{top:.1f}" text-anchor="end"'
        parts.append(f'<text {place} fill="{colour}">{escape(line.name)}</text>')
    return parts


def _round_up(value: float) -> float:
    """The next 1, 2, 4 or 8 times a power of ten."""
    unit = 10.0 ** math.floor(math.log10(max(value, 1e-9)))
    return next(step * unit for step in (1, 2, 4, 8, 10) if step * unit >= value)
