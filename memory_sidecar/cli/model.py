"""`memory-sidecar model`"""

from __future__ import annotations

import click

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.options import with_call, with_help
from memory_sidecar.embedding.supply import ModelFiles, fetch_model


@click.group()
@with_help
def model() -> None:
    """The embedding model: where it comes from, and whether it is sound."""


@model.command(name="list")
@with_call
def list_models(call: Call) -> None:
    """Show the model in use and where its files lie."""
    _print(call, call.services.models.files)


@model.command()
@with_call
def fetch(call: Call) -> None:
    """Download the model, if it is nowhere on this machine."""
    _print(call, fetch_model(call.services.settings))


@model.command()
@with_call
def verify(call: Call) -> None:
    """Check the model's files, load it and embed a text."""
    embedder = call.services.models.embedder
    embedder.load()
    _print(call, embedder.files)


def _print(call: Call, files: ModelFiles) -> None:
    if call.wants_json:
        call.print_json(
            {
                "name": files.name,
                "origin": files.origin,
                "folder": files.folder.as_posix(),
                "sha256": files.sha256,
                "dimension": files.dimension,
            }
        )
        return
    call.print(f"{files.name}, {files.dimension} dimensions, from {files.origin}")
    call.print(f"{files.folder / files.model_file}  sha256 {files.sha256}")
