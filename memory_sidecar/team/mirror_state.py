"""What an exchange knows of each file, and decides by that; its state file, its report."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path

import msgspec

from memory_sidecar.core.atomic import delete_file, replace_file
from memory_sidecar.core.errors import DatabaseRefused, SidecarError
from memory_sidecar.core.locks import hold_lock
from memory_sidecar.core.model import Stamp
from memory_sidecar.core.opening import FileRefused, Tree
from memory_sidecar.core.results import pluralize
from memory_sidecar.core.sqlite import named_errors
from memory_sidecar.core.times import parse_time
from memory_sidecar.team.mirror_rows import News, TeamFile

MAX_STATE_BYTES = 256 << 20
_NONE = (FileNotFoundError, NotADirectoryError, FileRefused, msgspec.DecodeError)


class MirrorStep(Enum):
    """What an exchange does about a file."""

    KEEP = auto()  # both sides are equal
    GIVE = auto()
    TAKE = auto()
    CONFLICT = auto()


def step_for(ours: str, base: str, team: str) -> MirrorStep:
    """Decide by the hashes of a file: ours, the base, the team's; "" stands for no file."""
    if ours == team:
        return MirrorStep.KEEP
    if team == base or not team:
        return MirrorStep.GIVE if ours != base else MirrorStep.TAKE
    return MirrorStep.TAKE if ours in (base, "") else MirrorStep.CONFLICT


UNKNOWN: Stamp = (0, 0, 0)
"""The stamp of a file that was not scanned when it was read: compares unequal to any."""


class Known(msgspec.Struct, array_like=True):
    """A file when it was last in step with the team."""

    hash: str
    stamp: Stamp  # while it is the same, the content counts as unchanged


class MirrorState(msgspec.Struct):
    """The state file, which is kept between exchanges."""

    database: str = ""
    seen: int = 0  # the highest number of a change that was read
    seen_at_us: int = 0  # when that was read, by the server's clock: all up to `seen` is older
    owes: bool = False  # whether the team lacks changes made by commands here
    removed: set[str] = set()  # those of `files` removed by commands that the team still has
    kept: set[str] = set()  # files here that were not given, such as those with a secret
    files: dict[str, Known] = {}  # the base
    open: dict[str, TeamFile] = {}  # the team's files that differ from the base, not yet taken

    def hear(self, news: News) -> None:
        """Note what the team has now, before anything is done about it."""
        if news.database != self.database:
            self.database, self.owes, self.removed = news.database, True, set()
            self.files, self.open = {}, {}
        elif news.is_all:
            self._go_back_to(news.heads)
        heads = self.open | {head.path: head for head in news.heads}
        self.open = {path: head for path, head in heads.items() if head.hash != self.base(path)}
        self.seen, self.seen_at_us = news.seen, news.seen_at_us

    def require_same_team(self, news: News, agent: str, shown: str) -> None:
        """Raise DatabaseRefused if `news`, of another database, tell of other files than the base.

        One of the same team that is made anew has files of the base, from another machine, or none.
        """
        heads = [head for head in news.heads if head.hash]
        same = sum(head.hash == self.base(head.path) for head in heads)
        if 2 * same < min(len(heads), len(self.files)):
            raise DatabaseRefused(
                f"{shown} is another team's: it has {same} of the"
                f" {pluralize(len(self.files), 'file')} of {agent} that the last database had",
                hint="set `database` back, or give each team a data directory of its own;"
                f" `memory-sidecar memory pull --agent {agent}` merges both teams'",
            )

    def base(self, path: str) -> str:
        """Return the hash of a file when it was last in step, "" if there was none."""
        return self.files[path].hash if path in self.files else ""

    def team(self, path: str) -> str:
        """Return the hash of the team's version of a file, "" if it has none."""
        return self.open[path].hash if path in self.open else self.base(path)

    def step(self, path: str, ours: Known | None) -> MirrorStep:
        """Decide about a file; `ours` is None where there is none here."""
        return step_for(ours.hash if ours else "", self.base(path), self.team(path))

    def note_owed(self, owed: Mapping[str, bool]) -> None:
        """Note that changes were not given; `owed` says of some of `files` whether each exists."""
        self.owes = True
        self.removed |= {path for path, is_there in owed.items() if not is_there}
        self.removed -= {path for path, is_there in owed.items() if is_there}

    def note_given(self, done: MirrorReport) -> None:
        """Note what was given, and what was not, by an exchange that gives."""
        self.kept = (self.kept | done.left_out.keys()) - set(done.given)
        if done.failure is None:
            self.owes, self.removed = False, set()

    def _go_back_to(self, heads: Collection[TeamFile]) -> None:
        """Make `heads`, the files of a restored server, the base, so that it is given what it lost.

        A file written there since the last look is no older version, and does not become the base.
        """
        self.open = {}
        newer = {each.path for each in heads if _written_at_us(each) > self.seen_at_us}
        hashes = {each.path: each.hash for each in heads}
        for path, known in list(self.files.items()):
            if path in newer or (its_hash := hashes.get(path, "")) == known.hash:
                continue
            del self.files[path]
            if its_hash:
                self.files[path] = Known(its_hash, UNKNOWN)
            self.owes = True


