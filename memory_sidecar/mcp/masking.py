"""Keeps keys, tokens and passwords out of what an agent, and so its provider, gets to read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from memory_sidecar.credentials import find_credentials, mask_credentials
from memory_sidecar.mcp.tool import Result

R = TypeVar("R", bound=Result)


def masked(result: R) -> R:
    """`result`, with a notice where something was masked."""
    shown = result.model_dump()
    if not find_credentials("\n\n".join(texts_in(shown))):
        return result  # one look at all of it is ten times as fast as one at each text
    shown, count = _masked(shown)
    if not count:
        return result
    notice = f"{count} masked that look like secrets: do not write these lines back as they are"
    return type(result).model_validate({**shown, "notices": [*shown["notices"], notice]})


def texts_in(value: Any) -> Iterator[str]:  # noqa: ANN401  whatever JSON has
    """Every text in `value`."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from texts_in(each)


def _masked(value: Any) -> tuple[Any, int]:  # noqa: ANN401  whatever JSON has
    """`value` with every text in it masked, and how many credentials there were."""
    match value:
        case str():
            return mask_credentials(value)
        case list():
            shown = [_masked(each) for each in value]
            return [each for each, _ in shown], sum(count for _, count in shown)
        case dict():
            items = {key: _masked(each) for key, each in value.items()}
            counts = sum(count for _, count in items.values())
            return {key: each for key, (each, _) in items.items()}, counts
    return value, 0
