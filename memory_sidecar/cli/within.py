"""Options that say where in the code to look, and the filter that they mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any

import click

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.options import Command
from memory_sidecar.code.model import CodeFilter
from memory_sidecar.core.errors import UsageError
from memory_sidecar.core.opening import real_path
from memory_sidecar.core.projects import expand_home

with_language = click.option(
    "--language", "languages", multiple=True, metavar="L", help="Any of these."
)
with_globs = click.option(
    "--path",
    "globs",
    multiple=True,
    metavar="GLOB",
    help="As in a .gitignore, {a,b} too; any. !GLOB excludes.",
)
with_sources = click.option(
    "--source", "sources", multiple=True, metavar="NAME", help="Any of these."
)
with_all = click.option("--all", "everywhere", is_flag=True, help="Every source, wherever you are.")


@dataclass(frozen=True, slots=True)
class Within:
    """The options of `with_places`: where in the code to look."""

    sources: tuple[str, ...]
    languages: tuple[str, ...] = ()
    globs: tuple[str, ...] = ()
    everywhere: bool = False

    def filter(self, call: Call, named: Sequence[str] = ()) -> CodeFilter:
        """Return the filter; by default, without --db, for the source around the working directory.

        The sources in which the --path globs lie take the place of that one; without such sources,
        `named` do: those of the files that the command is about.

        Raises UsageError for an unknown language and for --all with --source, NoIndex if no source
        is around the working directory.
        """
        if self.everywhere and self.sources:
            raise UsageError("--all and --source exclude each other", hint="leave one of them out")
        registry = call.codebase.registry
        chosen = tuple(registry.name_of(each, call.cwd) for each in self.sources)
        globs = [expand_home(each, call.environ) for each in self.globs]
        known = registry.all() if globs else ()
        here = Path(real_path(call.cwd))
        wanted = CodeFilter.of(chosen, self.languages, globs, known, here)
        if wanted.sources or self.everywhere or call.db:
            return wanted
        around = call.codebase.require_source_around
        return replace(wanted, sources=tuple(named) or (around(call.cwd, or_all=True).name,))


def with_places(command: Command) -> Command:
    """Add the options that restrict where in the code to look, passed as `within`."""

    @with_language
    @with_globs
    @with_sources
    @with_all
    @wraps(command)
    def wrapper(**given: Any) -> object:  # noqa: ANN401  options of any kind
        places = {name: given.pop(name) for name in Within.__dataclass_fields__}
        return command(within=Within(**places), **given)

    return wrapper
