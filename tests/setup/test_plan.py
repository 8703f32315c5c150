"""Setting up and taking back, in a home folder like a user's."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from memory_sidecar.core.atomic import replace_unchanged
from memory_sidecar.core.errors import Conflict, DiskFull, StoreBusy
from memory_sidecar.core.locks import hold_lock
from memory_sidecar.core.opening import Tree
from memory_sidecar.setup import notes
from memory_sidecar.setup import plan as plan_module
from memory_sidecar.setup.agents import CODING_AGENTS, CodingAgent
from memory_sidecar.setup.editing import json_member
from memory_sidecar.setup.notes import Piece
from memory_sidecar.setup.plan import Plan, StepOutcome, Wish

WISH = Wish(
    entry={"command": "/bin/sidecar", "args": ["mcp"]},
    hooks={"PostToolUse": {"matcher": "Read", "hooks": []}, "SessionEnd": {"hooks": []}},
    skills={"project-search": "---\nname: project-search\n---\n"},
)
OTHER_WISH = Wish(
    entry={"command": "/bin/sidecar", "args": ["mcp", "--agent", "a"]},
    hooks={"PostToolUse": WISH.hooks["PostToolUse"], "SessionEnd": {"hooks": ["a"]}},
    skills={"project-search": "---\nname: project-search\n---\nmore\n"},
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


def set_up(home: Path, agents: list[CodingAgent] | None = None, wish: Wish = WISH) -> Plan:
    plan = Plan(environ_of(home))
    for agent in agents or installed(home):
        plan.add(agent, wish)
    plan.carry_out()
    return plan


def take_back(home: Path) -> Plan:
    plan = Plan(environ_of(home))
    plan.take_back(plan.known_agents())
    plan.carry_out()
    return plan


def outcomes(plan: Plan) -> set[StepOutcome]:
    return {step.outcome for step in plan.steps}


def test_the_agents_that_are_installed_are_found(home):
    assert [agent.name for agent in installed(home)] == ["claude", "codex", "zed"]


@pytest.mark.parametrize(
    ("name", "variable", "servers", "hooks", "skills"),
    [
        ("claude", "CLAUDE_CONFIG_DIR", ".claude.json", "settings.json", "skills"),
        ("codex", "CODEX_HOME", "config.toml", "", "HOME/.agents/skills"),
        ("gemini", "GEMINI_CLI_HOME", ".gemini/settings.json", "", ".gemini/skills"),
        ("opencode", "XDG_CONFIG_HOME", "opencode/opencode.json", "", "opencode/skills"),
        ("zed", "XDG_CONFIG_HOME", "zed/settings.json", "", ""),
        ("vscode", "XDG_CONFIG_HOME", "Code/User/mcp.json", "", ""),
    ],
)
@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="XDG folders are those of Linux")
def test_an_agent_that_was_moved_is_set_up_where_it_looks(
    home, tmp_path, name, variable, servers, hooks, skills
):
    moved = tmp_path / "moved"
    agent = next(each for each in CODING_AGENTS if each.name == name)
    environ = environ_of(home) | {variable: str(moved)}
    assert not agent.is_installed(environ)
    (moved / agent.path(agent.folder, environ)).mkdir(parents=True)
    assert agent.is_installed(environ)
    before = contents(home), contents(moved)
    plan = Plan(environ)
    plan.add(agent, WISH)
    plan.carry_out()
    expected = {moved / servers, *([moved / hooks] if hooks else [])}
    if skills:
        above = home if skills.startswith("HOME/") else moved
        expected.add(above / skills.removeprefix("HOME/") / "project-search/SKILL.md")
    assert {Path(step.path) for step in plan.steps} == expected
    plan = Plan(environ)
    plan.take_back([name])
    plan.carry_out()
    after = contents(home), contents(moved)
    for path in ("memory-sidecar", "memory-sidecar/setup.lock"):
        after[0].pop(f".config/{path}", "")
        after[1].pop(path, "")
    assert after == before


def test_every_agent_is_set_up_once_and_all_of_it_is_taken_back(home):
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
    for path in (".config/memory-sidecar", ".config/memory-sidecar/setup.lock"):
        after.pop(path, "")  # the folder of the user's settings may stay
    assert after == before


def test_what_the_user_added_since_stays(home):
    set_up(home)
    file = home / ".claude/settings.json"
    settings = json.loads(file.read_text())
    settings["hooks"]["PostToolUse"].append({"matcher": "Edit"})
    file.write_text(json.dumps(settings, indent=4))
    assert outcomes(take_back(home)) == {StepOutcome.REMOVED}
    assert json.loads(file.read_text())["hooks"]["PostToolUse"] == [{"matcher": "Edit"}]


def test_what_was_changed_since_is_left_and_named(home):
    set_up(home)
    skill = home / ".agents/skills/project-search/SKILL.md"
    skill.write_text("mine now")
    plan = take_back(home)
    kept = [step for step in plan.steps if step.outcome is StepOutcome.KEPT]
    assert [(step.path, step.reason) for step in kept] == [(str(skill), "it was changed since")]
    assert skill.read_text() == "mine now"


@pytest.mark.parametrize("work", [take_back, partial(set_up, wish=OTHER_WISH)])
@pytest.mark.parametrize("name", [".claude/settings.json", ".codex/config.toml"])
@pytest.mark.parametrize("is_deep", [True, False])
def test_settings_that_cannot_be_read_are_named_and_taken_back_later(home, name, work, is_deep):
    before = settings(home)
    set_up(home)
    file = home / name
    mended, deep = file.read_text(), "[" * 3_000 + "]" * 3_000
    is_toml = name.endswith("toml")
    odd = f"deep = {deep}\n{mended}" if is_toml else mended.replace("{", f'{{"deep": {deep},', 1)
    if not is_deep:
        odd = f"broken = [{mended}" if is_toml else mended.rpartition("}")[0]
    file.write_text(odd)
    plan = work(home)
    failed = [(step.path, step.reason) for step in plan.steps if step.outcome is StepOutcome.FAILED]
    (reason,) = [reason for path, reason in failed if path == str(file)]
    assert len(failed) == 1
    assert reason.startswith("it is nested too deeply" if is_deep else "it is not ")
    assert file.read_text() == odd
    file.write_text(mended)
    assert outcomes(take_back(home)) == {StepOutcome.REMOVED}
    assert settings(home) == before


def test_nothing_is_written_before_it_is_carried_out(home):
    before = contents(home)
    plan = Plan(environ_of(home))
    for agent in installed(home):
        plan.add(agent, WISH)
    assert outcomes(plan) == {StepOutcome.ADDED}
    assert contents(home) == before


def test_settings_that_are_a_link_are_written_where_it_leads(home, tmp_path):
    dotfiles = tmp_path / "dotfiles.json"
    (home / ".claude.json").rename(dotfiles)
    (home / ".claude.json").symlink_to(dotfiles)
    before = dotfiles.read_text()
    set_up(home)
    assert "memory-sidecar" in dotfiles.read_text()
    assert (home / ".claude.json").is_symlink()
    take_back(home)
    assert dotfiles.read_text() == before


@pytest.mark.parametrize("odd", [None, b"\xff\xfe", b"", b"\n\n", b"// nothing yet\n"])
def test_odd_settings_of_one_agent_leave_the_others_alone(home, odd):
    file = home / ".claude/settings.json"
    if odd is None:
        file.mkdir()
    else:
        file.write_bytes(odd)
    before = settings(home)
    plan = set_up(home)
    failed = [step for step in plan.steps if step.outcome is StepOutcome.FAILED]
    assert [step.path for step in failed] == ([str(file)] if odd in (None, b"\xff\xfe") else [])
    assert all("cannot be read" in step.reason for step in failed)
    added = {step.path for step in plan.steps if step.outcome is StepOutcome.ADDED}
    assert {str(home / ".claude.json"), str(home / ".codex/config.toml")} <= added
    assert outcomes(set_up(home)) <= {StepOutcome.SAME, StepOutcome.FAILED}
    take_back(home)
    assert settings(home) == before


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="permissions of Unix users")
def test_settings_that_may_not_be_written_fail_alone(home):
    (home / ".codex").chmod(0o500)
    plan = set_up(home)
    failed = [step for step in plan.steps if step.outcome is StepOutcome.FAILED]
    assert [step.agent for step in failed] == ["codex"]
    assert "memory-sidecar" in (home / ".claude.json").read_text()
    (home / ".codex").chmod(0o700)
    assert StepOutcome.ADDED in outcomes(set_up(home))


def test_settings_that_the_user_made_read_only_stay_as_they_are(home):
    path = home / ".claude.json"
    before = settings(home)
    path.chmod(0o444)
    failed = [step for step in set_up(home).steps if step.outcome is StepOutcome.FAILED]
    assert [step.path for step in failed] == [str(path)]
    assert failed[0].reason == "is read-only"
    assert path.read_bytes() == before[".claude.json"]
    path.chmod(0o644)
    set_up(home)
    path.chmod(0o444)
    assert StepOutcome.FAILED in outcomes(take_back(home))
    path.chmod(0o644)
    take_back(home)
    assert settings(home) == before


def test_settings_that_are_deleted_meanwhile_fail_alone(home, monkeypatch):
    path = home / ".claude.json"

    def write_when_it_is_gone(*noted):
        path.unlink(missing_ok=True)
        write(*noted)

    write = notes.write_pieces
    monkeypatch.setattr(plan_module, "write_pieces", write_when_it_is_gone)
    steps = set_up(home).steps
    failed = [(step.path, step.reason) for step in steps if step.outcome is StepOutcome.FAILED]
    assert failed == [(str(path), plan_module.CHANGED)]
    assert StepOutcome.ADDED in {each.outcome for each in steps}


def test_settings_that_refuse_to_be_written_fail_alone(home, monkeypatch):
    before = settings(home)
    write = replace_unchanged

    def refuse(tree: Tree, path: str, before: bytes | None, content: bytes) -> bool:
        if path == "config.toml":
            raise PermissionError(errno.EACCES, "Permission denied")
        return write(tree, path, before, content)

    with monkeypatch.context() as patched:
        patched.setattr(plan_module, "replace_unchanged", refuse)
        plan = set_up(home)
    failed = [step for step in plan.steps if step.outcome is StepOutcome.FAILED]
    assert [(step.agent, step.what) for step in failed] == [("codex", "MCP server")]
    assert "memory-sidecar" in (home / ".claude.json").read_text()
    assert outcomes(set_up(home)) == {StepOutcome.SAME, StepOutcome.ADDED}
    take_back(home)
    assert settings(home) == before


TABLE = "[mcp_servers.memory-sidecar]\n"


@pytest.mark.parametrize(
    ("before", "edit", "after"),
    [
        ('model = "x"', lambda text: text + "[other]\na = 1\n", 'model = "x"\n\n[other]\na = 1\n'),
        ('model = "x"\n', lambda text: text.replace("\n", "\r\n"), 'model = "x"\r\n\r\n'),
        ("# mine\n", lambda text: text.replace(TABLE, f"# ours\n{TABLE}"), "# mine\n\n# ours"),
        (
            "[b]\nx = 1\n",
            lambda text: text.replace("args", "  args") + "\n# of c\n[c]\n",
            "[b]\nx = 1\n\n\n# of c\n[c]\n",
        ),
        (
            "",
            lambda text: (
                '[a]\n[mcp_servers]\nmemory-sidecar = {args = ["mcp"], '
                'command = "/bin/sidecar"}\nx = {}\n'
            ),
            "[a]\n[mcp_servers]\nx = {}\n",
        ),
        ("", lambda text: text + "startup_timeout_sec = 9\n", None),
        ("a = 1\n", lambda text: text + "[mcp_servers.memory-sidecar.env]\nA = '1'\n", None),
    ],
)
def test_a_table_that_the_user_edited_around_is_taken_back_or_left_whole(home, before, edit, after):
    file = home / ".codex/config.toml"
    file.write_bytes(before.encode())
    set_up(home)
    edited = edit(file.read_bytes().decode())
    file.write_bytes(edited.encode())
    plan = take_back(home)
    (server,) = [step for step in plan.steps if step.path == str(file)]
    assert file.read_bytes().decode() == (edited if after is None else after)
    assert (server.reason == "it was changed since") is (after is None)


@pytest.mark.parametrize(
    ("before", "edit"),
    [
        ("{ /* none yet */ }", lambda text: text.replace("/* none", ', "x": 1 /* none')),
        ('{"a": 1} // end', lambda text: text),
        ('{\r\n  // tabs\r\n  "tab_size": 2,\r\n}\r\n', lambda text: text),
        ('{"a": 1}', lambda text: json.dumps(json.loads(text), indent=4)),
        (
            '{"a": 1, // note\n}',
            lambda text: (
                '{"a": 1, // note\n"context_servers": {"memory-sidecar": {"command": '
                '"/bin/sidecar", "args": ["mcp"]}}}'
            ),
        ),
    ],
)
def test_settings_with_comments_stay_readable_when_the_entry_goes(home, before, edit):
    file = home / ".config/zed/settings.json"
    file.write_bytes(before.encode())
    set_up(home)
    edited = edit(file.read_bytes().decode())
    file.write_bytes(edited.encode())
    take_back(home)
    after = file.read_bytes().decode()
    assert "memory-sidecar" not in after
    assert json_member(after, ["probe"], 1) is not None  # it is still what editors read
    assert [part in after for part in ("//", "/*")] == [part in edited for part in ("//", "/*")]
    if edit(before) == before:
        assert after == before


def test_opencode_is_set_up_in_the_file_that_it_has_with_one_list_for_a_command(home):
    folder = home / ".config/opencode"
    folder.mkdir()
    (folder / "opencode.jsonc").write_text('{"model": "x"} // mine\n')
    plan = set_up(home)
    assert not (folder / "opencode.json").exists()
    servers = '"mcp": {"memory-sidecar": {"type": "local", "command": ["/bin/sidecar", "mcp"]}}'
    written = (folder / "opencode.jsonc").read_text()
    assert "".join(servers.split()) in "".join(written.split())
    assert outcomes(set_up(home)) == {StepOutcome.SAME}
    assert outcomes(plan) == {StepOutcome.ADDED}
    take_back(home)
    assert (folder / "opencode.jsonc").read_text() == '{"model": "x"} // mine\n'


def test_another_server_of_our_name_is_left_with_the_reason(home):
    (home / ".claude.json").write_text('{"mcpServers": {"memory-sidecar": {"command": "mine"}}}')
    plan = set_up(home)
    kept = [step for step in plan.steps if step.outcome is StepOutcome.KEPT]
    assert [step.what for step in kept] == ["MCP server"]
    assert "another value" in kept[0].reason


def test_an_entry_that_was_also_made_by_hand_is_kept_and_ours_goes_with_the_next_change(home):
    set_up(home)
    settings_file = home / ".claude.json"
    held = json.loads(settings_file.read_text())
    held["mcpServers"]["memory"] = {"command": "memory-sidecar", "args": ["mcp"]}
    settings_file.write_text(json.dumps(held))
    assert outcomes(set_up(home)) == {StepOutcome.SAME}
    plan = set_up(home, wish=OTHER_WISH)
    (step,) = [each for each in plan.steps if each.reason]
    assert (step.what, step.outcome) == ("MCP server", StepOutcome.REMOVED)
    assert step.reason == "mcpServers.memory starts memory-sidecar already"
    assert list(json.loads(settings_file.read_text())["mcpServers"]) == ["memory"]


@pytest.mark.skipif(os.name == "nt", reason="permissions of Unix")
def test_what_was_written_is_noted_for_the_user_alone(home):
    set_up(home)
    notes = home / ".config/memory-sidecar/setup.json"
    assert notes.stat().st_mode & 0o777 == 0o600


def settings(home: Path) -> dict[str, bytes | None]:
    """All files but our own notes, of which the folder stays."""
    found = contents(home)
    return {path: found[path] for path in found if "memory-sidecar" not in path}


def test_what_another_program_wrote_meanwhile_stays(home):
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


def test_what_another_program_saves_while_we_write_stays(home, monkeypatch):
    file, replace = home / ".codex/config.toml", replace_unchanged

    def save_first(tree: Tree, path: str, before: bytes | None, content: bytes) -> bool:
        if path == file.name:
            file.write_text('model = "y"\n')
        return replace(tree, path, before, content)

    monkeypatch.setattr(plan_module, "replace_unchanged", save_first)
    plan = set_up(home)
    assert file.read_text() == 'model = "y"\n'
    failed = [step for step in plan.steps if step.outcome is StepOutcome.FAILED]
    assert [(step.agent, step.what) for step in failed] == [("codex", "MCP server")]
    assert "changed by another program" in failed[0].reason
    assert {step.outcome for step in plan.steps if step.agent != "codex"} == {StepOutcome.ADDED}


class DiskThatFills:
    """Lets so many files be written, and no more."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, files: int) -> None:
        self._left = files
        for name in ("replace_unchanged", "delete_file"):
            write = getattr(plan_module, name)
            monkeypatch.setattr(plan_module, name, partial(self._write, write))

    def _write(self, write: Callable[..., object], *arguments: object) -> object:
        if self._left == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        self._left -= 1
        return write(*arguments)


