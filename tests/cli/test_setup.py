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
    assert len(commands) == 3
    assert all(f"--data-dir {data_dir}" in command for command in commands)
