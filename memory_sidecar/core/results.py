"""Results of commands and tools: one frozen dataclass each, from the handler to the JSON.

    @dataclass(frozen=True, slots=True)
    class Skill:
        \"\"\"A skill for coding agents.\"\"\"  # its description in the schema

        name: str
        path: Annotated[str, about("absolute")]  # `about`: the description of the property
        score: Score  # a type that several results share: below
        explain: Explanation | UnsetType = UNSET  # left out of the JSON while UNSET

The fields are the properties of the JSON, in order, and hold the values to print: scores `rounded`,
times by `iso_utc`; paths get their `/` when they are printed. A command returns its result through
`Call.show`, which prints it; `./task schemas` makes the committed schema of the annotation of the
command. An MCP tool returns it in its answer. To add a property, add the field, its value in the
handler, and run `./task schemas`.

Notices and progress are no part of a result: a handler gives them to its caller's `Reporter`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import PurePath
from typing import Annotated, Any, Protocol, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType

from memory_sidecar.core.errors import SidecarError

Schema = dict[str, Any]
T = TypeVar("T")

_REF = "#/$defs/{name}"

_prepared: set[object] = set()
_preparing = threading.Lock()


def about(text: str) -> Meta:
    """Describe a property in its JSON Schema: `Annotated[str, about("absolute")]`."""
    return Meta(description=text)


Time = Annotated[str, about("ISO 8601 in UTC")]
Score = Annotated[float, about("0 to 1, falls with rank")]
IsWeak = Annotated[bool, about("a weak match, as questions have that nothing here answers")]

WEAK_ALONE = "only weak matches: what you ask for may not be here"
"""The notice where even the best hit is weak; in JSON, every hit says whether it is."""


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file that was left out or could not be indexed, and why."""

    source: str
    path: Annotated[str, about("relative to its source")]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexReport:
    """What an index run did."""

    agent: (
        Annotated[str, about("whose memories and sessions, where it was not code")] | UnsetType
    ) = UNSET
    sources: Annotated[tuple[str, ...], about("those that were looked at")]
    sources_absent: Annotated[tuple[str, ...], about("not there; what was indexed of them stays")]
    files_total: Annotated[int, about("all that the sources have")]
    files_processed: Annotated[int, about("those (re)indexed by this call")]
    files_deleted: int
    files_skipped: tuple[ListedFile, ...]
    files_failed: Annotated[tuple[ListedFile, ...], about("tried again next time")]
    folders_unreadable: Annotated[tuple[str, ...], about("left as they were")]
    chunks_indexed: int
    chunks_deleted: int
    chunks_total: Annotated[int, about("of the whole database")]
    vectors_embedded: int
    vectors_pending: Annotated[int, about("chunks of these sources that wait for their vector")]
    seconds: float
    agents: Annotated[tuple[IndexReport, ...], about("with --all: of each")] | UnsetType = UNSET


@dataclass(frozen=True, slots=True)
class AgentReports:
    """What was done for each agent where no source is registered."""

    agents: tuple[IndexReport, ...]


