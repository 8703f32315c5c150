"""What people get wrong, each answered by one line that says what to do, and by its exit status."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.main import run as run_call
from memory_sidecar.core.errors import DiskFull
from memory_sidecar.core.sqlite import named_errors
from tests.conftest import PROGRAM, write_project
from tests.finished import Finished

ROOT = Path(__file__).parents[2]
ONE_LINE = r"memory-sidecar: .+ — .+"
DENIED = os.strerror(errno.EACCES)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A user's home: a project in it that is indexed, and a folder that is not."""
    home = tmp_path_factory.mktemp("mistakes") / "home"
    (home / "elsewhere").mkdir(parents=True)
    (home / "elsewhere" / "cart.py").write_text("def total(): return 0\n")
    write_project(home / "project")
    done = at(home, "project")("index", ".", "--wait", "keyword")
    assert done.status == 0, done.err
    return home


@pytest.fixture(autouse=True)
def lives_there(prepared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(prepared))


def at(home: Path, place: str, **environ: str) -> Callable[..., Finished]:
    """Runs a command line as a person does who has gone to `place`, on a terminal."""
    told = {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "config"),
        "MEMORY_SIDECAR_DATA_DIR": str(home / "data"),
        "MEMORY_SIDECAR_MODEL_DIR": "/nowhere",
        **environ,
    }

    def run(*arguments: str | Path) -> Finished:
        out, err = io.StringIO(), io.StringIO()
        call = Call(
            arguments=tuple(map(str, arguments)),
            cwd=home / place,
            environ=told,
            stdin=io.BytesIO(),
            stdout=out,
            stderr=err,
            is_terminal=True,
            shows_progress=False,
            columns=80,
        )
        return Finished(run_call(call), out.getvalue(), err.getvalue())

    return run


def the_line(done: Finished) -> str:
    """What the caller is told, beside notices."""
    (line,) = [line for line in done.err.splitlines() if not line.startswith("note: ")]
    return line


