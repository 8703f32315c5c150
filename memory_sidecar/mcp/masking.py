"""Keeps keys, tokens and passwords out of what an agent, and so its provider, gets to read."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from memory_sidecar.core.credentials import mask_document
from memory_sidecar.mcp.tool import Answer, Result

R = TypeVar("R", bound=Result | Answer)

NOTICE = "{} masked that look like secrets: do not write these lines back as they are"


def masked(result: R) -> R:
    """`result`, with a notice where something was masked."""
    if isinstance(result, Answer):
        answer, count = mask_document(result)
        return replace(answer, notices=(*answer.notices, NOTICE.format(count))) if count else result
    shown, count = mask_document(result.model_dump())
    if not count:
        return result
    return type(result).model_validate(
        {**shown, "notices": [*shown["notices"], NOTICE.format(count)]}
    )
