"""Structural search over folders: selects the files, and stops at the limit."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pathspec import GitIgnoreSpec
from pathspec.patterns.gitignore import GitIgnorePatternError

from memory_sidecar.core import reasons
from memory_sidecar.core.errors import NotFound, UsageError
from memory_sidecar.core.model import SourceFile
from memory_sidecar.core.results import Reporter, pluralize
from memory_sidecar.disk.read import size_limit
from memory_sidecar.disk.registry import Registry
from memory_sidecar.disk.walk import walk
from memory_sidecar.grep.files import GrepHit, guess_language, search_file
from memory_sidecar.grep.finder import Finder, languages


@dataclass(frozen=True, slots=True)
class GrepQuery:
    """A pattern and the files to search. Empty fields do not restrict."""

    pattern: str
    languages: tuple[str, ...] = ()  # any of
    path_globs: tuple[str, ...] = ()  # any of, as in a `.gitignore`
    limit: int = 1000


def grep(
    query: GrepQuery,
    paths: Sequence[Path],
    *,
    cwd: Path,
    registry: Registry,
    max_file_bytes: int,
    reporter: Reporter,
) -> list[GrepHit]:
    """Return the hits in the folders and files `paths`, by path and line, at most `query.limit`.

    Paths of hits are relative to `cwd`. A folder is searched like an index: files that git or its
    source ignores are left out. A file given by itself is searched even if it is ignored. Raises
    UsageError if the pattern is invalid in all languages of these files, NotFound for a missing
    path.
    """
    finder = Finder(query.pattern)
    known = languages()
    wanted = known.intersection(query.languages) if query.languages else known
    if not wanted:
        raise UsageError(
            f"no syntax tree is made of {', '.join(query.languages)}",
            hint=f"one of {', '.join(sorted(known))}",
        )
    files: dict[str, tuple[Path, SourceFile]] = {}
    too_large: list[str] = []
    at_hand = set(wanted) if query.languages else set()
    for path in paths:
        for root, file in _files(path, registry, query.path_globs, max_file_bytes):
            if _is_too_large(file, wanted, max_file_bytes):
                too_large.append(file.path)
            elif language := guess_language(file, wanted):
                files[f"{root}/{file.path}"] = (root, file)
                at_hand.add(language)
    if not files and not too_large and (asked := (*query.path_globs, *query.languages)):
        reporter.notice(f"no file here is {', '.join(asked)}")
    not_understood = finder.not_understood_in(wanted & at_hand)
    hits: list[GrepHit] = []
    for done, (root, file) in enumerate(files[key] for key in sorted(files)):
        reporter.progress("grep", done, len(files))
        hits += search_file(
            root,
            file,
            finder,
            languages=wanted,
            cwd=cwd,
            max_file_bytes=max_file_bytes,
            on_failure=reporter.notice,
        )
        if len(hits) > query.limit:
            reporter.notice(f"stopped at {pluralize(query.limit, 'hit')}; --limit N shows more")
            return hits[: query.limit]
    if not hits:
        _explain(not_understood, too_large, reporter)
    return hits


def _is_too_large(file: SourceFile, wanted: frozenset[str], max_file_bytes: int) -> bool:
    """Whether only its size keeps `file`, by its name one of the languages `wanted`, out."""
    most = size_limit(file.path, max_file_bytes)
    if file.size <= most or file.skip_reason not in ("", reasons.larger_than(most)):
        return False
    return guess_language(replace(file, skip_reason=""), wanted) is not None


def _explain(not_understood: Collection[str], too_large: Sequence[str], reporter: Reporter) -> None:
    """Report why there may be no hits."""
    if not_understood:
        reporter.notice(f"the pattern is not valid code in {', '.join(not_understood)}")
    if too_large:
        named = too_large[0] if len(too_large) == 1 else pluralize(len(too_large), "file")
        reporter.notice(f"{named} not searched, too large: `max_file_bytes` allows more")


def _files(
    path: Path, registry: Registry, globs: tuple[str, ...], max_file_bytes: int
) -> list[tuple[Path, SourceFile]]:
    """Return the files at and below `path`, each with the root that its path is relative to."""
    if not path.exists():
        raise NotFound(f"{path} is not there", hint="name a folder or a file")
    if path.is_file():
        status = path.stat()
        times = (status.st_mtime_ns, status.st_ctime_ns)
        found = [(path.parent, SourceFile(path.name, status.st_size, *times))]
    else:
        source = registry.containing(path)
        if source is None:
            root, scan = path, walk(path, max_file_bytes=max_file_bytes)
        else:
            root, under = source.root, path.resolve().relative_to(source.root).as_posix()
            scan = walk(
                root, max_file_bytes=max_file_bytes, excludes=source.excludes, under=[under]
            )
        found = [(root, file) for file in scan.files]
    if not globs:
        return found
    try:
        spec = GitIgnoreSpec.from_lines(globs)
    except GitIgnorePatternError as error:
        raise UsageError(f"--path: {error}", hint="for example 'src/**/*.py'") from error
    return [each for each in found if spec.match_file(each[1].path)]
