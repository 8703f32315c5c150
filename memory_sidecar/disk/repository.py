"""Finds the git repository around a folder: its commit, branch, remote, and what it tracks.

Reads a few small files and never runs git, so that no program or path that a repository's
configuration names is run or followed. A `.git` that is a file is trusted only where git itself
makes one: in a worktree that its repository lists, or in a submodule of the repository above.
"""

from __future__ import annotations

import hashlib
import os
import re
import struct
from collections.abc import Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from memory_sidecar.core.opening import MAX_PATH_BYTES, Tree, is_folder

POINTER_BYTES = 4096  # of a file that holds one path or name
_PACKED_REFS_BYTES = 64 << 20  # of half a million branches and tags
_CONFIG_BYTES = 1 << 20
_SYMBOLIC_REFS = 5  # git follows as many from one to the next
_INDEX_BYTES = 256 << 20  # of a million files and more
_COMMIT = re.compile(r"[0-9a-f]{40}")
_REMOTE = re.compile(r"""\[remote\s+"([^"\n]+)"\]((?:\n(?![ \t]*\[)|.)*)""")
_URL = re.compile(r"(?m)^[ \t]*url[ \t]*=[ \t]*(\S+)[ \t\r]*$")
_SCP = re.compile(r"(?:[^@/:]+@)?([^/:]+):(?!//)(.+)")
_SCHEME = re.compile(
    r"[a-z][a-z0-9+.-]*://(?:[^/]*@)?(\[[^/]*\]|[^/:]*)(?::\d+)?/(.+)", re.IGNORECASE
)
# https://git-scm.com/docs/git-check-ref-format; no part begins with a dot, so none is `..`.
_BRANCH = re.compile(r"refs(?:/(?!\.)(?:(?!\.\.|@\{)[^\x00-\x20\x7f~^:?*\[\\/])+)+")
_IS_SHA256 = re.compile(r"(?im)^\s*objectformat\s*=\s*sha256\s*$")


@dataclass(frozen=True, slots=True)
class Repository:
    """The repository around a folder, as far as a reader of its commits needs it."""

    objects: Path
    head: str  # the checked-out commit, 40 hexadecimal digits
    inside: str  # the folder, relative to the top of the working tree: "" or "src/app"
    shallow: str = ""  # a digest of where the history of a shallow clone ends; "" for a whole one


@dataclass(frozen=True, slots=True)
class Origin:
    """What identifies a folder of a repository across machines."""

    # That of the remote, as host/path, without user, password, port and `.git`; "" if it is a path,
    # which means another repository on another machine.
    address: str
    branch: str  # "" if none is checked out
    inside: str  # as `Repository.inside`


def repository_around(folder: Path) -> Repository | None:
    """Return the repository around `folder`, if there is one.

    Returns `None`, too, if it has no commit, or if a link is among its objects.
    """
    try:
        git, common, inside = _locate(folder)
        head = _head(git, common)
        if not head or _has_links(common / "objects"):
            return None
        return Repository(common / "objects", head, inside, _shallow(common))
    except (OSError, ValueError):
        return None


def problem_around(folder: Path) -> str:
    """Return why `repository_around` finds none, in words; "" if it does, or there is no commit."""
    try:
        git, common, _ = _locate(folder)
        head = _read_line(git, "HEAD")
        if _IS_SHA256.search(_config(common)):
            return "its hashes are of SHA-256"
        if is_folder(os.fspath(common / "reftable")):
            return "its branches are in a reftable"
        if not (_COMMIT.fullmatch(head) or _BRANCH.fullmatch(head.removeprefix("ref:").strip())):
            return "its HEAD names no commit"
        return "a link is among its objects" if _has_links(common / "objects") else ""
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as error:
        return getattr(error, "strerror", None) or str(error)


def has_alternates(folder: Path) -> bool:
    """Whether the repository around `folder` takes objects from others, which we do not follow."""
    with suppress(OSError, ValueError):
        return (_locate(folder)[1] / "objects" / "info" / "alternates").is_file()
    return False


def commits_around(folder: Path) -> str:
    """Return a text that changes with the commits of the repository around `folder`, if any."""
    try:
        git, common, _ = _locate(folder)
        return f"{_head(git, common)} {_shallow(common)}"
    except (OSError, ValueError):
        return ""


