"""`memory-sidecar impact`: shows what a change may break."""

from __future__ import annotations

from pathlib import Path

import click

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.names import ask_code, find_place, locate, show_references, with_filter
from memory_sidecar.code.impact import Alteration, ChangedFile, changed_files
from memory_sidecar.code.impact import impact as impact_of
from memory_sidecar.code.model import CodeFilter
from memory_sidecar.code.results import ReferenceHit
from memory_sidecar.core.errors import NotFound, UsageError


@click.command()
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option("--diff", is_flag=True, help="Read a diff from standard input instead of files.")
@with_filter
def impact(
    call: Call, *, files: tuple[str, ...], diff: bool, within: CodeFilter, top_k: int
) -> list[ReferenceHit]:
    """Show what uses what FILE defines, or with --diff what a diff changed.

    `git diff | memory-sidecar impact --diff` tells what a change may break, and what still uses
    what it removed.
    """
    files = () if diff and files == ("-",) else files
    if diff == bool(files):
        raise UsageError(
            "name files, or pass --diff", hint="git diff | memory-sidecar impact --diff"
        )
    if absent := [name for name in files if not call.path(name).is_file()]:
        raise NotFound(f"there is no file {absent[0]}", hint="for a name, use `refs` or `callers`")
    changed = [Alteration(*locate(call, name)) for name in files]
    text = call.read_input().decode("utf-8", "replace") if diff else ""
    if diff and not text.strip():
        call.reporter.notice("the diff is empty: nothing changed")
        return call.show([], ())
    outside = []
    for file in changed_files(text):
        if (path := _path_of(call.cwd, file)) is None:
            continue
        if place := find_place(call, path):
            changed.append(Alteration(*place, file))
        else:
            outside.append(str(path))
    if outside:
        others = f" and {len(outside) - 1} more" if outside[1:] else ""
        call.reporter.notice(f"no source contains {outside[0]}{others}")
    found = ask_code(call, within, lambda here: impact_of(here.graph, changed, within, top_k=top_k))
    return show_references(call, found)


def _path_of(folder: Path, file: ChangedFile) -> Path | None:
    """Return where a file of a diff is, or was; `None` if it exists nowhere above `folder`.

    A diff names paths from the top of the repository, by default behind `a/` or `b/`.
    """
    path = file.path
    names = (path[2:], path) if path[1:2] == "/" else (path,)
    above = (folder, *folder.parents)
    found = (each / name for each in above for name in names)
    if file.is_gone:
        top = next((each for each in above if (each / ".git").exists()), folder)
        return top / names[0]
    return next((each for each in found if each.is_file()), None)
