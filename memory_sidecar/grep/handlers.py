"""Structural search over folders: selects the files, searches each, and stops at the limit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

from memory_sidecar.chunking.lines import Lines
from memory_sidecar.chunking.notebook import is_notebook, read_program
from memory_sidecar.chunking.references import has_references
from memory_sidecar.core import reasons
from memory_sidecar.core.credential_candidates import Credential
from memory_sidecar.core.credentials import find_credentials, mask_part
from memory_sidecar.core.errors import NotFound, UsageError
from memory_sidecar.core.language import TEXT, detect_language
from memory_sidecar.core.model import SourceFile
from memory_sidecar.core.opening import real_path
from memory_sidecar.core.paths import real_place
from memory_sidecar.core.results import Reporter, about, build_from, notice_too_large, pluralize
from memory_sidecar.disk.globs import path_filter
from memory_sidecar.disk.read import read_text, size_limit
from memory_sidecar.disk.registry import Registry
from memory_sidecar.disk.roots import require_name
from memory_sidecar.disk.walk import walk
from memory_sidecar.grep.finder import Finder, languages
from memory_sidecar.grep.match import Found

NO_TREE = (
    "its code is nested too deep, on too long lines, takes too long to read as a tree, or fits the"
    " pattern in too many ways"
)


@dataclass(frozen=True, slots=True)
class Capture:
    """The code that a hole of the pattern matched. Columns are characters, from 1."""

    text: str
    start_line: int
    start_column: int
    end_line: int
    end_column: Annotated[int, about("behind its last character")]


@dataclass(frozen=True, slots=True)
class FoundCode:
    """A place that a pattern matched. Columns are characters, from 1."""

    filename: Annotated[str, about("relative to the working directory, absolute outside of it")]
    location: Annotated[str, about("start-end in lines: filename:location opens in an editor")]
    language: str
    code: str
    start_line: int
    start_column: int
    end_line: int
    end_column: Annotated[int, about("behind its last character")]
    captures: Annotated[
        dict[str, tuple[Capture, ...]], about("by name: one for $X, any number for $$$X")
    ]


@dataclass(frozen=True, slots=True)
class GrepHit:
    """A match, with the line to show a person."""

    found: FoundCode
    head: tuple[int, int]  # line and column of the definition itself, after its attributes
    line: str  # the whole line of `head`


@dataclass(frozen=True, slots=True)
class GrepQuery:
    """A pattern and the files to search. Empty fields do not restrict."""

    pattern: str
    languages: tuple[str, ...] = ()  # any of
    path_globs: tuple[str, ...] = ()  # any of, as in a `.gitignore`
    limit: int = 1000
    if_more: str = "--limit N shows more"  # than the limit


@dataclass(frozen=True, slots=True)
class Ground:
    """Where is searched: the folder that paths are typed in, and the sources that may be around."""

    cwd: Path
    registry: Registry
    max_file_bytes: int

    def base_of(self, path: Path) -> Path:
        """Return the folder that globs are relative to where files at `path` are searched.

        It is the root of the source around `path`, else `cwd` if `path` is in it, else its folder.
        """
        folder = real_place(path).parent if path.is_file() else Path(real_path(path))
        if source := self.registry.containing(folder):
            return source.root
        return self.cwd if folder.is_relative_to(self.cwd) else folder

    def name_of(self, path: Path) -> str:
        """Return how a hit in the file at `path` calls it."""
        inside = path.is_relative_to(self.cwd)
        return (path.relative_to(self.cwd) if inside else path).as_posix()

    def files(self, path: Path, globs: tuple[str, ...]) -> list[tuple[Path, SourceFile]]:
        """Return the files at and below `path`, each with the root that its path is relative to."""
        if not path.exists():
            raise NotFound(f"{path} is not there", hint="name a folder or a file")
        walk_of = partial(walk, max_file_bytes=self.max_file_bytes)
        if path.is_file():
            root = real_place(path).parent
            files: tuple[SourceFile, ...] = (SourceFile.of(path.name, path.stat()),)
        elif source := self.registry.containing(path):
            root, under = source.root, path.resolve().relative_to(source.root).as_posix()
            files = walk_of(root, excludes=source.excludes, under=[under]).files
        else:
            root = Path(real_path(path))
            require_name(root)
            files = walk_of(root).files
        if not globs:
            return [(root, file) for file in files]
        above, is_meant = root.relative_to(self.base_of(path)), path_filter(globs)
        return [(root, file) for file in files if is_meant((above / file.path).as_posix())]


def grep(
    query: GrepQuery, paths: Sequence[Path], ground: Ground, reporter: Reporter
) -> list[GrepHit]:
    """Return the hits in the folders and files `paths`, by path and line, at most `query.limit`.

    A folder is searched like an index: files that git or its source ignores are left out. A file
    given by itself is searched even if it is ignored. Raises UsageError if the pattern is invalid
    in all languages of these files, NotFound for a missing path.
    """
    finder, wanted = Finder(query.pattern), _searchable(query.languages)
    files: dict[str, tuple[Path, SourceFile]] = {}
    too_large: list[str] = []
    at_hand: Counter[str] = Counter()
    for path in paths:
        for root, file in ground.files(path, query.path_globs):
            language = _guess_language(file.path, wanted)
            if language and _is_too_large(file, ground.max_file_bytes):
                too_large.append(file.path)
            elif language and not file.skip_reason:
                files[f"{root}/{file.path}"] = (root, file)
                at_hand[language] += 1
    if not files and not too_large and (asked := (*query.path_globs, *query.languages)):
        reporter.notice(f"no file here is {', '.join(asked)}")
    by_name = {*at_hand, "cpp"} if "c" in at_hand else at_hand.keys()  # the text of `.h` decides
    not_understood = finder.not_understood_in(wanted if query.languages else wanted & by_name)
    hits: list[GrepHit] = []
    for done, (root, file) in enumerate(files[key] for key in sorted(files)):
        reporter.progress("grep", done, len(files))
        hits += _search_file(ground, root, file, finder, wanted, on_failure=reporter.notice)
        if len(hits) > query.limit:
            reporter.notice(f"stopped at {pluralize(query.limit, 'hit')}; {query.if_more}")
            return hits[: query.limit]
    if not hits:
        main = max(filter(has_references, at_hand), key=at_hand.__getitem__, default="")
        asked_for = query.languages or (main,)
        _explain([each for each in not_understood if each in asked_for], too_large, reporter)
    return hits


def _searchable(asked: Sequence[str]) -> frozenset[str]:
    """Return those of the languages `asked`, all if empty, that have a tree. Raises UsageError."""
    known = languages()
    wanted = known.intersection(asked) if asked else known
    if not wanted:
        hint = f"one of {', '.join(sorted(known))}"
        raise UsageError(f"no syntax tree is made of {', '.join(asked)}", hint=hint)
    return wanted


def _is_too_large(file: SourceFile, max_file_bytes: int) -> bool:
    """Whether only its size keeps `file` out."""
    most = size_limit(file.path, max_file_bytes)
    return file.size > most and file.skip_reason in ("", reasons.larger_than(most))


def _explain(not_understood: Collection[str], too_large: Sequence[str], reporter: Reporter) -> None:
    """Report why there may be no hits."""
    if not_understood:
        reporter.notice(f"the pattern is not valid code in {', '.join(not_understood)}")
    notice_too_large(too_large, "searched", reporter)


def _guess_language(path: str, wanted: frozenset[str]) -> str | None:
    """Return the language of the file at `path` if it may be one of `wanted`, else `None`."""
    if is_notebook(path):
        return "python"
    language, name = detect_language(path), path.rpartition("/")[2]
    may_be = (
        language in wanted
        or (language == TEXT and "." not in name)  # its first line may name an interpreter
        or (language == "c" and "cpp" in wanted)
    )
    return language if may_be else None


def _search_file(
    ground: Ground,
    root: Path,
    file: SourceFile,
    finder: Finder,
    languages: frozenset[str],
    *,
    on_failure: Callable[[str], None],
) -> list[GrepHit]:
    """Return the hits in `file` below `root`, in order.

    `on_failure` is called with the reason if a file that may hold the pattern cannot be searched.
    """
    try:
        read = read_text(root, file, max_file_bytes=ground.max_file_bytes)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        on_failure(f"{file.path}: {error.strerror or error}")
        return []
    if read.skip_reason:
        return []
    text, language = read_program(file.path, read.text)
    if language not in languages:
        return []
    if not finder.may_find(text.encode(errors="replace"), language):
        return []
    lines = Lines(text)
    found = finder.find(lines.data, language)
    if found is None:
        on_failure(f"{file.path}: not looked into, {NO_TREE}")
    return list(_hits(ground.name_of(root / file.path), language, lines, found or ()))


def _hits(filename: str, language: str, lines: Lines, found: Iterable[Found]) -> Iterator[GrepHit]:
    places = _Places(lines)
    for match in found:
        whole = places.capture(match.start, match.stop)
        hit = build_from(
            FoundCode,
            whole,
            filename=filename,
            location=f"{whole.start_line}-{whole.end_line}",
            language=language,
            code=whole.text,
            captures={
                name: tuple(places.capture(*span) for span in spans)
                for name, spans in match.captures.items()
            },
        )
        head = places.place(match.head)
        yield GrepHit(hit, head, lines.rows[head[0] - 1])


class _Places:
    """Converts byte offsets in a text to lines and columns, and to text without credentials."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._secrets: dict[tuple[int, int], list[Credential]] = {}  # by first and last line

    def capture(self, start: int, stop: int) -> Capture:
        first, last = self.place(start), self.place(stop)
        rows = self._lines.text(first[0] - 1, last[0])
        end = len(rows) - len(self._lines.rows[last[0] - 1]) + last[1] - 1
        text = mask_part(rows, first[1] - 1, end, self._secrets_in(first[0], last[0], rows))
        return Capture(text, *first, *last)

    def place(self, byte: int) -> tuple[int, int]:
        row = self._lines.row_at(byte)
        return row + 1, len(self._lines.data[self._lines.size(0, row) : byte].decode()) + 1

    def _secrets_in(self, first: int, last: int, rows: str) -> list[Credential]:
        """Return the credentials in the lines `first` to `last`, `rows`: once for all on a line."""
        if (first, last) not in self._secrets:
            self._secrets[first, last] = find_credentials(rows)
        return self._secrets[first, last]