def in_checkouts(folder: Path) -> Iterator[Path]:
    """Yield where the absolute `folder` is, or would be, in each working tree of its repository.

    The main working tree comes first. Yields nothing without a repository.
    """
    with suppress(OSError, ValueError):
        _, common, inside = _locate(Path(os.path.realpath(folder)))
        if common.name == ".git":
            yield common.parent / inside
        for made in sorted((common / "worktrees").iterdir()):
            with suppress(OSError, ValueError):
                top = Path(os.path.realpath(made / _read_line(made, "gitdir"))).parent
                if _git_folders(top)[0] == made:  # else an archive named another's folder
                    yield top / inside


def tracked_folders(folder: Path, names: frozenset[str]) -> frozenset[str]:
    """Return which of `names` are names of folders with tracked files, at any depth in `folder`.

    Empty without a repository, and for an index that cannot be read.
    """
    try:
        git, common, inside = _locate(folder)
        status = (git / "index").stat()
        hash_bytes = 32 if _IS_SHA256.search(_config(common)) else 20
    except (OSError, ValueError):
        return frozenset()
    stamp = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
    return _tracked_folders(git, hash_bytes, inside, names, stamp)


@lru_cache(maxsize=64)  # asked at each scan, and the index of a large repository has many files
def _tracked_folders(
    git: Path, hash_bytes: int, inside: str, names: frozenset[str], _stamp: tuple[int, ...]
) -> frozenset[str]:
    within = os.fsencode(f"{inside}/" if inside else "")
    marks = {os.fsencode(f"/{name}/"): name for name in names}  # a file has no slash behind it
    found = set[str]()
    with suppress(OSError, ValueError, IndexError, struct.error):
        for path in _tracked_paths(git, hash_bytes):
            if path.startswith(within):
                below = b"/" + path[len(within) :]
                found.update(name for mark, name in marks.items() if mark in below)
    return frozenset(found)


def _tracked_paths(git: Path, hash_bytes: int) -> Iterator[bytes]:
    """Yield the paths of the index in `git` and, if it is split, of the shared index.

    Paths of the shared index that the split one deletes are yielded, too.
    """
    index = Tree(git).read("index", _INDEX_BYTES)
    place = yield from _index_paths(index, hash_bytes)
    while place < len(index) - hash_bytes:  # extensions, then a checksum
        kind, size = struct.unpack_from(">4sI", index, place)
        if kind == b"link":
            shared = f"sharedindex.{index[place + 8 : place + 8 + hash_bytes].hex()}"
            yield from _index_paths(Tree(git).read(shared, _INDEX_BYTES), hash_bytes)
        place += 8 + size


def _index_paths(index: bytes, hash_bytes: int) -> Generator[bytes, None, int]:
    """Yield the paths of git's index, whose hashes have `hash_bytes`; return where they end.

    https://git-scm.com/docs/index-format. Raises struct.error, IndexError or ValueError where it
    is cut off, or a path is longer than MAX_PATH_BYTES.
    """
    version, count = struct.unpack_from(">4xII", index)
    place, path = 12, b""
    for _ in range(count):
        flags = place + 40 + hash_bytes
        is_extended = index[flags] & 0x40
        name = flags + (4 if is_extended else 2)
        if version == 4:  # each path begins with the one before it, less the last `cut` bytes
            cut, name = _index_number(index, name)
            end = index.index(0, name)
            path = path[: len(path) - cut] + index[name:end]
            place = end + 1
        else:
            end = index.index(0, name)
            path = index[name:end]
            place += (end - place + 8) // 8 * 8  # entries end with 1 to 8 zeros
        if len(path) > MAX_PATH_BYTES:  # an attack on memory: each may repeat the one before it
            raise ValueError(path[:100])
        yield path
    return place


def _index_number(index: bytes, place: int) -> tuple[int, int]:
    """Return the number of variable length at `place`, and where it ends."""
    number = index[place] & 0x7F
    while index[place] & 0x80:
        place += 1
        number = (number + 1) << 7 | index[place] & 0x7F
    return number, place + 1


def origin_of(folder: Path) -> Origin | None:
    """Return the origin of `folder`; `None` unless a repository with a remote is around it.

    If there are several remotes, `origin` counts. Nothing connects to its address.
    """
    try:
        git, common, inside = _locate(folder)
        config = _config(common)
        branch = _read_line(git, "HEAD").removeprefix("ref:").strip()
    except (OSError, ValueError):
        return None
    remotes = {name: _URL.search(text) for name, text in _REMOTE.findall(config)}
    url = remotes.get("origin") or next(iter(remotes.values()), None)
    if url is None:
        return None
    name = branch.removeprefix("refs/heads/") if _BRANCH.fullmatch(branch) else ""
    return Origin("" if _is_path(url[1]) else plain_address(url[1]), name, inside)


