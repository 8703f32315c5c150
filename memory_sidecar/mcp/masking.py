"""Keeps keys, tokens and passwords out of what an agent, and so its provider, gets to read."""

from __future__ import annotations

from typing import Any, TypeVar

from memory_sidecar.credentials import mask_credentials
from memory_sidecar.mcp.tool import Result

R = TypeVar("R", bound=Result)


def masked(result: R) -> R:
    """`result`, with a notice where something was masked."""
    shown, count = _masked(result.model_dump())
    if not count:
        return result
    notice = f"{count} masked that look like secrets: do not write these lines back as they are"
    return type(result).model_validate({**shown, "notices": [*shown["notices"], notice]})


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
