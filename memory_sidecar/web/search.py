"""`/search`: one question to code, memories and sessions, and why a hit has its rank."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from memory_sidecar.agents.judging import JudgedSet
from memory_sidecar.code.files import resolve_paths
from memory_sidecar.code.model import CodeFilter, CodeQuery
from memory_sidecar.code.results import CodeHit, Why
from memory_sidecar.core.errors import NotFound
from memory_sidecar.core.model import Asked, SearchMode
from memory_sidecar.core.results import Silent
from memory_sidecar.disk.globs import literal_glob
from memory_sidecar.web.asking import MOST, SIDE_BY_SIDE, FoundByKind, code_filter, find, limit_of
from memory_sidecar.web.guard import Flash
from memory_sidecar.web.hits import Row, rows_of
from memory_sidecar.web.visit import Done, View, Visit

RANKED_HITS = 500  # searched for the rank of a file that is not among the first


@dataclass(frozen=True, slots=True)
class WhyNot:
    """Whether a file is indexed, and how far behind the hits it ranks."""

    file: Why
    last_score: float | None  # of the last hit that is shown
    best: CodeHit | None = None  # its best chunk
    place: int | None = None  # of its first hit among RANKED_HITS, from 1; None: further behind


def show(visit: Visit) -> View:
    question = visit.text("q").strip()
    kinds = (visit.choice("in", Asked),) if visit.text("in") else tuple(Asked)
    found, modes = FoundByKind(), dict[str, FoundByKind]()
    why_not: WhyNot | None = None
    if question and visit.text("mode") == SIDE_BY_SIDE:
        modes = {each.value: find(visit, question, kinds, each) for each in SearchMode}
    elif question:
        one_mode = visit.choice("mode", SearchMode, SearchMode.HYBRID)
        found = find(visit, question, kinds, one_mode)
        if file := visit.text("file").strip():
            why_not = _why_not(visit, question, file, found)
    best = why_not.best if why_not else None
    data = {"question": question, "found": found}
    data |= {name: value for name, value in (("modes", modes), ("why_not", why_not)) if value}
    return View(
        template="search.html",
        title=question or "Search",
        data=data,
        more={
            "modes": [*(mode.value for mode in SearchMode), SIDE_BY_SIDE],
            "rows": rows_of(visit, question, found),
            "compared": _compare_modes(visit, question, modes),
            "best": rows_of(visit, question, FoundByKind(code=(best,)))[Asked.CODE][0]
            if best
            else None,
            "sources": [source.name for source in visit.services.codebase().registry.all()],
            "limit": limit_of(visit, kinds),
            "most": MOST,
        },
    )


def mark_right(visit: Visit) -> Done:
    """Record that a hit answers the question."""
    asked, of, place = _judged_hit(visit)
    JudgedSet(visit.services, visit).add(visit.text("q"), asked, of, place)
    fields = {name: visit.text(name) for name in ("q", "kind", "of", "place")}
    text = f"{place} is right for this question"
    return Done(visit.came_from, visit.undoable(text, "/search/wrong", **fields))


def unmark_right(visit: Visit) -> Done:
    """Undo `mark_right`."""
    _, _, place = _judged_hit(visit)
    JudgedSet(visit.services, visit).remove(visit.text("q"), place)
    return Done(visit.came_from, Flash(f"{place} is no longer noted as right"))


def _judged_hit(visit: Visit) -> tuple[Asked, str, str]:
    """Return the kind, the source or agent, and the place of the judged hit.

    Raises UsageError, and NotFound for an agent that may not be seen.
    """
    asked = visit.choice("kind", Asked)
    of = visit.text("of") if asked is Asked.CODE else visit.require_readable(visit.text("of"))
    return asked, of, visit.text("place")


# Comparisons and explanations


def _compare_modes(
    visit: Visit, question: str, modes: Mapping[str, FoundByKind]
) -> list[tuple[str, dict[Asked, list[tuple[Row, int | None]]]]]:
    """Return the rows of each mode with their ranks in hybrid mode, from 1 (None: no hit there)."""
    if not modes:
        return []
    rows = {mode: rows_of(visit, question, found) for mode, found in modes.items()}
    hybrid = rows[SearchMode.HYBRID].values()
    places = {row.identity: at for of_kind in hybrid for at, row in enumerate(of_kind, 1)}
    return [
        (
            mode,
            {
                kind: [(row, places.get(row.identity)) for row in of_kind]
                for kind, of_kind in of_mode.items()
            },
        )
        for mode, of_mode in rows.items()
    ]


def _why_not(visit: Visit, question: str, name: str, found: FoundByKind) -> WhyNot:
    codebase = visit.services.codebase()
    why = codebase.why(_file(visit, name))
    last_score = found.code[-1].score if found.code else None
    if why.source is None or why.fate != "indexed":
        return WhyNot(why, last_score)
    root = codebase.registry.get(why.source).root
    inside = Path(why.path).relative_to(root).as_posix()
    wanted = CodeFilter(sources=(why.source,), path_globs=(literal_glob(inside),))
    query = CodeQuery(question, top_k=1, filter=wanted, explain=True)
    best = next(iter(codebase.search(query, reporter=Silent())), None)  # `find` gave the notices
    query = replace(query, top_k=RANKED_HITS, filter=code_filter(visit), explain=False)
    every = codebase.search(query, reporter=Silent())
    files = [(hit.source, hit.filename) for hit in every]
    place = files.index((why.source, inside)) + 1 if (why.source, inside) in files else None
    return WhyNot(why, last_score, best, place)


def _file(visit: Visit, name: str) -> Path:
    """Return the path that a person means by `name`: absolute, or relative to a source."""
    path = Path(name)
    if path.is_absolute():
        return path
    sources = visit.services.codebase().registry.all()
    if not sources:
        raise NotFound("nothing is indexed", hint="`memory-sidecar index PATH` indexes a folder")
    places = [each.source.root / each.path for each in resolve_paths(sources, name)]
    return next(filter(os.path.exists, places), places[0])  # `exists` never raises