@pytest.mark.parametrize("files", range(8))
@pytest.mark.parametrize("work", [set_up, take_back])
def test_what_ends_half_way_can_be_taken_back(home, monkeypatch, work, files):
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
def test_what_ended_half_way_is_set_up_by_the_next_call(home, monkeypatch, files):
    before = settings(home)
    with monkeypatch.context() as patched:
        DiskThatFills(patched, files)
        with suppress(DiskFull):
            set_up(home)
    set_up(home)
    assert outcomes(set_up(home)) == {StepOutcome.SAME}
    assert outcomes(take_back(home)) == {StepOutcome.REMOVED}
    assert settings(home) == before


@pytest.mark.parametrize("files", range(6))
def test_what_ended_half_way_is_set_up_otherwise_by_the_next_call(home, monkeypatch, files):
    before = settings(home)
    set_up(home)
    with monkeypatch.context() as patched:
        DiskThatFills(patched, files)
        with suppress(DiskFull):
            set_up(home, wish=OTHER_WISH)
    assert StepOutcome.KEPT not in outcomes(set_up(home, wish=OTHER_WISH))
    assert outcomes(set_up(home, wish=OTHER_WISH)) == {StepOutcome.SAME}
    take_back(home)
    assert settings(home) == before


def test_setting_up_otherwise_replaces_what_was_set_up_before(home):
    before = settings(home)
    set_up(home, list(CODING_AGENTS))
    plan = set_up(home, list(CODING_AGENTS), OTHER_WISH)
    assert outcomes(plan) == {StepOutcome.REPLACED, StepOutcome.SAME}
    assert [step.what for step in plan.steps if step.outcome is StepOutcome.SAME] == [
        "hook PostToolUse"
    ]
    servers = json.loads((home / ".claude.json").read_text())["mcpServers"]
    assert servers["memory-sidecar"]["args"] == ["mcp", "--agent", "a"]
    written = json.loads((home / ".claude/settings.json").read_text())["hooks"]
    assert written == {event: [hook] for event, hook in OTHER_WISH.hooks.items()}
    assert (home / ".claude/skills/project-search/SKILL.md").read_text().endswith("more\n")
    assert outcomes(take_back(home)) == {StepOutcome.REMOVED}
    assert settings(home) == before


