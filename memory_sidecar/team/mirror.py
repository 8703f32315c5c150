"""Keeps the files of one agent the same on all its machines, by a three-way merge of whole files.

    ours · base (what both had when last in step) · the team's ──▶ keep, give, take or conflict

A file that one side has changed goes to the other. A file that both have changed is a conflict: it
is reported, and both sides keep theirs. An edit wins over a removal. A folder that is missing or
empty removes nothing.

If an exchange is killed, the next one continues: a file written on one side only is then equal on
both. The base is kept in a state file; without it, equal contents become the base again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from memory_sidecar.core.atomic import file_hash, replace_unchanged
from memory_sidecar.core.errors import (
    DatabaseError,
    DatabaseUnreachable,
    DiskFull,
    NoIndex,
    NotFound,
)
from memory_sidecar.core.model import ExchangeRequest
from memory_sidecar.core.results import Reporter
from memory_sidecar.core.sqlite import named_errors
from memory_sidecar.team.link import TeamLink
from memory_sidecar.team.mirror_files import (
    NO_FILE_NAME,
    UNUSABLE_PATH,
    MirroredFolder,
    MirroredFolders,
    reason_not_to_give,
    run_at_once,
)
from memory_sidecar.team.mirror_rows import (
    GONE,
    Content,
    News,
    Offer,
    TeamFile,
    read_contents,
    read_news,
    write_offers,
)
from memory_sidecar.team.mirror_state import (
    UNKNOWN,
    Known,
    MirrorReport,
    MirrorState,
    MirrorStep,
    StateFile,
)
from memory_sidecar.team.schema import look_in_schema, make_schema

OFFERED_BYTES = 8 << 20  # per transaction; the file that exceeds it is the last one


class Mirror:
    """Exchanges the files of `agent` in `folders` with a team. Thread-safe."""

    def __init__(
        self,
        link: TeamLink,
        agent: str,
        folders: Sequence[MirroredFolder],
        *,
        state: Path,
        archive: Callable[[], Path],
        index: Callable[[Sequence[str], Reporter], None],
        shared: Mirror | None,
    ) -> None:
        """`state`: the state file. `archive` names the folder for files replaced or removed now.

        `index` is given what was taken. `shared` mirrors what all share, which tells teams apart.
        """
        self.link = link
        self.agent = agent
        self.folders = MirroredFolders(folders)
        self.state_file = StateFile(folders[0].tree, state)
        self.archive = archive
        self.index = index
        self.shared = shared
        self.unlike: set[tuple[str, str, str]] = set()  # conflicts of texts: path, both hashes

    def exchange(
        self, wanted: ExchangeRequest, reporter: Reporter, *, patience_s: float
    ) -> MirrorReport:
        """Bring both sides in step, after waiting up to `patience_s` for another exchange.

        Raises DatabaseError, StoreBusy and errors of writing files; see `MirrorReport.failure`.
        """
        with self.state_file.changing(patience_s=patience_s, what=f"{self.agent} is") as state:
            made_by = reporter if wanted.gives else None
            state.hear(self._read_news(state, joins=wanted.joins, made_by=made_by))
            if wanted.gives:
                ours = self.folders.scan(state, wanted.changed)
            else:
                ours = self.folders.hashes_of(state.open)
            done = _MirrorPass(self, wanted, ours, state).run()
            if wanted.gives:
                state.note_given(done)
            self.index(done.taken, reporter)  # while questions wait, so that they find it
            return done

    def note_owed(self, changed: Collection[str]) -> None:
        """Note for the next exchange that files at or below `changed` were not given."""
        named = tuple(f"{path}/" for path in changed)
        touched = [path for path in self.state_file.load().files if f"{path}/".startswith(named)]
        there = self.folders.hashes_of(touched)
        self.state_file.note_owed({path: path in there for path in touched})

    def owes(self) -> bool:
        """Whether the team lacks changes that were made here; asks no server."""
        state = self.state_file.load()
        if self.state_file.has_notes or state.removed:
            return True
        if not state.owes:
            ours = self.folders.hashes_of(state.kept)
        else:  # one that only took files owes none
            ours = self.folders.scan(state, ())
            if ours.keys() != state.files.keys():
                return True
        return any(each.hash != state.base(path) for path, each in ours.items())

    def has_news(self) -> bool:
        """Whether there is something to take, if only read by a push. Raises DatabaseError."""
        state = self.state_file.load()
        news = self._read_news(state)
        ours = self.folders.hashes_of(state.open)
        return bool(news.heads) or any(
            state.step(path, ours.get(path)) is MirrorStep.TAKE for path in state.open
        )

    def differing_files(self) -> list[TeamFile]:
        """Return the team's files that differed here after the last exchange; asks no server."""
        return sorted(self.state_file.load().open.values(), key=lambda head: head.path)

    def _read_news(
        self, state: MirrorState, *, joins: bool = False, made_by: Reporter | None = None
    ) -> News:
        """Read the news; unless it `joins`, raise DatabaseRefused for those of another team."""

        def read() -> News:
            since = (state.database, state.seen, state.seen_at_us)
            news = read_news(partial(look_in_schema, self.link), self.agent, *since)
            if not joins and news.database != state.database:
                state.require_same_team(news, self.agent, self.link.shown)
                if self.shared is not None:
                    self.shared.has_news()
            return news

        try:
            return read()
        except NoIndex:
            if made_by is None:
                raise
            make_schema(self.link, made_by)
            return read()


