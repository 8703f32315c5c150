"""The type of a tool: a function from a caller and arguments to an answer, with its description.

The schemas that a client sees are derived from the types of the arguments and of the answer, so
they cannot differ from these. Every word of them costs each agent context in every conversation, so
they have only names, types and what a name does not say; the error for a wrong argument says more.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from inspect import getdoc
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

import mcp_types as types
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from memory_sidecar.core.errors import UsageError
from memory_sidecar.core.results import about, object_schema_of
from memory_sidecar.mcp.caller import Caller, Toolset
from memory_sidecar.mcp.quoting import DATA
from memory_sidecar.mcp.report import CallReport

T = TypeVar("T")
_UNLISTED = object()
Unlisted = Annotated[T, _UNLISTED]
"""The type of an argument that few calls need: accepted, but not in `tools/list`."""


_SCALARS = {str, int, float, bool, Literal}
_WORD = re.compile(r"[^\s{}]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_A_DICTIONARY = re.compile(r"a valid dictionary( or instance of \w+)?")
_MEANT = {
    "after": ("updated_after",),
    "content": ("body",),
    "expires_at": ("expires",),
    "file": ("path",),
    "filename": ("path",),
    "filepath": ("path",),
    "id": ("path", "session_id"),
    "limit": ("top_k",),
    "line": ("start_line",),
    "offset": ("start_line",),
    "q": ("query",),
    "question": ("query",),
    "results": ("top_k", "limit"),
    "since": ("after", "updated_after"),
    "symbol": ("name",),
    "text": ("content", "body"),
    "title": ("summary",),
    "top_k": ("limit",),
    "uri": ("path",),
}
"""The arguments that models mean by other names."""
_BEFORE = {
    "",
    *"absolute class code file function max memory new num relative".split(),
    *"search session symbol target".split(),
}
"""The words that may stand before a name: others change its meaning, as in `exclude_paths`."""
_PAGE_ARGUMENTS = {"cursor", "top_k", "limit", "max_tokens", "wait_fresh_ms"}


class ArgumentPart(BaseModel):
    """Base of the objects in the arguments of tools. An unknown name is an error, never ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _by_our_names(cls, given: Any) -> Any:  # noqa: ANN401  whatever JSON has
        """Rename the arguments that models call otherwise: `filePath`, `limit`, `language`."""
        if not isinstance(given, dict):
            return given
        renamed: dict[str, Any] = {}
        for name, value in given.items():
            spelled = _HUMP.sub("_", name).lower()
            before, _, last = spelled.rpartition("_")
            meant = [name, spelled, *_MEANT.get(spelled, ())]
            if before in _BEFORE:
                meant += (last, *_MEANT.get(last, ()), f"{last}s")
            ours = next((each for each in meant if cls._has_text(each)), name)
            is_free = ours not in renamed and ours not in given
            renamed[ours if is_free else name] = value
        return renamed

    @classmethod
    def _has_text(cls, name: str) -> bool:
        """Whether `name` is an argument, and no object: a title is no summary with its parts."""
        field = cls.model_fields.get(name)
        return field is not None and not any(
            isinstance(each, type) and issubclass(each, ArgumentPart)
            for each in _choices(field.annotation)
        )

    @field_validator("*", mode="before")
    @classmethod
    def _from_other_form(cls, given: Any, about: ValidationInfo) -> Any:  # noqa: ANN401  whatever JSON has
        """Accept text for a list or an object, and other forms, as models write them.

        Text is either JSON or, for a list, its only element, or words with commas between them.
        Blocks of content are accepted for their text, and an object of tags for `key:value`. A
        number beyond its limit stands for that limit.
        """
        name = about.field_name or ""
        kind = cls.model_fields[name].annotation
        limits = [each.le for each in cls.model_fields[name].metadata if hasattr(each, "le")]
        if kind is int and limits and type(given) in (int, float, str):
            with suppress(ValueError):  # what is beyond the limit is on the next page
                number = float(given) if isinstance(given, str) else given
                return limits[0] if number > limits[0] else given
        is_list = get_origin(kind) in (list, tuple)
        choices = _choices(kind)
        if str in choices and isinstance(given, list) and given and all(map(_is_block, given)):
            texts = [block["text"] for block in given if isinstance(block.get("text"), str)]
            return "\n\n".join(texts) if texts else given
        is_scalar = any((get_origin(each) or each) in _SCALARS for each in choices)
        parsed = given
        if isinstance(given, str) and not is_scalar:
            with suppress(ValueError, RecursionError):
                parsed = json.loads(given)
        if is_list and name.endswith("tags") and isinstance(parsed, dict):
            return [f"{key}:{value}" for key, value in parsed.items()]
        if not isinstance(given, str) or is_scalar:
            return given
        if isinstance(parsed, list if is_list else dict):
            return parsed
        if not is_list:
            return given
        words = [word.strip() for word in given.split(",")]
        return words if all(map(_WORD.fullmatch, words)) else list(filter(None, [given]))


