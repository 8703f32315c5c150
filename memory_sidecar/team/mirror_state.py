"""The parts of an exchange with a team: the decision, the folders, the state file, the report."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from enum import Enum, auto
from errno import EILSEQ, EINVAL, ENAMETOOLONG, ENOTDIR
from pathlib import Path

import msgspec

from memory_sidecar.core.atomic import (
    delete_file,
    file_hash,
    move_file,
    remove_empty_folders,
    replace_file,
)
from memory_sidecar.core.credentials import find_credentials
from memory_sidecar.core.errors import DatabaseRefused, SidecarError
from memory_sidecar.core.locks import hold_lock
from memory_sidecar.core.model import Scan, Stamp
from memory_sidecar.core.opening import FileRefused, Tree
from memory_sidecar.core.results import pluralize
from memory_sidecar.core.sqlite import named_errors
from memory_sidecar.core.times import parse_time
from memory_sidecar.team.mirror_rows import News, TeamFile

NO_FILE_NAME = "its name cannot be a file name on this machine"
UNUSABLE_PATH = dict.fromkeys((ENAMETOOLONG, EINVAL, EILSEQ), NO_FILE_NAME) | {
    ENOTDIR: "there is a file in the place of its folder"
}
"""Why another machine's file cannot be written here, by the error that the system gives."""
MAX_STATE_BYTES = 256 << 20
WRITERS = 4  # files that are written at once
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


@dataclass(frozen=True, slots=True)
class MirroredFolder:
    """A folder whose files are exchanged, under the paths `<name>/<path in it>`."""

    name: str
    root: Path
    tree: Tree  # of our own files, which holds `root`
    max_bytes: int
    scan: Callable[[Collection[str] | None], Scan]  # below the given paths, or everything for None
    changing: Callable[[], AbstractContextManager[None]]  # locks out other writers of ours
    is_path: Callable[[str], bool]  # whether a file in it may have this path
    are_alike: Callable[[bytes, bytes], bool]  # whether two contents differ in nothing but times

    def read(self, path: str) -> bytes | None:
        """Read a file; `None` if it is missing. Raises FileRefused for what is no regular file."""
        try:
            return self.tree.read(self.root / path, self.max_bytes)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def archive(self, path: str, batch: Path) -> bool:
        """Move a file into the archive folder `batch`; call it within `changing`."""
        file = self.root / path
        with named_errors(file):
            is_moved = move_file(self.tree, file, self.tree, batch / self.name / path)
            remove_empty_folders(self.tree, file, keep=self.root)
        return is_moved


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


def local_files(
    folders: Iterable[MirroredFolder], state: MirrorState, changed: Collection[str]
) -> dict[str, Known]:
    """Return all local files by path; those that cannot be read are as known before.

    Compares only files that commands changed or removed; all if none did or the team is owed.
    """
    named = tuple(f"{path}/" for path in {*changed, *state.removed})
    compares_all = state.owes or not named
    found: dict[str, Known] = {}
    for folder in folders:
        start = f"{folder.name}/"
        known = {path: each for path, each in state.files.items() if path.startswith(start)}
        others = {p: each for p, each in known.items() if not f"{p}/".startswith(named)}
        under = None
        if not compares_all:
            found |= others
            under = [path.removeprefix(start) for path in changed if path.startswith(start)]
            if not under:
                continue
        scan = folder.scan(under)
        if scan.unreadable or not scan.files:  # an empty folder may be an unmounted disk
            found |= others
        for file in scan.files:
            path = start + file.path
            before = known.get(path)
            is_same = bool(file.skip_reason) or (before and before.stamp == file.stamp)
            content = None if is_same else read_or_none(folder, file.path)
            if content is not None:
                found[path] = Known(file_hash(content), file.stamp)
            elif before is not None:  # unreadable, but not removed
                found[path] = before
    return found


def hash_files(folders: Mapping[str, MirroredFolder], paths: Collection[str]) -> dict[str, Known]:
    """Return those of `paths` that are readable here, with their hash."""
    found = {}
    for path in paths:
        place = place_of(folders, path)
        if place is not None and (content := read_or_none(*place)) is not None:
            found[path] = Known(file_hash(content), UNKNOWN)
    return found


def place_of(folders: Mapping[str, MirroredFolder], path: str) -> tuple[MirroredFolder, str] | None:
    """Return the folder of a file and its path in it; `None` for a path that is not allowed."""
    name, _, rest = path.partition("/")
    folder = folders.get(name)
    return (folder, rest) if folder is not None and folder.is_path(rest) else None


def run_at_once(work: Callable[[str], None], paths: Collection[str]) -> None:
    """Run `work`, which waits for the disk, on each of `paths`; raises the first error.

    Syncing four files at once takes a sixth of the time: the file system syncs them together.
    """
    with ThreadPoolExecutor(WRITERS) as pool:
        for _ in pool.map(work, paths):
            pass


def read_or_none(folder: MirroredFolder, path: str) -> bytes | None:
    """Read a file; `None` if it is missing or unreadable."""
    try:
        return folder.read(path)
    except OSError:
        return None


def reason_not_to_give(data: bytes | None, *, with_secrets: bool) -> str:
    """Return why a file with this content (None: unreadable) is not given; "" if it may be."""
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
