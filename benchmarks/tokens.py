"""Measures the tokens that a search costs an agent: python benchmarks/tokens.py SET

SET is as in `repositories.py`. Each question is asked of the MCP tool `search_code` as an agent
asks it, page after page, and the hits of its text are read in order: how many tokens until a
relevant file is in hand, and which share of the relevant files 500, 1,000 and 2,000 tokens show.
As published, 3.5 characters are a token; a question whose relevant files never come costs all that
was read. Means over repositories of the means over questions.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from figures import write_report
from judged_sets import read_lines
from metrics import rounded
from model_cache import models_in
from options import OF_REPOSITORIES, set_options
from repositories import checkout, is_same_file, relevant

from memory_sidecar.agents.services import Services
from memory_sidecar.core.paths import DataDir
from memory_sidecar.core.results import Silent
from memory_sidecar.core.settings import Settings
from memory_sidecar.mcp.caller import Caller, Toolset
from memory_sidecar.mcp.code import SearchCode, search_code

CHARACTERS_PER_TOKEN = 3.5
BUDGETS = (500, 1000, 2000)
PAGES = 10  # read at most


@dataclass(frozen=True, slots=True)
class Read:
    """A hit, and the tokens read up to its end."""

    filename: str
    tokens: float


def main() -> None:
    parser = set_options(__doc__)
    parser.add_argument("set", type=OF_REPOSITORIES, metavar="SET")
    options = parser.parse_args()
    repositories = json.loads((options.set / "repositories.json").read_text(encoding="utf-8"))
    queries = list(read_lines(options.set / "queries.jsonl"))
    rows: dict[str, dict[str, float]] = {}
    for repository in repositories:
        name = repository["name"]
        asked = [query for query in queries if query["repository"] == name]
        tree = checkout(repository, options.checkouts)
        rows[name] = measure(tree / repository["root"], asked, cache=options.cache)
        print(f"{name:16}", *(f"{value:9.3f}" for value in rows[name].values()), flush=True)
    mean = {key: fmean(row[key] for row in rows.values()) for key in next(iter(rows.values()))}
    print(f"{'mean':16}", *(f"{key} {value:.3f}  " for key, value in mean.items()))
    report = {
        "set": options.set.name,
        "queries": len(queries),
        "mean": rounded(mean),
        "repositories": {name: rounded(row) for name, row in rows.items()},
    }
    write_report(f"tokens-{options.set.name}", report, options)


def measure(root: Path, asked: list[dict[str, Any]], *, cache: Path) -> dict[str, float]:
    """Mean figures of the questions `asked` over the tree at `root`; `cache` keeps vectors."""
    with tempfile.TemporaryDirectory(prefix="memory-sidecar-tokens-") as scratch:
        services = Services(DataDir(Path(scratch)), Settings())
        services.models = models_in(cache, Settings())
        services.codebase().index([root], reporter=Silent())
        caller = Caller(services, root, "benchmark", frozenset({Toolset.CODE}))
        results = [_one(caller, query) for query in asked]
        services.close()
    return {key: fmean(result[key] for result in results) for key in results[0]}


def _one(caller: Caller, query: dict[str, Any]) -> dict[str, float]:
    wanted = relevant(query)
    found: dict[str, float] = {}
    tokens, first = 0.0, None
    for read in _hits(caller, query["text"]):
        tokens = read.tokens
        for path in wanted:
            if is_same_file(read.filename, path):
                found.setdefault(path, tokens)
                first = first or tokens
        if len(found) == len(wanted) or (first and tokens > max(BUDGETS)):
            break
    shares = {
        f"within_{budget}": sum(found.get(path, budget + 1) <= budget for path in wanted)
        / len(wanted)
        for budget in BUDGETS
    }
    return {"tokens_to_first": first or tokens, **shares}


def _hits(caller: Caller, text: str) -> Iterator[Read]:
    """Yield the hits of all pages, read from the answer's text."""
    before, cursor = 0, ""
    for _ in range(PAGES):
        page = search_code(caller, SearchCode(query=text, cursor=cursor), Silent())
        for count, hit in enumerate(page.hits, 1):
            shown = replace(page, hits=page.hits[:count], next_cursor="").text()
            yield Read(hit.filename, (before + len(shown)) / CHARACTERS_PER_TOKEN)
        before += len(page.text())
        cursor = page.next_cursor
        if not cursor:
            return


if __name__ == "__main__":
    main()
