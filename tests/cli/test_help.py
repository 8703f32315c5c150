"""Help that can be scanned, and what is said to a command that is not there."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from itertools import chain

import pytest
from schemas import WITHOUT_JSON, WORDS_FILE, commands, render, words_of

from memory_sidecar.cli.help import all_examples, examples_of
from memory_sidecar.cli.main import GROUPS, every_command
from memory_sidecar.cli.options import SYNONYMS
from tests.conftest import PROGRAM, write_memory

COMMANDS = dict(commands(every_command()))


def test_every_description_stands_whole_in_a_line_of_80_columns(run):
    lines = run("--help").out.splitlines()
    assert max(map(len, lines)) <= 80
    for title, group in GROUPS.items():
        assert f"{title}:" in lines
        for name, (told, _) in group.items():
            assert any(line.split() == [name, *told.split()] for line in lines), name


@pytest.mark.parametrize("words", COMMANDS)
def test_help_ends_with_two_examples_that_are_right(run, words):
    shown = run("help", *words.split()).out
    assert shown == run(*words.split(), "--help").out
    assert "..." not in shown.partition("\n")[2].replace("]...", "").replace("…", "")
    assert "RANGE" not in shown
    assert "<=x" not in shown
    examples = re.findall(r"memory-sidecar [^\n]*", shown.partition("Examples:")[2])
    assert len(examples) == len(examples_of(words)) == 2
    for line in examples:
        given = shlex.split(line.partition("memory-sidecar ")[2].removesuffix(')"'), comments=True)
        assert given[: len(words.split())] == words.split(), line
        options = {option for each in COMMANDS[words].params for option in each.opts}
        for word in given[len(words.split()) :]:
            assert not word.startswith("-") or word == "-" or word in options, line


@pytest.mark.parametrize("words", COMMANDS)
def test_the_options_of_every_command_come_last(words):
    names = [each.name for each in COMMANDS[words].params]
    last = ["data_dir", "db", "json_output", "help"]
    last = [each for each in last if each in names]
    assert names[-len(last) :] == last
    assert ("json_output" in names) is (words not in WITHOUT_JSON), "a schema says what it prints"


@pytest.mark.parametrize("words", sorted(WITHOUT_JSON))
def test_a_command_that_only_runs_refuses_json(run, words):
    done = run(*words.split(), "--json")
    assert (done.status, done.out, done.error["code"]) == (2, "", "usage")


def test_there_are_examples_for_what_there_is_and_nothing_else():
    assert sorted(chain(*map(examples_of, COMMANDS))) == sorted(all_examples())


def test_a_group_shows_whole_descriptions(run):
    assert "..." not in run("source", "--help").out.replace("[ARGS]...", "")


def test_what_other_programs_call_a_command_is_known():
    """Each name that a synonym leads to is there, at the top or in a group."""
    tree = every_command()
    names = {name for words in COMMANDS for name in words.split()} | set(tree.commands)
    assert SYNONYMS.keys() <= names


@pytest.mark.parametrize("arguments", [("version",), ("-V",), ("--version",)], ids=" ".join)
def test_the_version_is_one_line_however_it_is_asked_for(run, arguments):
    done = run(*arguments)
    assert (done.status, done.err) == (0, "")
    assert re.fullmatch(r"memory-sidecar, version [\d.]+\S*\n", done.out)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_installed_where_its_shell_looks(run, tmp_path, shell):
    environ = {"HOME": str(tmp_path), "XDG_DATA_HOME": "", "XDG_CONFIG_HOME": ""}
    done = run("completion", "install", environ=environ | {"SHELL": f"/bin/{shell}"})
    assert done.status == 0, done.err
    (written,) = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert str(written) in done.out
    assert "_MEMORY_SIDECAR_COMPLETE" in written.read_text()
    assert run("completion", "show", shell, environ=environ).out == written.read_text()


def test_a_folder_in_place_of_the_completion_script_is_named(run, tmp_path):
    script = tmp_path / "bash-completion/completions/memory-sidecar"
    script.mkdir(parents=True)
    done = run("completion", "install", "bash", environ={"XDG_DATA_HOME": str(tmp_path)})
    assert (done.status, str(script) in done.err) == (2, True)


def test_fish_shows_all_that_is_told_of_a_command(run):
    script = run("completion", "show", "fish").out
    assert 'string split --max 1 ","' in script  # of `plain,promote\tDecided, solved and noted`
    assert 'string split ","' not in script


def test_the_table_that_completes_is_up_to_date():
    """`./task schemas` writes it."""
    written = render(words_of(every_command()), indent=1)
    assert WORDS_FILE.read_text("utf-8") == written


@pytest.fixture
def completed(sidecar, data_dir):
    """The lines that a shell is given for a line that a user has begun."""
    environ = {"MEMORY_SIDECAR_NO_DAEMON": "0", "MEMORY_SIDECAR_DATA_DIR": str(data_dir)}

    def completed(line: str, shell: str = "bash") -> list[str]:
        given = line.split(" ")
        word = given[-1] if shell == "fish" else str(len(given) - 1)
        done = sidecar(
            _MEMORY_SIDECAR_COMPLETE=f"{shell}_complete",
            COMP_WORDS=line, COMP_CWORD=word, **environ,
        )  # fmt: skip
        assert (done.status, done.err) == (0, "")
        return list(done.out.splitlines())

    return completed


@pytest.mark.skipif(os.name == "nt", reason="names of Unix")
def test_a_path_that_is_not_utf8_is_completed():
    asked = {
        "_MEMORY_SIDECAR_COMPLETE": "bash_complete",
        "COMP_WORDS": "memory-sidecar index caf\udce9",  # in Latin-1
        "COMP_CWORD": "2",
    }
    done = subprocess.run([PROGRAM], env=os.environ | asked, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"file,caf\xe9\n", b"")


def test_a_shell_is_answered_without_daemon_or_model(completed, data_dir):
    assert completed("memory-sidecar sea") == ["plain,search"]
    assert completed("memory-sidecar source m") == ["plain,move"]
    assert "plain,--no-pager" in completed("memory-sidecar search a --no")
    assert completed("memory-sidecar search --mode v") == ["plain,vector"]
    assert completed("memory-sidecar search --mode=v") == ["plain,vector"]
    assert completed("memory-sidecar search --mode = v") == ["plain,vector"]  # bash cuts at the =
    assert "plain,hybrid" in completed("memory-sidecar search --mode =")
    assert completed("memory-sidecar search a --language ty") == ["plain,typescript"]
    assert completed("memory-sidecar list --sort re") == ["plain,reads"]  # and no older name
    assert completed("memory-sidecar mcp --tools me") == ["plain,memories"]
    assert completed("memory-sidecar index src/") == ["file,src/"]
    assert completed("memory-sidecar index --data-dir src --fu") == ["plain,--full"]
    assert completed("memory-sidecar get pit") == completed("memory-sidecar nonsense --x") == []
    assert completed("memory-sidecar context new k") == ["plain,knowledge"]
    assert completed("memory-sidecar setup claude v") == ["plain,vscode"]
    assert completed("memory-sidecar store 'a tex") == []
    assert completed("memory-sidecar help sou") == ["plain,source"]
    assert completed("memory-sidecar help source m") == ["plain,move"]
    assert completed("memory-sidecar help search ") == []
    assert completed("memory-sidecar help sou", "zsh")[:2] == ["plain", "source"]
    assert completed("memory-sidecar help sou", "fish")[0].startswith("plain,source\t")
    assert completed("memory-sidecar sea", "zsh")[:2] == ["plain", "search"]
    assert completed("memory-sidecar search --mode=v", "zsh")[:2] == ["plain", "--mode=vector"]
    assert completed("memory-sidecar search --mode=v", "fish") == ["plain,--mode=vector"]
    assert completed("memory-sidecar sea", "fish")[0].startswith("plain,search\t")
    assert completed("memory-sidecar get --agent ") == []
    assert not data_dir.exists()


def test_a_shell_completes_the_names_of_what_is_there(completed, run, data_dir, tmp_path):
    write_memory(data_dir / "knowledge" / "bob", "pitfall/final.md")
    write_memory(data_dir / "knowledge" / "bob", "pitfall/_category.md")
    write_memory(tmp_path / "notes", "one.md")
    write_memory(tmp_path / "src", "two.md")
    run("source", "add", tmp_path / "notes", "--agent", "bob")
    run("source", "add", tmp_path / "src")
    saved = b'{"session_id": "monday", "messages": [{"role": "user", "content": "hello"}]}'
    run("session", "save", "--agent", "ann", stdin=saved)
    files = {file: file.read_bytes() for file in data_dir.rglob("*") if file.is_file()}
    assert completed("memory-sidecar query a --agent ") == ["plain,ann", "plain,bob"]
    assert completed("memory-sidecar get --agent = bob pit") == ["plain,pitfall/final.md"]
    assert completed("memory-sidecar move --agent=bob pitfall/") == ["plain,pitfall/final.md"]
    assert completed("memory-sidecar get pit") == []
    assert completed("memory-sidecar store a --agent bob --category ") == ["plain,pitfall"]
    assert completed("memory-sidecar list --agent=bob --category=pit", "fish") == [
        "plain,--category=pitfall"
    ]
    assert completed("memory-sidecar category delete --agent bob p") == ["plain,pitfall"]
    assert completed("memory-sidecar session show --agent ann m") == ["plain,monday"]
    assert completed("memory-sidecar source remove ") == ["plain,src"]
    assert completed("memory-sidecar search a --source s") == ["plain,src"]
    assert completed("memory-sidecar source remove --agent bob ") == ["plain,notes"]
    assert completed("memory-sidecar list --agent bob --tag ") == []  # nothing is indexed yet
    assert {file: file.read_bytes() for file in data_dir.rglob("*") if file.is_file()} == files
    assert completed("memory-sidecar restore --agent bob ") == []
    run("remove", "pitfall/final.md", "--agent", "bob")
    assert completed("memory-sidecar get --agent bob ") == []
    assert completed("memory-sidecar restore --agent bob p") == ["plain,pitfall/final.md"]
    for broken in data_dir.rglob("sources.json"):
        broken.write_text("[")
    assert completed("memory-sidecar source remove ") == []


def test_tags_and_statuses_of_memories_are_completed(completed, run, data_dir):
    write_memory(data_dir / "knowledge" / "bob", "a.md", tags=["area:cart", "red"], status="Active")
    run("list", "--agent", "bob")
    assert completed("memory-sidecar query a --agent bob --tag ar") == [
        "plain,area:",
        "plain,area:cart",
    ]
    assert completed("memory-sidecar update a --agent bob --untag r") == ["plain,red"]
    assert completed("memory-sidecar list --agent bob --status ") == ["plain,active"]
    assert completed("memory-sidecar context new knowledge --tag ") == []


def test_names_are_of_the_agent_that_the_settings_name(completed, data_dir, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    write_memory(data_dir / "knowledge" / "bob", "pitfall/final.md")
    config = tmp_path / "config" / "memory-sidecar" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('agent = "bob"\n')
    assert completed("memory-sidecar get pit") == ["plain,pitfall/final.md"]
    config.write_text("agent = [")
    assert completed("memory-sidecar get pit") == []


@pytest.mark.skipif(sys.platform == "win32", reason="such names are none there")
def test_no_name_is_completed_that_a_shell_would_run_and_no_link_followed(completed, data_dir):
    folder = data_dir / "knowledge" / "bob"
    names = ("$(reboot)", "`reboot`", "a;reboot", "a b", "a'b", "*", "two\nlines", "\x1b[2J", "ä-1")
    for name in names:
        write_memory(folder, f"pitfall/{name}.md")
        (folder / name).mkdir()
    (folder / "round").symlink_to(folder)
    assert completed("memory-sidecar get --agent bob p") == ["plain,pitfall/ä-1.md"]
    assert completed("memory-sidecar get --agent bob round/") == []
    write_memory(data_dir.parent / "elsewhere", "pitfall/a.md")
    assert completed(f"memory-sidecar get --agent {data_dir.parent}/elsewhere p") == []
    found = completed("memory-sidecar store a --agent bob --category ")
    assert found == ["plain,pitfall", "plain,round", "plain,ä-1"]


def test_completing_imports_no_command():
    code = (
        "import os, sys; os.environ.update(COMP_WORDS='x search --no', COMP_CWORD='2');"
        "from memory_sidecar.cli.completing import complete; complete('bash_complete');"
        "sys.exit(bool({'click', 'numpy', 'memory_sidecar.cli.search'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True
    )
    assert "plain,--no-pager" in done.stdout


def test_whatever_limits_how_many_are_shown_is_n_for_short():
    for name, command in COMMANDS.items():
        for option in command.params:
            if {"--top-k", "--limit"} & set(option.opts):
                assert "-n" in option.opts, name


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("daemon stop", "stop"),
        ("daemon start", "serve"),
        ("restart", "stop"),
        ("memory add", "store"),
        ("memory list", "list"),
        ("team rm", "team remove"),
        ("source prnue", "source prune"),
    ],
)
def test_an_unknown_command_of_a_group_is_known_at_the_top(run, typed, meant):
    done = run(*typed.split())
    assert done.status == 2
    assert f"did you mean `memory-sidecar {meant}`?" in done.err


@pytest.mark.parametrize("command", ["search", "query", "refs", "grep", "list"])
def test_the_number_of_results_has_one_name_everywhere(run, command):
    assert "--limit" in run(command, "--help").out


def test_an_unknown_order_is_answered_by_the_names_in_the_help_alone(serve):
    refusal = serve("list", "--sort", "colour").err
    assert "'reads'" in refusal
    assert "'refs'" not in refusal
    assert "updated_at" not in refusal


@pytest.mark.skipif(sys.platform == "win32", reason="a folder that is in use stays there")
@pytest.mark.parametrize("asked", ["--version", "stop --help"])
def test_help_is_given_where_the_working_directory_is_gone(tmp_path, asked):
    main = f"{sys.executable} -m memory_sidecar.client"
    gone = f"mkdir gone && cd gone && rmdir ../gone && exec {main} {asked}"
    environ = os.environ | {"MEMORY_SIDECAR_MODEL_DIR": "models"}  # relative to what is gone
    done = subprocess.run(
        ["sh", "-c", gone], cwd=tmp_path, env=environ, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"memory-sidecar" in done.stdout
