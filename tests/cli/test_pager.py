"""Which program the client shows a long answer with, and what is shown below it."""

from __future__ import annotations

import io
import os
import subprocess
import sys

import pytest

from memory_sidecar.cli import pager
from memory_sidecar.cli.call import MAX_PAGED_CHARACTERS, Call
from memory_sidecar.daemon.protocol import MAX_FRAME_BYTES, encode


@pytest.mark.skipif(sys.platform == "win32", reason="programs of a shell")
@pytest.mark.parametrize("named", [None, "less -R", "./less", "bin/less"])
def test_no_pager_comes_from_the_folder_that_one_is_in(tmp_path, monkeypatch, capfdbinary, named):
    (tmp_path / "bin").mkdir()
    for program in (tmp_path / "less", tmp_path / "bin" / "less"):
        program.write_text("#!/bin/sh\necho HARM\n")
        program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", ".::bin")
    if named is None:
        monkeypatch.delenv("PAGER", raising=False)
    else:
        monkeypatch.setenv("PAGER", named)
    pager.page("shown as it is\n")
    assert capfdbinary.readouterr().out == b"shown as it is\n"


LIMITED = """
from memory_sidecar.cli import pager
from memory_sidecar.core.process import limit_memory

limit_memory()
pager.page("no matter")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only there memory has a limit")
def test_a_pager_and_what_it_runs_have_as_much_memory_as_their_user(tmp_path):
    page = tmp_path / "page"
    page.write_text("#!/bin/sh\ncat > /dev/null\nulimit -Sd\nulimit -Hd\n")
    page.chmod(0o700)
    ran = subprocess.run(
        [sys.executable, "-c", LIMITED],
        env=os.environ | {"PAGER": str(page)},
        capture_output=True,
        text=True,
        check=True,
    )
    soft, hard = ran.stdout.split()
    assert soft == hard


@pytest.mark.parametrize(
    ("rows", "shows_progress", "times"),
    [(3, True, 2), (4, True, 1), (0, True, 1), (3, False, 1)],
    ids=["overflow", "fits", "no terminal", "errors into a file"],
)
def test_notices_that_scroll_away_are_repeated_below(tmp_path, rows, shows_progress, times):
    written = io.StringIO()
    call = Call(
        arguments=(),
        cwd=tmp_path,
        environ={},
        stdin=io.BytesIO(),
        stdout=written,
        stderr=written,
        is_terminal=True,
        shows_progress=shows_progress,
        columns=80,
        rows=rows,
    )
    call.reporter.notice("7 more")
    call.show([], ["one", "two\nlines"])
    lines = ["note: 7 more", "one", "two", "lines", "note: 7 more"]
    assert written.getvalue().splitlines() == lines[: 3 + times]


def test_a_text_that_is_paged_fits_into_a_frame_whatever_its_characters():
    longest = encode({"type": "page", "text": "\U0001f600" * MAX_PAGED_CHARACTERS})
    assert len(longest) <= MAX_FRAME_BYTES
