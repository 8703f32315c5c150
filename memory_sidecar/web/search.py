"""`/search`: one question to code, memories and sessions, and why a hit stands where it does."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from msgspec import UNSET, UnsetType

from memory_sidecar.agents.judging import JudgedSet
from memory_sidecar.code.results import CodeHit, Why
from memory_sidecar.core.errors import NotFound, UsageError
from memory_sidecar.core.model import Asked, CodeFilter, CodeQuery, SearchMode
from memory_sidecar.core.results import about
from memory_sidecar.web.asking import MOST, FoundByKind, code_filter, find, limit_of
from memory_sidecar.web.guard import Told
from memory_sidecar.web.hits import Row, rows_of
from memory_sidecar.web.visit import Done, View, Visit

LOOKED_THROUGH = 500  # hits, for the place of a file that is not among the first
SIDE_BY_SIDE = "compare"


@dataclass(frozen=True, slots=True)
class WhyNot:
    """Why a file is not among the hits."""

    file: Why
    best: Annotated[CodeHit | None, about("of its chunks, for the question")]
    place: Annotated[int | None, about("of that among all hits, from 1; null: further behind")]
    last_score: Annotated[float | None, about("of the last hit that is shown")]


@dataclass(frozen=True, slots=True)
class SearchShown:
    """What was found, of each kind that was asked."""

    question: str
    found: FoundByKind
    modes: Annotated[dict[str, FoundByKind], about("the same by each mode")] | UnsetType = UNSET
    why_not: WhyNot | UnsetType | None = UNSET


def show(visit: Visit) -> View:
    question = visit.text("q").strip()
    kinds, mode = _kinds(visit), visit.text("mode")
    searched = SearchShown(question, FoundByKind())
    if question and mode == SIDE_BY_SIDE:
        searched = replace(
            searched, modes={each.value: find(visit, question, kinds, each) for each in SearchMode}
        )
    elif question:
        searched = replace(searched, found=find(visit, question, kinds, _mode(mode)))
        if file := visit.text("file").strip():
            searched = replace(searched, why_not=_why_not(visit, question, file, searched.found))
    return View(
        template="search.html",
        title=question or "Search",
        data=searched,
        more={
            "kinds": kinds,
            "modes": [*(mode.value for mode in SearchMode), SIDE_BY_SIDE],
            "rows": rows_of(visit, question, searched.found),
            "compared": _compared(visit, searched),
            "best": _best_of_file(visit, searched),
            "sources": [source.name for source in visit.services.codebase().registry.all()],
            "limit": limit_of(visit, kinds),
            "most": MOST,
        },
    )


def right(visit: Visit) -> Done:
    """Note that a hit is what was asked for."""
    asked, of, place = _judged(visit)
    JudgedSet(visit.services, visit).add(visit.text("q"), asked, of, place)
    fields = {name: visit.text(name) for name in ("q", "kind", "of", "place", "to")}
    return Done(_back(visit), Told(f"{place} is right for this question", "/search/wrong", fields))


def wrong(visit: Visit) -> Done:
    """Take that back."""
    _, _, place = _judged(visit)
    JudgedSet(visit.services, visit).remove(visit.text("q"), place)
    return Done(_back(visit), Told(f"{place} is no longer noted as right"))


def _judged(visit: Visit) -> tuple[Asked, str, str]:
    """Of which kind and of what a place is. Raises UsageError, and NotFound as `Visit.seen`."""
    try:
        asked = Asked(visit.text("kind"))
    except ValueError:
        raise UsageError("a hit is of code, memories or sessions", hint="load the page") from None
    of = visit.text("of") if asked is Asked.CODE else visit.seen(visit.text("of"))
    return asked, of, visit.text("place")


def _back(visit: Visit) -> str:
    """Where the form was: a view of ours, and nothing else that a form may say."""
    to = visit.text("to")
    return to if to.startswith("/search?") else visit.to("/search")


# What is asked


def _kinds(visit: Visit) -> tuple[Asked, ...]:
    chosen = visit.text("in")
    if not chosen:
        return tuple(Asked)
    try:
        return (Asked(chosen),)
    except ValueError:
        raise UsageError(
            f"there is no searching in {chosen[:40]!r}", hint=f"one of {', '.join(Asked)}"
        ) from None


def _mode(name: str) -> SearchMode:
    try:
        return SearchMode(name or SearchMode.HYBRID)
    except ValueError:
        raise UsageError(
            f"there is no mode {name[:40]!r}", hint=f"one of {', '.join(SearchMode)}"
        ) from None


# What else is told


def _compared(
    visit: Visit, searched: SearchShown
) -> list[tuple[str, list[tuple[Row, int | None]]]]:
    """By mode its rows, each with the place that hybrid gives it, from 1; none: it has it not."""
    if searched.modes is UNSET:
        return []
    rows = {
        mode: [row for each in rows_of(visit, searched.question, found).values() for row in each]
        for mode, found in searched.modes.items()
    }
    places = {row.identity: at for at, row in enumerate(rows[SearchMode.HYBRID], 1)}
    return [
        (mode, [(row, places.get(row.identity)) for row in of_mode])
        for mode, of_mode in rows.items()
    ]


def _why_not(visit: Visit, question: str, name: str, found: FoundByKind) -> WhyNot:
    """What became of the file called `name`, and how far behind the hits it is."""
    codebase = visit.services.codebase()
    why = codebase.why(_file(visit, name))
    shown = found.code[-1].score if found.code else None
    if why.source is None or why.fate != "indexed":
        return WhyNot(why, None, None, shown)
    root = codebase.registry.get(why.source).root
    inside = Path(why.path).relative_to(root).as_posix()
    wanted = CodeFilter(sources=(why.source,), path_globs=(_literal(inside),))
    query = CodeQuery(question, top_k=1, filter=wanted, explain=True)
    best = next(iter(codebase.search(query, reporter=visit)), None)
    query = replace(query, top_k=LOOKED_THROUGH, filter=code_filter(visit), explain=False)
    every = codebase.search(query, reporter=visit)
    files = [(hit.source, hit.filename) for hit in every]
    place = files.index((why.source, inside)) + 1 if (why.source, inside) in files else None
    return WhyNot(why, best, place, shown)


def _file(visit: Visit, name: str) -> Path:
    """The path that a person means: an absolute one, or one in a source."""
    path = Path(name)
    if path.is_absolute():
        return path
    roots = [source.root for source in visit.services.codebase().registry.all()]
    if not roots:
        raise NotFound("nothing is indexed", hint="`memory-sidecar index PATH` indexes a folder")
    return next((root / path for root in roots if (root / path).exists()), roots[0] / path)


def _literal(path: str) -> str:
    """A glob that only `path` is like."""
    return "/" + "".join(f"\\{sign}" if sign in "*?[]{}!\\" else sign for sign in path)


def _best_of_file(visit: Visit, searched: SearchShown) -> Row | None:
    """The best chunk of the file that was asked for, drawn as a hit."""
    why = searched.why_not
    if not why or why.best is None:
        return None
    found = FoundByKind(code=(why.best,))
    return rows_of(visit, searched.question, found)[Asked.CODE][0]
