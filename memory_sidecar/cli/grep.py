"""`memory-sidecar grep`"""

from __future__ import annotations

from pathlib import Path

import click

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.form import title
from memory_sidecar.cli.options import known_language, with_call
from memory_sidecar.grep import handlers as handler
from memory_sidecar.grep.files import Extent, GrepHit
from memory_sidecar.outputs.code import Capture, FoundCode

MAX_LIMIT = 1_000_000


@click.command()
@click.argument("pattern")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--language", "languages", multiple=True, metavar="L", help="Any of these.")
@click.option("--path", "globs", multiple=True, metavar="GLOB", help="As in a .gitignore; any.")
@click.option(
    "--limit", type=click.IntRange(1, MAX_LIMIT), default=1000, show_default=True, metavar="N"
)
@with_call
def grep(
    call: Call,
    *,
    pattern: str,
    paths: tuple[str, ...],
    languages: tuple[str, ...],
    globs: tuple[str, ...],
    limit: int,
) -> None:
    """Find code by its structure, in the files as they are now. Needs no index.

    PATTERN is code in which `$X` stands for any one node (the same name again for the same text),
    `$_` for any and `$$$` for any number of neighbours: 'open($FILE, $$$)', 'def $F($$$): $$$'.
    What it does not mention the code may have: comments, types, modifiers, decorators, base
    classes. In parentheses it may also be a tree-sitter query: '(try_statement) @match'.

    Looks below the working directory, or at each PATH.
    """
    found = handler.grep(
        handler.GrepQuery(
            pattern=call.text(pattern),
            languages=tuple(map(known_language, languages)),
            path_globs=globs,
            limit=limit,
        ),
        [call.path(path) for path in paths] or [call.cwd],
        registry=call.codebase.registry,
        max_file_bytes=call.services.settings.max_file_bytes,
        reporter=call.reporter,
    )
    hits = call.masked(found)
    call.reporter.close()
    if call.wants_json:
        call.print_json([_hit_json(hit, cwd=call.cwd) for hit in hits])
        return
    for hit in hits:
        where = f"{_shown(hit.file, call.cwd)}:{hit.head[0]}:{hit.head[1]}"
        call.print(title(where), f": {hit.line.rstrip()}")
    if not hits:
        call.reporter.notice("no hits")


def _hit_json(hit: GrepHit, *, cwd: Path) -> FoundCode:
    at = hit.extent
    return {
        "filename": _shown(hit.file, cwd),
        "location": f"{at.start_line}-{at.end_line}",
        "language": hit.language,
        "code": at.code,
        "start_line": at.start_line,
        "start_column": at.start_column,
        "end_line": at.end_line,
        "end_column": at.end_column,
        "captures": {name: list(map(_capture, each)) for name, each in hit.captures.items()},
    }


def _capture(extent: Extent) -> Capture:
    return {
        "text": extent.code,
        "start_line": extent.start_line,
        "start_column": extent.start_column,
        "end_line": extent.end_line,
        "end_column": extent.end_column,
    }


def _shown(file: Path, cwd: Path) -> str:
    return (file.relative_to(cwd) if file.is_relative_to(cwd) else file).as_posix()
