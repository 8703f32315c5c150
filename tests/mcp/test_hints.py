"""A hint for an agent names tools, not commands, and sends the user what only a person can do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memory_sidecar.mcp.caller import Caller, Toolset
from memory_sidecar.mcp.hints import for_agent
from tests.mcp.talk import given, refused


@pytest.mark.parametrize(
    ("hint", "told"),
    [
        ("`memory-sidecar list --agent bob` shows the paths", "list_memories shows the paths"),
        ("`memory-sidecar session list` shows all", "search_sessions shows all"),
        ("`memory-sidecar store TEXT --agent bob` writes one", "store_memory writes one"),
        ("run `memory-sidecar index PATH`", "tell the user: run `memory-sidecar index PATH`"),
        ("tell the user to run `memory-sidecar doctor`", None),
        ("name it relative to it", None),
        ("", None),
    ],
)
def test_a_command_becomes_its_tool(newcomer: Caller, hint: str, told: str | None) -> None:
    assert for_agent(hint, newcomer) == (hint if told is None else told)


def test_a_tool_that_is_not_offered_is_not_named(newcomer: Caller) -> None:
    code_alone = replace(newcomer, toolsets=frozenset({Toolset.CODE}))
    hint = "`memory-sidecar list` shows the paths"
    assert for_agent(hint, code_alone) == f"tell the user: {hint}"


def test_errors_name_tools(newcomer: Caller) -> None:
    given(newcomer, "store_memory", content="Carts are emptied at night", category="pitfall")
    for tool in ("get_memory", "remove_memory"):
        assert refused(newcomer, tool, path="nothing").endswith(" — list_memories shows the paths")
