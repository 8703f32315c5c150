"""What is to change so that a coding agent knows this program: planned, carried out, taken back.

Every piece of text that goes into a file of the user's is noted in `setup.json`, in the user's
configuration folder, before it is written, and until it is taken back. Taking back removes these
pieces and nothing else; one that was changed since stays, and is named.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from memory_sidecar.core.atomic import delete_file, remove_empty_folders, replace_file
from memory_sidecar.core.errors import Conflict, PathRefused, SidecarError, StoreReadOnly
from memory_sidecar.core.opening import Tree
from memory_sidecar.core.sqlite import named_errors
from memory_sidecar.setup.agents import SERVER, TABLES, CodingAgent
from memory_sidecar.setup.editing import (
    Insertion,
    Taken,
    Unreadable,
    json_element,
    json_member,
    toml_table,
    without,
)
from memory_sidecar.setup.notes import Piece, read_pieces, read_text, write_pieces

EMPTY = {"json": "{}\n", "toml": ""}  # what a file of settings says that has nothing to say yet


class StepOutcome(StrEnum):
    """What becomes of an entry or a file."""

    ADDED = "added"
    REMOVED = "removed"
    SAME = "there already"
    KEPT = "left as it is"
    FAILED = "failed"

    @property
    def is_change(self) -> bool:
        return self in (StepOutcome.ADDED, StepOutcome.REMOVED)

    def told(self, *, is_done: bool) -> str:
        """For people: what is still to come is not told as if it had been."""
        return self.value if is_done or not self.is_change else f"to be {self.value}"


@dataclass(frozen=True, slots=True)
class Step:
    """One entry or file of one coding agent, and what becomes of it."""

    agent: str
    what: str  # MCP server, hook or skill, with its name
    path: str  # absolute
    outcome: StepOutcome
    reason: str = ""  # why it is left as it is


@dataclass(frozen=True, slots=True)
class Wish:
    """What a coding agent is to know: how it starts us, what it runs, and by path what it reads."""

    entry: Mapping[str, object]
    hooks: Mapping[str, object]
    skills: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Edit:
    """Puts `value` to where the names `at` lead, by one of the functions of `editing`."""

    of: Callable[[str, Sequence[str], Any], Insertion | None]
    at: list[str]
    value: Any


@dataclass(slots=True)
class _PlannedFile:
    """What a file says and is to say; None for no file."""

    before: str | None
    after: str | None
    made: str = ""  # the folder that was made for it, to be removed with it


class Plan:
    """Changes to files of the user's, none of them written before `carry_out`.

    A file that cannot be read or written fails by itself: all others are done.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.steps: list[Step] = []
        self._environ = environ
        self._files: dict[str, _PlannedFile] = {}  # by path
        self._noted = read_pieces(environ)
        self._pieces = list(self._noted)

    def known_agents(self) -> list[str]:
        """Names of the coding agents for which something is there to be taken back."""
        return list(dict.fromkeys(piece.agent for piece in self._pieces))

    def add(self, agent: CodingAgent, wish: Wish) -> None:
        """Have `agent` know us. What is there and says something else is left as it is."""
        self._add_server(agent, wish.entry)
        if agent.hooks:
            for event, hook in wish.hooks.items():
                self._add_hook(agent, event, hook)
        if agent.skills:
            for name, content in wish.skills.items():
                self._add_file(agent, f"skill {name}", f"{agent.skills}/{name}/SKILL.md", content)

    def take_back(self, agents: Collection[str]) -> None:
        """Undo what was added for the coding agents of these names."""
        kept = []
        for piece in reversed(self._pieces):
            if piece.agent not in agents:
                kept.append(piece)
                continue
            file = self._open(piece.agent, piece.what, piece.path)
            if file is None:
                kept.append(piece)
                continue
            rest = _without(piece, file.after) if file.after is not None else None
            if rest is None:
                reason = "it is gone" if file.after is None else "it was changed since"
                self._note(piece.agent, piece.what, piece.path, StepOutcome.KEPT, reason)
            else:
                is_empty = piece.is_new and rest.strip() in ("", "{}")
                file.after, file.made = None if is_empty else rest, piece.made
                self._note(piece.agent, piece.what, piece.path, StepOutcome.REMOVED)
        self._pieces = kept[::-1]

    def carry_out(self) -> None:
        """Write what is planned, each file at once.

        Killed anywhere, what is needed to take back what is there is noted. Raises Conflict for a
        file that another program has written since it was read, which is left alone.
        """
        changes = {path: each for path, each in self._files.items() if each.after != each.before}
        for path, each in changes.items():
            _check_unchanged(path, each)  # all of them before the first is written
        given_back = [piece for piece in self._noted if piece not in self._pieces]
        noted = [*given_back, *self._pieces]
        write_pieces(noted, self._environ)
        for path, each in changes.items():
            _check_unchanged(path, each)
            try:
                _write(Path(path), each)
            except StoreReadOnly as error:
                self._fail(path, error)
        if self._pieces != noted:
            write_pieces(self._pieces, self._environ)

    def require_all(self) -> None:
        """Raises SidecarError where a file could not be read or written."""
        failed = [step for step in self.steps if step.outcome is StepOutcome.FAILED]
        if failed:
            raise SidecarError(
                "; ".join(f"{step.path} {step.reason}" for step in failed),
                hint="all others are done; mend or move it, and call this again",
            )

    def _fail(self, path: str, error: StoreReadOnly) -> None:
        """Have `path` count as what it is: as before."""
        reason = error.message.removeprefix(f"{path} ")
        self.steps = [
            replace(step, outcome=StepOutcome.FAILED, reason=reason)
            if step.path == path and step.outcome.is_change
            else step
            for step in self.steps
        ]
        others = [piece for piece in self._pieces if piece.path != path]
        self._pieces = [*others, *(piece for piece in self._noted if piece.path == path)]

    def _add_server(self, agent: CodingAgent, entry: Mapping[str, object]) -> None:
        value = ({"type": agent.server_type} if agent.server_type else {}) | dict(entry)
        edit = toml_table if agent.form == "toml" else json_member
        self._insert(
            agent, "MCP server", agent.servers, _Edit(edit, [agent.servers_at, SERVER], value)
        )

    def _add_hook(self, agent: CodingAgent, event: str, hook: object) -> None:
        self._insert(
            agent, f"hook {event}", agent.hooks, _Edit(json_element, ["hooks", event], hook)
        )

    def _insert(self, agent: CodingAgent, what: str, relative: str, edit: _Edit) -> None:
        path = _real(agent.path(relative, self._environ))
        file = self._open(agent.name, what, path)
        if file is None:
            return
        before = file.after or ""
        is_blank = not before.strip()
        text = EMPTY[agent.form] if is_blank else before
        try:
            insertion = edit.of(text, edit.at, edit.value)
        except (Taken, Unreadable) as error:
            self._note(agent.name, what, path, StepOutcome.KEPT, str(error))
            return
        if insertion is None:
            self._note(agent.name, what, path, StepOutcome.SAME)
            return
        if is_blank:
            insertion = Insertion(len(before), insertion.into(text))
        elif "\r\n" in text:
            insertion = replace(insertion, text=insertion.text.replace("\n", "\r\n"))
        is_new = file.after is None
        file.after = insertion.into(before)
        self._note(agent.name, what, path, StepOutcome.ADDED)
        made = _missing_above(path)
        piece = Piece(agent.name, what, path, insertion.text, is_new=is_new, made=made)
        if edit.of is not toml_table:
            piece = replace(piece, at=edit.at, value=edit.value)
        self._keep(piece)

    def _add_file(self, agent: CodingAgent, what: str, relative: str, content: str) -> None:
        path = _real(agent.path(relative, self._environ))
        file = self._open(agent.name, what, path)
        if file is None:
            return
        if file.after is None:
            file.after = content
            self._note(agent.name, what, path, StepOutcome.ADDED)
            made = _missing_above(path)
            self._keep(Piece(agent.name, what, path, content, is_new=True, made=made))
        elif file.after == content:
            self._note(agent.name, what, path, StepOutcome.SAME)
        else:
            self._note(agent.name, what, path, StepOutcome.KEPT, "it says something else")

    def _open(self, agent: str, what: str, path: str) -> _PlannedFile | None:
        """The file at `path`; None, and one step that says why, where it cannot be read."""
        try:
            return self._file(path)
        except PathRefused as error:
            reason = error.message.removeprefix(f"{path} ")

            if all(step.reason != reason or step.path != path for step in self.steps):
                self._note(agent, what, path, StepOutcome.FAILED, reason)
            return None

    def _note(
        self, agent: str, what: str, path: str, outcome: StepOutcome, reason: str = ""
    ) -> None:
        self.steps.append(Step(agent, what, path, outcome, reason))

    def _keep(self, piece: Piece) -> None:
        """Note `piece`, in place of one that was noted for it and then not written."""
        named = (piece.agent, piece.what, piece.path)
        others = [each for each in self._pieces if (each.agent, each.what, each.path) != named]
        self._pieces = [*others, piece]

    def _file(self, path: str) -> _PlannedFile:
        if path not in self._files:
            text = read_text(path)
            self._files[path] = _PlannedFile(text, text)
        return self._files[path]


