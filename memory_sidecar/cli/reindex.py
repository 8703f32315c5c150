"""`memory-sidecar reindex`"""

from __future__ import annotations

import click

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.index import print_report
from memory_sidecar.cli.options import with_call
from memory_sidecar.errors import UsageError


@click.command()
@click.option("--source", "sources", multiple=True, metavar="NAME", help="Only this source.")
@click.option("--all", "everything", is_flag=True, help="Every registered source.")
@with_call
def reindex(call: Call, sources: tuple[str, ...], everything: bool) -> None:
    """Derive the index again from the files. Vectors that are known are not computed again."""
    if bool(sources) == everything:
        raise UsageError("name what to rebuild", hint="--source NAME or --all")
    print_report(call, call.codebase.rebuild(sources, reporter=call.reporter))
