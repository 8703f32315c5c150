"""`memory-sidecar context`"""

from __future__ import annotations

import click

from memory_sidecar.cli.context_files import init, new, regen
from memory_sidecar.cli.context_health import check, tasks
from memory_sidecar.cli.context_use import access, refs
from memory_sidecar.cli.options import with_help


@click.group()
@with_help
def context() -> None:
    """Dense-context roots: experiments, knowledge and patterns, one finding a file.

    A root is the one given by --root, by MEMORY_SIDECAR_CONTEXT or by the setting context_root;
    else the nearest folder upwards that has CORTEX.md and projects.
    """


for _command in (init, new, regen, check, access, refs, tasks):
    context.add_command(_command)
