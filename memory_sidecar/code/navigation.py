"""Answers questions about a name: its definitions, references, callers and callees."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

from msgspec import UNSET

from memory_sidecar.code.absent import NO_SUCH_FILE, suggest_alike
from memory_sidecar.code.asides import is_aside
from memory_sidecar.code.candidates import Meaning, is_self
from memory_sidecar.code.classes import Lineages
from memory_sidecar.code.directory import Line, typed_path
from memory_sidecar.code.document import Place
from memory_sidecar.code.graph import Defined, Graph, NamedFile
from memory_sidecar.code.mentions import notice_mentions
from memory_sidecar.code.model import ChunkFile, CodeFilter, file_filter
from memory_sidecar.code.name_parts import definitions_meant, file_hint, members_like, parse_name_in
from memory_sidecar.code.query_names import MAX_NEAREST_NAMES, DefinedNames
from memory_sidecar.code.resolve import Resolver
from memory_sidecar.code.results import (
    Confidence,
    Cut,
    DefinitionHit,
    ReferenceHit,
    count_by_file,
)
from memory_sidecar.code.units import are_one, identity_of, without_stubs
from memory_sidecar.code.uses import UsePlace, is_bare_call, uses_of
from memory_sidecar.core.errors import NotFound
from memory_sidecar.core.model import FileStatus
from memory_sidecar.core.results import Reporter
from memory_sidecar.index.report import list_files

MAX_DEPTH = 10
MANY_OTHERS = 3  # definitions besides: a use by name of such a one is mostly of another
MAX_FOLLOWED = 100  # callers of one step, the surest, whose own callers are searched


@dataclass(frozen=True, slots=True, kw_only=True)
class Cutting:
    """Which of the places that are found an answer shows."""

    top_k: int = 50
    most_doubtful: int | None = None  # of uses by name that may mean MANY_OTHERS; None: any number
    filter: CodeFilter = field(default_factory=CodeFilter)


@dataclass(frozen=True, slots=True, kw_only=True)
class NameQuery(Cutting):
    """A question about a name, qualified or not, or about the definition at a line."""

    what: str | Line


def definitions(graph: Graph, asked: NameQuery) -> Cut[DefinitionHit]:
    """Return the definitions of the name, the longest first, tests and other asides last."""
    found = _targets(graph, asked)
    # Overloads count as one, and so does a class with its constructors.
    meant = {identity_of(each) for each in without_stubs(found) if each.owner != each.name}
    confidence: Confidence = "exact" if are_one(meant) or len(found) == 1 else "by name"
    is_wanted = file_filter(asked.filter)
    hits = [
        each.as_place(DefinitionHit, confidence=confidence, others=len(found) - 1)
        for each in sorted(found, key=_definition_order)
        if is_wanted(each.at.file)
    ]
    return Cut.first(hits, asked.top_k)


def references(graph: Graph, asked: NameQuery) -> Cut[ReferenceHit]:
    """Return the uses of the name, the surest first, then by path and line."""
    uses, targets, notices = _uses_of_query(Resolver(graph), asked)
    notices += notice_mentions(graph, targets, uses, file_filter(asked.filter))
    uses.sort(key=UsePlace.order)
    return best_references(graph, uses, asked, notices)


def callers(graph: Graph, asked: NameQuery, *, depth: int = 1) -> Cut[ReferenceHit]:
    """Return the calls of the name, and those of its callers up to `depth` steps, nearest first."""
    resolver = Resolver(graph)
    uses, targets, notices = _uses_of_query(resolver, asked)
    is_wanted = file_filter(asked.filter)
    uncalled = [use.at.file for use in uses if use.is_uncalled and is_wanted(use.at.file)]
    mentions = notice_mentions(graph, targets, uses, is_wanted)
    known = {each.key for each in targets}
    found: list[UsePlace] = []
    unfollowed = 0
    for step in range(1, depth + 1):
        calls = sorted((use for use in uses if use.is_call), key=UsePlace.order)
        found += [replace(use, depth=step) for use in calls]
        sure = (use for use in calls if use.confidence != "by name")
        around = filter(None, (graph.enclosing(use.at, use.place) for use in sure))
        new = [each for each in distinct(around) if each.key not in known]
        targets = new[:MAX_FOLLOWED]
        known |= {each.key for each in targets}
        if step < depth:
            unfollowed += len(new) - len(targets)
            uses = list(uses_of(resolver, targets))
    if notices and not found:
        nothing = f"nothing that is indexed here defines or calls {asked.what}"
        notices = (f"{nothing}; `memory-sidecar refs` shows what else uses the name",)
    elif uncalled:
        places = count_by_file(uncalled, lambda file: file.path)
        without = f"uses without a call, which `memory-sidecar refs` shows: {places}"
        notices = (*notices, without)
    if unfollowed:
        beyond = f"{unfollowed}, beyond the surest {MAX_FOLLOWED} of their step"
        notice = f"callers not followed further: {beyond}; ask for one of them by its name"
        notices = (*notices, notice)
    return best_references(graph, found, asked, notices + mentions)


def report_notices(found: Cut[Any], reporter: Reporter) -> None:
    """Pass the notices about an answer on to `reporter`."""
    for notice in found.notices:
        reporter.notice(notice)


def callees(graph: Graph, asked: NameQuery) -> Cut[DefinitionHit]:
    """Return the definitions in the same source that the name calls, the surest first."""
    is_wanted = file_filter(asked.filter)
    resolver = Resolver(graph)
    calls_in = cache(partial(_calls_in, graph))  # a file may define `String` of Go dozens of times
    hits: dict[tuple[int, int], DefinitionHit] = {}
    for target in _targets(graph, asked):
        first, last = target.start_line, target.end_line
        inside = ((n, place) for n, place in calls_in(target.at) if first <= place.line <= last)
        for name, place in inside:
            meaning = resolver.meaning_of(name, target.at, place)
            if place.how != "call" and meaning.confidence == "by name":
                continue
            for each in meaning.definitions[:1]:
                if is_wanted(each.at.file) and each.key != target.key:
                    others = len(meaning.definitions) - 1
                    hit = each.as_place(DefinitionHit, confidence=meaning.confidence, others=others)
                    hits.setdefault(each.key, hit)
    return Cut.first(sorted(hits.values(), key=lambda h: h.confidence == "by name"), asked.top_k)


def known_file(graph: Graph, source: str, path: str) -> NamedFile:
    """Return the file at `path`. Raises NotFound if it has no names, with a hint what to ask."""
    if at := graph.file(source, path):
        return at
    if inside := graph.files_below(source, path):
        hint = (
            f"it is a folder: name a file such as {min(inside, key=is_aside)};"
            " `memory-sidecar map --around FOLDER` shows what is central in it"
        )
    else:
        files = list_files(graph.connection, FileStatus.INDEXED)
        if any((each.source, each.path) == (source, path) for each in files):
            shown = "it is indexed: `memory-sidecar search` shows what it says"
            hint = "it is gone since" if graph.is_deleted(source, path) else shown
        elif (hint := graph.why_unread(source, path)) == NO_SUCH_FILE:
            hint = "; ".join(filter(None, (hint, suggest_alike(files, {(source, path)}))))
    raise NotFound(f"no definition is known in {path or '.'}", hint=hint)


def _targets(graph: Graph, asked: NameQuery) -> list[Defined]:
    """Return the definitions that are asked about. Raises UsageError and NotFound."""
    if isinstance(asked.what, Line):
        return [_at_line(graph, asked.what)]
    sources = asked.filter.sources

    def defined(name: str) -> list[Defined]:
        return [d for d in graph.defined(name) if not sources or d.at.file.source in sources]

    if found := defined(asked.what):  # even `git-clean` of Bash, `adds an item` of Kotlin
        return found
    parts = parse_name_in(graph, asked.what)
    named = defined(parts[-1])
    if found := definitions_meant(parts, named):
        return found
    in_file = [d for d in named if d.at.file.path.rpartition(".")[0] == "/".join(parts[:-1])]
    if len(in_file) == 1:  # a method without its class: shop/cart.py:price
        return in_file
    hint = "`memory-sidecar search` finds what it may be called"
    nearest = DefinedNames(graph.connection, sources).nearest(parts[-1])
    near = [each for name in nearest for each in defined(name)]
    near.sort(key=lambda each: [each.owner] != parts[-2:-1])
    members = members_like(graph, parts[-1], defined(parts[-2])) if len(parts) > 1 else []
    # Also name a definition of that name elsewhere, such as a member of a base or embedded struct.
    known = [*members[: MAX_NEAREST_NAMES - 1], *named] if named else [*near, *members]
    if paths := [*dict.fromkeys(each.path for each in known)]:
        hint = f"there is {', '.join(paths[:MAX_NEAREST_NAMES])}"
    hint = file_hint(graph, asked.what) or hint
    raise NotFound(f"nothing that is indexed here defines {asked.what}", hint=hint)


def _uses_of_query(
    resolver: Resolver, asked: NameQuery
) -> tuple[list[UsePlace], list[Defined], tuple[str, ...]]:
    """Return the uses of the name asked about, its definitions, and notices.

    If nothing here defines the name, because another package does, these are all uses of the name.
    Raises UsageError, and NotFound if it is not even used.
    """
    graph = resolver.graph
    try:
        targets = _targets(graph, asked)
    except NotFound as missing:
        is_wanted = file_filter(asked.filter)
        found = () if isinstance(asked.what, Line) else _uses_of_undefined(graph, asked.what)
        uses = [use for use in found if is_wanted(use.at.file)]
        if not uses:
            raise
        shown = "what uses the name is shown, but no variables or parameters: find them as text"
        return uses, [], (f"{missing.message}; {shown}",)
    return list(uses_of(resolver, targets)), targets, ()


def _uses_of_undefined(graph: Graph, what: str) -> Iterator[UsePlace]:
    """Yield the uses of a name that nothing here defines, with the qualifier that `what` has.

    The qualifier may be the class around `self`, or a base of it. Where such a class uses the name
    on `self`, any receiver in files of its realm that name the class may be one of its objects.
    """
    *_, owner, name = ["", *parse_name_in(graph, what)]
    near = graph.files_with_any([owner]) | {each.at.id for each in graph.defined(owner)}
    lineages = Lineages(graph)
    own, others = [], []
    for used in graph.uses(name):
        is_imported = graph.imports(used.at, [owner or name])
        for place in used.places:
            sure = UsePlace(used.at, name, place, Meaning(confidence="likely"))
            unsure = replace(sure, meaning=Meaning())
            if not owner or place.receiver == owner or (is_imported and not place.receiver):
                yield sure if is_imported else unsure
            elif used.at.id in near and is_self(place.receiver, used.at):
                if owner in lineages.of(used.at, lineages.class_around(used.at, place)):
                    own.append(sure)
            elif used.at.id in near and place.receiver:
                others.append(unsure)
    having = {each.at.realm for each in own}
    yield from (*own, *(each for each in others if each.at.realm in having))


def _at_line(graph: Graph, line: Line) -> Defined:
    """Return the definition that begins at a line, else the innermost around. Raises NotFound."""
    at = known_file(graph, line.source, line.path)
    around = [
        each for each in graph.definitions_in(at) if each.start_line <= line.line <= each.end_line
    ]
    if not around:
        typed = typed_path(graph.connection, line.source, line.path)
        hint = f"`memory-sidecar outline {typed}` lists those of the file"
        raise NotFound(f"no definition is known at {line.path}:{line.line}", hint=hint)
    first_lines = [each for each in around if each.start_line == line.line]
    return first_lines[0] if first_lines else max(around, key=lambda each: each.start_line)


def _calls_in(graph: Graph, at: NamedFile) -> list[tuple[str, Place]]:
    """Return the names called in a file and their places, by line."""
    uses = ((used.name, place) for used in graph.uses_in(at) for place in used.places)
    calls = (each for each in uses if each[1].how == "call" or is_bare_call(each[0], at, each[1]))
    return sorted(calls, key=lambda use: use[1].line)


def best_references(
    graph: Graph, found: Iterable[UsePlace], asked: Cutting, notices: Sequence[str]
) -> Cut[ReferenceHit]:
    """Return the first of the uses in files `asked` about; equal uses on a line count once."""
    is_wanted = file_filter(asked.filter)
    alike: dict[tuple[object, ...], UsePlace] = {}  # `a.next = b.next`: the first is shown
    for each in (use for use in found if is_wanted(use.at.file)):
        spot = each.place.line, each.place.how, each.place.within, each.confidence
        alike.setdefault((each.at.id, each.name, *spot), each)
    kept = [*_without_most_doubtful(alike.values(), asked.most_doubtful)][: asked.top_k]
    shown = {id(use) for use in kept}
    left = [use.at.file for use in alike.values() if id(use) not in shown]
    hits = (_reference_hit(graph, use) for use in kept)
    return Cut(hits, more=len(left), more_in=left, notices=notices)


def _without_most_doubtful(uses: Iterable[UsePlace], most: int | None) -> Iterator[UsePlace]:
    """Yield `uses` without those beyond the first `most` that may as well mean MANY_OTHERS."""
    doubtful = 0
    for use in uses:
        is_doubtful = use.confidence == "by name" and len(use.meaning.definitions) > MANY_OTHERS
        doubtful += is_doubtful
        if most is None or not is_doubtful or doubtful <= most:
            yield use


def distinct(found: Iterable[Defined]) -> list[Defined]:
    """Return `found` without duplicates, in order."""
    return list({each.key: each for each in found}.values())


def _definition_order(defined: Defined) -> tuple[bool, int, ChunkFile]:
    length = defined.end_line - defined.start_line
    return is_aside(defined.at.file.path), -length, defined.at.file


def _reference_hit(graph: Graph, use: UsePlace) -> ReferenceHit:
    around = graph.enclosing(use.at, use.place)
    return ReferenceHit(
        filename=use.at.file.path,
        start_line=use.place.line,
        end_line=use.place.line,
        name=use.name,
        how=use.place.how,
        enclosing=around.path if around else "",
        code=graph.code_at(use.at, use.place.line),
        confidence=use.confidence,
        others=max(len(use.meaning.definitions) - 1, 0),
        depth=use.depth,
        is_gone=True if use.meaning.is_gone else UNSET,
        source=use.at.file.source,
        language=use.at.file.language,
    )
