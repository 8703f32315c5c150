"""What holds for every command."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from memory_sidecar.cli.main import every_command


def leaf_commands(group: click.Group, *path: str) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            found += leaf_commands(command, *path, name)
        else:
            found.append((*path, name))
    return found


COMMANDS = leaf_commands(every_command())


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_is_a_result(run, command):
    done = run(*command, "--help")
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith(f"Usage: memory-sidecar {' '.join(command)} ")


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_an_unknown_option_is_wrong_usage(run, command):
    plain = run(*command, "--frobnicate")
    assert plain.status == 2
    as_json = run(*command, "--json", "--frobnicate")
    assert (as_json.status, as_json.error["code"]) == (2, "usage")
    assert "--help" in as_json.error["hint"]


def test_an_error_for_a_person_is_one_line(run):
    done = run("search", "--all", "cart")
    assert done.out == ""
    assert re.fullmatch(r"memory-sidecar: .+ — .+\n", done.err)


@pytest.mark.parametrize(
    "arguments",
    [
        ("frobnicate",),
        ("search",),
        ("search", "--all", "x", "--top-k", "0"),
        ("search", "--all", "x", "--top-k", "many"),
        ("search", "--all", "x", "--mode", "psychic"),
        ("search", "--all", "x", "--language", "klingon"),
        ("search", "--all", "x", "--max-tokens", "0"),
        ("search", "--all", ""),
        ("search", "--all", " \n"),
        ("search", "--all", "x\udcff"),
        ("index", "x", "--wait", "forever"),
        ("index", "--exclude", "*.txt"),
        ("reindex",),
        ("status", "more"),
    ],
    ids=repr,
)
def test_wrong_usage_is_status_2(run, arguments):
    done = run(*arguments, "--json")
    assert (done.status, done.error["code"]) == (2, "usage")


@pytest.mark.parametrize(
    "arguments", [("status",), ("index",), ("search", "--all", "x"), ("reindex", "--all")]
)
def test_nothing_indexed_is_status_3(run, arguments):
    done = run(*arguments, "--json")
    assert (done.status, done.error["code"]) == (3, "no_index")


@pytest.mark.parametrize(
    "arguments",
    [("source", "remove", "x"), ("reindex", "--source", "x"), ("search", "x", "--source", "x")],
)
def test_an_unknown_name_is_status_3(run, indexed, arguments):
    done = run(*arguments, "--json")
    assert (done.status, done.error["code"]) == (3, "not_found")


@pytest.mark.parametrize(
    "arguments",
    [
        ("status",),
        ("status", "--skipped", "--failed"),
        ("source", "list"),
        ("model", "list"),
        ("doctor",),
        ("search", "--all", "cart"),
        ("index",),
        ("reindex", "--all"),
    ],
    ids=" ".join,
)
def test_json_is_one_document_in_one_line(run, indexed, arguments):
    done = run(*arguments, "--json")
    assert (done.status, done.err) == (0, "")
    assert done.json is not None
    assert done.out.count("\n") == 1
    assert_snake_case(done.json)


def assert_snake_case(value):
    if isinstance(value, dict):
        for name, inner in value.items():
            assert re.fullmatch(r"[a-z][a-z0-9_]*", name)
            assert_snake_case(inner)
    elif isinstance(value, list):
        for inner in value:
            assert_snake_case(inner)


def test_times_are_utc(run, indexed):
    (source,) = run("status", "--json").json["sources"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", source["scanned_at"])


@pytest.mark.parametrize(
    "environ",
    [{"LC_ALL": "C"}, {"LC_ALL": "POSIX", "PYTHONUTF8": "0"}, {"PYTHONIOENCODING": "ascii"}],
    ids=str,
)
def test_text_is_utf8_whatever_the_locale(sidecar, indexed, environ):
    done = sidecar("search", "--all", "検索", "--mode", "keyword", "--json", **environ)
    assert done.status == 0
    assert done.json[0]["filename"] == "日本語.py"
    assert "索引" in done.out


def test_names_of_files_are_utf8_whatever_the_locale(sidecar):
    posix = {"LC_ALL": "POSIX", "PYTHONUTF8": "0"}
    words = ("--agent", "a", "--json")
    stored = sidecar("store", "Größe zählt", "--category", "c", *words, **posix)
    assert stored.json["path"] == "c/größe-zählt.md"
    for environ in (posix, {}):
        (hit,) = sidecar("query", "Größe", *words, **environ).json
        assert hit["content"] == "Größe zählt"


def test_a_text_may_come_from_standard_input(run, indexed):
    asked = run("search", "--all", "-", "--json", stdin="検索".encode())
    assert asked.json[0]["filename"] == "日本語.py"
    assert asked.out == run("search", "--all", "検索", "--json").out


def test_text_after_two_dashes_may_begin_with_one(run, indexed):
    done = run("search", "--all", "--json", "--mode", "keyword", "--", "--port", "-x")
    assert done.json[0]["filename"] == "settings.toml"


def test_options_after_two_dashes_are_text(run, indexed):
    assert not run("search", "--all", "cart", "--mode", "keyword", "--", "--json").out.startswith(
        "["
    )


def test_results_go_to_whoever_reads_until_he_leaves(indexed, data_dir):
    program = Path(sys.executable).with_name("memory-sidecar")
    search = f"{program} search --all price --data-dir {data_dir} | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", search], capture_output=True, text=True, check=True)
    assert done.stdout.strip() in ("0", "141")
    assert done.stderr == ""


def test_a_result_that_cannot_be_written_is_an_error(indexed, data_dir):
    program = Path(sys.executable).with_name("memory-sidecar")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [program, "search", "--all", "price", "--json", "--data-dir", data_dir],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 1
    assert "error" in json.loads(done.stderr)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux")
def test_a_notice_that_cannot_be_written_is_none(indexed, data_dir):
    program = Path(sys.executable).with_name("memory-sidecar")
    asked = ["--no-daemon", "search", "--all", "--language", "rust", "zebra", "--json"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [program, *asked, "--data-dir", data_dir],
            stdout=subprocess.PIPE, stderr=full, text=True, check=False,
        )  # fmt: skip
    assert (done.returncode, json.loads(done.stdout)) == (0, [])
