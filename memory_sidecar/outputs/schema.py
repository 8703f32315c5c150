"""JSON Schemas (draft 2020-12) of the types that outputs are made of. Pure.

A property may always be added, so none is forbidden; what is declared has its type and, unless it
is `NotRequired`, is there.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import (
    Annotated,
    Any,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from memory_sidecar.outputs.commands import OUTPUTS
from memory_sidecar.outputs.common import Error

Schema = dict[str, Any]

DRAFT = "https://json-schema.org/draft/2020-12/schema"
_SIMPLE: Mapping[object, str] = {
    str: "string", int: "integer", float: "number", bool: "boolean", types.NoneType: "null",
}  # fmt: skip


def all_schemas() -> dict[str, Schema]:
    """By file name without its ending: `source-list`."""
    schemas = {
        command.replace(" ", "-"): schema_of(shape, title=f"memory-sidecar {command} --json")
        for command, shape in OUTPUTS.items()
    }
    return schemas | {"error": schema_of(Error, title="memory-sidecar, when it fails")}


def schema_of(shape: object, *, title: str) -> Schema:
    """The schema of one output, complete in itself."""
    definitions: dict[str, Schema] = {}
    body = _schema(shape, definitions)
    top = {"$schema": DRAFT, "title": title} | body
    return top | {"$defs": dict(sorted(definitions.items()))} if definitions else top


def _schema(shape: Any, definitions: dict[str, Schema]) -> Schema:  # noqa: ANN401  types are values
    if is_typeddict(shape):
        if shape.__name__ not in definitions:
            definitions[shape.__name__] = {}  # it may hold itself
            definitions[shape.__name__] = _object(shape, definitions)
        return {"$ref": f"#/$defs/{shape.__name__}"}
    if shape in _SIMPLE:
        return {"type": _SIMPLE[shape]}
    if shape is Any:
        return {}
    origin, inner = get_origin(shape), get_args(shape)
    if origin is Annotated:
        return _schema(inner[0], definitions) | {"description": inner[1]}
    if origin is list:
        return {"type": "array", "items": _schema(inner[0], definitions)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _schema(inner[1], definitions)}
    if origin in (Union, types.UnionType):
        return _any_of([_schema(each, definitions) for each in inner])
    raise TypeError(f"{shape} has no place in an output")


def _object(shape: Any, definitions: dict[str, Schema]) -> Schema:  # noqa: ANN401
    properties: dict[str, Schema] = {}
    required = []
    for name, hint in get_type_hints(shape, include_extras=True).items():
        is_optional = get_origin(hint) is NotRequired
        properties[name] = _schema(get_args(hint)[0] if is_optional else hint, definitions)
        if not is_optional:
            required.append(name)
    return {
        "type": "object",
        "description": shape.__doc__,
        "properties": properties,
        "required": required,
    }


def _any_of(schemas: list[Schema]) -> Schema:
    """`{"type": ["string", "null"]}` where that says it all."""
    if all(schema.keys() == {"type"} for schema in schemas):
        return {"type": [schema["type"] for schema in schemas]}
    return {"anyOf": schemas}
