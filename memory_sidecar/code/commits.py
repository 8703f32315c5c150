"""Reads the messages and changed paths of a repository's newest commits, in a child process.

libgit2 is given the objects alone, so that no configuration is read and nothing that it names is
run. The most that a hostile repository can do is make the child too large, too slow or crash; it
is killed then. Merges and commits that changed many files have no paths: they say little of each.
"""

from __future__ import annotations

import heapq
import json
import logging
import os
import re
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from memory_sidecar.core.children import FOR_OUR_PYTHON, child_environment, run_child
from memory_sidecar.core.process import limit_addresses, lower_process_priority
from memory_sidecar.disk.repository import Repository

if TYPE_CHECKING:
    import pygit2

MAX_COMMITS = 3000  # the newest
MAX_CHANGED = 100  # files of a commit; the paths of larger ones are left out
MAX_SUBJECT, MAX_BODY = 200, 2000  # characters
MAX_PATH = 1024
_MESSAGE_BYTES = 4 * (MAX_SUBJECT + 2 * MAX_BODY)
MAX_ANSWER = 16 << 20  # characters of all commits together
WORK_S = 5.0  # CPU time of the child: enough for 3,000 commits of most repositories
WALL_S = 20.0  # wall time of the child, which gets little CPU time on a busy machine
PATIENCE_S = 30.0  # wall time, after which the child is killed
MEMORY_BYTES = 2 << 30

_TRAILER = re.compile(r"(?im)^(?:[a-z][\w-]*-by|git-svn-id|change-id|cc)\s*:.*$")

_TREE = re.compile(rb"tree ([0-9a-f]{40})$", re.MULTILINE)
_PARENT = re.compile(rb"^parent ([0-9a-f]{40})$", re.MULTILINE)
_TIME = re.compile(rb"^committer .*> ?(\d{1,18})", re.MULTILINE)
_ENCODING = re.compile(rb"^encoding (.+)$", re.MULTILINE)

_log = logging.getLogger(__name__)

Commit = dict[str, Any]
"""`sha`, `subject`, `body`, `changed` (how many files), `paths` (relative to the source)."""


@dataclass(frozen=True, slots=True)
class Read:
    """The commits of a repository that were read."""

    newest: Sequence[str]  # ids of the newest commits, without those for which there was no time
    unknown: Sequence[Commit]  # those of them that were not `known`
    is_complete: bool  # whether there was time for all
    has_failed: bool = False  # nothing was read, and trying again at once would hardly help
    lacks_head: bool = False  # it has failed because the head is not among the objects


NONE_READ: Final = Read((), (), is_complete=True)


def read_commits(repository: Repository, known: Collection[str]) -> Read | None:
    """Read the newest commits of `repository` whose ids are not in `known`.

    Returns only the `known` ones if that fails or takes too long; `None` if no process can be
    started.
    """
    asked = json.dumps(
        {
            "objects": str(repository.objects),
            "head": repository.head,
            "inside": repository.inside,
            "known": sorted(known),
        }
    )
    try:
        done = run_child(
            [sys.executable, "-P", "-X", "utf8", "-m", __name__],
            environ=child_environment(os.environ, FOR_OUR_PYTHON),
            text=asked.encode(),
            timeout_s=PATIENCE_S,
        )
        if done.returncode == 0 and (found := Read(**json.loads(done.stdout))).newest:
            return found
        lacks_head = done.returncode == 0
        said = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        why = "the newest is not there" if lacks_head else said or f"exit {done.returncode}"
    except OSError as error:
        _log.info("%s: commits are read another time: %s", repository.objects, error)
        return None
    except (subprocess.TimeoutExpired, ValueError) as error:
        lacks_head, why = False, str(error)
    _log.info("%s: no new commits: %s", repository.objects, why)
    return Read(sorted(known), (), is_complete=False, has_failed=True, lacks_head=lacks_head)


def main() -> None:
    """Run as the child process: the request on stdin, the response on stdout, as JSON."""
    until_s = time.monotonic() + WALL_S
    lower_process_priority()
    limit_addresses(MEMORY_BYTES)
    asked = json.load(sys.stdin)
    repository = _open_objects(asked["objects"])
    known, prefix = set(asked["known"]), f"{asked['inside']}/" if asked["inside"] else ""
    newest: list[str] = []
    unknown: list[Commit] = []
    is_complete, written = True, 0
    for commit in _newest_commits(repository, asked["head"]):
        if commit.sha not in known:
            if written > MAX_ANSWER:
                break
            if time.process_time() > WORK_S or time.monotonic() > until_s:
                is_complete = False
                continue
            described = _describe(repository, commit, prefix)
            written += len(described["body"]) + sum(map(len, described["paths"]))
            unknown.append(described)
        newest.append(commit.sha)
    json.dump({"newest": newest, "unknown": unknown, "is_complete": is_complete}, sys.stdout)


