"""Commits access logs to the git repository around them, and nothing else that may be staged.

By libgit2, which runs no program that a repository or its configuration names: no hook, filter,
monitor of files or signature.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from memory_sidecar.core.errors import SidecarError

if TYPE_CHECKING:
    from pygit2 import IndexEntry, Repository, Signature

MESSAGE = "chore: update access log"


def commit_logs(root: Path, logs: Sequence[Path], environ: Mapping[str, str]) -> bool:
    """Whether there was something to commit, by whom `environ` says, else git's configuration.

    Raises SidecarError with what keeps it from that.
    """
    import pygit2

    try:
        repository = _around(root.resolve())
        if repository.state() != pygit2.enums.RepositoryState.NONE:
            raise _refusal("a merge or a rebase is under way")
        entries = [_entry(repository, log.resolve()) for log in logs]
        return _commit(repository, entries, environ)
    except (pygit2.GitError, OSError, KeyError, ValueError) as error:
        raise _refusal(str(error)) from error


def _around(root: Path) -> Repository:
    """The repository of the nearest folder above with a `.git`, which no clone can bring along.

    Other folders that git takes for a repository can be brought along, and are no concern of ours.
    """
    import pygit2

    for folder in (root, *root.parents):
        if (folder / ".git").exists():
            no_search = pygit2.enums.RepositoryOpenFlag.NO_SEARCH
            repository = pygit2.Repository(str(folder), no_search)
            if repository.workdir and Path(repository.workdir).resolve() == folder:
                return repository
            raise _refusal(f"{folder} is not the working tree of its repository")
    raise _refusal(f"{root} is in no repository")


def _entry(repository: Repository, log: Path) -> IndexEntry:
    import pygit2

    path = log.relative_to(Path(repository.workdir).resolve()).as_posix()
    if repository.path_is_ignored(path):
        raise _refusal(f"{path} is ignored")
    blob = repository.create_blob(log.read_bytes())
    return pygit2.IndexEntry(path, blob, pygit2.enums.FileMode.BLOB)


def _commit(
    repository: Repository, entries: Sequence[IndexEntry], environ: Mapping[str, str]
) -> bool:
    import pygit2

    parents = [] if repository.head_is_unborn else [repository.head.target]
    before = repository.head.peel(pygit2.Tree) if parents else None
    committed = pygit2.Index()
    if before is not None:
        committed.read_tree(before)
    for entry in entries:
        committed.add(entry)
    tree = committed.write_tree(repository)
    if before is not None and tree == before.id:
        return False
    author, committer = (_who(repository, role, environ) for role in ("AUTHOR", "COMMITTER"))
    repository.create_commit("HEAD", author, committer, MESSAGE, tree, parents)
    for entry in entries:
        repository.index.add(entry)
    repository.index.write()
    return True


def _who(repository: Repository, role: str, environ: Mapping[str, str]) -> Signature:
    """As git finds it: the variables of `role` go before the configuration, each for itself."""
    import pygit2

    name, email = (environ.get(f"GIT_{role}_{part}") for part in ("NAME", "EMAIL"))
    if name and email:
        return pygit2.Signature(name, email)
    configured = repository.default_signature
    return pygit2.Signature(name or configured.name, email or configured.email)


def _refusal(why: str) -> SidecarError:
    return SidecarError(
        f"git could not commit the access log: {why}", hint="the log itself is written"
    )