# Where it is made, what is said, the exit status, and what the line has to name.
PROJECT, ELSEWHERE, HOME = "project", "elsewhere", "."
MISTAKES: list[tuple[str, tuple[str, ...], int, str]] = [
    # Names of commands and options
    (PROJECT, ("serch", "total"), 2, "`memory-sidecar search`"),
    (PROJECT, ("find", "total"), 2, "`memory-sidecar search`"),
    (PROJECT, ("add", "a text"), 2, "`memory-sidecar store`"),
    (PROJECT, ("ls",), 2, "`memory-sidecar list`"),
    (PROJECT, ("rm", "x"), 2, "`memory-sidecar remove`"),
    (PROJECT, ("source", "rm", "x"), 2, "`memory-sidecar source remove`"),
    (PROJECT, ("source", "ls"), 2, "`memory-sidecar source list`"),
    (PROJECT, ("session", "find", "x"), 2, "`memory-sidecar session search`"),
    (PROJECT, ("xyzzy",), 2, "--help"),
    (PROJECT, ("search", "total", "--topk", "3"), 2, "--top-k"),
    (PROJECT, ("search", "total", "--top-k"), 2, "`memory-sidecar search --help`"),
    (PROJECT, ("session", "list", "--agent"), 2, "`memory-sidecar session list --help`"),
    (PROJECT, ("status", "--watch=1"), 2, "`memory-sidecar status --help`"),
    (PROJECT, ("--data-dir",), 2, "`memory-sidecar --help`"),
    (PROJECT, ("--agent", "bob", "recent"), 2, "`memory-sidecar COMMAND --agent`"),
    (PROJECT, ("source", "--agent", "bob", "list"), 2, "`memory-sidecar source COMMAND --agent`"),
    (PROJECT, ("search", "total", "--path", "a[b"), 2, "without its ]"),
    (PROJECT, ("help", "serch"), 2, "`memory-sidecar search`"),
    # The wrong place
    (ELSEWHERE, ("search", "total"), 3, "`memory-sidecar index .`"),
    (ELSEWHERE, ("search", "total"), 3, "--all"),
    (HOME, ("search", "total"), 3, "`memory-sidecar index PATH`"),
    (PROJECT, ("index", "/"), 2, "--force"),
    (PROJECT, ("index", "~"), 2, "--force"),
    (PROJECT, ("index", "nowhere"), 3, "name an existing folder"),
    (ELSEWHERE, ("index", "../nowhere"), 3, "name an existing folder"),
    (PROJECT, ("index", "settings.toml"), 2, "name the folder"),
    (ELSEWHERE, ("index", "cart.py"), 2, "name the folder"),
    (PROJECT, ("index", "https://127.0.0.1:9/shop"), 1, "git"),  # without a network
    (PROJECT, ("index", "https://me:secret@git.example/shop"), 2, "credential helper"),
    (PROJECT, ("source", "add", "ftp://git.example/shop"), 2, "https://HOST/PATH"),
    (PROJECT, ("index", ".", "--branch", "old"), 2, "a folder has its own branch"),
    (PROJECT, ("source", "remove", "projekt"), 3, "there are: project"),
    (PROJECT, ("source", "move", "projekt", "."), 3, "there are: project"),
    (PROJECT, ("source", "add", "../elsewhere", "--name", "project"), 2, "another name"),
    (PROJECT, ("search", "x", "--source", "projekt"), 3, "there are: project"),
    (PROJECT, ("search", "x", "--source", "project", "--all"), 2, "leave one of them out"),
    (PROJECT, ("context", "init", "settings.toml"), 2, "name a folder"),
    # Values
    (PROJECT, ("search", ""), 2, "say what you are looking for"),
    (PROJECT, ("search", "total", "-n", "-1"), 2, "from 1 to 1,000"),
    (PROJECT, ("search", "total", "-n", "many"), 2, "--help"),
    (PROJECT, ("search", "total", "--language", "klingon"), 2, "python"),
    (PROJECT, ("search", "total", "--mode", "psychic"), 2, "hybrid"),
    (PROJECT, ("search", "--verbatim"), 2, "--"),
    (PROJECT, ("grep", "def $("), 2, ""),
    (PROJECT, ("list", "--after", "yesterday-ish"), 2, "2026-03-01"),
    (PROJECT, ("list", "--category", "../other"), 2, ""),
    (PROJECT, ("store", "x", "--agent", "../evil"), 2, "letters"),
    (PROJECT, ("store", ""), 2, ""),
    (PROJECT, ("store", "x", "--expires", "soonish"), 2, "30d"),
    (PROJECT, ("get", "pitfall/none-such"), 3, "memory-sidecar"),
    (PROJECT, ("session", "show", "none-such"), 3, "`memory-sidecar session list"),
    (PROJECT, ("session", "save", "none.json"), 3, ""),
    (PROJECT, ("session", "save", "-"), 2, ""),
    (PROJECT, ("index", ".", "--exclude", "a[b"), 2, "glob"),
    (PROJECT, ("completion", "install", "tcsh"), 2, "bash"),
    (PROJECT, ("reindex",), 2, "--source NAME"),
    (PROJECT, ("source", "prune", "--sure"), 2, "--help"),
    # What is not there
    (PROJECT, ("search", "total", "--mode", "vector"), 1, "MEMORY_SIDECAR_MODEL_DIR"),
    (PROJECT, ("embed", "a text"), 1, "MEMORY_SIDECAR_MODEL_DIR"),
    (PROJECT, ("model", "verify"), 1, "MEMORY_SIDECAR_MODEL_DIR"),
    *(
        (PROJECT, (*words, "--db", "settings.toml"), 1, "settings.toml is not one of our databases")
        for words in [
            ("search", "total"),
            ("status",),
            ("index", "."),
            ("why", "."),
            ("source", "list"),
            ("query", "x"),
            ("store", "x"),
            ("list",),
            ("session", "list"),
        ]
    ),
    (PROJECT, ("search", "total", "--db", "."), 1, "name a file with --db"),
    (PROJECT, ("reindex", "--all", "--db", "x.sqlite"), 2, "--source NAME"),
    (PROJECT, ("status", "--data-dir", "settings.toml"), 2, "settings.toml is no folder"),
    (PROJECT, ("why", "x" * 300), 2, "at most 255 bytes"),
]


