"""What `setup` writes for a coding agent."""

from __future__ import annotations

import json

from tests.conftest import run_here


def test_all_that_an_agent_starts_uses_the_data_directory_of_who_set_it_up(tmp_path):
    data_dir, config = tmp_path / "data", tmp_path / "config"
    environ = {"HOME": str(tmp_path), "MEMORY_SIDECAR_DATA_DIR": str(data_dir)}
    environ |= {"CLAUDE_CONFIG_DIR": str(config)}
    done = run_here("setup", "claude", "--yes", "--agent", "a", environ=environ, cwd=tmp_path)
    assert done.status == 0
    hooks = json.loads((config / "settings.json").read_text())["hooks"]
    commands = [each["hooks"][0]["command"] for (each,) in hooks.values()]
    server = json.loads((config / ".claude.json").read_text())["mcpServers"]["memory-sidecar"]
    commands.append(" ".join(server["args"]))
    assert len(commands) == 4
    assert all(f"--data-dir {data_dir}" in command for command in commands)


def test_what_an_agent_is_given_is_listed_in_three_lines(tmp_path):
    done = run_here("setup", "claude", "--dry-run", environ={"HOME": str(tmp_path)}, cwd=tmp_path)
    agent, server, hooks, skills, last = done.out.splitlines()
    assert (agent, last) == ("claude", "nothing was written; --yes writes it")
    assert server == f"  to be added: MCP server  {tmp_path}/.claude.json"
    names = "SessionStart, PostToolUse, SessionEnd"
    assert hooks == f"  to be added: hooks {names}  {tmp_path}/.claude/settings.json"
    assert skills.startswith("  to be added: skills embedding, ")
    assert skills.endswith(f"  {tmp_path}/.claude/skills")


def test_undoing_names_each_agent_once_and_then_forgets_what_the_user_removed(tmp_path):
    def setup(*words):
        done = run_here("setup", *words, "--yes", environ={"HOME": str(tmp_path)}, cwd=tmp_path)
        assert done.status == 0
        return done.out

    setup("claude", "cursor")
    undone = setup("--undo")
    assert undone.count("claude\n") == undone.count("cursor\n") == 1
    setup("gemini")
    (tmp_path / ".gemini").rename(tmp_path / "elsewhere")
    assert "left as it is (it is gone): MCP server" in setup("--undo")
    assert setup("--undo") == "nothing to change\n"


def test_the_sessions_that_an_agent_had_before_are_offered_for_import(tmp_path):
    home = tmp_path / "a home"
    home.mkdir()

    def setup(*words):
        return run_here("setup", "claude", *words, environ={"HOME": str(home)}, cwd=tmp_path)

    assert "session import" not in setup("--yes").err
    transcripts = home / ".claude" / "projects" / "shop"
    transcripts.mkdir(parents=True)
    (transcripts / "one.jsonl").touch()
    pattern = f"'{home}/.claude'/projects/*/*.jsonl"
    done = setup("--yes", "--agent", "a")
    assert f"`memory-sidecar session import {pattern} --agent a`" in done.err
    assert "session import" not in setup("--yes", "--undo").err
