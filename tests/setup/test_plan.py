"""Setting up and taking back, in a home folder like a user's."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from memory_sidecar.core.errors import Conflict, DiskFull, PathRefused
from memory_sidecar.setup import plan as plan_module
from memory_sidecar.setup.agents import CODING_AGENTS, CodingAgent
from memory_sidecar.setup.plan import Plan, StepOutcome, Wish

WISH = Wish(
    entry={"command": "/bin/sidecar", "args": ["mcp"]},
    hooks={"PostToolUse": {"matcher": "Read", "hooks": []}, "SessionEnd": {"hooks": []}},
    skills={"project-search": "---\nname: project-search\n---\n"},
)


@pytest.fixture(name="home")
def a_home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    (home / ".claude").mkdir(parents=True)
    (home / ".claude.json").write_text('{"history": [1, 2]}')
    (home / ".codex").mkdir()
    (home / ".codex/config.toml").write_text('model = "x"\n')
    (home / ".config/zed").mkdir(parents=True)
    (home / ".config/zed/settings.json").write_text('// mine\n{\n  "tab_size": 2,\n}\n')
    return home


def environ_of(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "PATH": "/nowhere"}


def contents(home: Path) -> dict[str, bytes | None]:
    return {
        path.relative_to(home).as_posix(): path.read_bytes() if path.is_file() else None
        for path in sorted(home.rglob("*"))
    }


def installed(home: Path) -> list[CodingAgent]:
    return [agent for agent in CODING_AGENTS if agent.is_installed(environ_of(home))]


def set_up(home: Path, agents: list[CodingAgent] | None = None) -> Plan:
    plan = Plan(environ_of(home))
    for agent in agents or installed(home):
        plan.add(agent, WISH)
    plan.carry_out()
    return plan


def take_back(home: Path) -> Plan:
    plan = Plan(environ_of(home))
    plan.take_back(plan.known_agents())
    plan.carry_out()
    return plan


def outcomes(plan: Plan) -> set[StepOutcome]:
    return {step.outcome for step in plan.steps}


def test_the_agents_that_are_installed_are_found(home: Path) -> None:
    assert [agent.name for agent in installed(home)] == ["claude", "codex", "zed"]


def test_every_agent_is_set_up_once_and_all_of_it_is_taken_back(home: Path) -> None:
    before = contents(home)
    assert outcomes(set_up(home, list(CODING_AGENTS))) == {StepOutcome.ADDED}
    servers = json.loads((home / ".claude.json").read_text())["mcpServers"]
    assert servers["memory-sidecar"] == {"type": "stdio", **WISH.entry}
    hooks = json.loads((home / ".claude/settings.json").read_text())["hooks"]
    assert hooks == {event: [hook] for event, hook in WISH.hooks.items()}
    assert (home / ".agents/skills/project-search/SKILL.md").is_file()
    once = contents(home)
    assert outcomes(set_up(home, list(CODING_AGENTS))) == {StepOutcome.SAME}
    assert contents(home) == once
    assert outcomes(take_back(home)) == {StepOutcome.REMOVED}
    after = contents(home)
    after.pop(".config/memory-sidecar", "")  # the folder of the user's settings may stay
    assert after == before


def test_what_the_user_added_since_stays(home: Path) -> None:
    set_up(home)
    file = home / ".claude/settings.json"
    settings = json.loads(file.read_text())
    settings["hooks"]["PostToolUse"].append({"matcher": "Edit"})
    file.write_text(json.dumps(settings, indent=4))
    assert outcomes(take_back(home)) == {StepOutcome.REMOVED}
    assert json.loads(file.read_text())["hooks"]["PostToolUse"] == [{"matcher": "Edit"}]


def test_what_was_changed_since_is_left_and_named(home: Path) -> None:
    set_up(home)
    skill = home / ".agents/skills/project-search/SKILL.md"
    skill.write_text("mine now")
    plan = take_back(home)
    kept = [step for step in plan.steps if step.outcome is StepOutcome.KEPT]
    assert [(step.path, step.reason) for step in kept] == [(str(skill), "it was changed since")]
    assert skill.read_text() == "mine now"


def test_nothing_is_written_before_it_is_carried_out(home: Path) -> None:
    before = contents(home)
    plan = Plan(environ_of(home))
    for agent in installed(home):
        plan.add(agent, WISH)
    assert outcomes(plan) == {StepOutcome.ADDED}
    assert contents(home) == before


def test_settings_that_are_a_link_are_written_where_it_leads(home: Path, tmp_path: Path) -> None:
    dotfiles = tmp_path / "dotfiles.json"
    (home / ".claude.json").rename(dotfiles)
    (home / ".claude.json").symlink_to(dotfiles)
    before = dotfiles.read_text()
    set_up(home)
    assert "memory-sidecar" in dotfiles.read_text()
    assert (home / ".claude.json").is_symlink()
    take_back(home)
    assert dotfiles.read_text() == before


def test_settings_that_cannot_be_read_stop_it_before_anything_is_written(home: Path) -> None:
    (home / ".claude/settings.json").mkdir()
    before = contents(home)
    with pytest.raises(PathRefused, match=r"settings\.json"):
        set_up(home)
    assert contents(home) == before


def test_another_server_of_our_name_is_left_with_the_reason(home: Path) -> None:
    (home / ".claude.json").write_text('{"mcpServers": {"memory-sidecar": {"command": "mine"}}}')
    plan = set_up(home)
    kept = [step for step in plan.steps if step.outcome is StepOutcome.KEPT]
    assert [step.what for step in kept] == ["MCP server"]
    assert "something else" in kept[0].reason


@pytest.mark.skipif(os.name == "nt", reason="permissions of Unix")
def test_what_was_written_is_noted_for_the_user_alone(home: Path) -> None:
    set_up(home)
    notes = home / ".config/memory-sidecar/setup.json"
    assert notes.stat().st_mode & 0o777 == 0o600


def settings(home: Path) -> dict[str, bytes | None]:
    """All files but our own notes, of which the folder stays."""
    found = contents(home)
    return {path: found[path] for path in found if "memory-sidecar" not in path}


def test_what_another_program_wrote_meanwhile_stays(home: Path) -> None:
    plan = Plan(environ_of(home))
    for agent in installed(home):
        plan.add(agent, WISH)
    (home / ".claude.json").write_text('{"history": [1, 2, 3]}')
    before = settings(home)
    with pytest.raises(Conflict, match=r"\.claude\.json was changed"):
        plan.carry_out()
    assert settings(home) == before
    set_up(home)
    take_back(home)
    assert settings(home) == before


class DiskThatFills:
    """Lets so many files be written, and no more."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, files: int) -> None:
        self._left = files
        for name in ("replace_file", "delete_file"):
            write = getattr(plan_module, name)
            monkeypatch.setattr(plan_module, name, partial(self._write, write))

    def _write(self, write: Callable[..., None], *arguments: object) -> None:
        if self._left == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        self._left -= 1
        write(*arguments)


@pytest.mark.parametrize("files", range(8))
@pytest.mark.parametrize("work", [set_up, take_back])
def test_what_ends_half_way_can_be_taken_back(
    home: Path, monkeypatch: pytest.MonkeyPatch, work: Callable[[Path], Plan], files: int
) -> None:
    before = settings(home)
    if work is take_back:
        set_up(home)
    with monkeypatch.context() as patched:
        DiskThatFills(patched, files)
        with suppress(DiskFull):
            work(home)
    take_back(home)
    assert settings(home) == before


@pytest.mark.parametrize("files", range(6))
def test_what_ended_half_way_is_set_up_by_the_next_call(
    home: Path, monkeypatch: pytest.MonkeyPatch, files: int
) -> None:
    before = settings(home)
    with monkeypatch.context() as patched:
        DiskThatFills(patched, files)
        with suppress(DiskFull):
            set_up(home)
    set_up(home)
    assert outcomes(set_up(home)) == {StepOutcome.SAME}
    assert outcomes(take_back(home)) == {StepOutcome.REMOVED}
    assert settings(home) == before
