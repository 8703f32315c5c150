"""Runs the user's summarizer: a command that reads a session as JSON and prints a summary as JSON.

It runs without a shell, as `children` runs every program, and only if the settings name it.
"""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from memory_sidecar.core.children import find_program, run_child
from memory_sidecar.core.errors import SidecarError, SummarizerFailed
from memory_sidecar.sessions.documents import parse_document, read_summary
from memory_sidecar.sessions.model import Summary

_SHOWN_CHARACTERS = 200


def summarize(
    command: str, document: Mapping[str, Any], *, timeout_s: int, environ: Mapping[str, str]
) -> Summary:
    """Have `command` summarize the session in `document`: it prints what a file has as `summary`.

    Raises SummarizerFailed if it does not start, takes too long, fails or prints no summary.
    """
    hint = "see session_summarizer in the settings"
    try:
        words = shlex.split(command) or [""]
    except ValueError as error:
        raise SummarizerFailed(f"{command!r} is not a command: {error}", hint=hint) from error
    program = find_program(words[0], environ)
    if program is None:
        raise SummarizerFailed(
            f"the summarizer {words[0]} does not start: it is neither on the PATH nor absolute",
            hint=hint,
        )
    given = json.dumps(document, ensure_ascii=False).encode()
    try:
        done = run_child([program, *words[1:]], environ=environ, text=given, timeout_s=timeout_s)
    except subprocess.TimeoutExpired as error:
        raise SummarizerFailed(
            f"the summarizer {words[0]} took longer than {timeout_s} s", hint=hint
        ) from error
    except OSError as error:
        raise SummarizerFailed(
            f"the summarizer {words[0]} does not start: {error.strerror}", hint=hint
        ) from error
    if done.returncode:
        output = done.stderr.decode("utf-8", "replace").strip()[-_SHOWN_CHARACTERS:]
        raise SummarizerFailed(
            f"the summarizer {words[0]} ended with status {done.returncode}: {output}", hint=hint
        )
    try:
        summary = read_summary(parse_document(done.stdout))
    except SidecarError as error:
        raise SummarizerFailed(
            f"the summarizer {words[0]} printed no summary: {error.message}", hint=hint
        ) from error
    return replace(summary, made_by=words[0])