@pytest.mark.parametrize(("place", "words", "status", "names"), MISTAKES, ids=str)
def test_a_mistake_is_answered_by_one_line(prepared, place, words, status, names):
    run = at(prepared, place)
    done = run(*words)
    assert (done.status, done.out) == (status, ""), done.err
    line = the_line(done)
    assert re.fullmatch(ONE_LINE, line), line
    assert names in line
    as_json = json.loads(run(*words, "--json").err.splitlines()[-1])
    assert as_json["error"]["message"]


def test_at_least_thirty_mistakes_are_made():
    assert len({words for _, words, _, _ in MISTAKES}) >= 30


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ('{"version": 99, "sources": []}', "update memory-sidecar"),
        ("not json", "source add"),
    ],
)
def test_a_registry_that_cannot_be_read(prepared, tmp_path, content, names):
    registry = tmp_path / "state" / "codebase" / "sources.json"
    registry.parent.mkdir(parents=True)
    registry.write_text(content)
    done = at(prepared, "project", MEMORY_SIDECAR_DATA_DIR=str(tmp_path))("source", "list")
    assert done.status == 1
    assert re.fullmatch(ONE_LINE, the_line(done))
    assert names in the_line(done)


def test_two_sources_of_one_name_are_told_apart(prepared, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name / "shop").mkdir(parents=True)
        (tmp_path / name / "shop" / "cart.py").write_text(f"def total_price(): return '{name}'\n")
    run = at(prepared, "elsewhere", MEMORY_SIDECAR_DATA_DIR=str(tmp_path / "data"))
    indexed = run("index", tmp_path / "a" / "shop", tmp_path / "b" / "shop", "--wait", "keyword")
    assert indexed.status == 0
    for words in (("source", "list"), ("status",), ("index", "--wait", "keyword")):
        lines = run(*words).out
        assert f"{tmp_path}/a/shop" in lines, words
        assert f"{tmp_path}/b/shop" in lines, words
    found = run("search", "total_price", "--all", "--files", "--mode", "keyword").out
    plain = re.sub(r"\x1b(\[[\d;]*m|\]8;;[^\x1b]*\x1b\\)", "", found)
    named = dict(line.split(maxsplit=1) for line in plain.splitlines())
    assert named.keys() == {"shop", "shop-2"}
    for path in named.values():  # from where the question was asked
        assert (prepared / "elsewhere" / path).is_file()


def test_a_disk_that_is_full_is_named(tmp_path):
    with pytest.raises(DiskFull) as raised, named_errors(tmp_path):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert str(tmp_path) in raised.value.message
    assert raised.value.hint


