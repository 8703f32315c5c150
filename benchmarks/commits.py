"""Measures whether a question in the words of a commit finds what that commit changes.

    python benchmarks/commits.py [SET]

Indexes the tree and the history of each repository at `base`. The subjects of the commits from
`base` to `head` are the questions, and the files that a commit changed are the right answers.
Merges, releases, dependency updates and commits that change prose only are left out. All figures
are given with and without the history arm.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from figures import write_report
from model_cache import cached_models
from options import existing_file, set_options
from repositories import checkout, indexed
from steps import left_out

from memory_sidecar.code.handlers import Codebase
from memory_sidecar.code.model import CodeQuery
from memory_sidecar.core.model import SearchMode
from memory_sidecar.core.results import Silent

SET = Path(__file__).parent / "sets" / "commits.json"
CUTS = (1, 5, 10)
TOP_CHUNKS = 60  # so that the first ten files are among them
MAX_QUESTIONS = 150
MAX_FILES = 8  # that the commit of a question changes
MIN_WORDS = 3

_NO_QUESTION = re.compile(
    r"\b(bump|releas\w*|version|changelog|typos?|prepare|merge|revert|update deps|dependenc\w*"
    r"|lint\w*|format\w*|rustfmt|clippy|ci|pre-commit|copyright|readme|docs?)\b|\d+\.\d+\.\d+|^v?\d",
    re.IGNORECASE,
)
_CODE = re.compile(r"\.(py|rs|go|js|ts|php|ex|exs|cs|swift|rb)$")
_DECORATION = re.compile(r"\s*\(#\d+\)$|^\w+(\([^)]*\))?!?:\s+|#\d+")

Row = dict[str, float]


@dataclass(frozen=True, slots=True)
class Question:
    """A commit: its subject, and the files it changed."""

    text: str
    files: frozenset[str]


def main() -> None:
    parser = set_options(__doc__)
    parser.add_argument("set", nargs="?", type=existing_file, default=SET, metavar="SET")
    options = parser.parse_args()
    report = measure(options.set, options.checkouts, options.cache)
    print(json.dumps(report["macro"], indent=1))
    write_report(f"retrieval-{report['set']}", report, options)


def measure(file: Path, checkouts: Path, cache: Path) -> dict[str, Any]:
    """hit@k by repository for each way of ranking, and the mean over repositories."""
    rows: dict[str, dict[str, Row]] = {"with history": {}, "without history": {}, "keyword": {}}
    counted: dict[str, dict[str, int]] = {}
    for repository in json.loads(file.read_text(encoding="utf-8")):
        name, base = repository["name"], repository["base"]
        tree = checkout(repository | {"name": f"commits-{name}", "revision": base}, checkouts)
        _git(tree, "checkout", "--quiet", "--detach", base)  # it may be at another revision
        questions = list(questions_of(tree, repository))[:MAX_QUESTIONS]
        with cached_models(cache) as models, indexed(tree, models) as codebase:
            rows["with history"][name] = hits(codebase, questions, SearchMode.HYBRID)
            with left_out("history"):
                rows["without history"][name] = hits(codebase, questions, SearchMode.HYBRID)
            rows["keyword"][name] = hits(codebase, questions, SearchMode.KEYWORD)
        counted[name] = {"commits": len(_git(tree, "rev-list", "HEAD")), "asked": len(questions)}
        print(name, counted[name], {way: row[name] for way, row in rows.items()}, flush=True)
    return {
        "set": file.stem,
        "repositories": counted,
        "hits": rows,
        "macro": {
            way: {
                name: round(fmean(row[name] for row in by_name.values()), 4)
                for name in (f"hit@{cut}" for cut in CUTS)
            }
            for way, by_name in rows.items()
        },
    }


def hits(codebase: Codebase, questions: list[Question], mode: SearchMode) -> Row:
    """hit@k over files, each at its best chunk."""
    found = []
    for question in questions:
        query = CodeQuery(question.text, top_k=TOP_CHUNKS, mode=mode)
        ranking = (hit.filename for hit in codebase.search(query, reporter=Silent()))
        found.append((question.files, list(dict.fromkeys(ranking))))
    return {
        f"hit@{cut}": round(fmean(not files.isdisjoint(r[:cut]) for files, r in found), 4)
        for cut in CUTS
    }


def questions_of(tree: Path, repository: dict[str, str]) -> Iterator[Question]:
    """The questions of `repository`, the newest commit first, each subject once."""
    known = set(_git(tree, "ls-tree", "-r", "--name-only", "HEAD"))
    newer = f"{repository['base']}..{repository['head']}"
    log = "\n".join(_git(tree, "log", "--no-merges", "--name-only", "--format=%x1e%s%x1f", newer))
    asked = set()
    for record in log.split("\x1e")[1:]:
        subject, _, files = record.partition("\x1f")
        text = _DECORATION.sub("", subject).strip()
        changed = {path for path in files.split("\n") if path in known}
        changed = {path for path in changed if not re.search("change|history", path, re.IGNORECASE)}
        if len(text.split()) < MIN_WORDS or _NO_QUESTION.search(text) or text in asked:
            continue
        if 1 <= len(changed) <= MAX_FILES and any(map(_CODE.search, changed)):
            asked.add(text)
            yield Question(text, frozenset(changed))


def _git(tree: Path, *arguments: str) -> list[str]:
    done = subprocess.run(
        ["git", "-C", str(tree), *arguments], check=True, capture_output=True, text=True
    )
    return done.stdout.rstrip("\n").split("\n")


if __name__ == "__main__":
    main()