def test_a_hook_of_ours_that_was_edited_by_hand_gets_no_second_one_beside_it(home):
    hooks = {"SessionEnd": {"hooks": [{"command": "memory-sidecar session import -"}]}}
    wish = Wish(WISH.entry, hooks, {})
    set_up(home, wish=wish)
    file = home / ".claude/settings.json"
    edited = file.read_text().replace("import -", "import - --agent me")
    file.write_text(edited)
    plan = set_up(home, wish=wish)
    (hook,) = [step for step in plan.steps if step.path == str(file)]
    assert (hook.outcome, file.read_text()) == (StepOutcome.KEPT, edited)


def test_what_the_user_took_out_stays_out_until_the_rest_is_taken_back(home):
    before = settings(home)
    set_up(home)
    file, skill = home / ".claude/settings.json", home / ".claude/skills/project-search/SKILL.md"
    held = json.loads(file.read_text())
    del held["hooks"]["PostToolUse"]
    file.write_text(json.dumps(held))
    skill.unlink()
    servers = home / ".codex/config.toml"
    servers.write_bytes(before[".codex/config.toml"])
    after = settings(home)
    for wish in (WISH, WISH, OTHER_WISH, WISH):
        plan = set_up(home, wish=wish)
        kept = {(each.agent, each.what): each.reason for each in plan.steps if each.reason}
        assert list(kept) == [
            ("claude", "hook PostToolUse"),
            ("claude", "skill project-search"),
            ("codex", "MCP server"),
        ]
        assert all("--undo`, then setup, adds it again" in reason for reason in kept.values())
    assert json.loads(file.read_text()) == held
    assert set(settings(home)) == set(after)
    take_back(home)
    assert StepOutcome.KEPT not in outcomes(set_up(home))


