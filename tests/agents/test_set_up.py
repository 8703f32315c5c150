"""`doctor` says what of coding agents' set-up is of another installation or version."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from memory_sidecar.agents.set_up import examine_set_up
from memory_sidecar.agents.skills import all_skills
from memory_sidecar.setup.agents import CODING_AGENTS
from memory_sidecar.setup.plan import Plan, Wish


def set_up(
    home: Path, program: Path, *names: str, skills: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Have the agents called `names` start `program`; returns the environment of their user."""
    environ = {"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config")}
    plan = Plan(environ)
    line = f"'{program}' context access - >/dev/null"
    hook = {"matcher": "Read", "hooks": [{"type": "command", "command": line}]}
    wish = Wish(
        entry={"command": str(program), "args": ["mcp"]},
        hooks={"PostToolUse": hook},
        skills=skills or {},
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
    agents = ("claude", "codex", "opencode")
    environ = set_up(tmp_path, program, *agents)
    assert [check.ok for check in examine_set_up(environ)] == [True]
    program.unlink()
    (check,) = examine_set_up(environ)
    assert not check.ok
    assert check.text == f"{program} is gone, and the settings of claude, codex, opencode start it"
    assert check.hint.startswith("`memory-sidecar setup claude codex opencode`")
    now = tmp_path / "memory-sidecar"
    now.touch()
    assert [check.ok for check in examine_set_up(set_up(tmp_path, now, *agents))] == [True]


def test_an_entry_that_the_user_took_out_or_changed_is_none_of_ours(tmp_path):
    environ = set_up(tmp_path, tmp_path / "gone", "cursor")
    assert [check.ok for check in examine_set_up(environ)] == [False]
    (tmp_path / ".cursor" / "mcp.json").write_text(json.dumps({"mcpServers": {}}))
    assert examine_set_up(environ) == []


def test_where_no_agent_was_set_up_there_is_no_check(tmp_path):
    assert examine_set_up({"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}) == []


def test_skills_of_another_version_are_named_until_they_are_replaced(tmp_path):
    program = tmp_path / "memory-sidecar"
    program.touch()
    ours = {skill.name: skill.path.read_text() for skill in all_skills()}
    environ = set_up(tmp_path, program, "claude", skills=ours)
    assert [check.ok for check in examine_set_up(environ)] == [True]
    environ = set_up(tmp_path, program, "claude", skills=ours | {"indexing": "of before"})
    there, old = examine_set_up(environ)
    assert there.ok
    assert not old.ok
    assert old.text == "the skills of claude are those of another version"
    assert old.hint.startswith("`memory-sidecar setup claude`")
    set_up(tmp_path, program, "claude", skills=ours)
    assert [check.ok for check in examine_set_up(environ)] == [True]


def test_a_skill_that_the_user_changed_is_not_said_to_be_of_another_version(tmp_path):
    program = tmp_path / "memory-sidecar"
    program.touch()
    environ = set_up(tmp_path, program, "claude", skills={"indexing": "of before"})
    (tmp_path / ".claude/skills/indexing/SKILL.md").write_text("my own")
    assert [check.ok for check in examine_set_up(environ)] == [True]
