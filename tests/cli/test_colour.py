"""Colour where the caller's terminal has it, and nowhere that it was not wanted."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path

import pytest

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.form import title


@pytest.mark.parametrize(
    ("environ", "is_terminal", "is_coloured"),
    [
        ({}, True, True),
        ({"TERM": "xterm"}, True, True),
        ({"TERM": "dumb"}, True, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({}, False, False),
        ({"CLICOLOR_FORCE": "1"}, False, True),
        ({"CLICOLOR_FORCE": "0"}, False, False),
        ({"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, True, False),
    ],
)
def test_caller_decides(
    environ: Mapping[str, str], is_terminal: bool, is_coloured: bool, tmp_path: Path
) -> None:
    stdout = io.StringIO()
    call = Call(
        arguments=(),
        cwd=tmp_path,
        environ=environ,
        stdin=io.BytesIO(),
        stdout=stdout,
        stderr=io.StringIO(),
        is_terminal=is_terminal,
        shows_progress=False,
        columns=80,
    )
    call.print(title("cart.py"))
    assert (stdout.getvalue() != "cart.py\n") == is_coloured
