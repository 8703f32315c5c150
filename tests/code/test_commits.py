"""Reading commits: which, what of them, and within which bounds."""

from __future__ import annotations

import hashlib
import shutil
import sys
import zlib
from dataclasses import dataclass, field
from pathlib import Path

import pygit2
import pytest

from memory_sidecar.code import commits
from memory_sidecar.code.commits import read_commits
from memory_sidecar.disk.repository import repository_around


@dataclass
class Repository:
    """A repository in a folder, whose commits are a minute apart."""

    root: Path
    time: int = 1_700_000_000
    made: pygit2.Repository = field(init=False)

    def __post_init__(self) -> None:
        self.made = pygit2.init_repository(str(self.root), initial_head="main")

    def commit(self, message: str, *paths: str, parents: list[str] | None = None) -> str:
        """With those files as they are, changed by a line each if they are there."""
        for path in paths:
            file = self.root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("a") as lines:
                lines.write(f"\n# {message.splitlines()[0]}\n")
            self.made.index.add(path)
        self.time += 60
        who = pygit2.Signature("t", "t@example.org", self.time)
        if parents is None:
            parents = [] if self.made.head_is_unborn else [str(self.made.head.target)]
        tree = self.made.index.write_tree()
        return str(self.made.create_commit("HEAD", who, who, message, tree, parents))

    def go_back(self) -> None:
        """To the commit before."""
        parent = self.made.head.peel(pygit2.Commit).parent_ids[0]
        self.made.reset(parent, pygit2.enums.ResetMode.HARD)


@pytest.fixture
def repository(tmp_path) -> Repository:
    return Repository(tmp_path / "app")


def read(repository, known=()):
    return read_at(repository.root, known)


def read_at(root, known=()):
    around = repository_around(root)
    assert around
    found = read_commits(around, known)
    assert found
    return found


def test_the_newest_come_first_with_what_they_say_and_changed(repository):
    first = repository.commit("Begin\n\nWith a cart.\n\nSigned-off-by: T <t@example.org>", "a.py")
    second = repository.commit("Pay", "b/pay.py", "a.py")
    found = read(repository)
    assert found.newest == [second, first]
    assert found.is_complete
    assert found.unknown[0]["paths"] == ["a.py", "b/pay.py"]
    assert found.unknown[1]["body"] == "With a cart."


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such variable")
def test_a_python_that_finds_its_library_by_a_variable_reads_them(
    repository, tmp_path, monkeypatch
):
    sha = repository.commit("First", "a.py")
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\n${{LD_LIBRARY_PATH:?}}\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setenv("LD_LIBRARY_PATH", "lib")
    assert read(repository).newest == [sha]


def test_what_is_known_is_not_told_again(repository):
    first = repository.commit("Begin", "a.py")
    second = repository.commit("Pay", "a.py")
    found = read(repository, [first])
    assert found.newest == [second, first]
    assert [each["sha"] for each in found.unknown] == [second]


def test_a_merge_and_a_commit_that_changes_much_have_no_paths(repository):
    first = repository.commit("Begin", "a.py")
    repository.commit("Rename all", *(f"f{n}.py" for n in range(commits.MAX_CHANGED + 1)))
    merge = repository.commit("Merge", "a.py", parents=[str(repository.made.head.target), first])
    told = {each["subject"]: each["paths"] for each in read(repository).unknown}
    assert told == {"Merge": [], "Rename all": [], "Begin": ["a.py"]}
    assert read(repository).newest[0] == merge


def test_below_a_shallow_clone_nothing_is_told(repository):
    first = repository.commit("Begin", "a.py")
    second = repository.commit("Pay", "a.py")
    third = repository.commit("Pay twice", "a.py")
    gone = repository.root / ".git" / "objects" / first[:2] / first[2:]
    gone.chmod(0o600)
    gone.unlink()
    found = read(repository)
    assert found.newest == [third, second]
    assert [each["paths"] for each in found.unknown] == [["a.py"], []]


def test_odd_bytes_are_told_as_text(repository):
    repository.commit("Begin", "a.py")
    who = pygit2.Signature("t", "t@example.org", repository.time)
    tree = repository.made.index.write_tree()
    raw = f"tree {tree}\nparent {repository.made.head.target}\nauthor {who.name} <e> 1 +0000\n"
    data = raw.encode() + b"committer t <e> 1800000000 +0000\n\n\xff\x00 odd \x1b[2J\n"
    odd = repository.made.write(pygit2.enums.ObjectType.COMMIT, data)
    repository.made.set_head(odd)
    assert read(repository).newest[0] == str(odd)


@pytest.mark.parametrize("encoding", ["ISO-8859-1", "no-such-encoding", "idna", "\xff"])
def test_a_message_is_read_in_the_encoding_that_its_commit_names(repository, encoding):
    repository.commit("Begin", "a.py")
    tree = repository.made.index.write_tree()
    head = f"tree {tree}\nauthor t <e> 1 +0000\ncommitter t <e> 1 +0000\nencoding {encoding}\n\n"
    data = head.encode("latin-1") + b"Caf\xe9\n"
    repository.made.set_head(repository.made.write(pygit2.enums.ObjectType.COMMIT, data))
    told = {"ISO-8859-1": "Caf\xe9"}.get(encoding, "Caf\ufffd")
    assert read(repository).unknown[0]["subject"] == told


