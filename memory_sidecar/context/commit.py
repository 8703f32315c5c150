"""Commits access logs, and nothing else that may be staged, to the git repository around them.

Uses libgit2, which runs no program that a repository or its configuration names: no hook, filter,
file monitor or signing.
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
    """Commit `logs`, files in `root`; return whether there was anything to commit.

    The author is the one in `environ`, else in git's configuration. Raises SidecarError.
    """
    import pygit2

    try:
        repository = _find_repository(root.resolve())
        if repository.state() != pygit2.enums.RepositoryState.NONE:
            raise _refusal("a merge or a rebase is under way")
        entries = [_entry(repository, log.resolve()) for log in logs]
        return _commit(repository, entries, environ)
    except (pygit2.GitError, OSError, KeyError, ValueError) as error:
        raise _refusal(str(error)) from error


def _find_repository(root: Path) -> Repository:
    """Open the repository of the nearest folder, upwards from `root`, that holds a `.git`.

    A clone cannot bring a `.git` along, but it can bring other folders that git takes for a
    repository, which are therefore ignored.
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
    author, committer = (_signature(repository, role, environ) for role in ("AUTHOR", "COMMITTER"))
    # The index first: if it were locked after the commit, the next commit would revert the log.
    for entry in entries:
        repository.index.add(entry)
    repository.index.write()
    repository.create_commit("HEAD", author, committer, MESSAGE, tree, parents)
    return True


def _signature(repository: Repository, role: str, environ: Mapping[str, str]) -> Signature:
    """Make the signature as git does: each variable of `role` overrides the configuration."""
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
