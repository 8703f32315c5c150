"""Keeps keys, tokens and passwords out of what an agent, and so its provider, gets to read."""

from __future__ import annotations

from typing import TypeVar

from memory_sidecar.core.credentials import mask_document
from memory_sidecar.mcp.tool import Result

R = TypeVar("R", bound=Result)


def masked(result: R) -> R:
    """`result`, with a notice where something was masked."""
    shown, count = mask_document(result.model_dump())
    if not count:
        return result
    notice = f"{count} masked that look like secrets: do not write these lines back as they are"
    return type(result).model_validate({**shown, "notices": [*shown["notices"], notice]})