def test_a_python_that_is_too_old_is_named(tmp_path):
    old = tmp_path / "python3"
    old.write_text("#!/bin/sh\nexit 1\n")  # what an older one says to the question for 3.11
    old.chmod(0o755)
    script = tmp_path / "task"
    script.write_text((ROOT / "task").read_text())
    done = subprocess.run(
        ["sh", script], env={"PYTHON": str(old), "PATH": "/usr/bin:/bin"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "is no Python 3.11 to 3.14" in done.stderr


@pytest.fixture
def without_rights(tmp_path) -> Callable[..., Finished]:
    """Runs a command for which permissions hold, though root runs the tests."""
    if os.name == "nt":
        pytest.skip("chmod forbids nothing there")
    begin: list[str] = []
    if not os.getuid():
        if (setpriv := shutil.which("setpriv")) is None:
            pytest.skip("root may read everything, and there is no setpriv to forbid it")
        begin = [setpriv, "--bounding-set=-dac_override,-dac_read_search"]
    environ = {"MEMORY_SIDECAR_DATA_DIR": str(tmp_path / "data"), "HOME": str(tmp_path)}

    def run(*words: str | Path) -> Finished:
        done = subprocess.run(
            [*begin, PROGRAM, *words], env=os.environ | environ,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        return Finished(done.returncode, done.stdout, done.stderr)

    return run


def test_what_may_not_be_read_is_named(without_rights, tmp_path):
    open_, closed = tmp_path / "open", tmp_path / "closed"
    for folder in (open_ / "inner", closed):
        folder.mkdir(parents=True)
        (folder / "cart.py").write_text("def total(): return 0\n")
    (open_ / "cart.py").write_text("def total(): return 0\n")
    (open_ / "more.py").write_text("def more(): return 0\n")
    forbidden = [open_ / "inner", open_ / "more.py", closed]
    for path in forbidden:
        path.chmod(0)

    run = without_rights
    indexed = run("index", open_, "--wait", "keyword")
    assert indexed.status == 0, indexed.err
    assert indexed.json["files_failed"] == [
        {"source": "open", "path": "more.py", "reason": "Permission denied"}
    ]
    assert indexed.json["folders_unreadable"] == ["inner"]
    refused = run("index", closed)
    assert (refused.status, refused.out) == (2, "")
    told = json.loads(refused.err.splitlines()[-1])["error"]
    assert told["message"] == f"{closed} cannot be read: Permission denied"
    assert told["hint"] == "check its permissions and its disk"
    why = run("why", open_ / "inner" / "cart.py", "--json")
    assert why.json["fate"] == "failed"
    assert why.json["reason"] == f"{open_ / 'inner'} cannot be entered: Permission denied"
    for path in forbidden:
        path.chmod(0o755)


def test_a_memory_that_may_not_be_read_or_taken_away_is_named(without_rights, tmp_path):
    run = without_rights
    stored = run("store", "Roses need sun.", "--category", "garden").json["path"]
    file = tmp_path / "data" / "knowledge" / "default" / stored

    def refused(*command: str) -> str:
        done = run(*command)
        assert done.status == 1
        return str(json.loads(done.err.splitlines()[-1])["error"]["message"])

    file.chmod(0)
    assert refused("update", stored, "More sun.", "--json") == f"cannot read {file}: {DENIED}"
    file.chmod(0o600)
    file.parent.chmod(0o500)
    assert refused("remove", stored, "--json") == f"cannot write {file.parent}: {DENIED}"
    assert refused("move", stored, "new/", "--json") == f"cannot write {file.parent}: {DENIED}"
    file.parent.chmod(0o700)
    assert run("get", stored).out == "Roses need sun.\n"


def test_without_a_daemon_where_none_may_be_started(sidecar, prepared):
    done = sidecar(
        "status", MEMORY_SIDECAR_NO_DAEMON="0", MEMORY_SIDECAR_NO_AUTOSTART="1",
        MEMORY_SIDECAR_DATA_DIR=str(prepared / "data"),
    )  # fmt: skip
    assert done.status == 5
    assert "`memory-sidecar serve`" in the_line(done)


def test_a_mistyped_data_directory_is_not_made(sidecar, tmp_path):
    done = sidecar("search", "x", "--data-dir", tmp_path / "mistyped" / "data")
    assert (done.status, (tmp_path / "mistyped").exists()) == (3, False)
    assert re.fullmatch(ONE_LINE, the_line(done))


def test_text_that_begins_with_a_dash(prepared):
    done = at(prepared, "project")("search", "--mode", "keyword", "--", "--port")
    assert done.status == 0
