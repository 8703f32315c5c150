"""A command that a hint names works as it stands: it can be pasted."""

from __future__ import annotations

import re
import shlex
from functools import partial
from pathlib import Path

import click
import pytest

from memory_sidecar.cli.form import Hints
from memory_sidecar.cli.main import cli
from tests.conftest import run_here, write_memory, write_other_project
from tests.finished import Finished

SESSION = b'{"messages": [{"role": "user", "content": "Why are carts empty?"}]}'
PLACEHOLDERS = {"TEXT": "Carts are emptied at night", "C": "pitfall", "NAME": "web"}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder without a data directory, where every command is run."""
    folder = tmp_path / "a b"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.fixture
def call(here: Path) -> partial[Finished]:
    """Runs a command line that has to say which data directory it means."""
    return partial(run_here, environ={"HOME": str(here)}, cwd=here)


def commands(done: Finished) -> list[list[str]]:
    """What the hints on standard error tell the caller to run."""
    found = re.findall(r"`memory-sidecar ([^`]*)`", done.err)
    return [[PLACEHOLDERS.get(word, word) for word in shlex.split(each)] for each in found]


AGENTS = ("--agent", "bob", "--data-dir", "of mine")


@pytest.mark.parametrize(
    "asked",
    [
        ("get", "nothing"),
        ("update", "nothing", "x"),
        ("move", "nothing", "other"),
        ("remove", "nothing"),
        ("restore", "nothing"),
        ("category", "describe", "nowhere", "x"),
        ("category", "delete", "nowhere"),
        ("session", "show", "nothing"),
        ("session", "promote", "nothing"),
    ],
    ids=" ".join,
)
def test_a_hint_is_about_the_same_agent_and_data_directory(call, here, asked):
    write_memory(here / "of mine" / "knowledge" / "bob", "one.md")
    call("session", "save", "-", *AGENTS, stdin=SESSION)
    failed = call(*asked, *AGENTS)
    assert failed.status in (2, 3)
    ((*command,),) = commands(failed)
    assert shlex.join(AGENTS[:2]) in shlex.join(command)
    assert shlex.join(AGENTS[2:]) in shlex.join(command)
    assert call(*command).status == 0
    assert {entry.name for entry in here.iterdir()} == {"of mine"}


def test_a_hint_is_about_the_same_database(call, here):
    db = here / "elsewhere" / "code.sqlite"
    failed = call("search", "cart", "--db", db, "--json")
    assert f"`memory-sidecar index PATH --db {shlex.quote(str(db))}`" in failed.error["hint"]


def test_the_database_of_an_agent_is_not_named_for_code_nor_the_other_way_round():
    def completed(*words: str, hint: str) -> str:
        context = cli.make_context("memory-sidecar", list(words))
        name, command, rest = cli.resolve_command(context, list(words))
        assert command is not None
        inner: click.Context = command.make_context(name, rest, parent=context)
        return Hints.of(inner).complete(f"`memory-sidecar {hint}`")

    agents = ("query", "x", "--agent", "bob", "--db", "bob.sqlite")
    assert completed(*agents, hint="list") == "`memory-sidecar list --agent bob --db bob.sqlite`"
    assert completed(*agents, hint="doctor") == "`memory-sidecar doctor`"
    assert completed(*agents, hint="reindex --all") == "`memory-sidecar reindex --all`"
    named = "`memory-sidecar reindex --agent bob --db bob.sqlite`"
    assert completed(*agents, hint="reindex --agent bob") == named
    code = ("status", "--db", "code.sqlite")
    assert completed(*code, hint="list") == "`memory-sidecar list`"
    assert completed(*code, hint="index") == "`memory-sidecar index --db code.sqlite`"
    assert completed(*code, hint="index --db x") == "`memory-sidecar index --db x`"


def test_what_the_caller_did_not_say_is_not_added(run):
    assert run("search", "cart").err.endswith("`memory-sidecar index .` indexes it\n")


def test_a_hint_in_a_folder_of_a_repository_indexes_all_of_it(call, here):
    (here / "shop" / ".git").mkdir(parents=True)
    (here / "shop" / "src").mkdir()
    told = call("search", "cart", cwd=here / "shop" / "src").err
    assert f"`memory-sidecar index '{here}/shop'` indexes it" in told
    (here / ".git").mkdir()
    (here / "notes").mkdir()
    assert "`memory-sidecar index .`" in call("search", "cart", cwd=here / "notes").err


def test_what_status_and_doctor_name_is_complete(call, here):
    write_memory(here / "of mine" / "knowledge" / "bob", "one.md", created_at="2010-01-01")
    call("list", *AGENTS)
    status = call("status", "--data-dir", "of mine").out
    assert "`memory-sidecar index PATH --data-dir 'of mine'`" in status
    told = call("doctor", "--data-dir", "of mine").out
    assert "`memory-sidecar index PATH --data-dir 'of mine'`" in told
    command = "memory-sidecar prune --dry-run --unused-for 14d --agent bob --data-dir 'of mine'"
    assert f"`{command}`" in told


def test_a_remedy_of_a_check_is_about_the_same_root(call, here):
    assert call("context", "init", "the root", "--project", "shop").status == 0
    (here / "the root" / "OVERVIEW.md").unlink()
    (here / "the root" / "projects" / "shop" / "mission.md").unlink()
    (here / "the root" / "projects" / "shop" / "patterns" / "index.md").unlink()
    check = ("context", "check", "--root", "the root", "--json")
    remedies = {each["remedy"] for each in call(*check).json}
    for command in re.findall(r"`memory-sidecar ([^`]*)`", " ".join(remedies)):
        assert call(*shlex.split(command)).status == 0
    assert call(*check).json == []


def test_a_project_that_is_not_there_is_made_by_the_hint(call, here):
    call("context", "init", "the root")
    for asked in (("new", "experiment", "x"), ("regen", "shop")):
        ((*command,),) = commands(call("context", *asked, "--root", "the root"))
        assert call(*command).status == 0
    made = (here / "the root" / "projects").iterdir()
    assert {folder.name for folder in made} == {"shop", "web"}


def test_a_folder_that_is_no_root_is_made_one_by_the_hint(call, here):
    (here / "the root").mkdir()
    ((*command,),) = commands(call("context", "check", "--root", "the root"))
    assert sum(word.endswith("the root") for word in command) == 1
    assert call(*command).status == 0
    assert call("context", "check", "--root", "the root").status == 0


def test_what_was_removed_is_brought_back_as_its_line_says(call, here):
    folder = here / "of mine" / "knowledge" / "bob" / "My Notes"
    write_memory(folder, "big pools.md")
    removed = call("remove", "My Notes/big pools", *AGENTS)
    (command,) = re.findall(r"`memory-sidecar ([^`]*)`", removed.out)
    assert call(*shlex.split(command)).status == 0
    assert (folder / "big pools.md").exists()


def test_a_memory_that_is_moved_to_where_it_lies_is_said_to_stay(call, here):
    write_memory(here / "of mine" / "knowledge" / "bob", "pools.md")
    assert call("move", "pools", "pools.md", *AGENTS).out == "pools.md stays\n"


def test_what_two_steps_meet_is_told_once(call, here):
    call("store", "x", "--data-dir", here / "data")
    done = call("move", "a/b", "c/", "--agent", "nobody", "--data-dir", here / "data")
    assert (done.status, done.err.count("nobody has no memories yet")) == (3, 1)


@pytest.mark.parametrize(
    "command", ["search q", "refs total", "map", "source publish", "judged add q a"]
)
def test_outside_of_every_source_all_is_named_where_the_command_has_it(
    serve, project, tmp_path, command
):
    serve("index", project, "--wait", "keyword")
    told = serve(*command.split(), cwd=tmp_path)
    assert told.status == 3
    assert ("--all" in told.err) == ("--all" in serve(*command.split(), "--help").out)


def test_a_map_may_be_of_every_source(serve, tmp_path):
    for name in ("one", "two"):
        root = write_other_project(tmp_path / name)
        (root / "room.py").write_text("from lamp import switch_on\n\nswitch_on()\n")
        serve("index", root, "--wait", "keyword")
    entries = serve("map", "--all", "--json", cwd=tmp_path).json
    assert {each["source"] for each in entries} == {"one", "two"}
