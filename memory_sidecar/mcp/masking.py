"""Keeps keys, tokens and passwords out of what an agent, and so its provider, gets to read."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from memory_sidecar.core.credentials import mask_document, masks_in
from memory_sidecar.mcp.tool import Answer

R = TypeVar("R", bound=Answer)

NOTICE = "{} masked that look like secrets: do not write these lines back as they are"


def masked(result: R) -> R:
    """`result`, with a notice where something was masked."""
    answer, _ = mask_document(result)
    count = masks_in(answer)
    return replace(answer, notices=(*answer.notices, NOTICE.format(count))) if count else result
