"""How costs grow with the number of notes, as small SVG pictures; no library needed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

WIDTH, HEIGHT = 640, 340
LEFT, RIGHT, TOP, BOTTOM = 74, 190, 40, 48
# In the middle between black and white, so that both a light and a dark page show them.
COLOURS = ("#2f81f7", "#d97706", "#2da44e", "#bf4b8a", "#8a63d2", "#1b9aaa", "#b35900", "#7d8590")
INK = "#7d8590"

Points = Sequence[tuple[float, float]]


def draw(file: Path, title: str, unit: str, lines: Mapping[str, Points]) -> bool:
    """Both axes by powers of ten: a straight line at 45° grows as the number of notes does."""
    kept = {name: points for name, points in lines.items() if points}
    if not kept:
        return False
    xs = [x for points in kept.values() for x, _ in points]
    ys = [y for points in kept.values() for _, y in points]
    across = _Scale(xs, LEFT, WIDTH - RIGHT)
    up = _Scale(ys, HEIGHT - BOTTOM, TOP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        f"<title>{escape(title)}</title>",
        f'<g font-family="system-ui, sans-serif" font-size="12" fill="{INK}">',
        f'<text x="{LEFT}" y="20" font-size="14" font-weight="600">{escape(title)}</text>',
        *_axes(across, up, unit),
        *_curves(kept, list(lines), across, up),
        "</g></svg>",
    ]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(parts) + "\n", encoding="utf-8")
    return True


class _Scale:
    """Powers of ten between two places of the picture."""

    def __init__(self, values: Sequence[float], start: float, end: float) -> None:
        self.low = math.floor(math.log10(min(values)) + 1e-9)
        self.high = max(self.low + 1, math.ceil(math.log10(max(values)) - 1e-9))
        self.start, self.end = start, end

    def place(self, value: float) -> float:
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)

    def marks(self) -> list[float]:
        return [10.0**power for power in range(self.low, self.high + 1)]


def _axes(across: _Scale, up: _Scale, unit: str) -> list[str]:
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    faint = f'stroke="{INK}" stroke-opacity="0.3"'
    parts = []
    for mark in up.marks():
        y = up.place(mark)
        parts.append(f'<path d="M{LEFT} {y}H{right}" {faint}/>')
        parts.append(
            f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{_short(mark)} {unit}</text>'
        )
    for mark in across.marks():
        x = across.place(mark)
        parts.append(f'<path d="M{x} {TOP}V{bottom}" {faint}/>')
        parts.append(f'<text x="{x}" y="{bottom + 18}" text-anchor="middle">{_short(mark)}</text>')
    middle = (LEFT + right) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">notes</text>')
    return parts


def _curves(
    lines: Mapping[str, Points], names: Sequence[str], across: _Scale, up: _Scale
) -> list[str]:
    """A name keeps its colour in every picture, whoever else is missing there."""
    parts = []
    labels = _apart([(name, up.place(points[-1][1])) for name, points in lines.items()])
    for name, points in lines.items():
        colour = COLOURS[names.index(name) % len(COLOURS)]
        places = [(across.place(x), up.place(y)) for x, y in points]
        path = "L".join(f"{x} {y}" for x, y in places)
        parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>' for x, y in places]
        x, y = WIDTH - RIGHT + 10, labels[name]
        parts.append(f'<text x="{x}" y="{y + 4}" fill="{colour}">{escape(name)}</text>')
    return parts


def _apart(wanted: Sequence[tuple[str, float]], least: float = 15) -> dict[str, float]:
    """Labels beside the ends of their lines, none over another."""
    placed: dict[str, float] = {}
    last = -math.inf
    for name, y in sorted(wanted, key=lambda each: each[1]):
        last = placed[name] = max(y, last + least)
    over = max(0.0, last - (HEIGHT - BOTTOM))
    return {name: round(y - over, 1) for name, y in placed.items()}


def _short(value: float) -> str:
    if value >= 1_000_000:
        return f"{value / 1_000_000:g}M"
    return f"{value / 1000:g}k" if value >= 1000 else f"{value:g}"
