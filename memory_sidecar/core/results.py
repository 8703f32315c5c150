"""One shape for each result: a frozen dataclass, from the handler that makes it to its reader.

    @dataclass(frozen=True, slots=True)
    class Skill:
        \"\"\"A skill for coding agents.\"\"\"  # what the schema says of it

        name: str
        path: Annotated[str, about("absolute")]  # what it says of a property
        score: Score  # such as several results have: below
        explain: Explanation | UnsetType = UNSET  # left out unless asked for

Its fields are the properties of the JSON, in order, so a handler fills them as they are printed:
scores `rounded`, moments by `iso_utc`; a path gets its `/` when printed. A command returns it, by
`Call.show`, which prints it, and its annotation is what `./task schemas` makes the committed schema
of; a tool of MCP has it in its answer. A new property is a line there, its value in the handler,
and the schema.

What a handler tells beside its result, the caller hears from a `Reporter`.
"""

from __future__ import annotations

import threading
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import PurePath
from typing import Annotated, Any, Protocol, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import UNSET, Meta, UnsetType

Schema = dict[str, Any]
T = TypeVar("T")

DRAFT = "https://json-schema.org/draft/2020-12/schema"
_REF = "#/$defs/{name}"

_prepared: set[object] = set()
_preparing = threading.Lock()


def about(text: str) -> Meta:
    """What the schema says of a property of that type."""
    return Meta(description=text)


Time = Annotated[str, about("ISO 8601 in UTC")]
Score = Annotated[float, about("0 to 1, falls with rank")]
IsWeak = Annotated[bool, about("a weak match, as questions have that nothing here answers")]

WEAK_ALONE = "only weak matches: what you ask for may not be here"
"""What is told where even the best hit is weak; in JSON each hit says so."""


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
class Problem:
    """What is wrong, and what would be right."""

    code: Annotated[str, about("stable, such as no_index")]
    message: str
    hint: Annotated[str, about("a next step, or empty")]


class Reporter(Protocol):
    """Notices and progress. Neither is part of a result."""

    def notice(self, text: str) -> None:
        """One line that the caller should see: what is missing, and what to do."""

    def progress(self, stage: str, done: int, total: int) -> None:
        """`done` of `total` in `stage`, from any thread; of 0 where that is not known."""


class Silent:
    """Drops everything."""

    def notice(self, text: str) -> None: ...

    def progress(self, stage: str, done: int, total: int) -> None: ...


class Judged(Protocol):
    """A hit that says whether it is weak."""

    @property
    def is_weak(self) -> bool: ...


def warn_if_weak(hits: Sequence[Judged], reporter: Reporter) -> None:
    """Say to the reader of `hits`, best first, that not even the first is a good one."""
    if hits and hits[0].is_weak:
        reporter.notice(WEAK_ALONE)


def to_builtins(result: object) -> Any:  # noqa: ANN401  whatever JSON has
    """`result` as mappings, lists and values, without the properties that are unset."""
    return msgspec.to_builtins(result, enc_hook=_encode_path)


def convert(
    value: object, shape: type[T], *, dec_hook: Callable[[type, Any], object] | None = None
) -> T:
    """As `msgspec.convert`, whose errors it raises.

    What msgspec (0.22.0) knows of a dataclass is made at its first use, and a thread that comes
    while another makes it reads a part of it: that ends the process.
    """
    if shape not in _prepared:
        with _preparing:
            msgspec.json.Decoder(shape, dec_hook=dec_hook)
            _prepared.add(shape)
    return msgspec.convert(value, shape, dec_hook=dec_hook)


def build_from(shape: type[T], facts: object, **more: Any) -> T:  # noqa: ANN401  of any field
    """As much of `facts` as the dataclass `shape` has fields of the same names for, and `more`."""
    names = [each.name for each in fields(shape) if each.name not in more]  # type: ignore[arg-type]
    shared = {name: getattr(facts, name) for name in names if hasattr(facts, name)}
    return shape(**shared, **more)


def rounded(value: float) -> float:
    """A score, a likeness or a part of one, as results have them: to six decimals."""
    return round(float(value), 6)


def pluralize(number: int, one: str, many: str = "") -> str:
    """`1 file`, `2,000 files`; `many` where an s does not do."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def schema_of(shape: Any, **top: str) -> Schema:  # noqa: ANN401  types are values
    """The schema of results of that type, complete in itself, with `top` before it."""
    alternatives = list(get_args(shape)) if _is_union(shape) else [shape]
    bodies, definitions = _components(alternatives)
    body: Schema = {"anyOf": list(bodies)} if len(bodies) > 1 else bodies[0]
    return top | body | ({"$defs": dict(sorted(definitions.items()))} if definitions else {})


def object_schema_of(shape: type) -> Schema:
    """The same of a dataclass, with `"type": "object"` at its top as MCP demands."""
    _, definitions = _components([shape])
    top: Schema = definitions.pop(shape.__name__)
    return top | ({"$defs": definitions} if definitions else {})


def _components(shapes: list[Any]) -> tuple[tuple[Schema, ...], dict[str, Schema]]:
    """Schemas of `shapes`, and by name those of the objects that they hold.

    A property with a default is always there, whatever it is by default.
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


def _is_union(shape: object) -> bool:
    return get_origin(shape) in (Union, types.UnionType)