def _written_at_us(head: TeamFile) -> int:
    return 1000 * (parse_time(head.written_at) or 0)


STATE = msgspec.json.Decoder(MirrorState)
_OWED = msgspec.json.Decoder(dict[str, bool])
"""Both are made at import: two threads must not build the first decoder (`core/results.py`)."""


class StateFile:
    """The state file at `path`, and beside it the changes that commands have noted as not given.

    An exchange holds the lock of the state until it ends; the lock of the notes is held briefly.
    """

    def __init__(self, tree: Tree, path: Path) -> None:
        self._tree = tree
        self._path = path
        self._owed = path.with_suffix(".owed")

    def load(self) -> MirrorState:
        try:
            return STATE.decode(self._tree.read(self._path, MAX_STATE_BYTES))
        except _NONE:
            return MirrorState()

    @property
    def has_notes(self) -> bool:
        """Whether changes are noted that no exchange has seen yet."""
        return self._tree.status(self._owed) is not None

    @contextmanager
    def changing(self, *, patience_s: float, what: str) -> Iterator[MirrorState]:
        """Load the state under its lock; it is saved after the block, even if that fails."""
        lock = self._path.with_suffix(".lock")
        with hold_lock(self._tree, lock, patience_s=patience_s, what=what):
            state = self.load()
            with self._changing_owed() as owed:
                if owed is not None:
                    state.note_owed(owed)
                    self._write(self._path, state)
                    with named_errors(self._owed):
                        delete_file(self._tree, self._owed)
            before = msgspec.json.encode(state)
            try:
                yield state
            finally:
                if msgspec.json.encode(state) != before:
                    self._write(self._path, state)

    def note_owed(self, owed: Mapping[str, bool]) -> None:
        """Keep `owed` for `MirrorState.note_owed`, before the next exchange."""
        with self._changing_owed() as before:
            self._write(self._owed, {**(before or {}), **owed})

    @contextmanager
    def _changing_owed(self) -> Iterator[dict[str, bool] | None]:
        lock = self._path.with_suffix(".owed.lock")
        with hold_lock(self._tree, lock, what=f"{self._owed} is"):
            try:
                owed = _OWED.decode(self._tree.read(self._owed, MAX_STATE_BYTES))
            except _NONE:
                owed = None
            yield owed

    def _write(self, path: Path, value: object) -> None:
        with named_errors(path):
            replace_file(self._tree, path, msgspec.json.encode(value))


@dataclass(slots=True)
class MirrorReport:
    """What one exchange did; paths begin with the name of their folder."""

    given: list[str] = field(default_factory=list)
    taken: list[str] = field(default_factory=list)  # written or removed here
    conflicts: list[TeamFile] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)  # not given or taken, and why
    failure: SidecarError | None = None  # of giving; what others gave was taken all the same
