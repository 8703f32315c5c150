"""Answers a shell's requests for completions: commands and options from a table, names from files.

Importing the commands takes a second, so `./task schemas` writes the table of all commands and
options, which a test compares with the commands. Names are read from files in the data directory.
This module imports next to nothing. Requests and answers have the formats of click's scripts, which
`completion` installs.
"""

from __future__ import annotations

import os
import re
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

TABLE = os.path.join(os.path.dirname(__file__), "completion.json")
PATH = "file"  # the table's mark for a value that is a path
COMMAND = "command"  # the mark for the words of a command
LANGUAGE = "language"
AGENT, SOURCE, MEMORY, REMOVED, SESSION, CATEGORY, TAG, STATUS = NAMES = (
    "agent", "source", "memory", "removed", "session", "category", "tag", "status"
)  # fmt: skip
"""The table's marks for values that are names, which are read from the data directory."""
NO_HELP = "_"  # in zsh's answers
_AS_TYPED = re.compile(r"[\w@%+=:,./-]+")
"""Matches names that every shell takes literally. A teammate or another program may have named a
file `$(command).md`, and the shell would run that command with the completed line."""


def complete(instruction: str) -> int:
    """Print the completions for `instruction`, e.g. `bash_complete`; returns the exit status."""
    shell, _, _ = instruction.partition("_")
    words, typed = _read_request(shell, os.environ)
    option, equals, _ = typed.partition("=")
    # bash splits words at the =; the other shells replace the whole word.
    before = f"{option}=" if shell != "bash" and equals and option.startswith("--") else ""
    found = _completions(_read_table(), words, typed)
    lines = [_format_line(shell, kind, before + value, text) for kind, value, text in found]
    sys.stdout.buffer.write(os.fsencode("".join(f"{line}\n" for line in lines)))
    sys.stdout.flush()
    return 0


def _read_table() -> dict[str, Any]:
    import json

    with open(TABLE, encoding="utf-8") as file:
        table: dict[str, Any] = json.load(file)
    return table


def _read_request(shell: str, environ: Mapping[str, str]) -> tuple[list[str], str]:
    """Return the complete words after the program's name, and the word that is being typed."""
    words = _split(environ.get("COMP_WORDS", ""))
    if shell == "fish":  # passes the typed word by itself, and also as the last of the others
        typed = (_split(environ.get("COMP_CWORD", "")) or [""])[0]
        words = words[1:]
        return (words[:-1] if typed and words[-1:] == [typed] else words), typed
    at = int(environ.get("COMP_CWORD", "0"))
    return words[1:at], words[at] if at < len(words) else ""


def _completions(
    table: Mapping[str, Any], words: list[str], typed: str
) -> Iterator[tuple[str, str, str]]:
    """Yield kind, value and help of everything that `typed` may become."""
    command, arguments, pending = _parse_words(table, words)
    entry = table[command]
    name, equals, value = typed.partition("=")
    if equals and name in entry["options"]:
        pending, typed = name, value
    if pending:
        typed = "" if typed == "=" else typed
        yield from _complete_value(entry["options"][pending]["value"], typed, words)
    elif typed.startswith("-") and "--" not in words:
        options = {option: about["help"] for option, about in entry["options"].items()}
        yield from _with_prefix(options, typed)
    elif entry["commands"]:
        yield from _with_prefix(entry["commands"], typed)
    elif entry["arguments"]:
        values = entry["arguments"][min(arguments, len(entry["arguments"]) - 1)]
        if values == COMMAND:
            explained, _, _ = _parse_words(table, words[words.index(command) + 1 :])
            yield from _with_prefix(table[explained]["commands"], typed)
        yield from _complete_value(values, typed, words)


def _parse_words(table: Mapping[str, Any], words: list[str]) -> tuple[str, int, str]:
    """Return the command in `words`, its count of arguments, and an option that lacks its value."""
    command, arguments, pending = "", 0, ""
    for word in words:
        inner = f"{command} {word}".strip()
        if pending:
            pending = pending if word == "=" else ""  # bash makes three words of --mode=hybrid
        elif word.startswith("-"):
            takes_value = table[command]["options"].get(word, {}).get("value") is not None
            pending = word if takes_value else ""
        elif inner in table:
            command, arguments = inner, 0
        else:
            arguments += 1
    return command, arguments, pending


