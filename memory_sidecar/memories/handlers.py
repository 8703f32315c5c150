"""Changes an agent's memories: writes the file first, then the database, and then answers.

A stored memory can be found, by word and by meaning, when the call returns. After a kill in
between, the file is there, and the next scan of the directory indexes it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial

from memory_sidecar.core.credentials import refuse_credentials
from memory_sidecar.core.errors import NotFound, UsageError
from memory_sidecar.core.groups import by_key
from memory_sidecar.core.results import Reporter, build_from, rounded
from memory_sidecar.core.times import iso_utc
from memory_sidecar.index.agent_database import AgentDatabase
from memory_sidecar.memories import categories
from memory_sidecar.memories.archive import Archive, PruneRule, prune_candidates
from memory_sidecar.memories.around import Near, near_readable
from memory_sidecar.memories.directory import KnowledgeDirectory, MemoryFile
from memory_sidecar.memories.draft import Changes, Draft
from memory_sidecar.memories.files import category_of, memory_id, normalised_content, tags_by_key
from memory_sidecar.memories.lookup import files_linking_to, files_missed, files_with_content
from memory_sidecar.memories.model import (
    OWN_DIRECTORY,
    MemoryFilter,
    MemoryList,
    StoredMemory,
    address,
    parse_address,
)
from memory_sidecar.memories.move import move as move_file
from memory_sidecar.memories.move import share
from memory_sidecar.memories.names import check_known_category, is_category_page
from memory_sidecar.memories.reads import note_move
from memory_sidecar.memories.recall import Recall
from memory_sidecar.memories.results import (
    Archived,
    CategoryDeleted,
    Described,
    Moved,
    PruneCandidate,
    Pruned,
    Remembered,
    Removed,
    Restored,
)
from memory_sidecar.memories.write import Written, delete, store, update


class Memories(Recall):
    """Reads and changes the memories of one agent, for one call."""

    def __init__(self, agent: AgentDatabase, reporter: Reporter) -> None:
        super().__init__(agent, reporter)
        self._archive = Archive(agent.paths.archive, agent.paths.tree)

    # One memory

    def store(
        self, draft: Draft, *, directory: str = OWN_DIRECTORY, allow_secrets: bool = False
    ) -> Remembered:
        """Store `draft`, or add it to the memory of its category that has the same content.

        Raises SecretRefused, and NotFound for a superseded memory or for `directory`.
        """
        if not allow_secrets:
            refuse_credentials(draft)
        draft = replace(draft, supersedes=self._superseded_files(directory, draft))
        content = normalised_content(draft.content)
        same = self._look_up(files_with_content, directory, content)
        written = store(
            self._directory(directory),
            draft,
            now_ms=self._agent.clock(),
            same_content=same,
            reserved=self._look_up(files_missed, directory),
            linking=[
                each for file in same for each in self._look_up(files_linking_to, directory, file)
            ],
        )
        return self._index_and_report(directory, written)

    def update(
        self, path: str, changes: Changes, *, if_hash: str = "", allow_secrets: bool = False
    ) -> Remembered:
        """Change the memory at `path`. Raises NotFound, Conflict, SecretRefused."""
        if not allow_secrets:
            refuse_credentials(asdict(changes) | {"remove_tags": ()})
        directory, file = self._resolve(path)
        changes = replace(changes, supersedes=self._superseded_files(directory.name, changes))
        written = update(directory, file.path, changes, now_ms=self._agent.clock(), if_hash=if_hash)
        return self._index_and_report(
            directory.name, written, finds_near=changes.content is not None
        )

    def remove(self, path: str, *, if_hash: str = "", for_good: bool = False) -> Removed:
        """Move the memory at `path` to the archive, or delete it `for_good`.

        Raises NotFound and Conflict.
        """
        directory, file = self._resolve(path)
        linking = self._look_up(files_linking_to, directory.name, file.path) if for_good else []
        with directory.changing():
            gone, batch = directory.read(file.path, if_hash=if_hash).path, None
            if for_good:
                changed = delete(directory, gone, linking)
            else:
                batch = self._archive.take(directory, gone, now_ms=self._agent.clock()).batch
                changed = [gone]
        self._index(directory.name, changed)
        return Removed(self._agent.name, address(directory.name, gone), removed=True, batch=batch)

    def move(self, path: str, to: str, *, allow_secrets: bool = False) -> Moved:
        """Rename the memory at `path`, or move it to the category `to`.

        `to` is a category where one of that name exists, or where it ends in `/`. The memory keeps
        its count of reads, and memories that link to it are changed to name its new path. Raises
        NotFound, Conflict and SecretRefused.
        """
        target, name = parse_address(to)
        check_known_category(name)  # a path out of the root is refused before NotFound is raised
        directory, file = self._resolve(path)
        if target != directory.name and ":" in to:
            raise UsageError(
                "a memory cannot be moved to another knowledge directory",
                hint="store it there, or `memory-sidecar share` it with all agents",
            )
        moved = move_file(
            directory,
            file.path,
            name,
            note=partial(note_move, self._agent, self._reporter, directory.name),
            linking=self._look_up(files_linking_to, directory.name, file.path),
            reserved=self._look_up(files_missed, directory.name, file.path),
            allow_secrets=allow_secrets,
        )
        own = (file.path, moved.file.path)
        further = [each for each in moved.changed if each not in own]
        old, _, *relinked = (address(directory.name, each) for each in (*own, *further))
        remembered = self._index_and_report(directory.name, moved, finds_near=False)
        return build_from(Moved, remembered, moved_from=old, relinked=tuple(relinked))

    def share(
        self,
        path: str,
        *,
        category: str | None = None,
        moves: bool = False,
        allow_secrets: bool = False,
    ) -> Remembered:
        """Copy the memory at `path` to the shared agent's; with `moves`, archive the original.

        Raises NotFound, SecretRefused, and Conflict where another shared memory has its name.
        """
        if self._agent.shared is None:
            raise UsageError("this is shared already", hint="name the agent it belongs to")
        _, file = self._resolve(path)
        there = Memories(self._agent.shared, self._reporter)
        written = share(
            file,
            there._directory(OWN_DIRECTORY),
            agent=self._agent.name,
            now_ms=self._agent.clock(),
            category=category,
            reserved=there._look_up(files_missed, OWN_DIRECTORY),
            allow_secrets=allow_secrets,
        )
        remembered = there._index_and_report(OWN_DIRECTORY, written)
        if there.peek(remembered.path).superseded:
            self._reporter.notice(f"{remembered.path} is superseded there: no search finds it")
        if moves:
            self.remove(path, if_hash=file.hash)  # a change since the copy must not be lost
        return remembered

    # Many

    def archive(self, seen: Mapping[str, str]) -> list[Archived]:
        """Archive, as one batch, the memories that still have the hash in `seen`, by path."""
        found = self._ask(
            lambda readable, _: [each.rows.find(path) for each in readable for path in seen],
            with_shared=False,
        )
        same = [each for each in found if each and seen.get(each.memory.path) == each.memory.hash]
        return self._archive_memories(same)

    def prune(self, rule: PruneRule, *, dry_run: bool) -> Pruned:
        """Archive the memories that `rule` applies to; a dry run only reports them."""
        wanted = MemoryFilter(category=rule.category, with_expired=True, with_superseded=True)
        listed = self._list_stored(MemoryList(filter=wanted))
        known = [each for each in listed if not each.memory.kind]
        chosen = prune_candidates(known, rule)
        taken = [] if dry_run else self._archive_memories([each for each, _ in chosen])
        gone = {(each.directory, each.path) for each in taken}
        return Pruned(
            agent=self._agent.name,
            dry_run=dry_run,
            memories=tuple(
                build_from(PruneCandidate, m.memory, reason=reason, strength=rounded(m.strength))
                for m, reason in chosen
                if dry_run or (m.directory, m.file) in gone
            ),
            archived=len(taken),
            batch=taken[0].batch if taken else None,
        )

    def _archive_memories(self, chosen: Sequence[StoredMemory]) -> list[Archived]:
        by_directory: dict[str, list[StoredMemory]] = {OWN_DIRECTORY: []}
        # Superseded ones go first: after a kill, one without its successor would be current again.
        for each in sorted(chosen, key=lambda m: (not m.memory.superseded, m.memory.created_at)):
            by_directory.setdefault(each.directory, []).append(each)
        now = self._agent.clock()
        taken: list[Archived] = []
        for name, those in by_directory.items():
            directory = self._directory(name)
            if not directory.root.is_dir():
                self._reporter.notice(f"{directory.root} is not there: left alone")
                continue
            seen = [(each.file, each.memory.hash) for each in those]
            archived = self._archive.take_unchanged(directory, seen, now_ms=now)
            self._index(name, [each.path for each in archived])
            taken += archived
        return taken

    def list_archive(self) -> list[Archived]:
        """List what can be restored, the latest batch first."""
        return self._archive.all()

    def restore(self, paths: Sequence[str], *, batch: str = "") -> Restored:
        """Put back the latest archived version of each of `paths`, or else all of `batch`.

        With both, the versions in that batch. The page of a category that was removed with them
        comes back, too, unless it was described anew. Raises NotFound, and Conflict where another
        text is in the place of a memory.
        """
        archive, named = self._archive, map(parse_address, paths)
        held = archive.latest(named, batch=batch) if paths else archive.batch(batch)
        wanted = [
            each
            for each in archive.with_categories(held)
            if not is_category_page(each.path)
            or archive.is_free(self._directory(each.directory), each)
        ] or held
        by_directory = by_key((each.directory, each) for each in dict.fromkeys(wanted))
        restored: list[str] = []
        for name, those in by_directory.items():
            files = self._archive.give_back(self._directory(name), those)
            self._index(name, files)
            restored += [address(name, file) for file in files]
        return Restored(self._agent.name, tuple(restored))

    # Categories, in the agent's own files

    def describe_category(
        self, category: str, description: str, *, creates: bool, allow_secrets: bool = False
    ) -> Described:
        """Describe or create a category, as `categories` does and raises. Raises SecretRefused."""
        if not allow_secrets:
            refuse_credentials({"category": category, "description": description})
        change = categories.create if creates else categories.describe
        now = self._agent.clock()
        described, page = change(self._directory(OWN_DIRECTORY), category, description, now_ms=now)
        self._index(OWN_DIRECTORY, [page])
        return described

    def delete_category(self, category: str, *, with_memories: bool) -> CategoryDeleted:
        """Archive a category, and its memories if `with_memories`: see `categories.delete`."""
        taken, folder = categories.delete(
            self._directory(OWN_DIRECTORY),
            self._archive,
            category,
            with_memories=with_memories,
            now_ms=self._agent.clock(),
        )
        self._index(OWN_DIRECTORY, [folder])
        memories = sum(not is_category_page(each.path) for each in taken)
        return CategoryDeleted(folder, memories, taken[0].batch if taken else None)

    # Steps

    def _resolve(self, path: str) -> tuple[KnowledgeDirectory, MemoryFile]:
        """Read the file of the memory that `path` names, in full or in short; and its directory.

        Raises NotFound. Called before the lock is taken, which makes the folders of an agent.
        """
        try:
            return self._read_file(path)
        except NotFound:
            return self._read_file(self._complete_path(path))

    def _read_file(self, path: str) -> tuple[KnowledgeDirectory, MemoryFile]:
        name, file = parse_address(path)
        directory = self._directory(name)
        return directory, directory.read(file)

    def _superseded_files(self, directory: str, newer: Draft | Changes) -> tuple[str, ...]:
        """Resolve what `newer` supersedes to files of `directory`. Raises NotFound, UsageError."""
        files = (each.removeprefix(f"{directory}:") for each in newer.supersedes)
        found = [self._resolve(address(directory, each)) for each in files]
        for there, file in found:
            if there.name != directory:
                raise UsageError(
                    f"{address(there.name, file.path)} is in another knowledge directory",
                    hint="a memory supersedes those of its own directory alone",
                )
        return tuple(file.path for _, file in found)

    def _index(self, directory: str, files: Collection[str]) -> None:
        """Index `files` of `directory`, which were just written, moved or removed."""
        if files:
            self._agent.index_written(files, reporter=self._reporter, directory=directory)

    def _index_and_report(
        self, directory: str, written: Written, *, finds_near: bool = True
    ) -> Remembered:
        """Index the changed files, and return what the caller is told of the memory."""
        self._index(directory, written.changed)
        file, page = written.file, written.file.page
        path = address(directory, file.path)
        owner = self._agent.name if directory == OWN_DIRECTORY else directory
        if page.is_expired(self._agent.clock()):
            self._reporter.notice(f"{path} has expired already: no search finds it")
        anew = finds_near and written.changed
        near = near_readable(self._agent, path, page.project, self._reporter) if anew else Near()
        return build_from(
            Remembered,
            page,
            id=memory_id(owner, file.path),
            agent=self._agent.name,
            category=category_of(file.path),
            path=path,
            created=written.is_new,
            changed=bool(written.changed),
            hash=file.hash,
            tags=tags_by_key(page.tags),
            tag_list=page.tags,
            created_at=iso_utc(page.created_at),
            updated_at=iso_utc(page.updated_at),
            expires_at=None if page.expires_at is None else iso_utc(page.expires_at),
            near_duplicates=near.duplicates,
            may_contradict=near.contradicted,
        )

    def _look_up(self, ask: Callable[..., list[str]], *given: str) -> list[str]:
        """Ask the database, with `given`; an agent that has stored nothing has no answers."""
        if not self._agent.exists:
            return []
        return self._agent.answer(lambda _, connection: ask(connection, *given), self._reporter)
