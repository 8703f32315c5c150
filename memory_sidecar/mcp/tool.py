"""What a tool is: a function from a caller and arguments to a result, and how it is described.

The schemas that a client sees are those of the argument and the result type, so they cannot differ
from what is taken and given. Every word of them costs each agent context, so there are few.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from inspect import getdoc
from typing import Annotated, Any, cast, get_type_hints

import mcp_types as types
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.json_schema import GenerateJsonSchema

from memory_sidecar.core.errors import UsageError
from memory_sidecar.core.results import about, object_schema_of
from memory_sidecar.index.reporter import Reporter
from memory_sidecar.mcp.caller import Caller, Toolset


class Arguments(BaseModel):
    """Base of what tools take. A name that a tool does not know is an error, never ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Result(BaseModel):
    """Base of what tools give. What is stored nowhere else goes into `notices`."""

    notices: list[str] = Field(default=[], description="What was missing, and what to do.")

    def text(self) -> str:
        """For clients that show an agent text alone; without the notices."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What tools give, see `core.results`. What is stored nowhere else goes into `notices`."""

    notices: Annotated[tuple[str, ...], about("What was missing, and what to do.")] = ()

    def text(self) -> str:
        """For clients that show an agent text alone; without the notices."""
        raise NotImplementedError


class Effect(Enum):
    """What a call does to what is stored, as the annotations of MCP tell it."""

    READS = types.ToolAnnotations(read_only_hint=True, open_world_hint=False)
    ADDS = types.ToolAnnotations(  # twice the same is once
        read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    )
    CHANGES = types.ToolAnnotations(
        read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
    )
    REMOVES = types.ToolAnnotations(
        read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False
    )


@dataclass(frozen=True)
class Tool:
    """One tool. `run` works in a thread, and raises SidecarError."""

    run: Callable[[Caller, Any, Reporter], Result | Answer]
    title: str
    effect: Effect
    toolset: Toolset | None = None  # None: offered whatever is chosen

    @property
    def name(self) -> str:
        return self.run.__name__

    def is_offered(self, caller: Caller) -> bool:
        if caller.is_read_only and self.effect is not Effect.READS:
            return False
        return self.toolset is None or self.toolset in caller.toolsets

    @cached_property
    def listed(self) -> types.Tool:
        """What `tools/list` says of it."""
        return types.Tool(
            name=self.name,
            title=self.title,
            description=" ".join((getdoc(self.run) or "").split()),
            input_schema=_without_nulls(_schema(self._arguments)),
            output_schema=_output_schema(self._result),
            annotations=self.effect.value,
        )

    def read(self, given: Mapping[str, Any] | None) -> Arguments:
        """The arguments of a call. Raises UsageError."""
        try:
            return self._arguments.model_validate(_stated(given or {}))
        except ValidationError as error:
            wrong = "; ".join(_words(each) for each in error.errors()[:3])
            known = ", ".join(self._arguments.model_fields)
            raise UsageError(f"{self.name}: {wrong}", hint=f"it takes: {known or 'nothing'}") from (
                error
            )

    @cached_property
    def _arguments(self) -> type[Arguments]:
        _, arguments, *_ = get_type_hints(self.run).values()
        return cast("type[Arguments]", arguments)

    @cached_property
    def _result(self) -> type[Result | Answer]:
        return cast("type[Result | Answer]", get_type_hints(self.run)["return"])


def _stated(value: Any) -> Any:  # noqa: ANN401  whatever JSON has
    """`value` without nulls: models write them for what they leave out."""
    if isinstance(value, Mapping):
        return {name: _stated(each) for name, each in value.items() if each is not None}
    return [_stated(each) for each in value] if isinstance(value, list) else value


class _Plain(GenerateJsonSchema):
    """Without the titles that pydantic makes of names."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ANN401, ARG002
        return False


def _output_schema(result: type[Result | Answer]) -> dict[str, Any]:
    if issubclass(result, Answer):
        return _without_titles(object_schema_of(result))
    return _schema(result)


def _schema(model: type[BaseModel]) -> dict[str, Any]:
    schema = model.model_json_schema(schema_generator=_Plain, mode="serialization")
    return _without_titles(schema)


def _without_titles(schema: dict[str, Any]) -> dict[str, Any]:
    """Without the names and docstrings of our classes, which say nothing to a caller."""
    for part in (schema, *schema.get("$defs", {}).values()):
        part.pop("title", None)
        part.pop("description", None)
    return schema


def _without_nulls(schema: dict[str, Any]) -> dict[str, Any]:
    """What may be left out need not be called null as well, which some clients cannot read."""
    for part in (schema, *schema.get("$defs", {}).values()):
        for value in part.get("properties", {}).values():
            if alternatives := value.pop("anyOf", None):
                del value["default"]
                value.update(next(each for each in alternatives if each.get("type") != "null"))
    return schema


def _words(error: Any) -> str:  # noqa: ANN401  a TypedDict of pydantic_core
    where = ".".join(map(str, error["loc"]))
    if error["type"] == "extra_forbidden":
        return f"there is no argument {where!r}"
    if error["type"] == "missing":
        return f"{where!r} is missing"
    return f"{where!r}: {error['msg'][0].lower()}{error['msg'][1:]}"
