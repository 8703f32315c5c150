"""Which files are searched, and how a hit is told of."""

from __future__ import annotations

import json
import os

import pytest

from memory_sidecar.disk.globs import compile_globs


@pytest.fixture
def grep(run, project):
    """`grep` in the project's folder, its hits as JSON."""

    def grep(*arguments, cwd=project):
        done = run("grep", *arguments, "--json", cwd=cwd)
        assert done.status == 0, done.err
        return done.json

    return grep


@pytest.fixture
def files(grep):
    return lambda *arguments, **more: [hit["filename"] for hit in grep(*arguments, **more)]


def test_hits_are_told_as_grep_does(run, project):
    done = run("grep", "def $F(self, $$$): $$$", "shop", cwd=project)
    assert (done.status, done.err) == (0, "")
    assert done.out.splitlines() == [
        "shop/cart.py:5:5:     def add_item(self, item, count=1):",
        "shop/cart.py:8:5:     def total_price(self):",
    ]


def test_json_has_the_code_and_what_stood_in_the_holes(grep):
    (hit,) = grep("def $F(self, $$$REST, count=1): $$$")
    assert hit["filename"] == "shop/cart.py"
    assert (hit["location"], hit["language"]) == ("5-6", "python")
    assert (hit["start_line"], hit["start_column"]) == (5, 5)
    assert (hit["end_line"], hit["end_column"]) == (6, 59)
    assert hit["code"].startswith("def add_item(")
    assert hit["code"].endswith("+ count")
    (name,) = hit["captures"]["F"]
    assert name["text"] == "add_item"
    assert (name["start_line"], name["start_column"], name["end_column"]) == (5, 9, 17)
    assert [rest["text"] for rest in hit["captures"]["REST"]] == ["item"]


def test_columns_count_characters(grep):
    (hit,) = grep("索引[$X]")
    assert (hit["filename"], hit["start_column"], hit["end_column"]) == ("日本語.py", 12, 17)


def test_a_definition_is_shown_not_the_attribute_above_it(run, tmp_path):
    (tmp_path / "A.cs").write_text("class A\n{\n    [Fact]\n    void B() { }\n}\n")
    done = run("grep", "void $F() { }", cwd=tmp_path)
    assert done.out == "A.cs:4:5:     void B() { }\n"


def test_javascript_with_the_types_of_flow_is_javascript(grep, tmp_path):
    (tmp_path / "a.js").write_text("// @flow\nexport function f(a: ?A): A {\n  return a;\n}\n")
    (hit,) = grep("function $F($$$) { $$$ }", "--language", "javascript", cwd=tmp_path)
    assert (hit["start_line"], hit["language"]) == (2, "javascript")


def test_every_language_that_understands_is_searched(files):
    assert files("$X.Sum($$$)") == ["shop/Order.cs"]
    assert files("return $X") == ["shop/cart.py", "web/retry.ts", "日本語.py"]
    assert files("return $X", "--language", "ts") == ["web/retry.ts"]


def test_no_hits_is_an_empty_list(run, project):
    done = run("grep", "no_such_function($$$)", "--json", cwd=project)
    assert (done.status, done.json) == (0, [])


