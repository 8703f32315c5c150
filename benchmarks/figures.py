"""Collects the figures of a benchmark: prints each at once, writes all with their machine."""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from machine import RESULTS, describe_machine, machine_slug


@dataclass(slots=True)
class Results:
    """Figures by name, in order: value, unit, and the wanted value if there is one.

    Create it before anything is measured, because it records the load of the machine at once.
    """

    machine: dict[str, Any] = field(default_factory=describe_machine)
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
        is_one = len(milliseconds) == 1
        cut = milliseconds[0] if is_one else statistics.quantiles(milliseconds, n=20)[-1]
        half = statistics.median(milliseconds)
        self.add(f"{name}, p50", half, "ms", wanted=wanted[0], note=note)
        self.add(f"{name}, p95", cut, "ms", wanted=wanted[1])

    def value(self, name: str) -> float:
        """The value of a figure that was added before."""
        return float(next(figure["value"] for figure in self.figures if figure["name"] == name))

    def write(self, topic: str, options: argparse.Namespace) -> None:
        """Write a table and JSON into the results folder, and JSON to `--json`."""
        report = {"machine": self.machine, "figures": self.figures}
        if options.json:
            options.json.write_text(_json(report), encoding="utf-8")
        name = f"{topic}-{machine_slug(self.machine)}"
        write_report(name, report, options)
        lines = [f"# {topic.capitalize()}", ""]
        lines += [f"- {key}: {value}" for key, value in self.machine.items()]
        lines += ["", "| figure | value | | wanted | |", "|---|---:|---|---|---|"]
        lines += [
            f"| {f['name']} | {f['value']:,.2f} | {f['unit']} | {f['wanted']} | {f['note']} |"
            for f in self.figures
        ]
        if not options.no_results:
            (RESULTS / f"{name}.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def times_ms(calls: Iterable[Callable[[], object]]) -> list[float]:
    """Make the `calls` one after the other; return the milliseconds that each takes."""
    taken = []
    for call in calls:
        started = time.perf_counter()
        call()
        taken.append(1000 * (time.perf_counter() - started))
    return taken


def write_report(name: str, report: dict[str, Any], options: argparse.Namespace) -> None:
    """Write `report` and its machine into the results folder, unless `--no-results` is given."""
    if not options.no_results:
        report = report if "machine" in report else report | {"machine": describe_machine()}
        (RESULTS / f"{name}.json").write_text(_json(report), encoding="utf-8")


def _json(report: dict[str, Any]) -> str:
    return json.dumps(report, indent=1) + "\n"
