"""Plans, carries out and takes back the changes that connect a coding agent to this program.

Every piece of text is noted in `setup.json`, in the user's configuration folder, before it is
written into a file, and until it is taken back. Taking back removes these pieces and nothing else;
a piece that was changed since stays, and is named.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from memory_sidecar.core.atomic import delete_file, remove_empty_folders, replace_unchanged, sweep
from memory_sidecar.core.errors import Conflict, PathRefused, SidecarError, StoreReadOnly
from memory_sidecar.core.opening import Tree
from memory_sidecar.core.sqlite import named_errors
from memory_sidecar.setup.agents import SERVER, CodingAgent
from memory_sidecar.setup.edit import Edit, without_piece
from memory_sidecar.setup.editing import (
    Taken,
    Unreadable,
    json_element,
    json_member,
    toml_table,
    whole_file,
)
from memory_sidecar.setup.notes import Piece, lock_notes, read_pieces, read_text, write_pieces

CHANGED = "was changed by another program in the meantime"


class StepOutcome(StrEnum):
    """What becomes of an entry or a file."""

    ADDED = "added"
    REPLACED = "replaced"
    REMOVED = "removed"
    SAME = "there already"
    KEPT = "left as it is"
    FAILED = "failed"

    @property
    def is_change(self) -> bool:
        return self in (StepOutcome.ADDED, StepOutcome.REPLACED, StepOutcome.REMOVED)

    def describe(self, reason: str, *, is_done: bool) -> str:
        """Return the text for people: `to be added` while a change is only planned."""
        text = self.value if is_done or not self.is_change else f"to be {self.value}"
        return f"{text} ({reason})" if reason else text


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
    """The things to give a coding agent: our server's entry, hooks by event, and skills by name."""

    entry: Mapping[str, object]
    hooks: Mapping[str, object]
    skills: Mapping[str, str]


@dataclass(slots=True)
class _PlannedFile:
    """The text of a file before and after the plan; None means no file."""

    before: str | None
    after: str | None
    made: str = ""  # the folder that was created for the file, to be removed with it

    def take(self, piece: Piece) -> bool:
        """Remove `piece` from `after`; returns whether it was there. Raises Unreadable."""
        rest = without_piece(piece, self.after) if self.after is not None else None
        if rest is None:
            return False
        is_empty = piece.is_new and rest.strip() in ("", "{}")
        self.after, self.made = None if is_empty else rest, piece.made
        return True


@dataclass(slots=True)
class _PlannedPiece:
    """A piece, and whether it is noted before and after the plan."""

    piece: Piece
    was_noted: bool
    is_noted: bool = True


