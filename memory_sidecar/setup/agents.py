"""The coding agents that `setup` knows: how each is recognised, and where its settings are.

Each entry follows the maker's own documentation of user-level settings.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import cast

from memory_sidecar.core.projects import home

SERVER = "memory-sidecar"  # the name of our entry among the MCP servers
TABLES = "mcp_servers"  # the table of MCP servers in settings that are TOML

_ZED = ".config/zed" if sys.platform == "darwin" else "{config}/zed"


@dataclass(frozen=True, slots=True)
class CodingAgent:
    """A coding agent, and where it keeps its settings.

    Paths are relative to the home folder; `{config}` is the platform's folder for applications'
    settings. If the environment variable `moved_by` is set, it names the folder `moves` ("": the
    home folder), as far as the agent's own paths are concerned.
    """

    name: str
    folder: str  # its own, by which an installed agent is recognised
    servers: str  # the file that lists MCP servers: JSON, or TOML if its name says so
    servers_at: str = "mcpServers"  # the member of that file that has the servers
    program: str = ""  # on PATH if the agent is installed; "": its name
    servers_else: str = ""  # used instead of `servers` if only this file exists
    server_type: str = ""  # the `type` of our entry; "" for none
    is_command_whole: bool = False  # the `command` of an entry is a list, with the arguments
    skills: str = ""  # the folder it reads skills from; "" for an agent without skills
    hooks: str = ""  # the file it reads hooks from, in the form of Claude Code
    sessions: str = ""  # the pattern of its transcripts, which `session import` reads
    moved_by: str = ""
    moves: str = ""

    def is_installed(self, environ: Mapping[str, str]) -> bool:
        return self.path(self.folder, environ).is_dir() or bool(
            shutil.which(self.program or self.name, path=environ.get("PATH"))
        )

    def servers_file(self, environ: Mapping[str, str]) -> str:
        """Return `servers` or `servers_else`, for the user with the environment `environ`."""
        usual, other = self.servers, self.servers_else
        is_other = other and not self.path(usual, environ).exists()
        return other if is_other and self.path(other, environ).exists() else usual

    def find_sessions(self, environ: Mapping[str, str]) -> str:
        """Return the absolute pattern of its transcripts, for a shell; "" if it has none."""
        folder, pattern = self.path(self.folder, environ), self.sessions
        inside = pattern.removeprefix(f"{self.folder}/")
        return f"{quote(str(folder))}/{inside}" if inside and any(folder.glob(inside)) else ""

    def entry(self, of: Mapping[str, object]) -> dict[str, object]:
        """Return our entry among the servers, made `of` a `command` and its `args`."""
        entry = ({"type": self.server_type} if self.server_type else {}) | dict(of)
        if self.is_command_whole:
            entry["command"] = [entry["command"], *cast("list[str]", entry.pop("args"))]
        return entry

    def path(self, relative: str, environ: Mapping[str, str]) -> Path:
        """Return the absolute path of `relative` for the user with the environment `environ`."""
        if relative.startswith("{config}/"):
            return _application_settings(environ) / relative.removeprefix("{config}/")
        moved = environ.get(self.moved_by, "")
        if moved and relative.startswith(self.folder):
            inside = "." if relative == self.moves else relative.removeprefix(f"{self.moves}/")
            return Path(moved).absolute() / inside
        return Path(home(environ)) / relative


CODING_AGENTS = (
    CodingAgent(
        name="claude",
        folder=".claude",
        servers=".claude.json",
        server_type="stdio",
        skills=".claude/skills",
        hooks=".claude/settings.json",
        sessions=".claude/projects/*/*.jsonl",
        moved_by="CLAUDE_CONFIG_DIR",
        moves=".claude",
    ),
    CodingAgent(
        name="codex",
        folder=".codex",
        servers=".codex/config.toml",
        servers_at=TABLES,
        skills=".agents/skills",
        sessions=".codex/sessions/*/*/*/*.jsonl",
        moved_by="CODEX_HOME",
        moves=".codex",
    ),
    CodingAgent(
        name="cursor",
        folder=".cursor",
        servers=".cursor/mcp.json",
        skills=".cursor/skills",
    ),
    CodingAgent(
        name="opencode",
        folder=".config/opencode",  # on every platform
        servers=".config/opencode/opencode.json",
        servers_else=".config/opencode/opencode.jsonc",
        servers_at="mcp",
        server_type="local",
        is_command_whole=True,
        skills=".config/opencode/skills",
        moved_by="XDG_CONFIG_HOME",
        moves=".config",
    ),
    CodingAgent(
        name="vscode",
        program="code",
        folder="{config}/Code/User",
        servers="{config}/Code/User/mcp.json",
        servers_at="servers",
        server_type="stdio",
    ),
    CodingAgent(
        name="gemini",
        folder=".gemini",
        servers=".gemini/settings.json",
        skills=".gemini/skills",
        moved_by="GEMINI_CLI_HOME",
    ),
    CodingAgent(
        name="windsurf",
        folder=".codeium/windsurf",
        servers=".codeium/windsurf/mcp_config.json",
    ),
    CodingAgent(
        name="zed",
        folder=_ZED,
        servers=f"{_ZED}/settings.json",
        servers_at="context_servers",
    ),
)


def _application_settings(environ: Mapping[str, str]) -> Path:
    if sys.platform == "win32":
        return Path(environ.get("APPDATA") or Path(home(environ), "AppData", "Roaming"))
    if sys.platform == "darwin":
        return Path(home(environ), "Library", "Application Support")
    return Path(environ.get("XDG_CONFIG_HOME") or Path(home(environ), ".config"))
