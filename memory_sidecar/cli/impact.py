"""`memory-sidecar impact`: what a change may break."""

from __future__ import annotations

from pathlib import Path

import click

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.names import first_of, located, print_references, with_filter
from memory_sidecar.code import navigation
from memory_sidecar.code.diffs import changed_lines
from memory_sidecar.code.results import ReferenceHit
from memory_sidecar.core.errors import NotFound, UsageError
from memory_sidecar.core.model import CodeFilter

MAX_LINES = 1 << 30


@click.command()
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option("--diff", is_flag=True, help="Read a diff from standard input: only what it changed.")
@with_filter
def impact(
    call: Call, *, files: tuple[str, ...], diff: bool, within: CodeFilter, top_k: int
) -> list[ReferenceHit]:
    """Show what uses what FILE defines, or with --diff what a diff changed.

    `git diff | memory-sidecar impact --diff` tells what a change may break.
    """
    files = () if diff and files == ("-",) else files
    if diff == bool(files):
        raise UsageError(
            "name files, or say --diff", hint="git diff | memory-sidecar impact --diff"
        )
    if absent := [name for name in files if not call.path(name).is_file()]:
        raise NotFound(f"there is no file {absent[0]}", hint="a place is what `callers` takes")
    changed = [(*located(call, name), range(1, MAX_LINES)) for name in files]
    text = call.read_input().decode("utf-8", "replace") if diff else ""
    for path, lines in changed_lines(text):
        if (file := _found_above(call.cwd, path)) is not None:
            changed.append((*located(call, str(file)), lines))
    found = first_of(
        call, within, lambda here: navigation.impact(here.graph, changed, within, top_k=top_k)
    )
    return call.show(found, print_references)


def _found_above(folder: Path, path: str) -> Path | None:
    """A path of a diff: from the top of its repository, behind one letter unless git leaves it."""
    names = (path[2:], path) if path[1:2] == "/" else (path,)
    found = (each / name for each in (folder, *folder.parents) for name in names)
    return next((each for each in found if each.is_file()), None)
