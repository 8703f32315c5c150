"""Hits as rows of a view: place, title, the lines that show why, and the parts of the score."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

from memory_sidecar.agents.judging import JudgedSet
from memory_sidecar.code.excerpt import excerpt, name_of, row_to_show, shorten, stems_of
from memory_sidecar.code.query_names import QueryNames, names_in
from memory_sidecar.code.results import CodeHit
from memory_sidecar.core.credentials import mask_document
from memory_sidecar.core.model import Asked, Explanation
from memory_sidecar.memories.files import repeats_title
from memory_sidecar.memories.results import MemoryHit
from memory_sidecar.web.asking import FoundByKind, FoundSession
from memory_sidecar.web.rendering import Line, below, coloured_lines, short
from memory_sidecar.web.visit import PAGE_ROWS, Visit

LINES = 12  # of a code hit, before it is unfolded
CHARACTERS = 600  # of a memory or a session


@dataclass(frozen=True, slots=True)
class Part:
    """A term of a score, for the bar that shows it."""

    name: str
    value: float
    share: float  # 0…1, of the largest term


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A hit as it is shown; `kind`, `of` and `place` identify what a judgement is about."""

    kind: Asked
    of: str  # the source or the agent
    place: str  # the file, the memory's path or the session's id
    title: str
    href: str
    about: str
    score: float
    is_weak: bool
    is_right: bool = False  # by the user's judgement
    parts: tuple[Part, ...]
    text: str = ""
    lines: tuple[Line, ...] = ()  # the best of `whole`, or all of a short hit
    whole: tuple[Line, ...] = ()  # empty for a short hit

    @property
    def identity(self) -> tuple[str, ...]:
        """A key that is equal for the same hit of another search."""
        return (self.kind, self.of, self.title, self.href)


def rows_of(visit: Visit, question: str, found: FoundByKind) -> dict[Asked, list[Row]]:
    """Return the rows of each kind that has hits, with credentials masked."""
    found = mask_document(found)
    judged = {
        (each.kind, each.of, place)
        for each in JudgedSet(visit.services, visit).all()
        for place in each.relevant
        if each.text == question
    }
    registry = visit.services.codebase().registry
    roots = {source.name: source.root for source in registry.all()} if found.code else {}
    stems = stems_of(question)
    names = names_in(question)
    code = [
        _code_row(visit, hit, roots.get(hit.source), stems=stems, names=names) for hit in found.code
    ]
    by_kind = {
        Asked.CODE: code,
        Asked.MEMORIES: [_memory_row(visit, hit, stems) for hit in found.memories],
        Asked.SESSIONS: [_session_row(visit, each, stems) for each in found.sessions],
    }
    return {
        kind: [replace(row, is_right=(kind, row.of, row.place) in judged) for row in rows]
        for kind, rows in by_kind.items()
        if rows
    }


def _code_row(
    visit: Visit, hit: CodeHit, root: Path | None, *, stems: frozenset[str], names: QueryNames
) -> Row:
    code = coloured_lines(hit.code, hit.language)
    text = hit.code.split("\n")
    best = excerpt(text, stems, at_most=LINES, around=row_to_show(hit, text, names, stems))
    whole = tuple(enumerate(code, hit.start_line))
    return Row(
        kind=Asked.CODE,
        of=hit.source,
        place=hit.filename,
        title=f"{hit.filename}:{hit.location}",
        href=editor_link(visit, root / hit.filename, hit.start_line) if root else "",
        about=name_of(hit, text, best, stems),
        score=hit.score,
        is_weak=hit.is_weak,
        parts=_parts(hit.explain or None),
        lines=whole[best.first : best.first + len(best.lines)] if len(code) > LINES else whole,
        whole=whole if len(code) > LINES else (),
    )


def _memory_row(visit: Visit, hit: MemoryHit, stems: frozenset[str]) -> Row:
    return Row(
        kind=Asked.MEMORIES,
        of=hit.agent,
        place=hit.path,
        title=short(hit.called),
        href=visit.to("/memories/one", agent=hit.agent, path=hit.path),
        about=f"{hit.path} · {hit.agent}",
        score=hit.relevance,
        is_weak=hit.is_weak,
        parts=_parts(hit.explain or None),
        text=_told_below(hit.called, below(hit.content, hit.called), stems),
    )


def _session_row(visit: Visit, each: FoundSession, stems: frozenset[str]) -> Row:
    hit = each.hit
    page = None if hit.sequence is None else hit.sequence // PAGE_ROWS + 1
    address = visit.to("/sessions/one", agent=each.agent, id=hit.session_id, page=page)
    return Row(
        kind=Asked.SESSIONS,
        of=each.agent,
        place=hit.session_id,
        title=short(hit.title) or hit.session_id,
        href=f"{address}#m{hit.sequence}" if page else address,
        about=f"{hit.headline} · {each.agent}",
        score=hit.score,
        is_weak=hit.is_weak,
        parts=_parts(hit.explain or None),
        text=_told_below(hit.title, hit.text.strip().removeprefix(f"{hit.title}\n"), stems),
    )


def _told_below(title: str, text: str, stems: frozenset[str]) -> str:
    """Return the best part of `text`, or "" if `text` only repeats the `title` above it."""
    told = text.strip()
    return "" if repeats_title(told, title) else shorten(told, CHARACTERS, stems)


def editor_link(visit: Visit, path: Path, line: int) -> str:
    """Return the link of the setting `editor_url` that opens `path` at `line` in an editor."""
    template = visit.services.settings.editor_url
    return template.replace("{path}", quote(path.as_posix())).replace("{line}", str(line))


def _parts(why: Explanation | None) -> tuple[Part, ...]:
    """Return the terms that are not 0, the largest first."""
    terms = {name: value for name, value in why.terms.items() if value} if why else {}
    most = max(map(abs, terms.values()), default=1.0)
    ordered = sorted(terms.items(), key=lambda term: -abs(term[1]))
    return tuple(Part(name, value, abs(value) / most) for name, value in ordered)
