"""Which dense-context root, and which of its projects, a command is about."""

from __future__ import annotations

import click

from memory_sidecar.cli.call import Call
from memory_sidecar.context.handlers import Context, find_root
from memory_sidecar.context.layout import Project
from memory_sidecar.core.settings import Settings, load_settings

root_option = click.option("--root", metavar="DIR", help="The root; found upwards otherwise.")


def open_context(call: Call, root: str | None) -> Context:
    """The root that a command is about. Raises NotFound."""
    named = call.path(root) if root else None
    found = find_root(named, cwd=call.cwd, environ=call.environ)
    return Context(found, models=lambda: call.services.models)


def context_settings(call: Call) -> Settings:
    """Those of the caller: a daemon that runs this may have been started with others."""
    return load_settings(call.cwd, call.environ)


def chosen_projects(call: Call, opened: Context, name: str | None, *, every: bool) -> list[Project]:
    """The project called `name`, else the one around the caller, else all of them."""
    if name is not None:
        return [opened.root.project(name)]
    around = None if every else opened.root.project_around(call.cwd)
    return [around] if around is not None else opened.root.projects()