def _check_unchanged(path: str, file: _PlannedFile) -> None:
    if read_text(path) != file.before:
        raise Conflict(
            f"{path} was changed by another program meanwhile",
            hint="do it again, to what the file says now",
        )


def _write(path: Path, file: _PlannedFile) -> None:
    with named_errors(path):
        if file.after is not None:
            replace_file(Tree(path.parent), path.name, file.after.encode())
            return
        delete_file(Tree(path.parent), path.name)
        if file.made:
            above = Path(file.made).parent
            remove_empty_folders(Tree(above), str(path), keep=above)


def _without(piece: Piece, text: str) -> str | None:
    """`text` without `piece`; None where it does not hold it any more."""
    if piece.path.endswith(".toml"):
        value = tomllib.loads(piece.text)[TABLES][SERVER]
        return without(text, [TABLES, SERVER], value, form="toml", piece=piece.text)
    if piece.at:
        return without(text, piece.at, piece.value, form="json", piece=piece.text)
    return text.replace(piece.text, "") if text.count(piece.text) == 1 else None


def _missing_above(path: str) -> str:
    """The topmost folder above `path` that is still to be made; "" where all are there."""
    missing = [folder for folder in Path(path).parents if not folder.exists()]
    return str(missing[-1]) if missing else ""


def _real(path: Path) -> str:
    """Where `path` leads: settings are often links into a repository of dotfiles."""
    return os.path.realpath(path)