def test_settings_that_are_gone_as_a_whole_are_set_up_again(home):
    set_up(home)
    shutil.rmtree(home / ".claude")
    (home / ".claude").mkdir()
    assert outcomes(set_up(home)) == {StepOutcome.SAME, StepOutcome.ADDED}
    assert outcomes(set_up(home)) == {StepOutcome.SAME}


def test_two_who_set_up_at_once_forget_nothing_of_each_other(home):
    before = settings(home)
    one, other = Plan(environ_of(home)), Plan(environ_of(home))
    claude, codex, *_ = installed(home)
    one.add(claude, WISH)
    other.add(codex, WISH)
    one.carry_out()
    with pytest.raises(Conflict, match="another setup"):
        other.carry_out()
    set_up(home, [codex])
    take_back(home)
    assert settings(home) == before


def test_two_that_write_at_once_do_not_overwrite_each_others_notes(home, monkeypatch):
    one, other = Plan(environ_of(home)), Plan(environ_of(home))
    claude, codex, *_ = installed(home)
    one.add(claude, WISH)
    other.add(codex, WISH)
    refused: list[object] = []

    def write(pieces: Sequence[Piece], environ: Mapping[str, str]) -> None:
        if not refused:
            with ThreadPoolExecutor(1) as pool, pytest.raises(StoreBusy) as busy:
                pool.submit(other.carry_out).result()
            refused.append(busy)
        write_pieces(pieces, environ)

    write_pieces = notes.write_pieces
    monkeypatch.setattr(plan_module, "write_pieces", write)
    monkeypatch.setattr(notes, "hold_lock", partial(hold_lock, patience_s=0))
    before = settings(home)
    one.carry_out()
    take_back(home)
    assert settings(home) == before


@pytest.mark.parametrize("name", [".claude.json", ".claude/settings.json", ".codex/config.toml"])
def test_what_a_killed_set_up_left_beside_a_file_goes_with_the_next(home, name):
    before = settings(home)
    set_up(home)
    (home / name).with_name(".sidecar-tmp-0123").write_text("half")
    take_back(home)
    assert settings(home) == before