class Plan:
    """Changes to the user's files, none of which is written before `carry_out`.

    A file that cannot be read or written fails alone; all others are changed.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.steps: list[Step] = []
        self._environ = environ
        self._files: dict[str, _PlannedFile] = {}  # by path
        self._pieces = [_PlannedPiece(each, was_noted=True) for each in read_pieces(environ)]

    def known_agents(self) -> list[str]:
        """Return the names of the coding agents that have pieces to take back."""
        return list(dict.fromkeys(each.piece.agent for each in self._pieces))

    def add(self, agent: CodingAgent, wish: Wish) -> None:
        """Plan to give `agent` what `wish` says, replacing what an earlier setup put there.

        Entries that the user or another program added, or changed since, are left alone, and those
        that an earlier setup put there and the user took out stay out until they are taken back.
        """
        edits = self._edits(agent, wish)
        for path in dict.fromkeys(edit.path for edit in edits):
            self._add([edit for edit in edits if edit.path == path])

    def take_back(self, agents: Collection[str]) -> None:
        """Plan to remove what was added for the coding agents named in `agents`."""
        for each in reversed(self._pieces):
            piece = each.piece
            file = self._open(piece) if each.is_noted and piece.agent in agents else None
            if file is None:
                continue
            reason = "it is gone" if file.after is None else "it was changed since"
            try:
                is_taken = file.take(piece)
            except Unreadable as error:
                self._note_unreadable(piece, str(error))
                continue
            outcome = StepOutcome.REMOVED if is_taken else StepOutcome.KEPT
            self._note(piece, outcome, "" if is_taken else reason)
            each.is_noted = False

    def carry_out(self) -> None:
        """Write the plan, each file atomically.

        The notes are written first, so that a killed setup can be taken back. Raises Conflict,
        before the first is written, if another program has changed a file or the notes since they
        were read. A file that is saved after that is left alone, and its steps have failed.
        """
        with lock_notes(self._environ):
            self._carry_out()

    def _carry_out(self) -> None:
        changes = {path: each for path, each in self._files.items() if each.after != each.before}
        for path, each in changes.items():
            if read_text(path) != each.before:  # check every file before the first is written
                raise Conflict(f"{path} {CHANGED}", hint="run it again on the file as it is now")
        before = [each.piece for each in self._pieces if each.was_noted]
        if read_pieces(self._environ) != before:
            raise Conflict("another setup ran in the meantime", hint="do it again")
        after = [each.piece for each in self._pieces if each.is_noted]
        new = [replace(piece, is_planned=True) for piece in after if piece not in before]
        noted = [*before, *new]
        write_pieces(noted, self._environ)
        for path, each in changes.items():
            try:
                failure = "" if _write(Path(path), each) else CHANGED
            except StoreReadOnly as error:
                failure = error.message.removeprefix(f"{path} ")
            if failure:
                self._fail(path, failure)
        after = [each.piece for each in self._pieces if each.is_noted]  # but for what has failed
        if after != noted:
            write_pieces(after, self._environ)

    def require_all(self) -> None:
        """Raise SidecarError if any file could not be read or written."""
        failed = [step for step in self.steps if step.outcome is StepOutcome.FAILED]
        if failed:
            raise SidecarError(
                "; ".join(f"{step.path}: {step.reason}" for step in failed),
                hint="all others are done; fix or move it, and run this again",
            )

    def _fail(self, path: str, reason: str) -> None:
        """Mark the changes of `path` as failed, and restore its notes."""
        for at, step in enumerate(self.steps):
            if step.path == path and step.outcome.is_change:
                self.steps[at] = replace(step, outcome=StepOutcome.FAILED, reason=reason)
        for each in self._pieces:
            if each.piece.path == path:
                each.is_noted = each.was_noted

    def _edits(self, agent: CodingAgent, wish: Wish) -> list[Edit]:
        def edit(what: str, path: str, of: Any, at: list[str], value: object) -> Edit:  # noqa: ANN401
            # Settings are often links into a repository of dotfiles.
            file = os.path.realpath(agent.path(path, self._environ))
            return Edit(agent.name, what, file, of, at, value)

        servers, entry = agent.servers_file(self._environ), agent.entry(wish.entry)
        member = toml_table if servers.endswith(".toml") else json_member
        edits = [edit("MCP server", servers, member, [agent.servers_at, SERVER], entry)]
        for event, hook in wish.hooks.items() if agent.hooks else ():
            edits.append(edit(f"hook {event}", agent.hooks, json_element, ["hooks", event], hook))
        for name, content in wish.skills.items() if agent.skills else ():
            path = f"{agent.skills}/{name}/SKILL.md"
            edits.append(edit(f"skill {name}", path, whole_file, [], content))
        return edits

    def _add(self, edits: Sequence[Edit]) -> None:
        """Plan all edits of one file, after taking back the pieces of an earlier setup."""
        file = self._open(edits[0])
        if file is None:
            return
        ours = (edits[0].agent, edits[0].path)
        noted = [each for each in self._pieces if each.is_noted]
        noted = [each for each in noted if (each.piece.agent, each.piece.path) == ours]
        edits = [edit for edit in edits if not self._note_taken_out(edit, file, noted)]
        is_there = all(edit.is_missing(file.after or "") is False for edit in edits)
        for each in [] if is_there else noted[::-1]:
            try:
                each.is_noted = not file.take(each.piece)
            except Unreadable as error:
                self._note_unreadable(each.piece, str(error))
                return
        for edit in edits:
            self._insert(edit, file, [each for each in noted if each.piece.what == edit.what])

    def _note_taken_out(
        self, edit: Edit, file: _PlannedFile, noted: Sequence[_PlannedPiece]
    ) -> bool:
        """Note that the user took `edit` out of a file or folder that is still there, if so."""
        earlier = [each.piece for each in noted if each.piece.what == edit.what]
        if not earlier or any(piece.is_planned for piece in earlier):
            return False
        if file.after is None:
            is_out = edit.is_whole_file and Path(edit.path).parents[1].is_dir()
        else:
            is_out = bool(edit.is_missing(file.after)) and not any(
                without_piece(piece, file.after) is not None for piece in earlier
            )
        if is_out:
            again = f"`memory-sidecar setup {edit.agent} --undo`, then setup, adds it again"
            self._note(edit, StepOutcome.KEPT, f"you took it out; {again}")
        return is_out

    def _insert(self, edit: Edit, file: _PlannedFile, earlier: Sequence[_PlannedPiece]) -> None:
        """Plan one edit. `earlier`: what was noted for it; more than one after a killed setup."""
        taken = [each.piece for each in earlier if not each.is_noted]
        before = file.after or ""
        try:
            insertion = edit.insertion(before)
        except Taken as error:
            self._note(edit, StepOutcome.REMOVED if taken else StepOutcome.KEPT, str(error))
            return
        except Unreadable as error:
            self._note_unreadable(edit, str(error))
            return
        if insertion is None:
            self._note(edit, StepOutcome.SAME)
            return
        made = _missing_above(edit.path) or (earlier[-1].piece.made if earlier else "")
        piece = Piece(
            edit.agent, edit.what, edit.path, insertion.text, is_new=file.after is None, made=made
        )
        if edit.is_json:
            piece = replace(piece, at=edit.at, value=edit.value)
        file.after = insertion.apply_to(before)
        again = StepOutcome.SAME if piece in taken else StepOutcome.REPLACED
        self._note(edit, again if taken else StepOutcome.ADDED)
        for each in earlier:  # also one that was noted, and never written
            each.is_noted = False
        self._pieces.append(_PlannedPiece(piece, was_noted=False))

    def _open(self, of: Edit | Piece) -> _PlannedFile | None:
        """Return the file that `of` is about; None, with a failed step, if it cannot be read."""
        try:
            if of.path not in self._files:
                text = read_text(of.path)
                self._files[of.path] = _PlannedFile(text, text)
            return self._files[of.path]
        except PathRefused as error:
            self._note_unreadable(of, error.message.removeprefix(f"{of.path} "))
            return None

    def _note_unreadable(self, of: Edit | Piece, reason: str) -> None:
        if all(step.reason != reason or step.path != of.path for step in self.steps):
            self._note(of, StepOutcome.FAILED, reason)

    def _note(self, of: Edit | Piece, outcome: StepOutcome, reason: str = "") -> None:
        self.steps.append(Step(of.agent, of.what, of.path, outcome, reason))


def _write(path: Path, file: _PlannedFile) -> bool:
    """Write what was planned for `path`; return False, and leave it, if it was changed since."""
    tree, before = Tree(path.parent), None if file.before is None else file.before.encode()
    with named_errors(path):
        if (status := tree.status(path.name)) and not status.st_mode & 0o222:
            # A rename replaces such a file all the same.
            raise StoreReadOnly(f"{path} is read-only", hint="make it writable")
        sweep(tree, path.parent, is_sole_writer=True, pattern="")
        if file.after is not None:
            return replace_unchanged(tree, path.name, before, file.after.encode())
        if read_text(str(path)) != file.before:
            return False
        delete_file(tree, path.name)
        if file.made:
            above = Path(file.made).parent
            remove_empty_folders(Tree(above), str(path), keep=above)
    return True


def _missing_above(path: str) -> str:
    """Return the topmost missing folder above `path`; "" if all exist."""
    missing = [folder for folder in Path(path).parents if not folder.exists()]
    return str(missing[-1]) if missing else ""