def _open_objects(folder: str) -> pygit2.Repository:
    import pygit2

    pygit2.settings.mwindow_size = 32 << 20
    pygit2.settings.mwindow_mapped_limit = 512 << 20
    objects = pygit2.Odb()  # opened by its path, it would follow the alternates that a clone names
    objects.add_backend(pygit2.OdbBackendPack(folder), 2)
    objects.add_backend(pygit2.OdbBackendLoose(folder, -1, False), 1)
    repository = pygit2.Repository()
    repository.set_odb(objects)
    return repository


@dataclass(frozen=True, slots=True)
class _Stored:
    """The parts of a stored commit that are needed."""

    sha: str
    tree: str
    parents: Sequence[str]
    time_s: int  # 0 if the commit has no valid one
    message: str


def _newest_commits(repository: pygit2.Repository, head: str) -> Iterator[_Stored]:
    """Yield at most MAX_COMMITS commits, newest first, each after one of its children.

    Missing commits, as below a shallow clone, are skipped.
    """
    heap: list[tuple[int, str]] = []
    seen: set[str] = set()

    def add(sha: str) -> None:
        commit = None if sha in seen else _commit(repository, sha)
        if commit is not None:
            seen.add(sha)
            heapq.heappush(heap, (-commit.time_s, sha))

    add(head)
    for _ in range(MAX_COMMITS):
        if not heap:
            return
        commit = _commit(repository, heapq.heappop(heap)[1])
        if commit is not None:
            yield commit
            for parent in commit.parents:
                add(parent)


@lru_cache(maxsize=1000)  # a commit is read as a parent, as the next one, and for a child's diff
def _commit(repository: pygit2.Repository, sha: str) -> _Stored | None:
    """Return a commit; `None` if it cannot be read.

    libgit2's own parser refuses an author without an address, and a time beyond 2⁶³, both of which
    git reads: all commits before such a commit would be missing, too.
    """
    import pygit2

    try:
        kind, content = repository.read(sha)
    except (pygit2.GitError, ValueError, KeyError):
        return None
    head, _, message = content.partition(b"\n\n")
    tree = _TREE.match(head)
    if kind != pygit2.enums.ObjectType.COMMIT or tree is None:
        return None
    time_s, encoding = _TIME.search(head), _ENCODING.search(head)
    return _Stored(
        sha,
        tree[1].decode(),
        [parent.decode() for parent in _PARENT.findall(head)],
        int(time_s[1]) if time_s else 0,
        _decode(message[:_MESSAGE_BYTES], encoding[1].decode("latin-1") if encoding else "utf-8"),
    )


def _decode(message: bytes, encoding: str) -> str:
    try:
        return message.decode(encoding, "replace")
    except (LookupError, ValueError):  # it names an encoding that Python does not know
        return message.decode("utf-8", "replace")


def _describe(repository: pygit2.Repository, commit: _Stored, prefix: str) -> Commit:
    import pygit2

    subject, _, body = commit.message.strip().partition("\n")
    described: Commit = {
        "sha": commit.sha,
        "subject": subject.strip()[:MAX_SUBJECT],
        "body": _TRAILER.sub("", body[: 2 * MAX_BODY]).strip()[:MAX_BODY],
        "changed": 0,
        "paths": [],
    }
    try:
        diff = _changes(repository, commit)
    except (pygit2.GitError, ValueError, KeyError):
        return described
    if diff is None or not 0 < len(diff) <= MAX_CHANGED:
        return described
    described["changed"] = len(diff)
    paths = (delta.new_file.raw_path.decode("utf-8", "replace") for delta in diff.deltas)
    described["paths"] = sorted(
        {path[len(prefix) :] for path in paths if path.startswith(prefix) and len(path) <= MAX_PATH}
    )
    return described


def _changes(repository: pygit2.Repository, commit: _Stored) -> pygit2.Diff | None:
    """Return the diff of a commit to its parent; `None` for a merge or a missing parent."""
    if not commit.parents:
        return _tree(repository, commit).diff_to_tree(swap=True, context_lines=0)
    parent = _commit(repository, commit.parents[0])
    if parent is None or len(commit.parents) > 1:
        return None
    return _tree(repository, parent).diff_to_tree(_tree(repository, commit), context_lines=0)


def _tree(repository: pygit2.Repository, commit: _Stored) -> pygit2.Tree:
    """Raises KeyError or ValueError if it is not there, or is no tree."""
    import pygit2

    return repository[commit.tree].peel(pygit2.Tree)


if __name__ == "__main__":
    main()