@dataclass(frozen=True, slots=True)
class SourceMoved:
    """A source whose folder is another one now."""

    name: str
    old_root: Annotated[str, about("absolute")]
    root: Annotated[str, about("absolute")]
    chunks: Annotated[int, about("kept, or made of what changed")]


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong, and what would be right."""

    code: Annotated[str, about("stable, such as no_index")]
    message: str
    hint: Annotated[str, about("a next step, or empty")]


class Reporter(Protocol):
    """Takes the notices and the progress of a running command, for its caller."""

    waits: bool  # whether the caller waits a while for what is not indexed yet

    def notice(self, text: str) -> None:
        """Show the caller one line: what is missing, and what to do."""

    def progress(self, stage: str, done: int, total: int) -> None:
        """Show that `done` of `total` (0: unknown) is done in `stage`. Any thread may call this."""


class Silent:
    """A reporter that drops everything."""

    waits = True

    def notice(self, text: str) -> None: ...

    def progress(self, stage: str, done: int, total: int) -> None: ...


def ask_each(names: Iterable[str], ask: Callable[[str], T], reporter: Reporter) -> list[T]:
    """Return what `ask` finds of each agent in `names`.

    An agent that cannot be read is left out, with a notice.
    """
    found = []
    for name in names:
        try:
            found.append(ask(name))
        except SidecarError as error:
            reporter.notice(f"without {name}: {error.with_hint}")
    return found


class MaybeWeak(Protocol):
    """A hit that says whether it is weak."""

    @property
    def is_weak(self) -> bool: ...


def warn_if_weak(hits: Sequence[MaybeWeak], reporter: Reporter) -> None:
    """Give `reporter` the notice WEAK_ALONE if even the first of `hits`, best first, is weak."""
    if hits and hits[0].is_weak:
        reporter.notice(WEAK_ALONE)


def to_builtins(result: object) -> Any:  # noqa: ANN401  whatever JSON has
    """Return `result` as dicts, lists and plain values, without the properties that are UNSET."""
    return msgspec.to_builtins(result, enc_hook=_encode_path)


def convert(
    value: object, shape: type[T], *, dec_hook: Callable[[type, Any], object] | None = None
) -> T:
    """Convert `value` as `msgspec.convert` does, and raise its errors; safe in several threads.

    msgspec (0.22.0) gathers the fields of a dataclass at its first use. A thread that uses the
    class meanwhile reads half of them, which crashes the process; the lock prevents that.
    """
    if shape not in _prepared:
        with _preparing:
            msgspec.json.Decoder(shape, dec_hook=dec_hook)
            _prepared.add(shape)
    return msgspec.convert(value, shape, dec_hook=dec_hook)


def build_from(shape: type[T], facts: object, **more: Any) -> T:  # noqa: ANN401  of any field
    """Build the dataclass `shape` from the attributes of `facts` named like its fields, and `more`.

    A field that neither has keeps its default.
    """
    names = [each.name for each in fields(shape) if each.name not in more]  # type: ignore[arg-type]
    shared = {name: getattr(facts, name) for name in names if hasattr(facts, name)}
    return shape(**shared, **more)


def rounded(value: float) -> float:
    """Round a score, a cosine or a part of one to six decimals, as all results have them."""
    return round(float(value), 6)


def pluralize(number: int, one: str, many: str = "") -> str:
    """Return `number` with its noun: `1 file`, `2,000 files`; `many` is an irregular plural."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def name_all(names: Sequence[str]) -> str:
    """Return the beginning of a sentence about `names`: "a is", or "a, b are"."""
    return f"{', '.join(names)} {'are' if names[1:] else 'is'}"


def notice_too_large(paths: Sequence[str], what: str, reporter: Reporter) -> None:
    """Give notice of the files at `paths`, if any, that are not `what`, such as indexed."""
    if paths:
        named = paths[0] if len(paths) == 1 else pluralize(len(paths), "file")
        reporter.notice(f"{named} not {what}, too large: `max_file_bytes` allows more")


def name_first(names: Sequence[str], most: int, *, by: str = ", ") -> str:
    """Name the first `most` of `names`, with `by` between them, and count the others."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return by.join(names[:most]) + more


def object_schema_of(shape: type) -> Schema:
    """Return the JSON Schema of a dataclass with `"type": "object"` at its top, as MCP demands."""
    _, definitions = schema_components([shape])
    top: Schema = definitions.pop(shape.__name__)
    return top | ({"$defs": definitions} if definitions else {})


def schema_components(shapes: list[Any]) -> tuple[tuple[Schema, ...], dict[str, Schema]]:
    """Return the schemas of `shapes`, and by name those of the objects that they refer to.

    A property with a default is listed as required, since it is printed all the same.
    """
    bodies, definitions = msgspec.json.schema_components(
        shapes, schema_hook=_schema_of_path, ref_template=_REF
    )
    for definition in definitions.values():
        for name, schema in definition.get("properties", {}).items():
            if "default" in schema:
                del schema["default"]
                definition["required"].append(name)
    return bodies, definitions


def _encode_path(value: object) -> str:
    if isinstance(value, PurePath):
        return value.as_posix()
    raise NotImplementedError(f"{type(value)} has no place in a result")


def _schema_of_path(shape: type) -> Schema:
    if issubclass(shape, PurePath):
        return {"type": "string"}
    raise NotImplementedError(f"{shape} has no place in a result")
