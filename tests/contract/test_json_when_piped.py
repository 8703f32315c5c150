"""Some commands print JSON when standard output is no terminal; the others when asked."""

from __future__ import annotations

import pytest

from memory_sidecar.cli.form import wants_json


@pytest.mark.parametrize(
    "command", ["index", "embed", "store", "episodic-put", "episodic-search", "episodic-commit"]
)
def test_json_when_piped(command):
    assert wants_json((command, "x"), is_terminal=False)
    assert not wants_json((command, "x"), is_terminal=True)


@pytest.mark.parametrize("command", ["search", "status", "reindex", "doctor"])
def test_text_when_piped(command):
    assert not wants_json((command,), is_terminal=False)


@pytest.mark.parametrize("option", ["--json", "--json-output"])
def test_json_when_asked(option):
    assert wants_json(("search", "x", option), is_terminal=True)


def test_a_text_that_looks_like_the_option_is_none():
    assert not wants_json(("search", "--", "--json"), is_terminal=False)
