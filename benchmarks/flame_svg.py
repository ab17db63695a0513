"""A flame graph as SVG text: a box for each function, as wide as its share of the samples, callees above callers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from xml.sax.saxutils import escape

_WIDE, _ROW, _TOP, _LETTER = 1200, 17, 34, 6.6
_LEAST = 0.7  # pixels; what is narrower is not drawn
_COLOURS = ("#f2a65a", "#f5b971", "#eb8f4d", "#f7c98b", "#e7824a")
_OURS = ("#7fb2e5", "#93c0ec", "#6aa3db")


@dataclass
class _Call:
    name: str
    samples: int = 0
    below: dict[str, _Call] = field(default_factory=dict)


class _Box(NamedTuple):
    name: str
    samples: int
    start: int
    depth: int


def flame(stacks: Mapping[str, int], title: str) -> str:
    """Stacks are written `outer;inner;innermost`, as profilers collapse them, with the number of samples of each."""
    root = _Call("all")
    for stack, samples in stacks.items():
        call = root
        call.samples += samples
        for name in stack.split(";"):
            call = call.below.setdefault(name, _Call(name))
            call.samples += samples
    least = root.samples * _LEAST / _WIDE
    boxes = [box for box in _boxes(root, 0, 0) if box.samples >= least]
    high = _TOP + (1 + max(box.depth for box in boxes)) * _ROW + 6
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDE}" height="{high}" viewBox="0 0 {_WIDE} {high}" '
        'font-family="monospace" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="8" y="20" font-size="14" font-family="sans-serif">{escape(title)}</text>',
        *(_draw(box, root.samples, high) for box in boxes),
    ]
    return "\n".join([*parts, "</svg>", ""])


def _boxes(call: _Call, start: int, depth: int) -> Iterator[_Box]:
    yield _Box(call.name, call.samples, start, depth)
    for name in sorted(call.below):
        yield from _boxes(call.below[name], start, depth + 1)
        start += call.below[name].samples


def _draw(box: _Box, total: int, high: int) -> str:
    left, wide = box.start * _WIDE / total, box.samples * _WIDE / total
    top = high - (box.depth + 1) * _ROW - 4
    palette = _OURS if "lycosa" in box.name else _COLOURS
    colour = palette[sum(map(ord, box.name)) % len(palette)]  # the same name has the same colour everywhere
    room = int((wide - 4) / _LETTER)
    name = box.name if len(box.name) <= room else box.name[: room - 1] + "…" if room > 3 else ""
    text = f'<text x="{left + 3:.1f}" y="{top + 12}">{escape(name)}</text>' if name else ""
    tip = f"{escape(box.name)}: {100 * box.samples / total:.1f} %"
    box_shape = (
        f'<rect x="{left:.1f}" y="{top}" width="{max(wide - 0.5, 0.3):.1f}" height="{_ROW - 1}" fill="{colour}"/>'
    )
    return f"<g><title>{tip}</title>{box_shape}{text}</g>"
