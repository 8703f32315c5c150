"""The source trees for measuring speed: a public archive, a part of it, and a larger copy."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tarfile
import tempfile
from itertools import count
from pathlib import Path

ARCHIVE = "django==5.2.8"  # 6,900 files: Python, JavaScript, HTML, reStructuredText, XML


def chosen_tree(options: argparse.Namespace, *, part: str = "") -> Path:
    """The tree named by `options`, by default `part` of the archive."""
    tree: Path | None = options.tree
    return tree or archive_tree(options.cache) / part


def archive_tree(cache: Path) -> Path:
    """The unpacked source archive; pip downloads it if it is missing."""
    target = cache / ARCHIVE.replace("==", "-")
    if not target.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as download:
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary"]
            subprocess.run([*pip, ":all:", "--dest", download, ARCHIVE], check=True)
            (archive,) = Path(download).glob("*.tar.gz")
            with tarfile.open(archive) as tar:
                tar.extractall(download, filter="data")
            (unpacked,) = (path for path in Path(download).iterdir() if path.is_dir())
            unpacked.rename(target)
    return target


def copy_part(tree: Path, target: Path, *, every: int, pattern: str = "*") -> None:
    """Copy every n-th file of `tree`, so that the part has the same mix as the whole."""
    for number, file in enumerate(_files(tree, pattern)):
        if number % every == 0:
            copy = target / file.relative_to(tree)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)


def copy_until(tree: Path, target: Path, *, files: int) -> None:
    """Copy `tree` repeatedly, until `target` has `files` files."""
    originals, left = _files(tree), files
    for number in count():
        for file in originals[:left]:
            copy = target / f"copy-{number}" / file.relative_to(tree)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)
        left -= len(originals)
        if left <= 0:
            return


def _files(tree: Path, pattern: str = "*") -> list[Path]:
    return sorted(path for path in tree.rglob(pattern) if path.is_file())
