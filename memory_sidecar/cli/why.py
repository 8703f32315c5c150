"""`memory-sidecar why`"""

from __future__ import annotations

from pathlib import Path

import click

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.form import counted, path_from, title
from memory_sidecar.cli.options import with_call
from memory_sidecar.code.results import Why


@click.command()
@click.argument("path")
@with_call
def why(call: Call, path: str) -> Why:
    """Say whether PATH is indexed, and if not, why: by which rule of which file it is ignored.

    PATH is a file or a folder, from where you are.
    """
    return call.show(call.codebase.why(call.path(path)), _print_why)


def _print_why(call: Call, told: Why) -> None:
    where = title(path_from(Path(told.path), call.cwd))
    of = f" (source {told.source})" if told.source else ""
    call.print(where, f": {_fate(told)}{of}")
    if told.hint:
        call.print(call.hint(f"  {told.hint}"))


def _fate(told: Why) -> str:
    if told.fate == "indexed" and told.hint:
        return f"indexed {told.reason}"
    if told.fate == "indexed":
        vectors = f"{told.vectors:,} with a vector" if told.chunks else "nothing to search in it"
        where = f" {told.reason}" if told.reason else ""
        return f"indexed{where}, {counted(told.chunks, 'chunk')}, {vectors}"
    if told.fate in ("skipped", "failed"):
        return f"{told.fate}: {told.reason}"
    return told.reason