@pytest.mark.parametrize(
    "by", ["t <t@example.org 1 +0000", "t 1 +0000", f"t <e> {2**64 - 1} +0000", "t <e> x y", ""]
)
def test_a_commit_whose_author_or_time_is_none_hides_no_earlier_one(repository, by):
    first = repository.commit("Begin", "a.py")
    empty = repository.made.TreeBuilder().write()
    data = f"tree {empty}\nparent {first}\nauthor {by}\ncommitter {by}\n\nPay\n".encode()
    stored = b"commit %d\0%s" % (len(data), data)  # which libgit2 refuses to write
    odd = hashlib.sha1(stored).hexdigest()
    object_file = repository.root / ".git" / "objects" / odd[:2] / odd[2:]
    object_file.parent.mkdir(exist_ok=True)
    object_file.write_bytes(zlib.compress(stored))
    (repository.root / ".git" / "HEAD").write_text(odd)
    found = read(repository)
    assert found.newest == [odd, first]
    assert [(each["subject"], each["paths"]) for each in found.unknown] == [
        ("Pay", ["a.py"]),
        ("Begin", ["a.py"]),
    ]


def test_a_commit_whose_tree_is_none_is_told_without_paths(repository):
    blob = repository.made.create_blob(b"no tree")
    data = f"tree {blob}\nauthor t <e> 1 +0000\ncommitter t <e> 1 +0000\n\nPay\n".encode()
    repository.made.set_head(repository.made.write(pygit2.enums.ObjectType.COMMIT, data))
    assert [each["paths"] for each in read(repository).unknown] == [[]]


def test_a_packed_branch_and_a_worktree_are_followed(repository, tmp_path):
    commit = repository.commit("Begin", "a.py")
    branch = repository.root / ".git" / "refs" / "heads" / "main"
    (repository.root / ".git" / "packed-refs").write_text(
        f"# pack-refs\n{commit} refs/heads/main\n"
    )
    branch.unlink()
    assert read(repository).newest == [commit]
    repository.made.add_worktree("linked", str(tmp_path / "linked"))
    assert read_at(tmp_path / "linked").newest == [commit]


def test_a_file_that_only_claims_to_be_of_a_repository_is_not_believed(repository, tmp_path):
    repository.commit("Begin", "a.py")
    clone = tmp_path / "clone"
    clone.mkdir()
    (clone / ".git").write_text(f"gitdir: {repository.root / '.git'}\n")
    assert repository_around(clone) is None
    (clone / ".git").unlink()
    (clone / ".git").symlink_to(repository.root / ".git")
    assert repository_around(clone) is None


@pytest.mark.parametrize("leads", ["commondir", "alternates", "objects", "pack", "object"])
def test_nothing_of_git_leads_to_the_commits_of_another_repository(repository, tmp_path, leads):
    commit = repository.commit("Begin", "a.py")
    git, objects = tmp_path / "clone" / ".git", repository.root / ".git" / "objects"
    (git / "objects" / "info").mkdir(parents=True)
    (git / "HEAD").write_text(commit)
    if leads == "commondir":
        (git / "HEAD").write_text("ref: refs/heads/main\n")
        (git / "commondir").write_text(f"{repository.root / '.git'}\n")
    elif leads == "alternates":
        (git / "objects" / "info" / "alternates").write_text(f"{objects}\n")
    elif leads == "object":
        for loose in objects.glob("??/*"):
            link = git / "objects" / loose.relative_to(objects)
            link.parent.mkdir(exist_ok=True)
            link.symlink_to(loose)
    else:
        repository.made.pack()
        shutil.rmtree(git / "objects")
        if leads == "pack":
            (git / "objects").mkdir()
        link = Path("objects") if leads == "objects" else Path("objects", "pack")
        (git / link).symlink_to(repository.root / ".git" / link)
    around = repository_around(tmp_path / "clone")
    assert around is None or read_at(tmp_path / "clone").newest == []


@pytest.mark.parametrize("head", ["", "ref: ../../etc/passwd", "ref: refs/../../x", "x" * 9000])
def test_a_head_that_names_no_commit_is_none(repository, head):
    repository.commit("Begin", "a.py")
    (repository.root / ".git" / "HEAD").write_text(head)
    assert repository_around(repository.root) is None


def test_a_submodule_has_the_history_of_its_own(repository, tmp_path):
    commit = repository.commit("Begin", "a.py")
    outer = tmp_path / "outer"
    Repository(outer)
    modules = outer / ".git" / "modules"
    modules.mkdir()
    (repository.root / ".git").rename(modules / "app")
    inner = outer / "app"
    inner.mkdir()
    (inner / ".git").write_text("gitdir: ../.git/modules/app\n")
    found = repository_around(inner)
    assert found
    assert found.head == commit
