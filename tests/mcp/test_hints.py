"""A hint for an agent names tools, not commands, and sends the user what only a person can do."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

import pytest

from memory_sidecar.core import errors
from memory_sidecar.mcp.caller import Toolset
from memory_sidecar.mcp.tools import for_agent
from memory_sidecar.memories.handlers import Memories
from tests.mcp.talk import given, refused
from tests.test_layers import PACKAGE


@pytest.mark.parametrize(
    ("hint", "told"),
    [
        ("`memory-sidecar list --agent bob` shows the paths", "list_memories shows the paths"),
        ("`memory-sidecar session list` shows all", "search_sessions shows all"),
        ("`memory-sidecar store TEXT --agent bob` writes one", "store_memory writes one"),
        ("run `memory-sidecar index PATH`", "tell the user: run `memory-sidecar index PATH`"),
        ("tell the user to run `memory-sidecar doctor`", None),
        ("name it relative to it", None),
        ("give it a --summary", "give it a summary"),
        ("`--mode hybrid` ranks them", "`mode hybrid` ranks them"),
        ("use --tag, or --add-link", "use tags, or add_links"),
        ("name a file with --db", "tell the user: name a file with --db"),
        ("`memory-sidecar source list` shows all", "list_sources shows all"),
        ("`memory-sidecar outline a.py` lists them", "outline lists them"),
        ("-- is no option", None),
        ("", None),
    ],
)
def test_a_command_becomes_its_tool(newcomer, hint, told):
    everything = replace(newcomer, toolsets=frozenset(Toolset))
    assert for_agent(hint, everything) == (hint if told is None else told)


ABOVE_MCP = {"cli", "client.py", "daemon", "grep", "setup", "team", "web"}
"""What no tool leads to; what a team's database says is for the user as a whole."""


def told_anywhere() -> list[tuple[str, str]]:
    """Every error, hint, remedy and notice below MCP, X for what is filled in, and its place."""
    found = []
    for file in PACKAGE.rglob("*.py"):
        place = file.relative_to(PACKAGE)
        if place.parts[0] not in ABOVE_MCP:
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                found += [(text, f"{place}:{node.lineno}") for text in _told(node)]  # type: ignore[attr-defined]
    return found


def _told(node: ast.AST) -> list[str]:
    said: list[ast.expr] = []
    if isinstance(node, ast.Call):
        called = getattr(node.func, "attr", getattr(node.func, "id", ""))
        said += [each.value for each in node.keywords if each.arg in ("hint", "remedy")]
        is_error = isinstance(getattr(errors, called, None), type)
        said += node.args if is_error or called == "notice" else []
    elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        said += [node.value] if node.targets[0].id in ("hint", "remedy") else []
    choices = [each for each in said if isinstance(each, ast.IfExp | ast.BoolOp | ast.BinOp)]
    parts = [part for each in choices for part in ast.iter_child_nodes(each)]
    return [text for each in (*said, *parts) if (text := _text(each))]


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) or "X" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def test_nothing_that_any_tool_may_say_is_of_the_command_line_alone(newcomer):
    everything = replace(newcomer, toolsets=frozenset(Toolset))
    told = told_anywhere()
    assert len(told) > 200
    for text, place in told:
        shown = for_agent(text, everything)
        of_commands = re.search(r"`memory-sidecar |(?<![\w-])--[a-z]", shown)
        assert not of_commands or shown.startswith("tell the user: "), (place, shown)
        assert "tell the user: tell" not in shown, place


def test_a_tool_that_is_not_offered_is_not_named(newcomer):
    code_alone = replace(newcomer, toolsets=frozenset({Toolset.CODE}))
    hint = "`memory-sidecar list` shows the paths"
    assert for_agent(hint, code_alone) == f"tell the user: {hint}"


def test_a_command_for_the_user_names_the_data_directory_that_the_host_named(home, start):
    at = f"--data-dir {home.data_dir}"
    named, plain = start("--agent", "a", "--data-dir", home.data_dir), start("--agent", "a")
    for host, ends in ((named, f"--agent a {at}`"), (plain, "--agent a`")):
        host.open()
        path = host.call("store_memory", content="Bye", category="c")["structuredContent"]["path"]
        removed = host.call("remove_memory", path=path)
        assert removed["content"][0]["text"].endswith(f"`memory-sidecar restore {path} {ends}")
        restore = removed["structuredContent"]["restore"]
        assert f"{restore}`" == f"memory-sidecar restore {path} {ends}"
        host.end()
    reader = start("--agent", "b", "--read-only", "--data-dir", home.data_dir)
    reader.open()
    told = reader.call("list_memories")["content"][0]["text"]
    assert f"`memory-sidecar store TEXT --agent b --category C {at}`" in told
    reader.end()


def test_the_user_is_to_make_writable_what_cannot_be_written(newcomer, monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise errors.StoreReadOnly("cannot write notes", hint="check its permissions")

    monkeypatch.setattr(Memories, "store", refuse)
    told = refused(newcomer, "store_memory", content="x", category="pitfall")
    assert told.endswith("tell the user to check its permissions; calling again does not help")


def test_errors_name_tools(newcomer):
    given(newcomer, "store_memory", content="Carts are emptied at night", category="pitfall")
    for tool in ("get_memory", "remove_memory"):
        assert refused(newcomer, tool, path="nothing").endswith(" — list_memories shows the paths")
