"""What an exchange with a team is made of: folders of files, and what is remembered of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path

import msgspec

from memory_sidecar.core.atomic import move_file, remove_empty_folders
from memory_sidecar.core.credentials import find_credentials
from memory_sidecar.core.model import Scan, Stamp
from memory_sidecar.core.opening import Tree
from memory_sidecar.core.sqlite import named_errors
from memory_sidecar.team.mirror_rows import TeamFile


class MirrorStep(Enum):
    """What is to be done about a file."""

    KEEP = auto()  # both have the same
    GIVE = auto()
    TAKE = auto()
    CONFLICT = auto()


def step_for(ours: str, base: str, team: str) -> MirrorStep:
    """What follows from a file's hashes: ours, when last in step, the team's; "" is no file."""
    if ours == team:
        return MirrorStep.KEEP
    if team == base or not team:
        return MirrorStep.GIVE if ours != base else MirrorStep.TAKE
    return MirrorStep.TAKE if ours in (base, "") else MirrorStep.CONFLICT


@dataclass(frozen=True, slots=True)
class MirroredFolder:
    """A folder of files that go to the team, as `<name>/<path in it>`."""

    name: str
    root: Path
    tree: Tree  # of our own, in which it lies
    max_bytes: int
    scan: Callable[[Collection[str] | None], Scan]  # of what is below some paths, or of all
    changing: Callable[[], AbstractContextManager[None]]  # keeps our own writers out
    is_path: Callable[[str], bool]  # whether a file of it may be called so

    def read(self, path: str) -> bytes | None:
        """`None` where nothing is. Raises FileRefused for what is no regular file."""
        try:
            return self.tree.read(self.root / path, self.max_bytes)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def put_away(self, path: str, batch: Path) -> bool:
        """Move a file to the archive, for a caller who has the folder `changing`."""
        file = self.root / path
        with named_errors(file):
            is_moved = move_file(self.tree, file, self.tree, batch / self.name / path)
            remove_empty_folders(self.tree, file, keep=self.root)
        return is_moved


UNKNOWN: Stamp = (0, 0, 0)
"""Of a file whose content was read at another time."""


class Known(msgspec.Struct, array_like=True):
    """A file when it was last in step with the team."""

    hash: str
    stamp: Stamp  # while that stays, so does the hash


class MirrorState(msgspec.Struct):
    """What is remembered between two exchanges."""

    database: str = ""
    seen: int = 0
    seen_at_us: int = 0  # when, by the server's clock: what it numbers up to `seen` is older
    owes: bool = False  # whether the team was not given something that a command has changed
    removed: set[str] = set()  # of `files`, what a command has removed and the team still has
    files: dict[str, Known] = {}
    open: dict[str, TeamFile] = {}  # what the team has, where that is neither ours nor the base

    def reset(self, database: str) -> None:
        """For another database than the one this is about."""
        self.database, self.seen, self.owes, self.files, self.open = database, 0, True, {}, {}
        self.seen_at_us, self.removed = 0, set()

    def forget_all_but(self, paths: Iterable[str]) -> None:
        """A server restored from an older copy has only these: the others are given again."""
        lost = self.files.keys() - set(paths)
        self.files = {path: known for path, known in self.files.items() if path not in lost}
        self.owes |= bool(lost)

    def owe(self, changed: Collection[str], *, there: Collection[str]) -> None:
        """Remember that `changed` was not given; what of it is not `there` was removed."""
        self.owes, self.removed = True, (self.removed | set(changed)) - set(there)

    def settle(self) -> None:
        """Everything was given."""
        self.owes, self.removed = False, set()


STATE = msgspec.json.Decoder(MirrorState)
"""Made once: two threads must not make the first one (`core/results.py`)."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file that is not given to the team."""

    path: str
    reason: str


@dataclass(slots=True)
class MirrorReport:
    """What one exchange did, by paths with their folder's name."""

    given: list[str] = field(default_factory=list)
    taken: list[str] = field(default_factory=list)  # written or removed here
    conflicts: list[TeamFile] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)


def readable(folder: MirroredFolder, path: str) -> bytes | None:
    """`None` also for what cannot be read: that is neither given nor replaced."""
    try:
        return folder.read(path)
    except OSError:
        return None


def why_kept_back(data: bytes | None, *, with_secrets: bool) -> str:
    """Why a file that says `data`, `None` for an unreadable one, is not given; "" if it may be."""
    if data is None:
        return "its name or its kind cannot be shared with other machines"
    if b"\0" in data:
        return "binary"
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return "not UTF-8"
    if not with_secrets and (found := find_credentials(text)):
        return f"it seems to contain a secret ({found[0].kind}); --allow-secrets sends it anyway"
    return ""
