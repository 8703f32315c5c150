"""`memory-sidecar model`, `embed`, `trust` and `skills`: the installation itself."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Annotated

import click

from memory_sidecar.agents.skills import Skill, all_skills, install_skills
from memory_sidecar.cli.call import Call
from memory_sidecar.cli.options import TextCommand, command_group, with_call, with_data_dir
from memory_sidecar.core.errors import PathRefused, SidecarError, UsageError
from memory_sidecar.core.paths import DataDir
from memory_sidecar.core.projects import (
    config_folder,
    locate_data_dir,
    read_trust,
    record_trust,
)
from memory_sidecar.core.results import about
from memory_sidecar.core.sqlite import named_errors
from memory_sidecar.disk.registry import Registry
from memory_sidecar.disk.roots import readable_folder

Vector = Annotated[list[float], about("384 numbers of length 1; with `-`, such an array a line")]


@dataclass(frozen=True, slots=True)
class Model:
    """The embedding model in use."""

    name: str
    origin: str
    folder: Path
    sha256: str
    dimension: int


@dataclass(frozen=True, slots=True)
class Trusted:
    """The folders that the user trusts now."""

    trusted: list[str]


@command_group
def model() -> None:
    """The embedding model: where it comes from, and whether it is sound."""


@model.command(name="list")
@with_data_dir
def list_models(call: Call) -> Model:
    """Show the model in use and where its files lie."""
    return _show_model(call)


@model.command()
@with_data_dir
def fetch(call: Call) -> Model:
    """Download the model, if it is nowhere on this machine."""
    call.services.models.fetch()
    return _show_model(call)


@model.command()
@with_data_dir
def verify(call: Call) -> Model:
    """Check the model's files, load it and embed a text."""
    models = call.services.models
    models.embedder.load()
    if models.files.origin == "configured":  # any export of the model will do
        return _show_model(call, "The model works; no hash of such files is known.")
    return _show_model(call, "The files are sound, and the model works.")


def _show_model(call: Call, *more: str) -> Model:
    files = call.services.models.files
    spec = files.spec
    shown = Model(spec.name, files.origin, files.folder, files.sha256, spec.dimension)
    lines = [
        f"{spec.name}, {spec.dimension} dimensions, from {files.origin}",
        f"{files.folder / files.model_file}  sha256 {files.sha256}",
        *more,
    ]
    return call.show(shown, lines)


@click.command(cls=TextCommand)
@click.argument("texts", nargs=-1, metavar="TEXT|-")
@click.option("--query", "as_query", is_flag=True, help="Embed questions, not passages.")
@with_call  # --db means nothing here, but hosts add it to each of their calls
def embed(call: Call, texts: tuple[str, ...], as_query: bool) -> Vector:
    """Print the vector of TEXT, 384 numbers as a JSON array.

    With `-`, print one array a line, for each line of standard input.
    """
    if not texts:
        raise UsageError("no TEXT to embed", hint="name one, or `-` for standard input")
    text = call.text(" ".join(texts))
    lines = _split_lines(text) if texts == ("-",) else [text]
    embedder = call.services.models.embedder
    vectors: Iterable[Iterable[float]] = (
        map(embedder.embed_query, lines) if as_query else embedder.embed_passages(lines)
    )
    shown: Vector = []
    for vector in vectors:
        shown = [round(float(number), 8) for number in vector]
        call.print_json(shown)
    return shown


def _split_lines(text: str) -> list[str]:
    """Split standard input into lines, blank ones too: the n-th array is for the n-th line."""
    if not text:
        raise UsageError("standard input is empty", hint="one text a line")
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]


@click.command()
@click.argument("path", required=False)
@click.option("--list", "lists", is_flag=True, help="Show the folders that you trust.")
@click.option("--remove", is_flag=True, help="Stop trusting PATH.")
@with_data_dir
def trust(call: Call, *, path: str | None, lists: bool, remove: bool) -> Trusted:
    """Use the `data/memory` and `memory-sidecar.toml` in the folder PATH as if they were your own.

    By default the folder you are in. Such settings may name programs to run: trust what you have
    read. Folders inside of PATH are not trusted with it.
    """
    if lists and (path is not None or remove):
        raise UsageError("--list takes no other argument", hint="`memory-sidecar trust --list`")
    change = "" if lists else _change_trust(call, "." if path is None else path, remove=remove)
    trusted = sorted(
        folder for folder, is_trusted in read_trust(call.environ).items() if is_trusted
    )
    shown, (line,) = call.mask((Trusted(trusted), [change]))
    return call.show(shown, shown.trusted if lists else [line], nothing="no folder is trusted")


def _change_trust(call: Call, path: str, *, remove: bool) -> str:
    """Trust or distrust the folder `path`, and return a line that says so."""
    folder = call.path(path)
    if not remove:
        readable_folder(folder)
    used, _ = locate_data_dir(None, cwd=str(folder), environ=call.environ)
    try:
        with named_errors(Path(config_folder(call.environ))):
            record_trust(str(folder), None if remove else True, call.environ)
    except ValueError as error:
        raise PathRefused(f"{folder}: cannot be saved: {error}") from error
    now, _ = locate_data_dir(None, cwd=str(folder), environ=call.environ)
    if now != used and Path(used).is_dir():
        notice = f"commands in it use {now} from now on, no longer {used}"
        with suppress(SidecarError):  # the next command there says that its list cannot be read
            if Registry(DataDir(Path(now)).codebase.registry).containing(folder) is None:
                notice += f": `memory-sidecar index {quote(str(folder))}` indexes it there"
        call.reporter.notice(notice)
    return f"{folder} is {'not trusted' if remove else 'trusted'}"


@command_group
def skills() -> None:
    """Skills for coding agents: when and how to search, index and remember."""


@skills.command(name="list")
@with_data_dir
def list_skills(call: Call) -> list[Skill]:
    """Show the skills that come with this version."""
    return _show_skills(call, all_skills())


@skills.command()
@click.argument("folder", metavar="DIR")
@click.option("--force", is_flag=True, help="Replace skills even if they were changed.")
@with_data_dir
def install(call: Call, folder: str, force: bool) -> list[Skill]:
    """Copy the skills into DIR, where an agent looks for them: `.claude/skills`, `.agents/skills`.

    If a skill that is there says something else, none is copied.
    """
    return _show_skills(call, install_skills(call.path(folder), force=force))


def _show_skills(call: Call, skills: list[Skill]) -> list[Skill]:
    lines = (f"{skill.name}: {skill.path}\n  {skill.description}" for skill in skills)
    return call.show(skills, lines)
