"""`memory-sidecar uninstall`: removes everything that was written outside of the program."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import click

from memory_sidecar.cli.call import Call, TextLine
from memory_sidecar.cli.completion import SHELLS, VARIABLE, script_path
from memory_sidecar.cli.options import with_data_dir
from memory_sidecar.cli.service import installed_units, remove_units
from memory_sidecar.cli.setup import step_lines
from memory_sidecar.core.errors import PathRefused, SidecarError
from memory_sidecar.core.installation import uninstall_command
from memory_sidecar.core.paths import DATABASE_SUFFIXES, OWN_FOLDERS, DataDir
from memory_sidecar.core.projects import config_folder
from memory_sidecar.core.results import about, pluralize
from memory_sidecar.core.sqlite import named_errors
from memory_sidecar.daemon.address import socket_paths
from memory_sidecar.daemon.running import running_daemons
from memory_sidecar.daemon.start import end_daemon
from memory_sidecar.setup.notes import lock_path, notes_path
from memory_sidecar.setup.plan import Plan, Step, StepOutcome


@dataclass(frozen=True, slots=True)
class Removal:
    """One thing that memory-sidecar wrote on this machine, and what becomes of it."""

    what: Annotated[str, about("daemon, service, data, or what a coding agent was given")]
    path: Annotated[str, about("absolute; of a daemon its data directory")]
    outcome: StepOutcome
    reason: Annotated[str, about("why it is left as it is")] = ""


@dataclass(frozen=True, slots=True)
class Uninstalled:
    """Everything that memory-sidecar wrote on this machine, beside the program."""

    done: Annotated[bool, about("false for a dry run, and where there is nothing")]
    removals: tuple[Removal, ...]


@dataclass(frozen=True, slots=True)
class Undo:
    """Removals to show to the user, and the function that carries them out, if there are any."""

    removals: Sequence[Removal]
    carry_out: Callable[[], object]
    steps: Sequence[Step] = ()  # if `removals` are what coding agents were given


@click.command()
@click.option("--data", "with_data", is_flag=True, help="Memories, sessions and settings too.")
@click.option("--dry-run", is_flag=True, help="Only show what would go.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@with_data_dir
def uninstall(call: Call, *, with_data: bool, dry_run: bool, yes: bool) -> Uninstalled:
    """Stop every daemon and take back the service, agents' settings, skills and completion.

    What was learnt stays, unless --data is given: that deletes the data directory in use and your
    settings, for good. Remove the program itself by what installed it: pip, pipx or uv.
    """
    undos = [_undo_service(call), *_undo_daemons(call), _undo_setup(call), *_undo_completion(call)]
    data_dir = call.chosen_data_dir
    folder = Path(config_folder(call.environ))
    settings = [_undo_path("settings", folder)] if folder.is_dir() else []
    learnt = [*_undo_data(data_dir), *settings] if with_data else []
    every = (*undos, *learnt)
    removals = tuple(removal for undo in every for removal in undo.removals)
    going = [each for each in removals if each.outcome is StepOutcome.REMOVED]
    asks = bool(going) and not (dry_run or yes)
    if asks:
        call.confirm(_undo_lines(every, is_done=False), f"Remove {pluralize(len(going), 'thing')}?")
    done = bool(going) and not dry_run
    if not dry_run:  # even if nothing is to go: an undo that cannot read its notes is an error
        _carry_out(undos)
    if done:
        _carry_out(learnt)  # last: daemons use the data, and settings list what agents were given
        lock_path(call.environ).unlink(missing_ok=True)
        _drop_empty_folders(call)
    kept = "" if with_data or not data_dir.root.is_dir() else str(data_dir.root)
    uninstalled = Uninstalled(done, removals)
    return call.show(uninstalled, _lines_of(uninstalled, shown=() if asks else every, kept=kept))


def _carry_out(undos: Sequence[Undo]) -> None:
    """Carry out all of `undos`, even if some fail; raises the first SidecarError at the end."""
    failed: list[SidecarError] = []
    for undo in undos:
        if undo.removals:
            try:
                undo.carry_out()
            except SidecarError as error:
                failed.append(error)
    if failed:
        raise failed[0]


def _undo_service(call: Call) -> Undo:
    """Undo the units, before the daemons stop, because systemd would start these again."""
    units = [Removal("service", str(unit), StepOutcome.REMOVED) for unit in installed_units(call)]
    return Undo(units, lambda: remove_units(call))


def _undo_daemons(call: Call) -> list[Undo]:
    return [
        Undo(
            [Removal(f"daemon, process {each.pid}", each.data_dir, StepOutcome.REMOVED)],
            partial(end_daemon, each.data_dir, call.environ),
        )
        for each in running_daemons(call.environ)
    ]


def _undo_setup(call: Call) -> Undo:
    try:
        plan = Plan(call.environ)
    except PathRefused as error:
        return _refused(notes_path(call.environ), error)
    plan.take_back(plan.known_agents())
    removals = [
        Removal(f"{step.what} of {step.agent}", step.path, step.outcome, step.reason)
        for step in plan.steps
    ]

    def carry_out() -> None:
        plan.carry_out()
        plan.require_all()

    return Undo(removals, carry_out, plan.steps)


def _refused(path: Path, error: SidecarError) -> Undo:
    def refuse() -> None:
        raise error

    return Undo(
        [Removal("what coding agents were given", str(path), StepOutcome.FAILED, error.message)],
        refuse,
    )


def _undo_completion(call: Call) -> list[Undo]:
    return [
        _undo_path("completion", script)
        for script in (script_path(call, shell) for shell in SHELLS)
        if script.is_file() and VARIABLE in script.read_text("utf-8", "replace")
    ]


def _undo_data(data_dir: DataDir) -> list[Undo]:
    root = data_dir.root
    databases = (data_dir.codebase.db.name, data_dir.embeddings_db.name)
    names = [f"{name}{suffix}" for name in databases for suffix in DATABASE_SUFFIXES]
    ours = [root / name for name in names if (root / name).is_file()]
    ours += [root / name for name in OWN_FOLDERS if (root / name).is_dir()]
    return [_undo_path("data", path) for path in ours]


def _undo_path(what: str, path: Path) -> Undo:
    def remove() -> None:
        with named_errors(path):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

    return Undo([Removal(what, str(path), StepOutcome.REMOVED)], remove)


def _drop_empty_folders(call: Call) -> None:
    """Remove our folders that are empty now."""
    data_dir = call.chosen_data_dir.root
    folders = [data_dir, Path(config_folder(call.environ))]
    if sys.platform != "win32":
        folders += [Path(path).parent for path in socket_paths(str(data_dir), call.environ)]
    for folder in folders:
        try:
            folder.rmdir()
        except OSError:
            continue  # missing, or not empty


def _lines_of(done: Uninstalled, *, shown: Sequence[Undo], kept: str) -> Iterator[TextLine]:
    yield from _undo_lines(shown, is_done=done.done)
    if not (done.removals or kept):
        yield "nothing but the program is on this machine"
    elif done.done and not shown:
        yield "taken back"
    elif done.removals and not done.done:
        yield "nothing was changed; --yes does it"
    if kept:
        yield f"kept: {kept}, with what was learnt; --data deletes it"
    yield f"the program itself: `{uninstall_command()}`"


def _undo_lines(undos: Sequence[Undo], *, is_done: bool) -> Iterator[TextLine]:
    for undo in undos:
        if undo.steps:
            yield from step_lines(undo.steps, is_done=is_done)
            continue
        for each in undo.removals:
            yield f"{each.outcome.describe(each.reason, is_done=is_done)}: {each.what}  {each.path}"
