"""Every command of the README and of pages it leads to, as a reader runs it, in their order."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_sidecar.core.times import iso_utc, system_clock
from tests.conftest import PROGRAM
from tests.e2e.home import Home
from tests.test_docs import HOST, blocks

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
PAGES = ("commands", "memories", "context", "sessions", "agents", "development")
PARTS = (
    "README.md",
    "requirements.lock",
    "memory_sidecar/core",
    "memory_sidecar/disk",
    "memory_sidecar/context",
)

# Where what cannot run here is tried instead.
ELSEWHERE = {
    "memory-sidecar index https": "takes a network: tests/code/test_clones.py, from a folder",
    "./task": "tests/test_task.py, and CI, which goes through it",
    "memory-sidecar serve": "never ends by itself: tests/e2e/test_daemon_life.py",
    "memory-sidecar service install": "takes a systemd of one's own: tests/cli/test_service.py",
    "memory-sidecar uninstall": "asks a person: tests/e2e/test_uninstall.py",
    "claude mcp add": "takes that agent; tests/test_docs.py checks what it is told to start",
    "codex mcp add": "the same",
}
SESSION = {
    "session_id": "2026-03-01-payment",
    "project_path": "/src/shop",
    "metadata": {"tags": ["task:T-12"]},
    "messages": [
        {
            "role": "user",
            "content": "The token refresh failed: two refreshes raced for one token of redis.",
        }
    ],
}
TRANSCRIPT = {
    "type": "user",
    "sessionId": "0b1e-5f",
    "timestamp": iso_utc(system_clock()),
    "message": {"role": "user", "content": "Why does the token refresh fail?"},
}
# What its placeholders stand for, by the command that they are in.
MEANT = {
    "memory-sidecar share PATH": ("PATH", "pitfall/avoid-strategy-in-payment-it-makes-a-cycle.md"),
    "memory-sidecar session show ID": ("ID", "2026-03-01-payment"),
    "memory-sidecar session promote ID": ("ID", "2026-03-01-pay"),
}
FINDING = ("search", "grep", "query", "list", "session search")  # which have to find something


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """Somebody who has cloned a part of this repository, and what the README takes for given."""
    folder = tmp_path_factory.mktemp("reader")
    runtime_dir = Path(tempfile.mkdtemp(dir="/tmp"))
    home = Home(folder, runtime_dir, HOME=str(folder), SHELL="/bin/bash", XDG_CONFIG_HOME="")
    del home.environ["MEMORY_SIDECAR_DATA_DIR"]
    home.environ["PATH"] = os.pathsep.join([str(PROGRAM.parent), os.environ["PATH"]])
    home.data_dir = folder / ".local/share/memory-sidecar"
    clone = folder / "clone"
    for part in PARTS:
        (clone / part).parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (ROOT / part).is_dir() else shutil.copy)(ROOT / part, clone / part)
    (clone / "session.json").write_text(json.dumps(SESSION))
    transcripts = folder / ".claude" / "projects" / "shop"
    transcripts.mkdir(parents=True)
    (transcripts / "one.jsonl").write_text(json.dumps(TRANSCRIPT))
    notes = folder / "project" / ".cortex" / "memory"
    notes.mkdir(parents=True)
    (notes / "a.md").write_text("Totals are cents\n")
    yield home
    home.end()
    home.data_dir = clone / "data" / "memory"  # since `trust .`
    home.end()
    shutil.rmtree(runtime_dir)


def lines_of(page: str) -> list[str]:
    return [line for block in blocks(page, "sh") for line in block.splitlines() if line]


def test_every_command_that_is_written_works_in_its_place(reader):
    place = reader.folder / "clone"
    elsewhere = set()
    pages = [(ROOT / "docs" / f"{name}.md").read_text("utf-8") for name in PAGES]
    for line in (line for page in (README, *pages) for line in lines_of(page)):
        skipped = [begin for begin in ELSEWHERE if line.startswith(begin)]
        if skipped:
            elsewhere.add(skipped[0])
            continue
        if line.startswith("cd "):
            place = Path(line.removeprefix("cd ").replace("~", str(reader.folder)))
            continue
        if line.startswith("memory-sidecar session"):
            place = reader.folder / "clone"
        meant = [named for begin, named in MEANT.items() if line.startswith(begin)]
        done = subprocess.run(
            ["sh", "-c", line.replace(*meant[0]) if meant else line],
            cwd=place, env=reader.environ, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, (line, done.stdout, done.stderr)
        words = line.removeprefix("memory-sidecar ")
        if words.startswith(FINDING):
            assert done.stdout.strip() not in ("", "[]"), (line, done.stderr)
    assert elsewhere == set(ELSEWHERE)


def test_every_call_of_the_csharp_client_works(reader):
    data = reader.folder / "host"
    values = {
        "source": str(reader.folder / "clone"), "Code": f"{data}/codebase.sqlite",
        "Knowledge(agent)": f"{data}/knowledge/a.sqlite", "Journal(agent)": f"{data}/a.mv2",
        "agent": "a", "category": "pitfall", "Text(topK)": "3", "title": "Locks",
        "text": "- One lock for a token", "query": "- lock for a token",
    }  # fmt: skip
    written = [words for block in blocks(HOST, "csharp") for words in _calls(block)]
    assert {shlex.split(words[0])[0] for words in written} == {
        *("index", "search", "store", "query", "embed"),
        *("episodic-put", "episodic-search", "episodic-commit"),
    }
    for words in written:
        given = [
            shlex.split(word)[0] if word.startswith('"') else values[word]
            for word in words
            if not word.startswith("..")
        ]
        text = values["text"] if "-" in given else None
        done = reader.call(*given, stdin=text, MEMORY_SIDECAR_DATA_DIR=str(data))
        assert done.returncode == 0, (given, done.stderr)
        assert json.loads(done.stdout) not in ([], {}, {"hits": []}), given
    reader.call("stop", MEMORY_SIDECAR_DATA_DIR=str(data))


def _calls(block: str) -> Iterator[list[str]]:
    """The arguments of each call of the client, as they are written there."""
    for written in re.findall(r'>\(\s*\[("[a-z-]+",.*?)\],', block, re.DOTALL):
        yield [word.strip() for word in re.split(r",\s", written)]


def test_the_first_question_gets_its_answer_by_words_and_static_vectors(run, tmp_path):
    """Right after the index, in a fresh clone, where no vector of the model is there yet."""
    (asked,) = re.findall(r'search "(.+?)" --top-k', (ROOT / "Taskfile.yml").read_text("utf-8"))
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    clone = tmp_path / "clone"
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, clone / name)
    run("source", "add", clone)
    assert run("index", "--wait", "keyword", cwd=clone).status == 0
    done = run("search", asked, "--top-k", "3", "--json", cwd=clone)
    assert "vectors 0 % done" in done.err
    assert done.json[0]["filename"] == "memory_sidecar/core/credentials.py"
    assert f'"{asked}"' in README
