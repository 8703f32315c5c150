"""Draws a few measured points as an SVG curve."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from pathlib import Path

WIDTH, HEIGHT = 640, 320
LEFT, RIGHT, TOP, BOTTOM = 60, 30, 50, 50
_STYLE = "font-family='sans-serif' font-size='13'"


def draw_curve(
    points: Sequence[tuple[float, float]], *, title: str, x: str, y: str, file: Path
) -> None:
    """`points`: (x, y) by ascending x. The x axis is logarithmic; the y axis begins at 0."""
    low, high = math.log10(points[0][0]), math.log10(points[-1][0])
    top = 1.25 * max(value for _, value in points)

    def place(point: tuple[float, float]) -> tuple[float, float]:
        across = (math.log10(point[0]) - low) / max(high - low, 1e-9)
        return (
            LEFT + across * (WIDTH - LEFT - RIGHT),
            HEIGHT - BOTTOM - point[1] / top * (HEIGHT - TOP - BOTTOM),
        )

    places = [place(point) for point in points]
    line = " ".join(f"{at:.0f},{up:.0f}" for at, up in places)
    foot = HEIGHT - BOTTOM
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {HEIGHT}' {_STYLE}>",
        f"<rect width='{WIDTH}' height='{HEIGHT}' fill='white'/>",
        f"<text x='{LEFT}' y='24' font-size='15'>{escape(title)}</text>",
        f"<path d='M{LEFT},{TOP} V{foot} H{WIDTH - RIGHT}' fill='none' stroke='gray'/>",
        f"<polyline points='{line}' fill='none' stroke='steelblue' stroke-width='2'/>",
    ]
    for (at, up), (count, value) in zip(places, points, strict=True):
        parts += [
            f"<circle cx='{at:.0f}' cy='{up:.0f}' r='4' fill='steelblue'/>",
            f"<text x='{at:.0f}' y='{up - 10:.0f}' text-anchor='middle'>"
            f"{value:.1f} {escape(y)}</text>",
            f"<text x='{at:.0f}' y='{foot + 20}' text-anchor='middle'>{count:,.0f}</text>",
        ]
    parts += [
        f"<text x='{WIDTH / 2:.0f}' y='{HEIGHT - 10}' text-anchor='middle'>{escape(x)}</text>",
        "</svg>",
    ]
    file.write_text("\n".join(parts) + "\n", encoding="utf-8")
