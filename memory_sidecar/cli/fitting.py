"""Fits a line to the terminal: its text stands beside its head, or below where there is no room."""

from __future__ import annotations

import textwrap

from rich.cells import cell_len

from memory_sidecar.cli.call import Call, TextLine
from memory_sidecar.cli.form import Styled

INDENT = "  "


def fit_line(call: Call, head: tuple[str | Styled, ...], text: str) -> TextLine:
    """Return one line of `head` and `text`.

    On a terminal too narrow for that, `text` follows below, indented and broken between words.
    """
    line = (*head, f"{INDENT}{text}" if text else "")
    plain = "".join(part if isinstance(part, str) else part.text for part in line)
    if not text or not call.is_terminal or cell_len(plain) <= call.columns:
        return line
    below = textwrap.fill(
        text,
        call.columns,
        initial_indent=INDENT,
        subsequent_indent=INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return (*head, f"\n{below}")
