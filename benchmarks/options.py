"""The options of benchmarks, and what each accepts: a wrong one ends them with one line."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn


class Options(argparse.ArgumentParser):
    """The options of the benchmark whose docstring is `doc`."""

    def __init__(self, doc: str | None) -> None:
        super().__init__(description=(doc or "").partition("\n")[0])
        self.add_argument("--no-results", action="store_true", help="print only")

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def figure_options(doc: str | None, *, tree: bool = False) -> Options:
    """Options of a benchmark that writes figures; with `tree`, those that `chosen_tree` reads."""
    parser = Options(doc)
    parser.add_argument("--json", metavar="FILE", type=Path, help="also write the figures there")
    if tree:
        parser.add_argument(
            "--tree",
            metavar="DIR",
            type=source_tree,
            help="source tree to use instead of the archive",
        )
        parser.add_argument(
            "--cache", metavar="DIR", type=Path, default=cache_folder(), help="where that is kept"
        )
    return parser


def set_options(doc: str | None) -> Options:
    """Options of a benchmark over judged sets; `--checkouts` for those over repositories."""
    parser = Options(doc)
    cache = cache_folder()
    parser.add_argument(
        "--cache", metavar="DIR", type=Path, default=cache, help="where vectors are kept"
    )
    parser.add_argument(
        "--checkouts",
        metavar="DIR",
        type=Path,
        default=cache / "checkouts",
        help="a folder with a tree for each repository; what it lacks is cloned into it",
    )
    return parser


def cache_folder() -> Path:
    """The folder for downloads and vectors between runs, outside the repository."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return home / "memory-sidecar-benchmarks"


def whole(least: int) -> Callable[[str], int]:
    """A type of option: a whole number of `least` or more."""

    def read(text: str) -> int:
        if not (text.isdecimal() and int(text) >= least):
            raise argparse.ArgumentTypeError(f"{text} is no whole number of {least} or more")
        return int(text)

    return read


def positive(text: str) -> float:
    """A type of option: a number above 0."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is no number above 0")
    return number


def folder(text: str) -> Path:
    """A type of option: an existing folder, as an absolute path."""
    path = Path(text).resolve()
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"{text} is no folder")
    return path


def source_tree(text: str) -> Path:
    """A type of option: a folder with files."""
    path = folder(text)
    if not any(each.is_file() for each in path.rglob("*")):
        raise argparse.ArgumentTypeError(f"{text} has no files")
    return path


def existing_file(text: str) -> Path:
    """A type of option: a file that exists."""
    if not Path(text).is_file():
        raise argparse.ArgumentTypeError(f"{text} is no file")
    return Path(text)


def judged_set(*files: str) -> Callable[[str], Path]:
    """A type of argument: the folder of a set that has `files`."""

    def read(text: str) -> Path:
        path = folder(text)
        for name in files:
            if not (path / name).is_file():
                raise argparse.ArgumentTypeError(f"{text} is no set: it has no {name}")
        return path

    return read


OF_REPOSITORIES = judged_set("repositories.json", "queries.jsonl")
OF_TURNS = judged_set("corpus.jsonl", "queries.jsonl", "qrels.tsv")