def test_only_a_language_that_most_of_the_code_is_in_may_not_understand_a_pattern(run, tmp_path):
    files = {"a.py": "a", "b.py": "b", "c.rs": "", "d.json": "{}", "e.json": "{}", "f.json": "{}"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert run("grep", "def $F(): $$$", cwd=tmp_path).err == "note: no hits\n"
    for pattern, where in {
        "fn $F() { $$$ }": [],
        "def $F(): $$$": ["--language", "json", "--language", "python"],
    }.items():
        assert "is not valid code in " in run("grep", pattern, *where, cwd=tmp_path).err


def test_no_index_is_needed_and_none_is_made(files, data_dir):
    assert files("return $X", "shop") == ["shop/cart.py"]
    assert not data_dir.exists()


def test_what_no_file_could_have_meant_is_wrong_usage(run, project):
    done = run("grep", "def broken(", "--language", "python", "--json", cwd=project)
    assert (done.status, done.error["code"]) == (2, "usage")
    assert run("grep", "x", "--language", "markdown", cwd=project).status == 2


def test_a_path_that_is_not_there_is_not_found(run, project):
    done = run("grep", "x", "nowhere", "--json", cwd=project)
    assert (done.status, done.error["code"]) == (3, "not_found")


def test_what_git_ignores_is_left_out_unless_it_is_named(files, project):
    (project / ".gitignore").write_text("shop/\n")
    assert files("return $X") == ["web/retry.ts", "日本語.py"]
    assert files("return $X", "shop/cart.py") == ["shop/cart.py"]


def test_what_a_source_excludes_is_left_out_below_it_too(files, run, project):
    run("source", "add", project, "--exclude", "cart.py")
    assert files("def $F($$$): $$$", "shop") == ["shop/payment.py"]
    assert files("def $F($$$): $$$", cwd=project / "shop") == ["payment.py"]


def test_globs_say_which_files_are_searched(files):
    assert files("return $X", "--path", "*.ts") == ["web/retry.ts"]
    assert files("return $X", "--path", "web/", "--path", "/日本語.py") == [
        "web/retry.ts",
        "日本語.py",
    ]


def test_globs_mean_a_named_file_by_its_whole_path(files, project):
    assert files("return $X", "shop/cart.py", "--path", "shop/*") == ["shop/cart.py"]
    assert files("return $X", "shop/cart.py", "--path", "./shop/cart.py") == ["shop/cart.py"]
    assert files("return $X", "cart.py", "--path", f"{project}/web", cwd=project / "shop") == []


def test_plain_paths_are_compared_not_compiled(files):
    compiled = compile_globs.cache_info()
    assert files("return $X", "--path", "shop/cart.py", "--path", "/web") == [
        "shop/cart.py",
        "web/retry.ts",
    ]
    assert compile_globs.cache_info() == compiled


def test_folders_that_overlap_are_searched_once(files):
    assert files("return $X", "shop", ".", "shop/cart.py") == [
        "shop/cart.py",
        "web/retry.ts",
        "日本語.py",
    ]


def test_a_file_outside_of_the_working_directory_is_shown_in_full(files, project):
    shown = files("return $X", project / "web", cwd=project / "shop")
    assert shown == [f"{project.as_posix()}/web/retry.ts"]


def test_a_limit_is_kept_and_told_of(run, project):
    done = run("grep", "return $X", "--limit", "2", "--json", cwd=project)
    assert len(done.json) == 2
    assert "stopped at 2 hits" in done.err
    assert run("grep", "return $X", "--limit", "3", cwd=project).err == ""


@pytest.mark.parametrize("asked", [("--path", "shpo/**"), ("--language", "lua")])
def test_where_no_file_is_asked_for_it_is_told(run, project, asked):
    done = run("grep", "return $X", *asked, "--json", cwd=project)
    assert (done.status, done.json) == (0, [])
    assert f"no file here is {asked[1]}" in done.err


def test_a_header_is_searched_as_what_it_is(files, tmp_path):
    (tmp_path / "a.h").write_text("namespace a { class B { }; }\n")
    (tmp_path / "b.h").write_text("struct B { int c; };\n")
    assert files("class $C { $$$ };", "--language", "cpp", cwd=tmp_path) == ["a.h"]
    assert files("struct $C { $$$ };", cwd=tmp_path) == ["b.h"]
    (tmp_path / "c.h").write_text("class B : public C { int d; };\n")
    assert files("class $B : public $C { $$$ };", "c.h", cwd=tmp_path) == ["c.h"]


def test_a_script_without_an_ending_is_searched(files, tmp_path):
    (tmp_path / "tool").write_text("#!/usr/bin/env python3\nopen(path)\n")
    assert files("open($F)", cwd=tmp_path) == ["tool"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_cannot_be_read_is_told_of(run, project):
    (project / "shop/cart.py").chmod(0)
    done = run("grep", "return $X", cwd=project)
    assert "shop/cart.py" in done.err


def test_a_large_file_that_is_not_searched_is_named_where_nothing_is_found(run, project):
    (project / "large.py").write_text("x = 1\n" * 200_000 + "raise Rare(1)\n")
    for place in (".", "large.py"):
        done = run("grep", "raise Rare($X)", place, "--language", "python", cwd=project)
        assert (done.status, done.out) == (0, "")
        assert "large.py not searched, too large: `max_file_bytes` allows more" in done.err
    assert "large.py" not in run("grep", "def total_price($$$): $$$", cwd=project).err


def test_windows_line_breaks_count_as_one(grep, tmp_path):
    (tmp_path / "a.py").write_bytes(b"x = 1\r\nf(\r\n  2)\r\n")
    (hit,) = grep("f($X)", cwd=tmp_path)
    assert (hit["location"], hit["code"]) == ("2-3", "f(\n  2)")


@pytest.mark.parametrize("pattern", ["f($X)", "(call) @match"])
def test_a_file_that_is_given_up_is_named_beside_the_hits_in_others(run, tmp_path, pattern):
    (tmp_path / "deep.py").write_text("x = " + "f(" * 800 + "1" + ")" * 800 + "\n")
    (tmp_path / "flat.py").write_text("f(1)\n")
    done = run("grep", pattern, "--json", cwd=tmp_path)
    assert (done.status, [hit["filename"] for hit in done.json]) == (0, ["flat.py"])
    assert done.err.startswith("note: deep.py: not looked into, its code is nested too deep")
    assert run("grep", "g($X)", "--json", cwd=tmp_path).err == ""  # it has no g


def test_a_notebook_is_searched_as_the_program_in_its_cells(grep, tmp_path):
    cells = [
        {"cell_type": "markdown", "source": ["open(plan, 'w')"]},
        {"cell_type": "code", "source": ["data = load()\n", "open(target, 'w')"]},
    ]
    book = {"cells": cells, "metadata": {}, "nbformat": 4}
    (tmp_path / "study.ipynb").write_text(json.dumps(book, indent=1))
    (hit,) = grep("open($FILE, $$$)", cwd=tmp_path)
    assert (hit["filename"], hit["language"]) == ("study.ipynb", "python")
    line = (tmp_path / "study.ipynb").read_text().splitlines()[hit["start_line"] - 1]
    assert "open(target" in line
    assert grep('{"cells": $X}', "--language", "json", cwd=tmp_path) == []
