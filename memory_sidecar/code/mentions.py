"""Finds where text that is not read as code may use a definition.

These are templates, files of settings that name what to call, and symbols and strings by which
Rails and Phoenix name methods of another class: `get :show`, `to: "carts#show"`. Whether they mean
the definition is not known, so they are told beside the uses, not as uses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from memory_sidecar.code.asides import is_aside
from memory_sidecar.code.graph import Defined, Graph
from memory_sidecar.code.model import ChunkFile
from memory_sidecar.code.uses import UsePlace
from memory_sidecar.core.results import name_first

MOST_MENTIONS = 5  # files named in a notice
_TEMPLATES = (
    *(".razor", ".cshtml", ".vue", ".svelte", ".html", ".erb", ".haml", ".slim", ".eex", ".heex"),
    *(".leex", ".jsp", ".ftl", ".j2", ".jinja", ".jinja2", ".twig", ".ejs", ".hbs", ".liquid"),
    *(".tmpl", ".gotmpl", ".gohtml"),
)
_SETTINGS = frozenset({"godot", "ini", "toml", "xml", "yaml"})
_WITH_SYMBOLS = frozenset({"elixir", "ruby"})
_IS_COMPOUND = re.compile(r"[^\W_]_+[^\W_]|[a-z][A-Z]|[?!]$").search


def notice_mentions(
    graph: Graph,
    targets: Sequence[Defined],
    uses: Sequence[UsePlace],
    is_wanted: Callable[[ChunkFile], bool],
) -> tuple[str, ...]:
    """Return a notice of the files, with a line each, that may use `targets` as text, or none.

    Looks for names without sure `uses` in other files; where symbols name methods, for any name of
    several words, as other names are found everywhere.
    """
    own = {each.at.id for each in targets}
    known = {(*use.at.file[:2], use.place.line) for use in uses}
    is_unused = all(use.at.id in own or use.confidence == "by name" for use in uses)
    found = dict[tuple[str, str], int]()
    names = {
        (each.at.file.source, each.name): None
        for each in targets
        if is_unused or (each.at.file.language in _WITH_SYMBOLS and _IS_COMPOUND(each.name))
    }
    for source, name in names:
        rows: Any = graph.connection.execute(
            "SELECT filename, language, start_line, code FROM code_chunks"
            " WHERE source = ? AND instr(code, ?) ORDER BY id",
            (source, name),
        )
        for path, language, start_line, code in rows:
            pattern = _pattern(name, path, language)
            if not (pattern and is_wanted(ChunkFile(source, path, language))):
                continue
            for mention in re.finditer(pattern, code):
                line = start_line + code.count("\n", 0, mention.start())
                if (source, path, line) not in known:
                    found.setdefault((source, path), line)
                    break
    there = [key for key in found if not graph.is_deleted(*key)]
    there.sort(key=lambda key: (is_aside(key[1]), key))
    named = [f"{path}:{found[source, path]}" for source, path in there]
    if not named:
        return ()
    return (f"named as text, which may be a use: {name_first(named, MOST_MENTIONS)}",)


def _pattern(name: str, path: str, language: str) -> str:
    """Return the pattern of what may use `name` in a file, "" if nothing there may."""
    literal = re.escape(name)
    word = rf"(?<!\w){literal}(?!\w)"
    if path.endswith(_TEMPLATES):
        return word
    if language in _WITH_SYMBOLS:
        return rf"(?<![\w:]):{literal}(?![\w?!])|[\"'][\w/]*#{literal}[\"']"
    if language in _SETTINGS:
        return word if _IS_COMPOUND(name) else rf"[\"'][\w./:]*(?<!\w){literal}[\"']"
    return ""
