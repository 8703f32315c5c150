"""What a tool is: a function from a caller and arguments to a result, and how it is described.

The schemas that a client sees are those of the argument and the result type, so they cannot differ
from what is taken and given. Every word of them costs each agent context in every conversation, so
there are few: names, kinds and what a name does not say; a wrong argument is told what is right.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from inspect import getdoc
from typing import Annotated, Any, TypeVar, cast, get_origin, get_type_hints

import mcp_types as types
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from memory_sidecar.core.errors import UsageError
from memory_sidecar.core.results import about, object_schema_of
from memory_sidecar.mcp.caller import Caller, Toolset
from memory_sidecar.mcp.quoting import DATA
from memory_sidecar.mcp.report import CallReport


class _NotListed:
    """Marks an argument that `tools/list` leaves out."""


T = TypeVar("T")
Unlisted = Annotated[T, _NotListed()]
"""What few calls need: taken, but not in `tools/list`. A refusal names what is taken."""


_OF_A_PAGE = {"cursor", "top_k", "limit", "max_tokens", "wait_fresh_ms"}


class Arguments(BaseModel):
    """Base of what tools take. A name that a tool does not know is an error, never ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_tokens: Unlisted[int] = Field(default=6000, ge=1)
    """About how long the answer may be. A tool that can choose what to leave out has its own."""

    @field_validator("*", mode="before")
    @classmethod
    def _as_list(cls, given: Any, about: ValidationInfo) -> Any:  # noqa: ANN401  whatever JSON has
        """A list that came as text, which models write: as JSON, or as the one text in it."""
        field = cls.model_fields[about.field_name or ""]
        if not isinstance(given, str) or get_origin(field.annotation) not in (list, tuple):
            return given
        with suppress(ValueError, RecursionError):
            if isinstance(listed := json.loads(given), list):
                return listed
        return [given]

    @property
    def question(self) -> str:
        """What is asked for, the same for every page of the answer."""
        return f"{type(self).__name__} {self.model_dump_json(exclude=_OF_A_PAGE)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What tools give, see `core.results`. What is stored nowhere else goes into `notices`."""

    notices: Annotated[tuple[str, ...], about("What was missing, and what to do.")] = ()

    def text(self) -> str:
        """For clients that show an agent text alone; without the notices."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAnswer(Answer):
    """An answer with what was stored: data, which no model may take for an order."""

    treat_as: str = DATA


class Effect(Enum):
    """What a call does to what is stored, as the annotations of MCP tell it.

    A hint that is left out has the value that MCP gives it: destructive, not idempotent.
    """

    READS = types.ToolAnnotations(read_only_hint=True, open_world_hint=False)
    ADDS = types.ToolAnnotations(  # twice the same is once
        destructive_hint=False, idempotent_hint=True, open_world_hint=False
    )
    APPENDS = types.ToolAnnotations(destructive_hint=False, open_world_hint=False)  # each time
    CHANGES = types.ToolAnnotations(idempotent_hint=True, open_world_hint=False)
    REMOVES = types.ToolAnnotations(open_world_hint=False)


@dataclass(frozen=True)
class Tool:
    """One tool. `run` works in a thread, and raises SidecarError."""

    run: Callable[[Caller, Any, CallReport], Answer]
    effect: Effect
    toolset: Toolset | None = None  # None: offered whatever is chosen
    title: str = ""  # its name, where that is a word of Python

    @property
    def name(self) -> str:
        return self.title or self.run.__name__

    def is_offered(self, caller: Caller) -> bool:
        if caller.is_read_only and self.effect is not Effect.READS:
            return False
        return self.toolset is None or self.toolset in caller.toolsets

    @cached_property
    def listed(self) -> types.Tool:
        """What `tools/list` says of it."""
        return types.Tool(
            name=self.name,
            description=" ".join((getdoc(self.run) or "").split()),
            input_schema=_input_schema(self._arguments),
            annotations=self.effect.value,
        )

    @cached_property
    def listed_with_output(self) -> types.Tool:
        """The same for a client that compares results with their schema."""
        return self.listed.model_copy(update={"output_schema": _output_schema(self._result)})

    def read(self, given: Mapping[str, Any] | None) -> Arguments:
        """The arguments of a call. Raises UsageError."""
        try:
            return self._arguments.model_validate(_stated(given or {}))
        except ValidationError as error:
            wrong = "; ".join(_words(each) for each in error.errors()[:3])
            known = ", ".join(self.takes)
            raise UsageError(f"{self.name}: {wrong}", hint=f"it takes: {known or 'nothing'}") from (
                error
            )

    @property
    def takes(self) -> list[str]:
        """The names of its arguments."""
        return sorted(self._arguments.model_fields, key="max_tokens".__eq__)

    @cached_property
    def _arguments(self) -> type[Arguments]:
        _, arguments, *_ = get_type_hints(self.run).values()
        return cast("type[Arguments]", arguments)

    @cached_property
    def _result(self) -> type[Answer]:
        return cast("type[Answer]", get_type_hints(self.run)["return"])


def _stated(value: Any) -> Any:  # noqa: ANN401  whatever JSON has
    """`value` without nulls: models write them for what they leave out."""
    if isinstance(value, Mapping):
        return {name: _stated(each) for name, each in value.items() if each is not None}
    return [_stated(each) for each in value] if isinstance(value, list) else value


def _input_schema(arguments: type[Arguments]) -> dict[str, Any]:
    """Without titles, defaults and bounds, and with parts in words: what a model needs to call it.

    What may be left out need not be called null as well, which some clients cannot read.
    """
    whole = arguments.model_json_schema()
    parts = whole.get("$defs", {})
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {
            name: _input_property(each, parts)
            for name, each in whole.get("properties", {}).items()
            if not any(isinstance(m, _NotListed) for m in arguments.model_fields[name].metadata)
        },
    }
    return schema | ({"required": whole["required"]} if "required" in whole else {})


def _input_property(stated: dict[str, Any], parts: Mapping[str, Any]) -> dict[str, Any]:
    told = _alternative(stated)
    shown = {key: told[key] for key in ("type", "enum") if key in told}
    described = [stated["description"]] if "description" in stated else []
    if "$ref" in told:
        shown, described = {"type": "object"}, [*described, _in_words(told, parts)]
    elif "items" in told:
        items = told["items"]
        shown["items"] = {"type": items.get("type", "object")}
        described += [f"each: {_in_words(items, parts)}"] if "$ref" in items else []
    return shown | ({"description": " ".join(described)} if described else {})


def _in_words(reference: Mapping[str, Any], parts: Mapping[str, Any]) -> str:
    """The properties of what is referred to; one that must be there carries a star."""
    part = parts[reference["$ref"].rpartition("/")[2]]
    required = part.get("required", ())
    words = []
    for name, stated in part["properties"].items():
        told = _alternative(stated)
        kind = "|".join(told["enum"]) if "enum" in told else ""
        many = "[]" if told.get("type") == "array" else ""
        star = "*" if name in required else ""
        words.append(f"{name}{many}{star}" + (f" ({kind})" if kind else ""))
    return ", ".join(words)


def _alternative(stated: Mapping[str, Any]) -> Mapping[str, Any]:
    """Of a value that may be null, what else it may be."""
    return next((each for each in stated.get("anyOf", ()) if each.get("type") != "null"), stated)


def _output_schema(result: type[Answer]) -> dict[str, Any]:
    return _without_titles(object_schema_of(result))


def _without_titles(schema: dict[str, Any]) -> dict[str, Any]:
    """Without the names and docstrings of our classes, which say nothing to a caller."""
    for part in (schema, *schema.get("$defs", {}).values()):
        part.pop("title", None)
        part.pop("description", None)
    return schema


def _words(error: Any) -> str:  # noqa: ANN401  a TypedDict of pydantic_core
    where = ".".join(map(str, error["loc"]))
    if error["type"] == "extra_forbidden":
        return f"there is no argument {where!r}"
    if error["type"] == "missing":
        return f"{where!r} is missing"
    told = error["msg"].replace("a valid tuple", "a list")
    return f"{where!r}: {told[0].lower()}{told[1:]}"
