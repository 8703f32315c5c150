"""What nobody can mean is one line and wrong usage, for every command and every option."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator

import click
import pytest

from memory_sidecar.cli import call
from memory_sidecar.cli.main import cli

HUGE = "9" * 20
DIGITS = "9" * 5000
NUL = "a\0b"
BYTES = os.fsdecode(b"caf\xe9-\xff")
HALF = "\ud83d"
LONG = "x/" * 3000 + "y" * 300
LONGEST = "word " * 14_000
ODD = (HUGE, DIGITS, "-1", NUL, BYTES, HALF, LONG, "[" * 2000, "\x1b[31m\n\r", "", LONGEST)

# They start, stop or install something whatever they are given, or read the whole model.
LEFT_OUT = {"serve", "web", "stop", "mcp", "doctor", "embed", "model verify", "model fetch"} | {
    f"service {verb}" for verb in ("install", "uninstall", "status")
}


def commands(group: click.Command, above: str = "") -> Iterator[tuple[str, click.Command]]:
    if not isinstance(group, click.Group):
        yield above.strip(), group
        return
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield from commands(command, f"{above} {name}")


ALL = dict(commands(cli))


def calls(command: click.Command) -> Iterator[list[str]]:
    """Each argument with every odd value, and each option with those that a number can have."""
    arguments = [each for each in command.params if isinstance(each, click.Argument)]
    usual = ["1"] * sum(each.required for each in arguments)
    for odd in ODD:
        yield [odd] * len(arguments)
        for option in command.params:
            is_plain = isinstance(option, click.Option) and not option.is_flag
            if is_plain and odd in (HUGE, BYTES, LONG, LONGEST):
                yield [f"{option.opts[0]}={odd}", *usual]


@pytest.mark.parametrize("name", sorted(ALL.keys() - LEFT_OUT))
def test_odd_input_is_an_error_of_one_line(run, name):
    for given in calls(ALL[name]):
        done = run(*name.split(), *given, "--json")
        said = (str(given)[:100], done.err[:300])
        assert done.status in (0, 1, 2, 3, 5), said
        assert len(done.err.splitlines()) <= 3, said  # a notice or two may come before
        assert all(len(line) < 2000 for line in done.err.splitlines()), said


@pytest.mark.parametrize("name", ["list --limit", "recent --limit", "search x --max-tokens"])
@pytest.mark.parametrize("number", [HUGE, DIGITS, "-1"])
def test_a_number_that_counts_nothing_is_wrong_usage(run, name, number):
    assert run(*name.split(), number).status == 2


@pytest.mark.parametrize("name", ["query x", "search x", "store x", "session show x"])
def test_a_folder_is_no_database(run, name):
    assert "is a folder, no database" in run(*name.split(), "--db", "/").err


@pytest.mark.parametrize("text", [NUL, HALF, BYTES])
def test_a_text_that_is_none_is_wrong_usage(run, text):
    assert run("store", text).status == 2


@pytest.mark.parametrize(
    "arguments",
    ["query x --min-score nan", "search x --min-score NaN", "list --stronger-than nan",
     "prune --dry-run --weaker-than nan", "remove a/b --if-hash ''", "update a/b c --if-hash ' '"],
)  # fmt: skip
def test_what_would_be_no_condition_is_wrong_usage(run, arguments):
    done = run(*shlex.split(arguments))
    assert (done.status, done.out) == (2, "")


def test_a_category_of_peoples_own_name_can_be_asked_for(run, data_dir):
    file = data_dir / "knowledge" / "hand" / "Weird Cat" / "UPPER.MD"
    file.parent.mkdir(parents=True)
    file.write_text("Prices are cents.\n")
    assert "UPPER" in run("list", "--agent", "hand", "--category", "Weird Cat").out
    assert run("update", "Weird Cat/UPPER.MD", "--tag", "money", "--agent", "hand").status == 0
    assert run("remove", "Weird Cat/UPPER.MD", "--agent", "hand").status == 0


@pytest.mark.parametrize("command", ["search", "def", "callers", "related"])
def test_every_source_and_some_exclude_each_other(run, command):
    done = run(command, "x", "--all", "--source", "shop")
    assert (done.status, "--all and --source exclude each other" in done.err) == (2, True)


def test_a_place_that_cannot_be_is_wrong_usage(run):
    for option in ("--data-dir", "--db"):
        for place in (NUL, HALF, BYTES, LONG):
            assert run("list", f"{option}={place}").status == 2


@pytest.mark.parametrize("number", ["-1", HUGE, DIGITS])
def test_a_setting_that_counts_nothing_is_wrong_usage(run, tmp_path, number):
    given = {"MEMORY_SIDECAR_EMBED_THREADS": number, "MEMORY_SIDECAR_DATA_DIR": str(tmp_path)}
    done = run("status", environ=given)
    assert (done.status, len(done.err.splitlines())) == (2, 1)


def test_input_without_an_end_is_read_to_a_limit(run, monkeypatch):
    monkeypatch.setattr(call, "MAX_INPUT_BYTES", 1000)
    for status, *command in (
        (2, "store", "-"),
        (2, "session", "save"),
        (1, "context", "access"),
        (2, "grep", "-"),
    ):
        done = run(*command, stdin=b"a" * 1001)
        assert (done.status, done.err.count("larger than")) == (status, 1), command
    assert run("session", "save", "/dev/zero").status == 2


def test_a_session_with_half_a_character_is_saved(run, tmp_path):
    (tmp_path / "a.json").write_text('{"messages": [{"role": "user", "content": "a\\ud83db"}]}')
    (tmp_path / "b.json").write_text('{"messages": [{"role": "user", "content": "b"}]}')
    (tmp_path / "c.json").write_text('{"messages": [{"role": "user", "n": ' + DIGITS + "}]}")
    done = run("session", "import", "a.json", "c.json", "b.json", "--json")
    assert done.status == 0
    assert "c.json holds no session" in done.err
    assert len(run("session", "list", "--json").json) == 2


def test_what_a_daemon_would_log_is_no_line_of_a_command(run, sidecar, data_dir):
    assert run("store", "one", "--agent", "a", "--category", "c").status == 0
    lock = data_dir / "knowledge" / ".state" / "a" / "writer.lock"
    lock.unlink(missing_ok=True)
    lock.mkdir()
    done = sidecar("store", "two", "--agent", "a", "--category", "c", "--json")
    told = [line for line in done.err.splitlines() if not line.startswith("note: ")]
    assert "writer.lock" in done.err
    assert len(told) <= 1, done.err
    assert all(line.startswith('{"error":') for line in told)


@pytest.mark.parametrize(
    "given",
    [
        *("index", "source add", "source remove", "source publish", "why", "outline", "impact"),
        *("trust", "skills install", "session import", "session save", "grep x", "growth --agent"),
        *("search x --source", "reindex --source", "list --db", "list --data-dir", "map --around"),
        *("judged add x", "episodic-put x --file", "source move s", "context init --project p"),
        *("context init", "context check --root", "context access a.md --root"),
    ],
)
def test_an_empty_name_is_none_of_the_folder_one_is_in(run, tmp_path, given):
    """As a script passes it whose variable is not set."""
    (tmp_path / "a.py").write_text("x = 1\n")
    assert run("index", ".").status == 0
    before = run("source", "list").out
    run("context", "init", ".")
    done = run(*given.split(), "")
    assert (done.status, done.out) == (2, "")
    assert "empty" in done.err or "not an agent id" in done.err
    assert run("source", "list").out == before


@pytest.mark.parametrize("name", ["x" * 256, "x/" * 2_500])
def test_a_data_directory_that_no_file_system_takes_is_refused_in_a_line(
    run, sidecar, tmp_path, name
):
    given = {"MEMORY_SIDECAR_DATA_DIR": f"{tmp_path}/{name}"}
    texts = (("search", "x"), ("store", "x", "--category", "c"))
    for done in (*(run(*text, environ=given) for text in texts), sidecar("status", **given)):
        assert done.status == 2
        assert "is too long" in done.err
        assert done.err.count("\n") == 1
        assert len(done.err) < 300


@pytest.mark.parametrize(
    ("name", "message"),
    [("notes.txt", "notes.txt is no folder"), ("notes.txt/new", "notes.txt is no folder"),
     ("caf\udce9", "xe9 is not UTF-8")],
)  # fmt: skip
@pytest.mark.parametrize("command", ["list", "query x", "search x", "session list", "status",
                                     "store x", "index .", "growth", "source list"])  # fmt: skip
def test_what_can_be_no_data_directory_is_refused_in_a_line(run, tmp_path, name, message, command):
    (tmp_path / "notes.txt").touch()
    done = run(*command.split(), environ={"MEMORY_SIDECAR_DATA_DIR": f"{tmp_path}/{name}"})
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert message in done.err


@pytest.mark.parametrize("length", [500, 4_080])
def test_a_data_directory_whose_databases_sqlite_cannot_open_is_refused_in_a_line(
    run, tmp_path, length
):
    """Its folder may exist, and the disk takes its path, up to 4,095 bytes."""
    name = f"{tmp_path}/{'x' * 100}"
    while len(name) < length - 100:
        name += "/" + "x" * 100
    name += "/" + "x" * (length - len(name) - 1)
    texts = (("store", "x"), ("query", "x"), ("list",), ("doctor",), ("status",), ("index", "."))
    for command in texts:
        done = run(*command, environ={"MEMORY_SIDECAR_DATA_DIR": name})
        assert done.status == 2
        assert "is too long for a database" in done.err
        assert len([line for line in done.err.splitlines() if "too long" in line]) == 1


def test_a_long_question_is_no_path(run, tmp_path):
    (tmp_path / "a.py").write_text("x = 1\n")
    run("index", ".")
    assert run("map", "--around", "how are carts totalled " * 20).status == 0


@pytest.mark.parametrize("command", ["store", "search", "embed"])
def test_a_text_that_is_taken_for_an_option_is_said_to_come_after_two_dashes(run, command):
    done = run(command, "-x")
    assert (done.status, "after `--`" in done.err) == (2, True)


def test_an_empty_batch_is_no_list_of_all(run):
    done = run("restore", "--batch", "")
    assert (done.status, done.out) == (3, "")


def test_a_long_hint_is_shortened(run):
    done = run("category", "describe", "1" * 60 + "/" + "2" * 5_000, "x")
    assert done.status in (2, 3)
    assert len(done.err) < 3_000


def test_a_question_that_is_judged_may_come_from_standard_input(run, tmp_path):
    (tmp_path / "a.py").write_text("x = 1\n")
    run("index", ".")
    assert run("judged", "add", "-", "a.py", stdin=b"where is x").status == 0
    assert "where is x" in run("judged", "list").out
    assert "where is x" not in run("judged", "remove", "-", "a.py", stdin=b"where is x").out


def test_another_short_name_is_no_typo(run, tmp_path):
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "carts.py").write_text("y = 1\n")
    run("index", ".")
    assert "a.py" not in run("outline", "b.py").err
    assert "there is carts.py" in run("outline", "cart.py").err


def test_what_is_no_file_is_said_not_to_be_one(run):
    done = run("session", "import", "/dev/null")
    assert (done.status, "there is no file" in done.err) == (3, True)


def test_a_text_of_a_host_may_begin_with_a_dash_everywhere(run, tmp_path):
    (tmp_path / "a.py").write_text("low = -1\n")
    run("index", ".")
    assert run("search", "-1 is low", "--json", "--mode", "keyword").json[0]["filename"] == "a.py"
    assert len(run("embed", "- a list item").json) == 384


def test_an_impossible_name_in_a_diff_is_no_file_here(run, tmp_path):
    (tmp_path / "a.py").write_text("x = 1\n")
    run("index", ".")
    name = "y" * 300
    diff = f"--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-x\n+y\n"
    done = run("impact", "--diff", stdin=diff.encode())
    assert (done.status, "internal error" in done.err) == (0, False)


@pytest.mark.parametrize("command", [("episodic-put", "x"), ("episodic-search", "x")])
def test_a_journal_whose_path_is_not_text_is_refused_before_it_is_made(run, tmp_path, command):
    done = run(*command, "--file", os.fsdecode(os.fsencode(tmp_path) + b"/\xff/a.mv2"))
    assert (done.status, "is not UTF-8" in done.err) == (2, True)
    assert not os.listdir(tmp_path)  # noqa: PTH208  names that are not UTF-8


@pytest.mark.parametrize(
    "command",
    ["list --source", "list --project", "query x --tag", "store x --summary", "update x --status",
     "session list --topic", "episodic-put x --file A.mv2 --title", "index . --exclude",
     "search x --all --path"],
)  # fmt: skip
def test_an_option_that_is_not_text_is_refused(run, command):
    assert run("store", "x").status == 0
    done = run(*command.split(), "caf\udce9")
    assert (done.status, f"{command.split()[-1]} is not UTF-8" in done.err) == (2, True)


def test_a_name_that_is_not_text_is_written_out(run, tmp_path):
    folder = tmp_path / "caf\udce9"
    folder.mkdir()
    (folder / "a.py").write_text("x = 1\n")
    assert run("why", folder, "--json").json["path"].endswith(r"caf\xe9")
    assert "caf\\xe9 is not UTF-8" in run("grep", "x", folder).err
    run("index", ".")
    for command, line in (("outline", ""), ("related", ":1"), ("refs", ":1")):
        done = run(command, f"{folder}/a.py{line}", "--json")
        assert (done.status, r"caf\\xe9/a.py" in done.err) == (3, True)
    run("store", "x")
    assert run("get", "caf\udce9").status == 3


@pytest.mark.skipif(os.name == "nt", reason="Windows takes `..` away before it follows links")
def test_a_path_means_the_file_that_other_programs_find_there(run, tmp_path):
    for name in ("there/inner", "there/shop", "shop"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "link").symlink_to("there/inner")
    for command in ("index", "trust", "source add --agent a"):
        assert run(*command.split(), "link/../shop").status == 0
    assert run("source", "list", "--json").json[0]["root"] == str(tmp_path / "there" / "shop")
    assert run("store", "x", "--data-dir", "link/../data").status == 0
    assert (tmp_path / "there" / "data").is_dir()


def test_a_filter_that_no_session_satisfies_is_said(run):
    messages = b'{"messages": [{"role": "user", "content": "hello"}]}'
    assert run("session", "save", stdin=messages).status == 0
    assert "no such session" in run("session", "list", "--topic", "billing").err


def test_words_stay_in_order_where_some_begin_with_a_dash(run):
    run("store", "- one", "two", "--tag", "t", "- three", "--category", "x", "--", "-x")
    assert run("get", "x/one-two-three-x").out == "- one two - three -x\n"
    run("update", "x/one-two-three-x", "- new text", "--summary", "- a summary")
    assert run("get", "x/one-two-three-x").out == "- new text\n"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("search x --agent a --all", "--agent searches memories"),
        ("search x --agent a --full", "--agent searches memories"),
        ("search x --agent a --files", "--agent searches memories"),
        ("search x --files --full", "--files shows only paths"),
        ("search x --files --explain", "--files shows only paths"),
        ("setup --undo --agent a", "--undo needs no --agent"),
        ("context init a --root b", "ROOT and --root name two folders"),
        ("context check --root . --only link --skip link", "no rule is left"),
        ("context new experiment - --body -", "standard input is only read once"),
    ],
)
def test_an_option_that_another_one_would_have_ignored_is_wrong_usage(run, given, said):
    assert run("context", "init", ".", "--project", "p").status == 0
    done = run(*given.split(), stdin=b"hello")
    assert (done.status, done.out) == (2, "")
    assert said in done.err


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ("context access", 1),
        ("context access --json", 1),
        ("context access - --commit", 1),
        ("context access --root . --commit", 1),
        ("session import - --wrong", 1),
        ("context access --wrong", 2),
        ("context access a.md --wrong", 2),
        ("session import a.jsonl --wrong", 2),
    ],
)
def test_a_hook_never_ends_with_the_status_that_blocks_an_agent(run, given, status):
    run("context", "init", ".", "--project", "p")
    assert run(*given.split(), stdin=b"no JSON").status == status


def test_a_file_that_is_called_like_a_key_is_masked_in_notices_and_by_why(run, tmp_path):
    key = "ghp_" + "x7" * 18
    (tmp_path / f"{key}.py").write_text("x = 1\n")
    (tmp_path / key).mkdir()
    run("index", ".")
    for given in (("why", f"{key}.py"), ("why", f"{key}.py", "--json"), ("why", key)):
        done = run(*given)
        assert done.status == 0
        assert key not in done.out + done.err
    diff = f"--- a/../{key}.py\n+++ b/../{key}.py\n@@ -1 +1 @@\n-x\n+y\n"
    (tmp_path.parent / f"{key}.py").write_text("y\n")
    done = run("impact", "--diff", stdin=diff.encode())
    assert "masked" in done.err
    assert key not in done.err


def test_a_byte_order_mark_is_no_part_of_a_piped_text(run):
    stored = run("store", "-", "--category", "pitfall", stdin="\ufeffPrices are cents".encode())
    assert run("get", stored.json["path"], "--json").json["content"] == "Prices are cents"


@pytest.mark.parametrize("number", ["2", "-0.1", "nan", "inf"])
def test_a_score_is_from_0_to_1(run, number):
    refused = run("search", "cart", "--min-score", number)
    assert refused.status == 2
    assert f"{number} is not from 0 to 1" in refused.err


def test_a_command_that_opens_no_single_database_refuses_one(run, tmp_path):
    others = [words for words, each in commands(cli) if "--db" not in _options(each)]
    assert {"stop", "serve", "trust", "setup", "uninstall", "growth", "web", "mcp"} < {*others}
    for words in others:
        done = run(*words.split(), "--db", tmp_path / "bob.sqlite")
        assert (done.status, done.out) == (2, ""), words
        assert "--db names one database, and this is about no single one" in done.err


@pytest.mark.parametrize(
    "call", ["embed text", "episodic-search text --file", "episodic-commit --file"]
)
def test_a_host_may_name_its_database_in_each_call(run, data_dir, call):
    words = [*call.split(), *([data_dir / "bob.mv2"] if "--file" in call else [])]
    assert run(*words, "--db", data_dir / "codebase.sqlite").status == 0


def _options(command: click.Command) -> set[str]:
    return {option for each in command.params for option in each.opts}


@pytest.mark.parametrize(
    "given",
    [
        *("web --stop --port 80", "web --stop --no-open"),
        *("source add https://example.com/shop.git --force", "index --force"),
        "index https://example.com/shop.git --force",
    ],
)
def test_an_option_without_effect_is_refused(run, given):
    done = run(*given.split())
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert "takes no other option" in done.err or "--force is for a folder" in done.err
