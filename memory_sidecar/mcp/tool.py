"""The type of a tool: a function from a caller and arguments to an answer, with its description.

The schemas that a client sees are derived from the types of the arguments and of the answer, so
they cannot differ from these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from inspect import getdoc
from typing import Annotated, Any, cast, get_type_hints

import mcp_types as types
from pydantic import ValidationError

from memory_sidecar.core.errors import UsageError
from memory_sidecar.core.results import about, object_schema_of
from memory_sidecar.mcp.arguments import Arguments, error_text, input_schema, without
from memory_sidecar.mcp.caller import Caller, Toolset
from memory_sidecar.mcp.quoting import DATA
from memory_sidecar.mcp.report import CallReport


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
    own_name: str = ""  # if `run` cannot have it, because it means something in Python

    @property
    def name(self) -> str:
        return self.own_name or self.run.__name__

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
            input_schema=input_schema(self._arguments),
            annotations=self.effect.value,
        )

    @cached_property
    def listing_with_output(self) -> types.Tool:
        """The entry with an output schema, for clients that validate structured content."""
        schema = object_schema_of(get_type_hints(self.run)["return"])
        return self.listing.model_copy(update={"output_schema": _without_titles(schema)})

    def parse_arguments(self, given: Mapping[str, Any] | None) -> Arguments:
        """Parse the arguments of a call. Raises UsageError."""
        try:
            # Models write null for arguments that they leave out.
            return self._arguments.model_validate(without(given or {}, None))
        except ValidationError as error:
            wrong = "; ".join(error_text(each) for each in error.errors()[:3])
            hint = self._expected(error.errors()[0]["loc"])
            raise UsageError(f"{self.name}: {wrong}", hint=hint) from error
        except RecursionError as error:
            hint = self._expected(())
            raise UsageError(f"{self.name}: nested too deeply", hint=hint) from error

    def _expected(self, wrong: tuple[int | str, ...]) -> str:
        """Return a hint that lists the parts of the argument at `wrong`, else all arguments."""
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


def _without_titles(schema: dict[str, Any]) -> dict[str, Any]:
    """Remove the names and docstrings of our classes, which say nothing to a client."""
    for part in (schema, *schema.get("$defs", {}).values()):
        part.pop("title", None)
        part.pop("description", None)
    return schema