def _is_path(url: str) -> bool:
    scheme, has_scheme, rest = url.partition("://")
    if has_scheme:
        return scheme.lower() == "file" and rest.partition("/")[0].lower() in ("", "localhost")
    named = _SCP.fullmatch(url)
    names_host = named and len(named[1]) > 1  # C:/shop.git is a path
    return not (names_host or url.startswith(("//", r"\\")))  # as a share of Windows does


def plain_address(url: str) -> str:
    """Return `url` in the form of `Origin.address`, in which it may be already."""
    parts = _SCHEME.fullmatch(url) or _SCP.fullmatch(url)
    scheme, mark, rest = url.partition("://")
    without_user = scheme + mark + (rest.rpartition("@")[2] if mark else rest)
    address = f"{parts[1].lower()}/{parts[2].lstrip('/')}" if parts else without_user
    return address.rstrip("/").removesuffix(".git")


def _locate(folder: Path) -> tuple[Path, Path, str]:
    """Return the git directory, the one its worktrees share, and `folder` relative to the top.

    Raises OSError or ValueError if there is no repository.
    """
    for top in (folder, *folder.parents):
        if os.path.lexists(top / ".git"):
            break
    else:
        raise FileNotFoundError(folder)
    git, common = _git_folders(top)
    inside = folder.relative_to(top).as_posix()
    return git, common, "" if inside == "." else inside


def _git_folders(top: Path) -> tuple[Path, Path]:
    """Return the git directory of the working tree at `top`, and the one its worktrees share.

    Raises ValueError for one not to be trusted. That of a worktree is where git puts it: its
    `commondir`, by which an archive could name any repository, is not read.
    """
    git = top / ".git"
    if is_folder(os.fspath(git)):
        return git, git
    named = _read_line(top, ".git")
    if named.startswith("gitdir:"):
        pointed = Path(os.path.realpath(top / named.removeprefix("gitdir:").strip()))
        back = _read_line(pointed, "gitdir")
        if back and os.path.realpath(pointed / back) == os.path.realpath(git):
            return pointed, pointed.parent.parent
        if any(pointed.is_relative_to(each / ".git" / "modules") for each in top.parents):
            return pointed, pointed
        if not pointed.exists():
            raise ValueError("its .git names a folder that is not there")
    raise ValueError("its .git names a folder that does not name it in turn")


def _has_links(objects: Path) -> bool:
    """Whether `objects`, or anything in it, is a link, which would lead libgit2 elsewhere."""
    if not is_folder(os.fspath(objects)):
        return True
    listed = [*os.scandir(objects)]
    inner = [each for folder in listed if folder.is_dir() for each in os.scandir(folder)]
    return any(each.is_symlink() for each in (*listed, *inner))


def _head(git: Path, common: Path) -> str:
    """Return the commit that HEAD names; "" for none."""
    found = _read_line(git, "HEAD")
    for _ in range(_SYMBOLIC_REFS):
        if not found.startswith("ref:"):
            break
        branch = found.removeprefix("ref:").strip()
        if not _BRANCH.fullmatch(branch):
            return ""
        found = _read_line(common, branch) or _packed_commit(common, branch)
    return found if _COMMIT.fullmatch(found) else ""


def _packed_commit(common: Path, branch: str) -> str:
    try:
        refs = Tree(common).read("packed-refs", _PACKED_REFS_BYTES)
    except FileNotFoundError:
        return ""
    before, found, _ = refs.partition(os.fsencode(f" {branch}\n"))
    return before.rpartition(b"\n")[2].decode("ascii", "replace") if found else ""


def _config(common: Path) -> str:
    try:
        return Tree(common).read("config", _CONFIG_BYTES).decode("utf-8", "replace")
    except FileNotFoundError:
        return ""


def _shallow(common: Path) -> str:
    try:
        ends = Tree(common).read("shallow", _PACKED_REFS_BYTES)
    except FileNotFoundError:
        return ""
    return hashlib.blake2b(ends, digest_size=8).hexdigest()


def _read_line(folder: Path, name: str) -> str:
    """Read the file `name`, which holds one line; "" if it does not exist."""
    try:
        return os.fsdecode(Tree(folder).read(name, POINTER_BYTES)).strip()
    except (FileNotFoundError, NotADirectoryError):
        return ""
