"""Measures what an installation downloads and keeps: python benchmarks/installed.py [--json FILE]

Installs the built wheel with the model into a fresh environment from the package registry. Sizes on
disk are those of `du`: whole blocks. Python compiles a module when it is first imported, pip all at
once, unless it is told `--no-compile`.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

from figures import Results
from options import figure_options

ROOT = Path(__file__).parents[1]
MB = 1_000_000
LARGEST = 6


def main() -> None:
    options = figure_options(__doc__).parse_args()
    results = Results()
    with tempfile.TemporaryDirectory() as folder:
        _measure(results, Path(folder))
    results.write("installed", options)


def _measure(results: Results, folder: Path) -> None:
    wheels, clean = folder / "wheels", folder / "clean"
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel"]
    subprocess.run([*build, "--directory", str(wheels)], cwd=ROOT, check=True, capture_output=True)
    (own,) = wheels.glob("*.whl")
    venv.create(clean, with_pip=True)
    empty, empty_compiled = bytes_of(clean), bytes_of(clean, "*.pyc")
    pip = [str(clean / "bin" / "python"), "-m", "pip", "--quiet"]
    began_s = time.monotonic()
    subprocess.run([*pip, "download", "--dest", str(wheels), f"{own}[model]"], check=True)
    packages = sorted(path for path in wheels.iterdir() if path.is_file())
    downloaded = sum(path.stat().st_size for path in packages)
    subprocess.run([*pip, "install", "--no-index", "--no-deps", *map(str, packages)], check=True)
    results.add("download, model included", downloaded / MB, "MB", note=f"{len(packages)} packages")
    kept, compiled = bytes_of(clean) - empty, bytes_of(clean, "*.pyc") - empty_compiled
    results.add("kept, model included", (kept - compiled) / MB, "MB", wanted="≤ 570")
    results.add("kept where pip compiles every module", kept / MB, "MB")
    results.add("time, download and all", time.monotonic() - began_s, "s")
    (site,) = clean.glob("lib/python3*/site-packages")
    sizes = {path.name: bytes_of(path) for path in site.iterdir() if path.is_dir()}
    for name in sorted(sizes, key=lambda name: -sizes[name])[:LARGEST]:
        results.add(f"kept for {name}", sizes[name] / MB, "MB")


def bytes_of(folder: Path, files: str = "*") -> int:
    """The disk usage of all matching files below `folder`."""
    return sum(path.lstat().st_blocks * 512 for path in folder.rglob(files))


if __name__ == "__main__":
    main()
