"""Colour where the caller's terminal has it, and nowhere that it was not wanted."""

from __future__ import annotations

import io
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.form import Places, title
from memory_sidecar.cli.search import _highlight
from memory_sidecar.code.excerpt import Excerpt


def printing(folder: Path, environ: Mapping[str, str], *, is_terminal: bool) -> Call:
    return Call(
        arguments=(),
        cwd=folder,
        environ=environ,
        stdin=io.BytesIO(),
        stdout=io.StringIO(),
        stderr=io.StringIO(),
        is_terminal=is_terminal,
        shows_progress=False,
        columns=80,
    )


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
def test_the_environment_decides_on_colours_before_the_terminal(
    environ, is_terminal, is_coloured, tmp_path
):
    call = printing(tmp_path, environ, is_terminal=is_terminal)
    assert (call.line(title("cart.py")) != "cart.py") == is_coloured


def test_code_has_no_colour_that_is_unreadable_on_white(tmp_path):
    call = printing(tmp_path, {}, is_terminal=True)
    code = ["class Cart:", "    def price(self): return len(self)"]
    drawn = "".join(_highlight(call, "python", code, Excerpt(0, tuple(code)), frozenset()))
    assert "\x1b[94m" in drawn
    assert all(f"\x1b[{pale}m" not in drawn for pale in (92, 96))


def test_what_takes_a_lexer_long_has_no_colours(tmp_path):
    call = printing(tmp_path, {}, is_terminal=True)
    code = ['x = "' + '"\\' * 10_000]  # 7 s
    began_s = time.process_time()
    (line,) = _highlight(call, "javascript", code, Excerpt(0, tuple(code)), frozenset())
    assert time.process_time() - began_s < 3
    assert line.startswith('x = "')


def test_a_path_with_a_line_break_stays_in_its_line(tmp_path):
    call = printing(tmp_path, {}, is_terminal=True)
    broken = Places({"shop": tmp_path}, tmp_path).at("shop", "new\nline.py", "1-2")
    (line,) = call.line(broken).split("\n")
    assert "new\\nline.py:1-2" in line
    assert f"{tmp_path}/new%0Aline.py" in line  # what it opens
