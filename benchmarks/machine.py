"""Describes where a figure was measured: machine, date and versions.

Nothing that names a person or a place: no host name, no path.
"""

from __future__ import annotations

import os
import platform
import re
import statistics
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil

from memory_sidecar.core.process import available_cores

_PACKAGES = ("apsw", "cocoindex", "fastembed", "onnxruntime", "sqlite-vec", "tree-sitter", "numpy")
RESULTS = Path(__file__).parent / "results"

# The measured processes find their modules compiled, as those of a user do. Some build machines
# forbid Python to write bytecode, which adds half a second to each process.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def describe_machine() -> dict[str, Any]:
    """CPU, cores that may be used, memory, system, date and versions."""
    return {
        "cpu": cpu_model(),
        "cores": available_cores(),
        "memory_gb": round(psutil.virtual_memory().total / 2**30),
        "system": f"{platform.system()} {platform.release()}",
        "date": datetime.now(UTC).date().isoformat(),
        "load_before": round(psutil.getloadavg()[0], 1),  # more than ~0.5: something else ran too
        "million_additions_ms": million_additions_ms(),
        "python": platform.python_version(),
        **{name: version(name) for name in _PACKAGES},
    }


def million_additions_ms() -> int:
    """Speed of a core right now: 30 to 60 ms when it is free, more when it is shared."""
    return round(1000 * statistics.median(_additions_s() for _ in range(5)))


def _additions_s() -> float:
    started, total = time.perf_counter(), 0
    for number in range(1_000_000):
        total += number
    return time.perf_counter() - started


def machine_slug(machine: dict[str, Any]) -> str:
    """A short name for files: `2-cores-intel-xeon-…`."""
    words = re.sub(r"\(R\)|\(TM\)|CPU|Processor|@.*", "", machine["cpu"], flags=re.IGNORECASE)
    slug = re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")
    return f"{machine['cores']}-cores-{slug}"


def cpu_model() -> str:
    """The CPU's name as the system has it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())
