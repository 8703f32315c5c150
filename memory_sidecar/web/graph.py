"""Lays out the graph of which atoms build on which: patterns at the left, experiments at the right.

Only linked atoms are drawn, and at most as many as a reader can take in at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memory_sidecar.context.lists import shorten
from memory_sidecar.context.results import AtomUse

MOST = 36  # atoms
COLUMNS = ("pattern", "knowledge", "experiment")
WIDTH, HEIGHT = 250, 30  # of an atom
GAP_X, GAP_Y = 50, 10
TEXT = 23  # characters beside an id


@dataclass(frozen=True, slots=True)
class AtomBox:
    """An atom, with the position of its box in pixels."""

    atom: AtomUse
    label: str
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class Drawing:
    """The boxes of a graph, and the lines between them as SVG paths."""

    nodes: tuple[AtomBox, ...]
    lines: tuple[str, ...]
    width: int
    height: int


def draw(atoms: Sequence[AtomUse], chosen: str = "") -> Drawing | None:
    """Draw the atoms around `chosen`, a `project/id`, or all; None for no links or too many atoms.

    Around an atom are those that it builds on and that build on it, at any distance.
    """
    by_name = {f"{atom.project}/{atom.id}": atom for atom in atoms}
    links = {
        (name, other) for name, atom in by_name.items() for other in atom.basis if other in by_name
    }
    kept = _around(chosen, links) if chosen else {name for link in links for name in link}
    if not kept or len(kept) > MOST:
        return None
    nodes: dict[str, AtomBox] = {}
    rows = [0] * len(COLUMNS)
    for name, atom in by_name.items():
        if name in kept:
            column = COLUMNS.index(atom.kind)
            place = column * (WIDTH + GAP_X), rows[column] * (HEIGHT + GAP_Y)
            nodes[name] = AtomBox(atom, shorten(atom.summary, TEXT), *place)
            rows[column] += 1
    between = sorted(link for link in links if kept.issuperset(link))
    lines = tuple(_line(nodes[one], nodes[other]) for one, other in between)
    width = len(COLUMNS) * (WIDTH + GAP_X) - GAP_X
    return Drawing(tuple(nodes.values()), lines, width, max(rows) * (HEIGHT + GAP_Y) - GAP_Y)


def _around(chosen: str, links: set[tuple[str, str]]) -> set[str]:
    """Return the atoms reachable from `chosen` in either direction of `links`, itself included."""
    kept: set[str] = set()
    for forth in (0, 1):
        waiting, seen = [chosen], {chosen}
        while waiting:
            name = waiting.pop()
            new = {link[1 - forth] for link in links if link[forth] == name} - seen
            seen |= new
            waiting += new
        kept |= seen
    return kept if len(kept) > 1 else set()


def _line(one: AtomBox, other: AtomBox) -> str:
    """Return the SVG path of a curve between the nearest edges of two boxes."""
    if one.x == other.x:
        edge = one.x + WIDTH
        y, end = one.y + HEIGHT // 2, other.y + HEIGHT // 2
        return f"M{edge} {y}C{edge + 30} {y} {edge + 30} {end} {edge} {end}"
    left, right = sorted((one, other), key=lambda node: node.x)
    x, y = left.x + WIDTH, left.y + HEIGHT // 2
    end_x, end_y = right.x, right.y + HEIGHT // 2
    half = (x + end_x) // 2
    return f"M{x} {y}C{half} {y} {half} {end_y} {end_x} {end_y}"
