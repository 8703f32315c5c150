"""Reads the names of a snapshot: the definitions and uses of a name, and what encloses them.

Names in files that were deleted since are left out. Results are cached for one answer, which asks
for the same again and again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, TypeVar

from memory_sidecar.code.document import DefinitionRow, Place, read_places
from memory_sidecar.code.model import ChunkFile
from memory_sidecar.code.results import DefinitionPlace
from memory_sidecar.code.scoping import Scoping, scoping_of
from memory_sidecar.core.cached_method import cached_method
from memory_sidecar.core.model import SourceFile
from memory_sidecar.core.results import build_from
from memory_sidecar.core.sqlite import Connection, column
from memory_sidecar.disk.read import read_text
from memory_sidecar.disk.roots import NONE_DELETED, IsDeleted
from memory_sidecar.index.report import known_sources

T = TypeVar("T", bound=DefinitionPlace)

MAX_READ_BYTES = 16 << 20  # of a file whose lines are shown
_FIRST_REMOVED = 1 << 30  # removed definitions are numbered from here on

TYPES = frozenset({"class", "interface", "trait", "struct", "enum", "union", "type"})
FUNCTIONS = frozenset({"function", "method"})
IMPORTED = "(places GLOB 'i[0-9]*' OR places GLOB '* i[0-9]*')"
_NAMED_BY_FOLDER = frozenset({"__init__", "index", "mod", "lib", "main", "init"})


@dataclass(frozen=True)
class NamedFile:
    """A file that defines or uses names."""

    id: int
    file: ChunkFile

    def __hash__(self) -> int:
        return self.id

    @cached_property
    def family(self) -> str:
        """The family of languages that share names, such as JavaScript and TypeScript."""
        return self.scoping.family or self.file.language

    @cached_property
    def realm(self) -> tuple[str, str]:
        """The source and the family: files of the same realm share names."""
        return self.file.source, self.family

    @cached_property
    def scoping(self) -> Scoping:
        return scoping_of(self.file.language)

    @cached_property
    def folder(self) -> str:
        return self.file.path.rpartition("/")[0]

    @cached_property
    def package(self) -> str:
        """The name of its folder; empty at the root of the source."""
        return self.folder.rpartition("/")[2]

    @cached_property
    def modules(self) -> frozenset[str]:
        """The names by which an import may mean the file: its stem, or the name of its folder."""
        stem, package = self.file.path.rsplit("/", 1)[-1].split(".")[0], self.package
        if self.family == "go":  # at the root, only an import tells the package's name
            return frozenset({package} - {""})
        return frozenset({package if package and stem in _NAMED_BY_FOLDER else stem})


@dataclass(frozen=True, slots=True, kw_only=True)
class Defined(DefinitionRow):
    """A definition in a file."""

    at: NamedFile
    number: int  # in its file

    @property
    def key(self) -> tuple[int, int]:
        """The id of its file, and its number in it."""
        return self.at.id, self.number

    @property
    def owner(self) -> str:
        """The name of the enclosing definition, or empty."""
        return self.scope.rpartition(".")[2]

    @property
    def is_removed(self) -> bool:
        """Whether a diff removed it, so that the snapshot does not have it."""
        return self.number >= _FIRST_REMOVED

    @property
    def is_type(self) -> bool:
        return self.kind in TYPES

    def as_place(self, shape: type[T], **more: Any) -> T:  # noqa: ANN401  of any field
        """Convert to `shape`, a kind of `DefinitionPlace`, with `more` for its other fields."""
        file = self.at.file
        return build_from(
            shape,
            self,
            filename=file.path,
            enclosing=self.scope,
            source=file.source,
            language=file.language,
            **more,
        )


@dataclass(frozen=True, slots=True)
class Used:
    """The places where one file uses one name."""

    at: NamedFile
    name: str
    places: tuple[Place, ...]


class Graph:
    """The names in a snapshot, and definitions that a diff removed."""

    def __init__(
        self,
        connection: Connection,
        is_deleted: IsDeleted = NONE_DELETED,
        why_unread: Callable[[str, str], str] = lambda *_: "",
    ) -> None:
        """`why_unread` tells of a source and a path why that file is not indexed, if so."""
        self.connection = connection
        self.is_deleted = cache(is_deleted)
        self.why_unread = why_unread
        self._named_file = cache(NamedFile)  # whose properties are cached, too
        self._removed: dict[str, list[Defined]] = {}  # by name: what `add_removed` added
        self._next_removed = _FIRST_REMOVED

    def add_removed(
        self, source: str, path: str, language: str, rows: Sequence[DefinitionRow]
    ) -> list[Defined]:
        """Add the removed definitions of a file to those of the snapshot, and return them."""
        first = self._next_removed
        self._next_removed += len(rows)
        at = self.file(source, path) or NamedFile(-first, ChunkFile(source, path, language))
        removed = [
            build_from(Defined, row, at=at, number=number) for number, row in enumerate(rows, first)
        ]
        for each in removed:
            self._removed.setdefault(each.name, []).append(each)
        return removed

    @cached_method
    def defined(self, name: str) -> list[Defined]:
        """Return the definitions called `name` in any scope, by source, path and line."""
        found = [*self._definitions("d.name = ?", (name,)), *self._removed.get(name, ())]
        return sorted(found, key=lambda d: (*d.at.file, d.start_line))

    def defined_for(self, at: NamedFile, name: str) -> list[Defined]:
        """Return those of `defined` that a file may mean, which are those of its realm."""
        realm = at.realm
        return [each for each in self.defined(name) if each.at.realm == realm]

    def defined_near(self, name: str, qualifier: str) -> list[Defined]:
        """Return those of `defined` in a scope, a folder or a file that `qualifier` may name.

        For 8,000 definitions of `__init__` it takes 7 ms, and `defined` 150. Omits removed ones.
        """
        is_near = "instr('.' || d.path, '.' || ?2 || '.') OR instr('/' || f.filename, '/' || ?2)"
        found = self._definitions(f"d.name = ?1 AND ({is_near})", (name, qualifier))
        return sorted(found, key=lambda d: (*d.at.file, d.start_line))

    def definitions_in(self, at: NamedFile) -> list[Defined]:
        """Return the definitions in a file, in order."""
        return list(self._definitions("d.file = ?", (at.id,)))

    def enclosing(self, at: NamedFile, place: Place) -> Defined | None:
        """Return the definition that encloses a place, if any."""
        return None if place.within is None else self.numbered(at.id, place.within)

    @cached_method
    def numbered(self, file_id: int, number: int) -> Defined:
        """Return the definition with that number in its file."""
        (found,) = self._definitions("d.file = ? AND d.number = ?", (file_id, number))
        return found

    def first_definition(self, at: NamedFile) -> Defined | None:
        """Return the first definition in a file, if it has any."""
        return next(self._definitions("d.file = ?", (at.id,)), None)

    def file(self, source: str, path: str) -> NamedFile | None:
        """Return the file at `path`, if it defines or uses any name."""
        found = self.files_where("source = ? AND filename = ?", source, path)
        return found[0] if found and not self.is_deleted(source, path) else None

    def files_where(self, condition: str, *values: str) -> list[NamedFile]:
        """Return the files that satisfy the SQL `condition`, those deleted since, too."""
        asked = f"SELECT id, source, filename, language FROM code_files WHERE {condition}"
        rows: Any = self.connection.execute(asked, values)
        return [self._named_file(file_id, ChunkFile(*of)) for file_id, *of in rows]

    def files_below(self, source: str, folder: str) -> list[str]:
        """Return the paths of files below `folder` that define names, most definitions first."""
        below = f"{folder}/" if folder else ""
        return column(
            self.connection,
            "SELECT f.filename FROM code_files f JOIN code_definitions d ON d.file = f.id"
            " WHERE f.source = ? AND substr(f.filename, 1, ?) = ?"
            " GROUP BY f.id ORDER BY count(*) DESC, f.filename",
            (source, len(below), below),
        )

    def uses(self, name: str) -> Iterator[Used]:
        """Yield the uses of `name`, by file."""
        yield from self._uses("r.name = ?", (name,))

    def uses_in(self, at: NamedFile) -> Iterator[Used]:
        """Yield the uses of all names in a file, by name."""
        yield from self._uses("r.file = ?", (at.id,))

    def mentions(self, at: NamedFile, name: str) -> bool:
        """Whether a file uses `name` in any way."""
        return at.id in self.users_of(name)

    def files_with_any(self, names: Iterable[str]) -> frozenset[int]:
        """Return the ids of the files that use one of `names` in any way."""
        return frozenset().union(*map(self.users_of, names))

    def imports(self, at: NamedFile, names: Iterable[str]) -> bool:
        """Whether a file imports something by one of `names`."""
        return any(at.id in self.users_of(name, IMPORTED) for name in names)

    def is_foreign(self, at: NamedFile, name: str) -> bool:
        """Whether a Python or Go file imports `name`, a module that its source does not have.

        In Python, `from x import name` does not count: it may import an object or another module.
        """
        if at.family not in ("python", "go") or self.has_module(at.file.source, name):
            return False
        lines = (each.line for each in self.imports_in(at, name))
        return at.family == "go" or all(self.code_at(at, n).startswith("import ") for n in lines)

    def imports_in(self, at: NamedFile, name: str) -> list[Place]:
        """Return the places where a file imports `name`, or a module that is called so."""
        asked = "SELECT places FROM code_references WHERE file = ? AND name = ?"
        row: Any = self.connection.execute(asked, (at.id, name)).get
        return [*read_places(" ".join(p for p in (row or "").split(" ") if p[:1] == "i"))]

    @cached_method
    def has_module(self, source: str, name: str) -> bool:
        """Whether a file of `source`, or a folder above one, is called `name`."""
        row: Any = self.connection.execute(
            "SELECT 1 FROM code_files f JOIN sources s ON s.name = f.source WHERE f.source = ?1"
            " AND (instr(s.root || '/' || f.filename, '/' || ?2 || '.')"
            " OR instr(s.root || '/' || f.filename, '/' || ?2 || '/')) LIMIT 1",
            (source, name),
        ).fetchone()
        return row is not None

    def kind_around(self, defined: Defined) -> str:
        """Return the kind of the enclosing definition; empty at top level and in a namespace.

        Also empty for constants of an enum in C, which are visible outside the enum.
        """
        is_loose = defined.kind == "constant" and defined.at.scoping.loose_constants
        if not defined.scope or is_loose:
            return ""
        for each in self._removed.get(defined.owner, ()):
            if each.at.id == defined.at.id and each.path == defined.scope:
                return each.kind
        row: Any = self.connection.execute(
            "SELECT kind FROM code_definitions WHERE file = ? AND number < ? AND path = ?",
            (defined.at.id, defined.number, defined.scope),
        ).fetchone()
        return row[0] if row else ""

    def code_at(self, at: NamedFile, line: int) -> str:
        """Return a line of the file as indexed, or as on disk if only the team has its chunks."""
        row: Any = self.connection.execute(
            "SELECT start_line, code FROM code_chunks WHERE source = ? AND filename = ?"
            " AND start_line <= ? AND end_line >= ?",
            (at.file.source, at.file.path, line, line),
        ).fetchone()
        if row:
            return str(row[1].split("\n")[line - row[0]]).strip()
        lines = self.lines_on_disk(at.file.source, at.file.path)
        return lines[line - 1].strip() if line <= len(lines) else ""

    @cached_method
    def lines_on_disk(self, source: str, path: str) -> list[str]:
        """Return the present lines of a file; none if it cannot be read."""
        with suppress(OSError, KeyError):
            root, found = known_sources(self.connection)[source].root, SourceFile(path, 0, 0, 0)
            read = read_text(root, found, max_file_bytes=MAX_READ_BYTES)
            return [] if read.skip_reason else read.text.split("\n")
        return []

    @cached_method
    def users_of(self, name: str, condition: str = "TRUE", *values: str) -> frozenset[int]:
        """Return the files that use `name` at places which satisfy the SQL `condition`."""
        using = f"SELECT file FROM code_references WHERE name = ? AND {condition}"
        return frozenset(column(self.connection, using, (name, *values)))

    def _definitions(self, condition: str, values: tuple[int | str, ...]) -> Iterator[Defined]:
        rows: Any = self.connection.execute(
            "SELECT f.id, f.source, f.filename, f.language, d.number, d.name, d.path, d.kind,"
            " d.signature, d.start_line, d.end_line"
            f" FROM code_definitions d JOIN code_files f ON f.id = d.file WHERE {condition}"
            " ORDER BY d.file, d.number",
            values,
        )
        for file_id, source, path, language, number, *row in rows:
            if self.is_deleted(source, path):
                continue
            at = self._named_file(file_id, ChunkFile(source, path, language))
            yield Defined(*row, at=at, number=number)

    def _uses(self, condition: str, values: tuple[int | str, ...]) -> Iterator[Used]:
        rows: Any = self.connection.execute(
            "SELECT f.id, f.source, f.filename, f.language, r.name, r.places"
            f" FROM code_references r JOIN code_files f ON f.id = r.file WHERE {condition}",
            values,
        )
        for file_id, source, path, language, name, places in rows:
            if self.is_deleted(source, path):
                continue
            at = self._named_file(file_id, ChunkFile(source, path, language))
            yield Used(at, name, tuple(read_places(places)))