def _with_prefix(help_texts: Mapping[str, str], typed: str) -> Iterator[tuple[str, str, str]]:
    return (("plain", name, text) for name, text in help_texts.items() if name.startswith(typed))


def _complete_value(
    values: str | list[str], typed: str, words: list[str]
) -> Iterator[tuple[str, str, str]]:
    if values == PATH:
        yield PATH, typed, ""
    elif isinstance(values, list):
        yield from _with_prefix(dict.fromkeys(values, ""), typed)
    elif values == LANGUAGE:
        from memory_sidecar.core.language import LANGUAGES

        yield from _with_prefix(dict.fromkeys(sorted(LANGUAGES), ""), typed)
    elif values in NAMES:
        try:
            names = sorted(set(filter(_AS_TYPED.fullmatch, _read_names(values, words))))
        except Exception:  # an error about broken files would land in the user's prompt
            return
        yield from _with_prefix(dict.fromkeys(names, ""), typed)


def _read_names(kind: str, words: list[str]) -> Iterator[str]:
    """Yield the names of `kind`; for a kind that each agent has, those of the agent in `words`."""
    from glob import escape, glob, iglob

    from memory_sidecar.core.projects import data_dir_of

    data = data_dir_of(words, cwd=os.getcwd(), environ=os.environ, may_ask=False)
    parts = [word for word in " ".join(words).replace("=", " ").split() if word]
    named = parts[parts.index("--agent") + 1] if "--agent" in parts[:-1] else ""
    if kind == SOURCE:
        import json

        state = f"knowledge/.state/{named}" if named else "state/codebase"
        with open(os.path.join(data, state, "sources.json"), encoding="utf-8") as file:
            yield from (each["name"] for each in json.load(file)["sources"])
        return
    if kind == AGENT:
        for pattern in ("knowledge/*.sqlite", "knowledge/*/", "episodic/*/"):
            for path in iglob(pattern, root_dir=data):
                yield os.path.basename(path.rstrip(os.sep)).removesuffix(".sqlite")
        return
    from pathlib import Path

    from memory_sidecar.core.settings import load_settings

    agent = os.path.basename(named or load_settings(Path.cwd(), os.environ).agent)
    if kind in (TAG, STATUS):
        yield from _read_column(os.path.join(data, "knowledge", f"{agent}.sqlite"), kind)
        return
    if kind == SESSION:
        for path in iglob(f"episodic/{escape(agent)}/*/*.json", root_dir=data):
            yield os.path.basename(path).removesuffix(".json")
        return
    tops = [os.path.join(data, "knowledge", agent)]
    if kind == REMOVED:
        tops = glob(f"{escape(os.path.join(data, 'archive', agent))}/*/memories")
    for top in tops:
        yield from _read_tree(kind, top)


def _read_column(db: str, kind: str) -> list[str]:
    from contextlib import closing
    from pathlib import Path

    from memory_sidecar.core.sqlite import connect
    from memory_sidecar.memories.lookup import list_statuses, list_tags

    with closing(connect(Path(db), read_only=True)) as connection:
        return list_tags(connection) if kind == TAG else list_statuses(connection)


def _read_tree(kind: str, top: str) -> Iterator[str]:
    """Yield the categories below `top`, or its memories, by their paths."""
    for folder, folders, files in os.walk(top):  # follows no link
        folders[:] = (each for each in folders if not each.startswith("."))
        pages = (each for each in files if each.endswith(".md") and each[0] not in "_.")
        for each in folders if kind == CATEGORY else pages:
            yield os.path.relpath(os.path.join(folder, each), top).replace(os.sep, "/")


def _format_line(shell: str, kind: str, value: str, help_text: str) -> str:
    if shell == "zsh":
        shown = value.replace(":", r"\:") if help_text else value
        return f"{kind}\n{shown}\n{help_text or NO_HELP}"
    if shell == "fish" and help_text:
        return f"{kind},{value}\t{help_text}"
    return f"{kind},{value}"


def _split(line: str) -> list[str]:
    """Split an unfinished line into words."""
    import shlex

    lexer = shlex.shlex(line, posix=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    words: list[str] = []
    try:
        words.extend(lexer)
    except ValueError:  # a quotation has no end yet
        words.append(lexer.token)
    return words
