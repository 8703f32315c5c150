"""Runs the user's summarizer: a command that reads a session as JSON and prints a summary as JSON.

It runs without a shell, as `children` runs every program, and only if the settings name it.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from memory_sidecar.core.children import ChildFailed, output_of
from memory_sidecar.core.errors import SidecarError, SummarizerFailed
from memory_sidecar.sessions.documents import parse_document, read_summary
from memory_sidecar.sessions.model import Summary


def summarize(
    command: str, document: Mapping[str, Any], *, timeout_s: int, environ: Mapping[str, str]
) -> Summary:
    """Have `command` summarize the session in `document`: it prints what a file has as `summary`.

    Raises SummarizerFailed if it does not start, takes too long, fails or prints no summary.
    """
    hint = "see session_summarizer in the settings"
    given = json.dumps(document, ensure_ascii=False).encode()
    try:
        printed = output_of(command, environ=environ, text=given, timeout_s=timeout_s)
    except ChildFailed as error:
        raise SummarizerFailed(f"the summarizer {error}", hint=hint) from error
    name, *_ = shlex.split(command)
    try:
        summary = read_summary(parse_document(printed))
    except SidecarError as error:
        raise SummarizerFailed(
            f"the summarizer {name} printed no summary: {error.message}", hint=hint
        ) from error
    return replace(summary, made_by=name)
