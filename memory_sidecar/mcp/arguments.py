"""The arguments of tools: the forms they accept, and the schema of them that a client sees.

Models call arguments by other names and write values in other forms. Every word of a schema costs
each agent context in every conversation, so it has only names, types and what a name does not say;
the error for a wrong argument says more.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

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
    "end": ("end_line",),
    "expires_at": ("expires",),
    "file": ("path", "around"),
    "filename": ("path",),
    "filepath": ("path",),
    "focus": ("around",),
    "function": ("name",),
    "glob": ("paths",),
    "id": ("path", "session_id"),
    "limit": ("top_k",),
    "line": ("start_line",),
    "method": ("name",),
    "offset": ("start_line",),
    "path": ("files", "around"),
    "q": ("query",),
    "query": ("name", "around", "pattern"),
    "question": ("query", "around"),
    "results": ("top_k", "limit"),
    "since": ("after", "updated_after"),
    "start": ("start_line",),
    "symbol": ("name",),
    "target": ("name",),
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
            spelled = in_snake_case(name)
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
        """Whether `name` is an argument, and no object: a `title` is no `summary` with parts."""
        field = cls.model_fields.get(name)
        return field is not None and not any(
            isinstance(each, type) and issubclass(each, ArgumentPart)
            for each in _choices(field.annotation)
        )

    @field_validator("*", mode="before")
    @classmethod
    def _from_other_form(cls, given: Any, about: ValidationInfo) -> Any:  # noqa: ANN401  whatever JSON has
        """Accept text for a list or an object, and other forms, as models write them.

        A number beyond its limit stands for that limit: the rest is on the next page.
        """
        name = about.field_name or ""
        field = cls.model_fields[name]
        limits = [each.le for each in field.metadata if hasattr(each, "le")]
        if field.annotation is int and limits:
            return limits[0] if _is_over(given, limits[0]) else given
        choices = _choices(field.annotation)
        kinds = [get_origin(each) or each for each in choices]
        if str in choices and isinstance(given, list) and given and all(map(_is_block, given)):
            return _text_of_blocks(given)
        if not _SCALARS.isdisjoint(kinds):
            return given
        is_list = not {list, tuple}.isdisjoint(kinds)
        parsed = _parsed(given)
        if is_list and name.endswith("tags") and isinstance(parsed, dict):
            return [f"{key}:{value}" for key, value in parsed.items()]
        if not isinstance(given, str) or isinstance(parsed, list if is_list else dict):
            return parsed
        return _elements(given) if is_list else given


class Arguments(ArgumentPart):
    """Base of the arguments of tools."""

    max_tokens: Unlisted[int] = Field(default=6000, ge=1)
    """About how long the answer may be. Tools that can choose what to leave out declare it anew."""

    @property
    def question(self) -> str:
        """A key of the question, equal for all pages of its answer."""
        return f"{type(self).__name__} {self.model_dump_json(exclude=_PAGE_ARGUMENTS)}"


def in_snake_case(name: str) -> str:
    """Return the name of an argument as ours are written: `filePath` as `file_path`."""
    return _HUMP.sub("_", name).lower()


def without(value: Any, *dropped: object) -> Any:  # noqa: ANN401  whatever JSON has
    """Return `value` without the members, of it and of what is in it, that are one of `dropped`."""
    if isinstance(value, Mapping):
        return {k: without(v, *dropped) for k, v in value.items() if v not in dropped}
    return [without(each, *dropped) for each in value] if isinstance(value, list) else value


def input_schema(arguments: type[Arguments]) -> dict[str, Any]:
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
    kind = _non_null(stated, parts)
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
        kind = _non_null(stated, parts)
        choices = "|".join(kind["enum"]) if "enum" in kind else ""
        many = "[]" if kind.get("type") == "array" else ""
        star = "*" if name in required else ""
        words.append(f"{name}{many}{star}" + (f" ({choices})" if choices else ""))
    return ", ".join(words)


def _non_null(stated: Mapping[str, Any], parts: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return `stated`, without null if it is nullable, or the enumeration that it refers to."""
    kind = next((each for each in stated.get("anyOf", ()) if each.get("type") != "null"), stated)
    part = parts.get(kind.get("$ref", "").rpartition("/")[2], {})
    return part if "enum" in part else kind


def error_text(error: Any) -> str:  # noqa: ANN401  a TypedDict of pydantic_core
    where = ".".join(map(str, error["loc"]))
    if error["type"] == "extra_forbidden":
        return f"there is no argument {where!r}"
    if error["type"] == "missing":
        return f"{where!r} is missing"
    message = error["msg"].replace("a valid tuple", "a list")
    message = _A_DICTIONARY.sub("an object", message)
    return f"{where!r}: {message[0].lower()}{message[1:]}"


def _is_over(given: object, limit: float) -> bool:
    """Whether `given` is a number, or text of one, over `limit`."""
    if isinstance(given, bool) or not isinstance(given, int | float | str):
        return False
    with suppress(ValueError):
        return (float(given) if isinstance(given, str) else given) > limit
    return False


def _text_of_blocks(blocks: list[dict[str, Any]]) -> object:
    """Return the text of blocks of content, or `blocks` if none has any."""
    texts = [block["text"] for block in blocks if isinstance(block.get("text"), str)]
    return "\n\n".join(texts) if texts else blocks


def _parsed(given: object) -> object:
    """Return the value of `given` if it is JSON text, else `given` itself."""
    if isinstance(given, str):
        with suppress(ValueError, RecursionError):
            return json.loads(given)
    return given


def _elements(text: str) -> list[str]:
    """Return the words of `text` between its commas, or all of it as the only element."""
    words = [word.strip() for word in text.split(",")]
    return words if all(map(_WORD.fullmatch, words)) else list(filter(None, [text]))


def _choices(kind: object) -> tuple[object, ...]:
    return get_args(kind) if isinstance(kind, UnionType) else (kind,)


def _is_block(given: Any) -> bool:  # noqa: ANN401  whatever JSON has
    """Whether `given` is a block of a message's content: {"type": "text", "text": …}."""
    return isinstance(given, dict) and isinstance(given.get("type"), str)
