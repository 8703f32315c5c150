"""`memory-sidecar trust`"""

from __future__ import annotations

import click

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.options import with_call
from memory_sidecar.core.errors import PathRefused, UsageError
from memory_sidecar.core.trust import answer, answers


@click.command()
@click.argument("path", required=False)
@click.option("--list", "lists", is_flag=True, help="Show the folders that you trust.")
@click.option("--remove", is_flag=True, help="Trust PATH no longer.")
@with_call
def trust(call: Call, *, path: str | None, lists: bool, remove: bool) -> None:
    """Have the `data/memory` and `memory-sidecar.toml` of the folder PATH count, as your own would.

    By default the folder you are in. Such settings may name programs to run: trust what you have
    read. Folders inside of PATH are not trusted with it.
    """
    if lists:
        if path or remove:
            raise UsageError("--list takes nothing else", hint="`memory-sidecar trust --list`")
    else:
        _answer(call, path or ".", remove=remove)
    trusted = sorted(folder for folder, said in answers(call.environ).items() if said)
    if call.wants_json:
        call.print_json({"trusted": trusted})
    elif lists:
        for folder in trusted:
            call.print(folder)


def _answer(call: Call, path: str, *, remove: bool) -> None:
    folder = call.path(path)
    if not remove and not folder.is_dir():
        raise PathRefused(f"{folder} is not a folder", hint="name the folder of a project")
    try:
        answer(str(folder), None if remove else True, call.environ)
    except (OSError, ValueError) as error:
        raise PathRefused(f"{folder}: that cannot be kept: {error}") from error
    if not call.wants_json:
        call.print(f"{folder} is {'not trusted any more' if remove else 'trusted'}")
