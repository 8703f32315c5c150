"""Collects the figures of a benchmark: prints each at once, writes all with their machine."""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from machine import RESULTS, machine_slug


@dataclass(slots=True)
class Results:
    """Figures by name, in order: value, unit, and the wanted value if there is one."""

    figures: list[dict[str, Any]] = field(default_factory=list)

    def add(self, name: str, value: float, unit: str, *, wanted: str = "", note: str = "") -> None:
        figure = {"name": name, "value": round(value, 3), "unit": unit}
        self.figures.append(figure | {"wanted": wanted, "note": note})
        print(f"{name:44} {value:>11,.2f} {unit:9} {wanted:9} {note}", flush=True)

    def add_spread(
        self,
        name: str,
        milliseconds: Sequence[float],
        *,
        wanted: tuple[str, str] = ("", ""),
        note: str = "",
    ) -> None:
        """Add the median and the 95th percentile of `milliseconds` as two figures."""
        cut = statistics.quantiles(milliseconds, n=20)[-1]
        half = statistics.median(milliseconds)
        self.add(f"{name}, p50", half, "ms", wanted=wanted[0], note=note)
        self.add(f"{name}, p95", cut, "ms", wanted=wanted[1])

    def value(self, name: str) -> float:
        """The value of a figure that was added before."""
        return float(next(figure["value"] for figure in self.figures if figure["name"] == name))

    def write(self, topic: str, machine: dict[str, Any], *, also: str | None = None) -> None:
        """Write a table and JSON into the results folder, and the JSON to the file `also`."""
        text = json.dumps({"machine": machine, "figures": self.figures}, indent=1) + "\n"
        name = f"{topic}-{machine_slug(machine)}"
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{name}.json").write_text(text, encoding="utf-8")
        lines = [f"# {topic.capitalize()}", ""]
        lines += [f"- {key}: {value}" for key, value in machine.items()]
        lines += ["", "| figure | value | | wanted | |", "|---|---:|---|---|---|"]
        lines += [
            f"| {f['name']} | {f['value']:,.2f} | {f['unit']} | {f['wanted']} | {f['note']} |"
            for f in self.figures
        ]
        (RESULTS / f"{name}.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
        if also:
            Path(also).write_text(text, encoding="utf-8")


def figure_options(doc: str | None) -> argparse.ArgumentParser:
    """Options of a benchmark, described by `doc`, that writes figures."""
    parser = argparse.ArgumentParser(description=(doc or "").partition("\n")[0])
    parser.add_argument("--json", metavar="FILE", help="also write the figures to this file")
    return parser
