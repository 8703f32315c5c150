"""A notebook is read as one program whose lines keep their numbers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memory_sidecar.chunking.chunk import parse_text
from memory_sidecar.chunking.notebook import read_notebook

PROSE = ("markdown", ["# Churn\n", "Trains on customers."])
LOADS = ("code", ["%matplotlib inline\n", "def load(path):\n", "    return open(path)"])
SHELL = ("code", ["%%bash\n", "echo done\n"])
TIMED = ("code", ["%%time\n", "load('a.csv')"])


def notebook(*cells: tuple[str, list[str]], **metadata: Any) -> str:
    document = {
        "cells": [
            {"cell_type": kind, "metadata": {}, "outputs": ["def shown(): pass"], "source": source}
            for kind, source in cells
        ],
        "metadata": metadata,
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def test_definitions_and_uses_are_on_the_lines_where_the_file_has_them():
    text = notebook(PROSE, LOADS, SHELL, TIMED)
    program, language = read_notebook(text) or ("", "")
    rows = text.split("\n")
    assert (language, program.count("\n")) == ("python", text.count("\n"))
    outline = parse_text(program, language).outline
    (defined,) = outline.definitions
    assert (defined.symbol, "def load(path)" in rows[defined.name_row]) == ("load", True)
    (used,) = (each for each in outline.references if each.name == "load")
    assert "load('a.csv')" in rows[used.row]


def test_prose_and_magic_commands_are_comments_and_outputs_are_nothing():
    program, _ = read_notebook(notebook(PROSE, LOADS, SHELL, TIMED)) or ("", "")
    assert list(filter(None, program.split("\n"))) == [
        *("# # Churn", "# Trains on customers."),
        *("# %matplotlib inline", "def load(path):", "    return open(path)"),
        *("# %%bash", "# echo done", "# %%time", "load('a.csv')"),
    ]


def test_the_lines_of_a_cell_may_be_in_one_line_of_the_file_and_so_may_a_cell():
    cell = '{"cell_type": "code", "outputs": [], "source": %s},'
    (_, lines), (_, timed) = LOADS, TIMED
    text = f'{{"cells": [\n{cell % json.dumps(timed)}\n{cell % json.dumps("x = 1")}\n'
    text += f'{{\n"cell_type": "code",\n"source": {json.dumps(lines)}\n}}\n]}}\n'
    program, _ = read_notebook(text) or ("", "")
    assert list(enumerate(program.split("\n")))[1:6] == [
        (1, "load('a.csv') # %%time"),
        (2, "x = 1"),
        (3, ""),
        (4, ""),
        (5, "def load(path):     return open(path) # %matplotlib inline"),
    ]


@pytest.mark.parametrize(
    "metadata",
    [{"kernelspec": {"language": "Go"}}, {"language_info": {"file_extension": ".go"}}],
    ids=str,
)
def test_a_notebook_has_the_language_of_its_kernel(metadata):
    program, language = read_notebook(notebook(PROSE, **metadata)) or ("", "")
    assert (language, "// # Churn" in program) == ("go", True)


@pytest.mark.parametrize(
    "cell",
    [
        {"metadata": {"language": "sql"}},
        {"outputs": [{"data": {"application/json": {"language": "en"}}}]},
    ],
)
def test_a_cell_or_its_output_does_not_tell_the_language(cell):
    document = json.loads(notebook(LOADS, language_info={"name": "R", "file_extension": ".py"}))
    document["cells"][0] |= cell
    _, language = read_notebook(json.dumps(document, indent=1)) or ("", "")
    assert language == "python"


@pytest.mark.parametrize("odd", ["a\x0bb", "a\rb", "a\u2028b", "a\nb"])
def test_no_text_of_a_cell_moves_the_lines_below_it(odd):
    text = notebook(("code", [odd, "x = 1"]))
    program, _ = read_notebook(text) or ("", "")
    assert program.count("\n") == text.count("\n")
    assert "a b" in program


@pytest.mark.parametrize(
    "text",
    ["", "{}", '{"cells": [', json.dumps({"cells": [{"cell_type": "code", "source": ["x"]}]})],
)
def test_what_is_laid_out_otherwise_stays_json(text):
    assert read_notebook(text) is None