def _choices(kind: object) -> tuple[object, ...]:
    return get_args(kind) if isinstance(kind, UnionType) else (kind,)


def _is_block(given: Any) -> bool:  # noqa: ANN401  whatever JSON has
    """Whether `given` is a block of a message's content: {"type": "text", "text": …}."""
    return isinstance(given, dict) and isinstance(given.get("type"), str)


class Arguments(ArgumentPart):
    """Base of the arguments of tools."""

    max_tokens: Unlisted[int] = Field(default=6000, ge=1)
    """About how long the answer may be. Tools that can choose what to leave out declare it anew."""

    @property
    def question(self) -> str:
        """A key of the question, equal for all pages of its answer."""
        return f"{type(self).__name__} {self.model_dump_json(exclude=_PAGE_ARGUMENTS)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Base of the answers of tools, see `core.results`. `notices` has those of the call."""

    notices: Annotated[tuple[str, ...], about("What was missing, and what to do.")] = ()

    def text(self) -> str:
        """Return the answer as text, without the notices, for clients that pass on only text."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAnswer(Answer):
    """An answer that has stored text: data, which no model may take for an instruction."""

    treat_as: str = DATA


class Effect(Enum):
    """The effect of a call on stored data, as annotations of MCP.

    A hint that is left out has MCP's default: destructive, not idempotent.
    """

    READS = types.ToolAnnotations(read_only_hint=True, open_world_hint=False)
    ADDS = types.ToolAnnotations(  # the same call twice adds once
        destructive_hint=False, idempotent_hint=True, open_world_hint=False
    )
    APPENDS = types.ToolAnnotations(destructive_hint=False, open_world_hint=False)  # each time
    CHANGES = types.ToolAnnotations(idempotent_hint=True, open_world_hint=False)
    REMOVES = types.ToolAnnotations(open_world_hint=False)


@dataclass(frozen=True)
class Tool:
    """A tool. `run` works in a thread and raises SidecarError; its docstring is the description."""

    run: Callable[[Caller, Any, CallReport], Answer]
    effect: Effect
    toolset: Toolset | None = None  # None: always offered
    title: str = ""  # its name if that is a keyword of Python, else ""

    @property
    def name(self) -> str:
        return self.title or self.run.__name__

    def is_offered(self, caller: Caller) -> bool:
        if caller.is_read_only and self.effect is not Effect.READS:
            return False
        return self.toolset is None or self.toolset in caller.toolsets

    @cached_property
    def listing(self) -> types.Tool:
        """The entry of the tool in `tools/list`."""
        return types.Tool(
            name=self.name,
            description=" ".join((getdoc(self.run) or "").split()),
            input_schema=_input_schema(self._arguments),
            annotations=self.effect.value,
        )

    @cached_property
    def listing_with_output(self) -> types.Tool:
        """The entry with an output schema, for clients that validate structured content."""
        schema = object_schema_of(self._result)
        return self.listing.model_copy(update={"output_schema": _without_titles(schema)})

    def parse_arguments(self, given: Mapping[str, Any] | None) -> Arguments:
        """Parse the arguments of a call. Raises UsageError."""
        try:
            return self._arguments.model_validate(_without_nulls(given or {}))
        except ValidationError as error:
            wrong = "; ".join(_error_text(each) for each in error.errors()[:3])
            hint = self._expected(error.errors()[0]["loc"])
            raise UsageError(f"{self.name}: {wrong}", hint=hint) from error
        except RecursionError as error:
            hint = self._expected(())
            raise UsageError(f"{self.name}: nested too deeply", hint=hint) from error

    def _expected(self, wrong: tuple[int | str, ...]) -> str:
        """Return a hint what the object or list at `wrong` consists of, else all arguments."""
        if len(wrong) > 1:
            listed = self.listing.input_schema["properties"].get(str(wrong[0]), {})
            if parts := listed.get("description"):
                return f"{wrong[0]}: {parts}"
        return f"it takes: {', '.join(self.argument_names) or 'nothing'}"

    @property
    def argument_names(self) -> list[str]:
        """The names of the arguments, `max_tokens` last."""
        return sorted(self._arguments.model_fields, key="max_tokens".__eq__)

    @cached_property
    def _arguments(self) -> type[Arguments]:
        _, arguments, *_ = get_type_hints(self.run).values()
        return cast("type[Arguments]", arguments)

    @cached_property
    def _result(self) -> type[Answer]:
        return cast("type[Answer]", get_type_hints(self.run)["return"])


def _without_nulls(value: Any) -> Any:  # noqa: ANN401  whatever JSON has
    """Return `value` without nulls, which models write for arguments that they leave out."""
    if isinstance(value, Mapping):
        return {name: _without_nulls(each) for name, each in value.items() if each is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, list) else value


def _input_schema(arguments: type[Arguments]) -> dict[str, Any]:
    """Return the schema as a model needs it: no titles, defaults or bounds, nested parts in words.

    An optional argument is not declared nullable, which some clients cannot read.
    """
    whole = arguments.model_json_schema()
    parts = whole.get("$defs", {})
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {
            name: _input_property(each, parts)
            for name, each in whole.get("properties", {}).items()
            if _UNLISTED not in arguments.model_fields[name].metadata
        },
    }
    return schema | ({"required": whole["required"]} if "required" in whole else {})


def _input_property(stated: dict[str, Any], parts: Mapping[str, Any]) -> dict[str, Any]:
    kind = _non_null(stated)
    shown = {key: kind[key] for key in ("type", "enum") if key in kind}
    described = [stated["description"]] if "description" in stated else []
    if "$ref" in kind:
        shown, described = {"type": "object"}, [*described, _part_text(kind, parts)]
    elif "items" in kind:
        items = kind["items"]
        shown["items"] = {"type": items.get("type", "object")}
        described += [f"each: {_part_text(items, parts)}"] if "$ref" in items else []
    return shown | ({"description": " ".join(described)} if described else {})


def _part_text(reference: Mapping[str, Any], parts: Mapping[str, Any]) -> str:
    """List the properties of the object that `reference` names, required ones with a star."""
    part = parts[reference["$ref"].rpartition("/")[2]]
    required = part.get("required", ())
    words = []
    for name, stated in part["properties"].items():
        kind = _non_null(stated)
        choices = "|".join(kind["enum"]) if "enum" in kind else ""
        many = "[]" if kind.get("type") == "array" else ""
        star = "*" if name in required else ""
        words.append(f"{name}{many}{star}" + (f" ({choices})" if choices else ""))
    return ", ".join(words)


def _non_null(stated: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema of a nullable value without null; other schemas as they are."""
    return next((each for each in stated.get("anyOf", ()) if each.get("type") != "null"), stated)


def _without_titles(schema: dict[str, Any]) -> dict[str, Any]:
    """Remove the names and docstrings of our classes, which say nothing to a client."""
    for part in (schema, *schema.get("$defs", {}).values()):
        part.pop("title", None)
        part.pop("description", None)
    return schema


def _error_text(error: Any) -> str:  # noqa: ANN401  a TypedDict of pydantic_core
    where = ".".join(map(str, error["loc"]))
    if error["type"] == "extra_forbidden":
        return f"there is no argument {where!r}"
    if error["type"] == "missing":
        return f"{where!r} is missing"
    message = error["msg"].replace("a valid tuple", "a list")
    message = _A_DICTIONARY.sub("an object", message)
    return f"{where!r}: {message[0].lower()}{message[1:]}"