@dataclass(slots=True)
class _MirrorPass:
    """One exchange. Changes `state` with each step, so that it can be killed at any moment."""

    mirror: Mirror
    wanted: ExchangeRequest
    ours: Mapping[str, Known]  # all files here, or those of `state.open` if it only takes
    state: MirrorState
    done: MirrorReport = field(default_factory=MirrorReport)  # by the steps so far

    def run(self) -> MirrorReport:
        steps = self._decide()
        for path in steps[MirrorStep.KEEP]:
            self._note_in_step(path, self._ours(path))
        self._settle_alike(steps)
        self.done.conflicts += [self.state.open[path] for path in steps[MirrorStep.CONFLICT]]
        if self.wanted.gives:
            self._give_all(steps[MirrorStep.GIVE])
        if self.wanted.takes:
            self._take(steps[MirrorStep.TAKE])
        return self.done

    def _decide(self) -> dict[MirrorStep, list[str]]:
        wanted, paths = self.wanted, set(self.state.open)
        if wanted.gives:
            for path in {*self.ours, *self.state.files}:
                if self._ours(path) != self.state.base(path):
                    paths.add(path)
                else:
                    self.state.files[path] = self.ours[path]  # its stamp may have changed
        steps: dict[MirrorStep, list[str]] = {step: [] for step in MirrorStep}
        decided = set()
        for path in sorted(paths):
            step = self.state.step(path, self.ours.get(path))
            if step is MirrorStep.CONFLICT and path in wanted.over:
                step = MirrorStep.GIVE if wanted.gives else MirrorStep.TAKE
                decided.add(path)
            steps[step].append(path)
        if unknown := sorted(set(wanted.over) - decided):
            raise NotFound(
                f"not changed both here and by the team: {unknown[0].partition('/')[2]}",
                hint="`memory-sidecar memory push` names what was",
            )
        return steps

    def _settle_alike(self, steps: dict[MirrorStep, list[str]]) -> None:
        """Take, or give, what two people stored at once: it is no conflict."""
        conflicts = steps[MirrorStep.CONFLICT]
        found = {(path, self._ours(path), self.state.team(path)) for path in conflicts}
        unread = [path for path, *_ in found - self.mirror.unlike]
        alike = {
            path: True
            for folder, contents in self._read(unread)
            for path, (_, text) in contents.items()
            for ours in [self.mirror.folders.read(path)]
            if ours and text and folder.are_alike(ours, text.encode())
        }
        steps[MirrorStep.CONFLICT] = [path for path in conflicts if path not in alike]
        self.mirror.unlike = {each for each in found if each[0] not in alike}
        steps[MirrorStep.TAKE if self.wanted.takes else MirrorStep.GIVE] += alike

    def _ours(self, path: str) -> str:
        return self.ours[path].hash if path in self.ours else ""

    def _note_in_step(self, path: str, its_hash: str) -> None:
        """Make `its_hash` the base of a file that both sides have now; "" if neither has it."""
        self.state.open.pop(path, None)
        before = self.state.files.pop(path, None)
        if its_hash:
            is_ours = its_hash == self._ours(path)
            known = self.ours[path] if is_ours else Known(its_hash, UNKNOWN)
            if before is not None and before.hash == its_hash and known.stamp == UNKNOWN:
                known = before
            self.state.files[path] = known

    # Giving

    def _offers(self, paths: Sequence[str]) -> Iterator[list[Offer]]:
        offers, size = [], 0
        for path in paths:
            content = self._text(path) if path in self.ours else None
            if content is None and path in self.ours:
                continue
            size += len(content or "")
            its_hash = "" if content is None else file_hash(content.encode())
            offers.append(Offer(path, its_hash, content, self.state.team(path)))
            if size > OFFERED_BYTES:
                yield offers
                offers, size = [], 0
        if offers:
            yield offers

    def _text(self, path: str) -> str | None:
        """Return the text of a file; None, with an entry in `left_out`, if it may not be given."""
        data = self.mirror.folders.read(path)
        reason = reason_not_to_give(data, with_secrets=self.wanted.with_secrets)
        if reason:
            self.done.left_out[path] = reason
        return None if reason or data is None else data.decode()

    def _give_all(self, paths: Sequence[str]) -> None:
        try:
            for offers in self._offers(paths):
                self._give(offers)
        except DatabaseUnreachable:
            raise
        except (DatabaseError, DiskFull) as error:  # such as the refusal of a role that only reads
            self.done.failure = error

    def _give(self, offers: Sequence[Offer]) -> None:
        agent, state = self.mirror.agent, self.state
        state.seen, state.seen_at_us, heads = self.mirror.link.write(
            lambda connection: write_offers(connection, agent, offers, state.seen, state.seen_at_us)
        )
        refused = {head.path: head for head in heads}
        for offer in offers:
            if (head := refused.get(offer.path)) is not None:
                state.open[offer.path] = head  # the next exchange decides about it
            else:
                self._note_in_step(offer.path, offer.hash)
                self.done.given.append(offer.path)

    # Taking

    def _take(self, paths: Sequence[str]) -> None:
        for folder, contents in self._read(paths):
            take, ours = partial(self._take_one, folder, contents), self.ours.keys()
            with folder.changing():
                for path in sorted(contents.keys() & ours):  # archiving one may remove a folder
                    take(path)
                run_at_once(take, contents.keys() - ours)
        for path in paths:
            if self.mirror.folders.place_of(path) is None:
                self.done.left_out[path] = NO_FILE_NAME
            if self.done.left_out.get(path) == NO_FILE_NAME:
                self.state.open.pop(path, None)  # until it changes there

    def _read(self, paths: Sequence[str]) -> Iterator[tuple[MirroredFolder, dict[str, Content]]]:
        """Yield what the team has of those of `paths` that are allowed, a few at a time."""
        places = {path: self.mirror.folders.place_of(path) for path in paths}
        for folder in self.mirror.folders:
            left = sorted(path for path, place in places.items() if place and place[0] is folder)
            read = partial(read_contents, agent=self.mirror.agent, most_bytes=folder.max_bytes)
            while left:
                contents = self.mirror.link.read(partial(read, paths=left))
                last = max(contents, default=left[-1])
                done = [path for path in left if path <= last]
                yield folder, {path: contents.get(path, GONE) for path in done}
                left = left[len(done) :]

    def _take_one(self, folder: MirroredFolder, contents: dict[str, Content], path: str) -> None:
        (its_hash, text), file = contents[path], path.partition("/")[2]
        team_hash = self.state.team(path)  # "": removed there
        if its_hash != team_hash:
            return  # changed since it was read; the next exchange takes it
        content = b"" if text is None else text.encode()
        if team_hash and file_hash(content) != team_hash:
            self.done.left_out[path] = "it is too large, or its hash is not that of its content"
            self.state.open.pop(path, None)  # until it changes there
            return
        try:
            there = folder.read(file)
        except OSError:  # do not replace what cannot be read
            return
        if (file_hash(there) if there is not None else "") != self._ours(path):
            return
        is_superseded = bool(team_hash) and self._ours(path) == self.state.base(path)
        must_archive = there is not None and not is_superseded
        if must_archive and not folder.archive(file, self.mirror.archive()):
            return
        if team_hash:
            with named_errors(folder.root / file):
                try:
                    before = None if must_archive else there
                    if not replace_unchanged(folder.tree, folder.root / file, before, content):
                        return  # changed since it was read; the next exchange takes it
                except OSError as error:
                    if error.errno not in UNUSABLE_PATH:
                        raise
                    self.done.left_out[path] = UNUSABLE_PATH[error.errno]
                    return
        self._note_in_step(path, team_hash)
        self.done.taken.append(path)
