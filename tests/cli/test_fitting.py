"""A memory and a session can be read on a terminal of 80 columns, one line each elsewhere."""

from __future__ import annotations

import io
import json
import re
from contextlib import nullcontext

import pytest

from memory_sidecar.agents.services import Services
from memory_sidecar.cli.call import Call
from memory_sidecar.cli.main import run as run_call
from memory_sidecar.core.paths import DataDir
from memory_sidecar.core.settings import Settings

DECIDED = "Use tabs to indent Go because gofmt demands it, and spaces for all else"
PATH = "decisions/use-tabs-to-indent-go-because-gofmt-demands-it-and-spaces-for-all-else.md"
SAID = "The nightly export of the bank loses its umlauts, what mends that?"
SESSION = {
    "session_id": "9b2f6d1c-56ab-4c8e-8f6e-0c4a3a9f1d22",
    "messages": [{"role": "user", "content": SAID}],
}


@pytest.fixture
def on_terminal(data_dir, tmp_path):
    """Returns the lines that a command prints on a terminal so wide, without colours."""
    services = Services(DataDir(data_dir), Settings())

    def lines(*arguments: str, columns: int, is_terminal: bool = True) -> list[str]:
        out = io.StringIO()
        call = Call(
            arguments=arguments,
            cwd=tmp_path,
            environ={"NO_COLOR": "1"},
            stdin=io.BytesIO(json.dumps(SESSION).encode()),
            stdout=out,
            stderr=io.StringIO(),
            is_terminal=is_terminal,
            shows_progress=False,
            columns=columns,
            open_services=lambda _: nullcontext(services),
        )
        assert run_call(call) == 0
        return [
            re.sub(r"\d{4}-\d\d-\d\d( \d\d:\d\d UTC)?", "DAY", each)
            for each in out.getvalue().splitlines()
            if each
        ]

    lines("store", DECIDED, "--category", "decisions", columns=80)
    lines("session", "save", "-", columns=80)
    yield lines
    services.close()


@pytest.mark.parametrize("command", [("list",), ("recent",), ("query", "tabs in Go")])
def test_a_memory_that_does_not_fit_has_its_text_below_broken_between_words(on_terminal, command):
    head, *below = on_terminal(*command, columns=60)
    assert head.partition(PATH)[1:] == (PATH, "  DAY")
    assert len(below) == 2
    assert all(line.startswith("  ") and len(line) <= 60 for line in below)
    assert " ".join(line.strip() for line in below) == DECIDED


@pytest.mark.parametrize(("columns", "is_terminal"), [(200, True), (60, False)])
def test_it_is_one_line_where_there_is_room_and_where_a_program_reads(
    on_terminal, columns, is_terminal
):
    lines = on_terminal("list", columns=columns, is_terminal=is_terminal)
    assert lines == [f"{PATH}  DAY  {DECIDED}"]


def test_a_session_that_does_not_fit_has_its_title_below(on_terminal):
    head, *below = on_terminal("session", "list", columns=80)
    assert head == f"DAY  {SESSION['session_id']}"
    assert " ".join(line.strip() for line in below) == f"{SAID} · 1 message"
    found = on_terminal("session", "search", "umlauts", columns=80)
    assert found[0].startswith(SESSION["session_id"])
    assert found[1].startswith("  ")
    assert max(map(len, (*below, *found))) <= 80
