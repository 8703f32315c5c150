"""Reads the cells of a Jupyter notebook as one program, whose lines keep their numbers.

Jupyter writes each line of a cell as a line of JSON. So a program with the same lines, and blank
ones for all the JSON around them, can be cut and searched like any other, and every line number
leads to the right place of the file. A whole cell in one line becomes one line of the program.
"""

from __future__ import annotations

import json
import re

from memory_sidecar.core.language import LANGUAGES, detect_language

_CELL = re.compile(r'\s*(?:\{\s*)?"cell_type": "(\w+)"(?:.*(?="source": ))?')
_SOURCE = '"source": '
_LANGUAGE = re.compile(  # of the notebook: cells and their outputs may name others
    r'"(?:kernelspec|language_info)": \{(?:[^{}]|\{[^{}]*\})*?'
    r'(?:"language": "(\w+)"|"file_extension": "\.(\w+)")'
)
_MAGIC = ("%", "!")
_OF_PYTHON = re.compile(r"%%(?:time|timeit|capture|prun)\b")
_WITH_SLASHES = frozenset({"csharp", "go", "java", "javascript", "kotlin", "rust", "typescript"})


def read_program(path: str, text: str) -> tuple[str, str]:
    """Return the program in the file at `path`, whose text is `text`, and its language."""
    found = read_notebook(text) if is_notebook(path) else None
    return found or (text, detect_language(path, text))


def is_notebook(path: str) -> bool:
    return path.endswith(".ipynb")


def read_notebook(text: str) -> tuple[str, str] | None:
    """Return the program in the notebook `text`, and its language; None if no cell is found.

    Prose and magic commands are comments of it.
    """
    found = _LANGUAGE.search(text)
    if found is None:
        language = "python"
    else:
        language = found[1].lower() if found[1] else detect_language(f"cell.{found[2]}")
    comment = "// " if language in _WITH_SLASHES else "# "
    rows = text.split("\n")
    program = [""] * len(rows)
    is_code = is_source = is_magic = False
    for number, row in enumerate(rows):
        if cell := _CELL.match(row):
            is_code, is_magic = cell[1] == "code", False
        literal = row[cell.end() if cell else 0 :].strip().removesuffix(",")
        if literal.startswith(_SOURCE):
            literal = literal.removeprefix(_SOURCE)
            is_source = literal == "["
        elif not is_source:
            continue
        elif literal == "]":
            is_source = False
        if literal.startswith(('"', '["')):
            lines: dict[bool, list[str]] = {False: [], True: []}  # by whether they are comments
            for line in _lines(literal):
                is_magic = is_magic or (line.startswith("%%") and not _OF_PYTHON.match(line))
                is_comment = not is_code or is_magic or line.lstrip().startswith(_MAGIC)
                lines[is_comment].append(comment + line if is_comment and line else line)
            program[number] = " ".join(lines[False] + lines[True])
    return ("\n".join(program), language) if language in LANGUAGES and any(program) else None


def _lines(literal: str) -> list[str]:
    """Return the lines of a JSON string, or a list of them; the `literal` if it is no valid one."""
    try:
        return "".join(json.JSONDecoder().raw_decode(literal)[0]).rstrip().splitlines()
    except (TypeError, ValueError):
        return [literal]
