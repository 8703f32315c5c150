"""What identifies a repository across machines, and the folders in which git tracks files."""

from __future__ import annotations

import random
import struct
import tracemalloc

import pytest

from memory_sidecar.disk.repository import (
    Origin,
    in_checkouts,
    origin_of,
    repository_around,
    tracked_folders,
)

NAMES = frozenset({"bin", "build", "target"})


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://github.com/Acme/shop.git", "github.com/Acme/shop"),
        ("git@GitHub.com:Acme/shop.git", "github.com/Acme/shop"),
        ("ssh://git@github.com:22/Acme/shop", "github.com/Acme/shop"),
        ("https://me:pass@github.com/Acme/shop", "github.com/Acme/shop"),
        ("https://me:p@ss@github.com/Acme/shop", "github.com/Acme/shop"),
        ("https://me:pass@[::1]:8080/shop.git", "[::1]/shop"),
        ("https://me:pa/ss@github.com/Acme/shop", "https://github.com/Acme/shop"),
        ("/srv/git/me@home/shop.git", ""),
        ("../shop.git", ""),
        ("shop.git", ""),
        ("C:/git/shop.git", ""),
        ("file:///srv/git/shop.git", ""),
        ("file://localhost/srv/git/shop.git", ""),
        ("file://server/git/shop.git", "server/git/shop"),
        ("//server/git/shop.git", "//server/git/shop"),
        (r"\\\\server\\git\\shop.git", r"\\\\server\\git\\shop"),
        ("work:shop.git", "work/shop"),
        pytest.param("a://" * 200_000 + "b", "a://" * 200_000 + "b", id="takes no time"),
    ],
)
def test_an_origin_has_no_user_and_no_password_and_is_no_path_of_here(tmp_path, url, address):
    git = tmp_path / ".git"
    git.mkdir()
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "config").write_text(f'[remote "origin"]\n\turl = {url}\n[branch "main"]\n\tx = y\n')
    assert origin_of(tmp_path) == Origin(address, "main", "")


@pytest.mark.parametrize("version", [2, 3, 4])
def test_folders_of_tracked_files_are_found_in_every_version_of_an_index(root, write, git, version):
    git("init", "-q")
    write("bin/a.sh", "pkg/bi.py", "pkg/build/deep/a.py", "x/target", "pkg/builds/a.py")
    write(*(f"{'long' * 60}/{number}.py" for number in range(40)))
    git("add", ".")
    write("late.py", "target/a.rs")
    git("add", "-N", "late.py")
    git("update-index", "--index-version", str(version))
    assert tracked_folders(root, NAMES) == {"bin", "build"}
    assert tracked_folders(root / "pkg", NAMES) == {"build"}
    git("mv", "bin", "scripts")
    assert tracked_folders(root, NAMES) == {"build"}


def test_a_folder_is_found_in_every_checkout_that_names_its_repository(root, write, git, tmp_path):
    git("init", "-q")
    write("lib/a.py")
    git("add", ".")
    git("commit", "-qm", "first")
    assert [*in_checkouts(root / "lib")] == [root / "lib"]
    git("worktree", "add", "-q", str(tmp_path / "other"))
    git("worktree", "add", "-q", str(tmp_path / "third"))
    checkouts = [root, tmp_path / "other", tmp_path / "third"]
    for each in checkouts:
        assert [*in_checkouts(each / "lib")] == [top / "lib" for top in checkouts]
    private = tmp_path / "private"
    git("init", "-q", str(private))
    (root / ".git/worktrees/other/gitdir").write_text(f"{private}/.git\n")
    (root / ".git/worktrees/odd").touch()
    assert [*in_checkouts(root)] == [root, tmp_path / "third"]
    assert [*in_checkouts(tmp_path)] == []


def test_the_index_of_a_worktree_counts_there(root, write, git, tmp_path):
    git("init", "-q")
    write("a.py")
    git("add", ".")
    git("commit", "-qm", "first")
    other = tmp_path / "other"
    git("worktree", "add", "-q", str(other))
    (other / "bin").mkdir()
    (other / "bin" / "run.py").touch()
    git("add", ".", cwd=other)
    assert tracked_folders(root, NAMES) == set()
    assert tracked_folders(other, NAMES) == {"bin"}


@pytest.mark.parametrize("kind", ["sha256", "split"])
def test_an_index_with_other_hashes_or_in_two_files_counts(root, write, git, kind):
    git("init", "-q", *(["--object-format=sha256"] if kind == "sha256" else []))
    write(*(f"{folder}/{number}.py" for folder in ("bin", "src") for number in range(40)))
    git("add", ".")
    if kind == "split":
        git("update-index", "--split-index")
    write("build/late.py")
    git("add", "-f", ".")
    assert tracked_folders(root, NAMES) == {"bin", "build"}


def test_a_branch_may_be_named_as_git_allows(root, git):
    git("init", "-q", "-b", "main")
    git("remote", "add", "origin", "https://example.org/a.git")
    git("commit", "-qm", "first", "--allow-empty")
    commit = git("rev-parse", "HEAD").strip()
    for name in ("fix#12", "k\u00e4se/@a,b", "v1.0(rc)", "it's", "a=b!c%d$e&{f}", "@"):
        git("checkout", "-q", "-b", name)
        origin, found = origin_of(root), repository_around(root)
        assert origin
        assert found
        assert (origin.branch, found.head) == (name, commit)
    git("symbolic-ref", "refs/heads/alias", "refs/heads/main")
    git("symbolic-ref", "HEAD", "refs/heads/alias")
    found = repository_around(root)
    assert found
    assert found.head == commit


def test_a_branch_among_very_many_is_found(root, git):
    git("init", "-q", "-b", "zeta")
    git("commit", "-qm", "first", "--allow-empty")
    git("pack-refs", "--all")
    packed = root / ".git" / "packed-refs"
    head, own = packed.read_text().split("\n", 1)
    others = "".join(f"{number:040} refs/heads/branch/{number}\n" for number in range(150_000))
    packed.write_text(f"{head}\n{others}{own}")
    found = repository_around(root)
    assert found
    assert found.head == own[:40]


def test_no_index_makes_trouble(root, write, git):
    assert tracked_folders(root, NAMES) == set()
    git("init", "-q")
    assert tracked_folders(root, NAMES) == set()
    write(*(f"bin/{number}.py" for number in range(20)))
    git("add", ".")
    index = root / ".git" / "index"
    sound = index.read_bytes()
    chance = random.Random(7)
    for _ in range(300):
        changed = bytearray(sound[: chance.randrange(1, len(sound))])
        for _ in range(chance.randrange(20)):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        index.write_bytes(changed)
        assert tracked_folders(root, NAMES) <= {"bin"}
    index.unlink()
    index.symlink_to("/dev/zero")
    assert tracked_folders(root, NAMES) == set()


def test_an_index_whose_paths_grow_takes_no_memory(root, git):
    git("init", "-q")
    entry = bytes(62) + b"\0" + b"/bin/a\0"  # of version 4: nothing of the path before it is cut
    index = struct.pack(">4sII", b"DIRC", 4, 40_000) + 40_000 * entry
    (root / ".git" / "index").write_bytes(index)
    tracemalloc.start()
    assert tracked_folders(root, NAMES) == {"bin"}
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 * len(index)  # which is read in pieces and joined
