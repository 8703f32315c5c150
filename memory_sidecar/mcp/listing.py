"""Lists places in files for agents, a line each; what neighbours share is said once."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import NamedTuple


class PlaceLine(NamedTuple):
    """One place: `file:place` + `remark`, and what stands there."""

    file: str
    place: str
    remark: str
    text: str


def list_rows(rows: Iterable[PlaceLine]) -> list[str]:
    """Return a line for each of `rows`, without repetitions.

    Neighbours with the same file and remark stand below these, which else are a third of an answer.
    """
    lines = list[str]()
    for (file, remark), group in groupby(
        dict.fromkeys(rows), key=lambda row: (row.file, row.remark)
    ):
        same = [*group]
        if len(same) == 1:
            lines.append(f"{file}:{same[0].place}{remark}  {same[0].text}")
        else:
            lines += [f"{file}{remark}", *(f"  {row.place}  {row.text}" for row in same)]
    return lines
