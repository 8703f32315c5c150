"""What benchmarks accept, and what they write."""

from __future__ import annotations

import json
from pathlib import Path

import figures
import pytest
from figures import Results, write_report
from options import OF_REPOSITORIES, figure_options, positive, set_options, whole

FOLDER = Path(figures.__file__).parent


def parser():
    made = figure_options("Measures a thing.", tree=True)
    made.add_argument("--runs", type=whole(1))
    made.add_argument("--minutes", type=positive)
    return made


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--runs", "0"], "argument --runs: 0 is no whole number of 1 or more"),
        (["--runs", "-3"], "argument --runs: -3 is no whole number of 1 or more"),
        (["--runs", "many"], "argument --runs: many is no whole number of 1 or more"),
        (["--minutes", "0"], "argument --minutes: 0 is no number above 0"),
        (["--minutes", "nan"], "argument --minutes: nan is no number above 0"),
        (["--minutes", "inf"], "argument --minutes: inf is no number above 0"),
        (["--tree", "missing"], "argument --tree: missing is no folder"),
        (["--tree", "empty"], "argument --tree: empty has no files"),
        (["more"], "unrecognized arguments: more"),
    ],
)
def test_wrong_option_is_told_in_one_line(arguments, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(SystemExit) as ended:
        parser().parse_args(arguments)
    assert ended.value.code == 2
    assert capsys.readouterr().err.partition(": ")[2] == f"{said}\n"


def test_folder_without_the_files_of_a_set_is_told(tmp_path, capsys):
    (tmp_path / "repositories.json").write_text("[]")
    wanted = set_options("Measures sets.")
    wanted.add_argument("set", type=OF_REPOSITORIES)
    with pytest.raises(SystemExit):
        wanted.parse_args([str(tmp_path)])
    assert "is no set: it has no queries.jsonl" in capsys.readouterr().err


@pytest.mark.parametrize(
    "script",
    [file for file in FOLDER.glob("*.py") if file.name != "options.py"],
    ids=lambda s: s.stem,
)
def test_every_option_is_checked(script):
    text = script.read_text("utf-8")
    assert "ArgumentParser(" not in text
    assert "type=int" not in text
    assert "type=float" not in text


def test_results_are_written_unless_told_otherwise(tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "RESULTS", tmp_path)
    results = Results(machine={"cpu": "A CPU", "cores": 2})
    results.add("calls", 3, "")
    file = tmp_path / "also.json"
    results.write("things", parser().parse_args(["--no-results", "--json", str(file)]))
    write_report("sets", {}, set_options(None).parse_args(["--no-results"]))
    assert [each.name for each in tmp_path.iterdir()] == ["also.json"]
    results.write("things", parser().parse_args([]))
    names = {each.name for each in tmp_path.iterdir()}
    assert names == {"also.json", "things-2-cores-a.json", "things-2-cores-a.md"}
    assert json.loads(file.read_text())["figures"][0]["value"] == 3


def test_spread_of_one_call_is_that_call():
    results = Results(machine={})
    results.add_spread("map", [3.0])
    assert [figure["value"] for figure in results.figures] == [3, 3]
