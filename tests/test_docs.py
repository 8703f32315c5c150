"""What the pages in `docs/` say is true: links, commands, the C# client's calls and records."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from schemas import all_schemas

from memory_sidecar.cli.main import every_command
from tests.conftest import PROGRAM

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "data" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
HOST = (ROOT / "docs" / "host-csharp.md").read_text("utf-8")


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^ *```{language}\n(.*?)^ *```$", page, re.MULTILINE | re.DOTALL)


def command_of(words: list[str]) -> click.Command | None:
    """The command that a command line begins with."""
    command: click.Command = every_command()
    for word in words:
        if not isinstance(command, click.Group):
            break
        if word not in command.commands:
            return None
        command = command.commands[word]
    return command


def unknown_options(words: list[str]) -> list[str]:
    command = command_of(words)
    assert command is not None, words
    known = {option for parameter in command.params for option in parameter.opts}
    known |= {option for parameter in command.params for option in parameter.secondary_opts}
    given = words[: words.index("--")] if "--" in words else words
    return [word for word in given if re.match(r"--\w", word) and word not in known | {"--help"}]


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives the headings of a page."""
    titles = re.findall(r"(?m)^#+ (.*)$", page.read_text("utf-8"))
    return {re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
        if "://" not in target:
            path, _, anchor = target.partition("#")
            linked = page.parent / path if path else page
            assert linked.exists(), target
            assert not anchor or anchor in anchors(linked), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_and_their_options_exist(page):
    for block in blocks(page.read_text("utf-8"), "sh"):
        for line in block.splitlines():
            words = shlex.split(line, comments=True)
            if words[:1] == ["memory-sidecar"] and words[1:2] != ["--version"]:
                assert unknown_options(words[1:]) == [], line


def test_what_starts_the_mcp_server_does():
    page = (ROOT / "docs" / "agents.md").read_text("utf-8")
    servers = [
        server
        for block in blocks(page, "json")
        if '"mcp"' in block
        for each in json.loads(block).values()
        for server in each.values()
    ]
    commands = [(server["command"], server.get("args", ())) for server in servers]
    starts = [[*([c] if isinstance(c, str) else c), *arguments] for c, arguments in commands]
    starts += [shlex.split(line) for line in re.findall(r"mcp add memory -- (.*?) +#", page)]
    assert len(starts) == 5
    for program, *words in starts:
        assert program == "memory-sidecar"
        assert unknown_options(words) == []


def test_the_names_to_know_first_are_classes():
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    named = page.partition("## The names to know first\n")[2].partition("\n## ")[0]
    files = (ROOT / "memory_sidecar").rglob("*.py")
    known = {
        name for file in files for name in re.findall(r"(?m)^class (\w+)", file.read_text("utf-8"))
    }
    assert set(re.findall(r"`(\w+)`", named)) <= known
    assert "`Owner`" in named


def argument_lists() -> Iterator[list[str]]:
    """The literal words of every `["command", …]` in the C# page; other arguments as `…`."""
    for block in blocks(HOST, "csharp"):
        for written in re.findall(r'\[("[a-z][a-z-]+",[^\]]*?)\](?=[,)\n])', block, re.DOTALL):
            yield [
                word.strip()[1:-1] if word.strip().startswith('"') else "…"
                for word in re.split(r",(?![^{]*})", written)
            ]


def test_the_csharp_client_calls_what_there_is():
    called = [
        words for words in argument_lists() if words[0] not in ("embed", "…") or len(words) > 1
    ]
    assert {"index", "search", "store", "query", "embed"} <= {words[0] for words in called}
    assert {"episodic-put", "episodic-search", "episodic-commit"} <= {words[0] for words in called}
    for words in called:
        assert unknown_options(words) == [], words


def test_the_csharp_records_have_what_the_schemas_have():
    simple = {"string": "string", "bool": "boolean", "int": "integer", "double": "number"}
    seen = set()
    for block in blocks(HOST, "csharp"):
        for command, name, body in re.findall(
            r"^// ([a-z-]+)\npublic sealed record (\w+)\((.*?)\);", block, re.MULTILINE | re.DOTALL
        ):
            seen.add(command)
            schema = all_schemas()[command]
            shapes = [schema, *schema["$defs"].values()]
            fields = re.findall(r'JsonPropertyName\("(\w+)"\)\] (\S+(?: \S+)?) \w+', body)
            assert fields, name
            holders = [
                shape["properties"]
                for shape in shapes
                if all(field in shape.get("properties", {}) for field, _ in fields)
            ]
            assert holders, f"{name}: no object of {command} has all of these"
            for field, kind in fields:
                if kind in simple:
                    assert holders[0][field]["type"] == simple[kind], f"{name}.{field}"
    assert {"index", "search", "store", "query", "episodic-put", "episodic-search"} <= seen


def test_the_structural_patterns_are_patterns(run, tmp_path):
    (tmp_path / "shop").mkdir()
    (tmp_path / "web").mkdir()
    (tmp_path / "shop" / "a.py").write_text('def f(a):\n    open(a, "w")\n    return a == a\n')
    page = (ROOT / "docs" / "which-tool.md").read_text("utf-8")
    lines = [
        line for block in blocks(page, "sh") for line in block.splitlines() if " grep " in line
    ]
    assert len(lines) >= 3
    for line in lines:
        done = run(*shlex.split(line)[1:], cwd=tmp_path)
        assert (done.status, len(done.out) > 2) == (0, True), line


@pytest.fixture
def hooks() -> dict[str, str]:
    """The commands of the hook example, by the moment they run at."""
    (block,) = blocks((ROOT / "docs" / "hooks.md").read_text("utf-8"), "json")
    moments = json.loads(block)["hooks"]
    return {moment: each[0]["hooks"][0]["command"] for moment, each in moments.items()}


def test_the_hooks_count_reads_and_save_the_session(hooks, run, data_dir, tmp_path):
    root = tmp_path / "context"
    run("context", "init", root, "--project", "shop")
    run("context", "new", "experiment", "Carts", "--project", "shop", "--root", root)
    atom = root / "projects" / "shop" / "experiments" / "EXP-001.md"
    transcript = tmp_path / "transcript.jsonl"
    transcript.write_text(
        json.dumps(
            {
                "type": "user",
                "sessionId": "0b1e-5f",
                "timestamp": "2026-03-01T09:12:00Z",
                "message": {"role": "user", "content": "Why does the refresh fail?"},
            }
        )
    )
    after(
        hooks["PostToolUse"],
        {"tool_name": "Read", "tool_input": {"file_path": str(atom)}},
        data_dir,
    )
    after(hooks["SessionEnd"], {"transcript_path": str(transcript)}, data_dir)
    (refs,) = run("context", "refs", "--root", root, "--json").json
    assert refs["refs"] == 1
    (session,) = run("session", "list", "--json").json
    assert session["session_id"].endswith("0b1e-5f")
    run("store", "Tokens live an hour", "--category", "codebase")
    assert "codebase/tokens-live-an-hour.md" in after(hooks["SessionStart"], {}, data_dir)


def after(command: str, event: dict[str, object], data_dir: Path) -> str:
    """Run a hook as an agent does, the event on standard input; returns what it prints."""
    path = os.pathsep.join((str(PROGRAM.parent), os.environ["PATH"]))
    return subprocess.run(
        ["sh", "-c", command],
        input=json.dumps(event),
        env=os.environ | {"PATH": path, "MEMORY_SIDECAR_DATA_DIR": str(data_dir)},
        check=True,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    ).stdout
