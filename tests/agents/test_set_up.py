"""`doctor` says which settings of coding agents start a program that is gone."""

from __future__ import annotations

import json
from pathlib import Path

from memory_sidecar.agents.set_up import examine_set_up
from memory_sidecar.setup.agents import CODING_AGENTS
from memory_sidecar.setup.plan import Plan, Wish


def set_up(home: Path, program: Path, *names: str) -> dict[str, str]:
    """Have the agents called `names` start `program`; returns the environment of their user."""
    environ = {"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config")}
    plan = Plan(environ)
    line = f"'{program}' context access - >/dev/null"
    hook = {"matcher": "Read", "hooks": [{"type": "command", "command": line}]}
    wish = Wish(
        entry={"command": str(program), "args": ["mcp"]}, hooks={"PostToolUse": hook}, skills={}
    )
    for agent in CODING_AGENTS:
        if agent.name in names:
            plan.add(agent, wish)
    plan.carry_out()
    return environ


def test_a_program_that_an_upgrade_took_away_is_named_with_the_agents_that_start_it(tmp_path):
    program = tmp_path / "of before" / "memory-sidecar"
    program.parent.mkdir()
    program.touch()
    environ = set_up(tmp_path, program, "claude", "codex")
    assert [check.ok for check in examine_set_up(environ)] == [True]
    program.unlink()
    (check,) = examine_set_up(environ)
    assert not check.ok
    assert check.text == f"{program} is gone, and the settings of claude, codex start it"
    assert check.hint.startswith("`memory-sidecar setup claude codex`")
    now = tmp_path / "memory-sidecar"
    now.touch()
    assert [check.ok for check in examine_set_up(set_up(tmp_path, now, "claude", "codex"))] == [
        True
    ]


def test_an_entry_that_the_user_took_out_or_changed_is_none_of_ours(tmp_path):
    environ = set_up(tmp_path, tmp_path / "gone", "cursor")
    assert [check.ok for check in examine_set_up(environ)] == [False]
    (tmp_path / ".cursor" / "mcp.json").write_text(json.dumps({"mcpServers": {}}))
    assert examine_set_up(environ) == []


def test_where_no_agent_was_set_up_there_is_no_check(tmp_path):
    assert examine_set_up({"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}) == []
