"""A summarizer of the user's own is a command like any other: it may fail in every way."""

from __future__ import annotations

import os
import sys

import pytest

from memory_sidecar.core.errors import SummarizerFailed
from memory_sidecar.sessions.summarizer import summarize

DOCUMENT = {"session_id": "s", "messages": [{"role": "user", "content": "Größe"}]}


def command(tmp_path, program):
    script = tmp_path / "my summarizer.py"
    script.write_text(program, encoding="utf-8")
    return f"{sys.executable} '{script}' --flag"


def run(command, timeout_s=60):
    return summarize(command, DOCUMENT, timeout_s=timeout_s, environ=os.environ)


def test_the_session_goes_in_and_a_summary_comes_out(tmp_path):
    program = """
import json, sys
session = json.loads(sys.stdin.buffer.read())
summary = {"brief": session["messages"][0]["content"] + " " + sys.argv[1], "outcome": "partial"}
sys.stdout.buffer.write(json.dumps(summary).encode())
"""
    summary = run(command(tmp_path, program))
    assert summary.brief == "Größe --flag"
    assert summary.outcome == "partial"
    assert summary.made_by == sys.executable


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("import sys; sys.exit('no key')", "ended with status 1: no key"),
        ("print('hello')", "printed no summary: not JSON"),
        ("print('{}')", "printed no summary: summary.brief: missing"),
        ("print('[]')", "printed no summary: not a JSON object"),
    ],
)
def test_a_summarizer_that_fails_is_told_in_one_line(tmp_path, program, told):
    with pytest.raises(SummarizerFailed) as caught:
        run(command(tmp_path, program))
    assert told in caught.value.message
    assert "--flag" not in caught.value.message  # which may be a key


def test_a_summarizer_that_hangs_is_ended(tmp_path):
    with pytest.raises(SummarizerFailed, match="took longer than 1 s"):
        run(command(tmp_path, "import time; time.sleep(60)"), timeout_s=1)


def test_a_summarizer_that_is_not_there_is_told():
    with pytest.raises(SummarizerFailed, match="does not start"):
        run("/nowhere/summarizer")
