"""Answers a shell that asks how a line could go on: from a table, and for names from files.

The commands themselves take a second to import; the table, of all commands and options, is written
from them by `python -m memory_sidecar.cli.schemas`, and a test holds it to what they are. Names are
those of files in the data directory. Imports next to nothing. The forms of question and answer are
those of click's scripts, which `completion` installs.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

TABLE = os.path.join(os.path.dirname(__file__), "completion.json")
PATH = "file"  # what stands in the table for a value that is a path
AGENT, SOURCE, MEMORY, SESSION = NAMES = "agent", "source", "memory", "session"
"""What stands there for one that is a name, which the files of the data directory tell."""
NO_HELP = "_"


def complete(instruction: str) -> int:
    """Print what fits, for `bash_complete` and the like; returns the exit status."""
    shell, _, _ = instruction.partition("_")
    words, begun = _asked(shell, os.environ)
    option, equals, _ = begun.partition("=")
    # All but bash, which cuts at the =, want the whole word.
    before = f"{option}=" if shell != "bash" and equals and option.startswith("--") else ""
    found = _fitting(_table(), words, begun)
    lines = [_line(shell, kind, before + value, told) for kind, value, told in found]
    sys.stdout.buffer.write("".join(f"{line}\n" for line in lines).encode())
    sys.stdout.flush()
    return 0


def _table() -> dict[str, Any]:
    import json

    with open(TABLE, encoding="utf-8") as file:
        table: dict[str, Any] = json.load(file)
    return table


def _asked(shell: str, environ: Mapping[str, str]) -> tuple[list[str], str]:
    """The whole words behind the program's name, and the one that is being written."""
    words = _split(environ.get("COMP_WORDS", ""))
    if shell == "fish":  # which gives the word itself, and among the others, too
        begun = (_split(environ.get("COMP_CWORD", "")) or [""])[0]
        words = words[1:]
        return (words[:-1] if begun and words[-1:] == [begun] else words), begun
    at = int(environ.get("COMP_CWORD", "0"))
    return words[1:at], words[at] if at < len(words) else ""


def _fitting(
    table: Mapping[str, Any], words: list[str], begun: str
) -> Iterator[tuple[str, str, str]]:
    """Kind, value and help of everything that may stand where `begun` is."""
    command, arguments, pending = _place(table, words)
    entry = table[command]
    name, equals, value = begun.partition("=")
    if equals and name in entry["options"]:
        pending, begun = name, value
    if pending:
        begun = "" if begun == "=" else begun
        yield from _values(entry["options"][pending]["value"], begun, words)
    elif begun.startswith("-") and "--" not in words:
        named = {option: told["help"] for option, told in entry["options"].items()}
        yield from _beginning(named, begun)
    elif entry["commands"]:
        yield from _beginning(entry["commands"], begun)
    elif entry["arguments"]:
        last = len(entry["arguments"]) - 1
        yield from _values(entry["arguments"][min(arguments, last)], begun, words)


def _place(table: Mapping[str, Any], words: list[str]) -> tuple[str, int, str]:
    """The command that `words` name, how many arguments it has, and an option without its value."""
    command, arguments, pending = "", 0, ""
    for word in words:
        inner = f"{command} {word}".strip()
        if pending:
            pending = pending if word == "=" else ""  # bash makes a word of it: --mode = hybrid
        elif word.startswith("-"):
            takes_value = table[command]["options"].get(word, {}).get("value") is not None
            pending = word if takes_value else ""
        elif inner in table:
            command, arguments = inner, 0
        else:
            arguments += 1
    return command, arguments, pending


def _beginning(told: Mapping[str, str], begun: str) -> Iterator[tuple[str, str, str]]:
    return (("plain", name, text) for name, text in told.items() if name.startswith(begun))


def _values(
    values: str | list[str], begun: str, words: list[str]
) -> Iterator[tuple[str, str, str]]:
    if values == PATH:
        yield PATH, begun, ""
    elif isinstance(values, list):
        yield from _beginning(dict.fromkeys(values, ""), begun)
    elif values in NAMES:
        try:
            names = sorted(set(_names(values, words)))
        except Exception:  # whatever the files are like, a shell is told of no error
            return
        yield from _beginning(dict.fromkeys(names, ""), begun)


def _names(kind: str, words: list[str]) -> Iterator[str]:
    """What there is of that kind, of the agent that `words` name where it belongs to one."""
    from glob import escape, iglob

    from memory_sidecar.core.projects import data_dir_of

    data = data_dir_of(words, cwd=os.getcwd(), environ=os.environ, may_ask=False)
    said = [word for word in " ".join(words).replace("=", " ").split() if word]
    named = said[said.index("--agent") + 1] if "--agent" in said[:-1] else ""
    agent = escape(named or os.environ.get("MEMORY_SIDECAR_AGENT") or "default")
    if kind == SOURCE:
        import json

        state = f"knowledge/.state/{named}" if named else "state/codebase"
        with open(os.path.join(data, state, "sources.json"), encoding="utf-8") as file:
            yield from (each["name"] for each in json.load(file)["sources"])
    elif kind == AGENT:
        for pattern in ("knowledge/*.sqlite", "knowledge/*/", "episodic/*/"):
            for path in iglob(pattern, root_dir=data):
                yield os.path.basename(path.rstrip(os.sep)).removesuffix(".sqlite")
    elif kind == MEMORY:
        for path in iglob(f"knowledge/{agent}/**/[!_]*.md", root_dir=data, recursive=True):
            yield path.replace(os.sep, "/").split("/", 2)[2]
    else:
        for path in iglob(f"episodic/{agent}/*/*.json", root_dir=data):
            yield os.path.basename(path).removesuffix(".json")


def _line(shell: str, kind: str, value: str, told: str) -> str:
    if shell == "zsh":
        shown = value.replace(":", r"\:") if told else value
        return f"{kind}\n{shown}\n{told or NO_HELP}"
    if shell == "fish" and told:
        return f"{kind},{value}\t{told}"
    return f"{kind},{value}"


def _split(line: str) -> list[str]:
    """The words of an unfinished line."""
    import shlex

    lexer = shlex.shlex(line, posix=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    words: list[str] = []
    try:
        words.extend(lexer)
    except ValueError:  # a quotation has no end yet
        words.append(lexer.token)
    return words
