"""Shallow clones, in the data directory, of sources that are given as git addresses.

The user's own git fetches them, with the user's credentials. Nothing in a repository is run or
followed: the clone has no hooks, no filters (large files stay LFS pointers) and no submodules, and
starts empty, so that only we write its `.git`. An address with a password is refused: it would be
stored and shown.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shlex import quote

from memory_sidecar.core.children import find_program, run_child
from memory_sidecar.core.errors import CloneFailed, StoreBusy, UsageError
from memory_sidecar.core.locks import hold_lock
from memory_sidecar.core.model import Source
from memory_sidecar.core.paths import StorePaths
from memory_sidecar.core.results import Reporter
from memory_sidecar.core.sqlite import named_errors
from memory_sidecar.disk.registry import Registry

MAX_BYTES = 2 << 30  # of a clone, its `.git` included
MAX_FILES = 200_000
FETCH_TIMEOUT_S = 1800
LOCK_PATIENCE_S = 1.0
PASSED_ON = frozenset({"SSH_AUTH_SOCK"})
"""Environment variables of the caller that git needs beyond the usual ones."""

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:(//|:)")
_URL = re.compile(r"(?:https?|ssh|git|file)://[^\s?#]+", re.IGNORECASE)
_SCP = re.compile(r"[A-Za-z0-9_.][\w.-]*@[A-Za-z0-9][\w.-]*:(?!-)[^\s?#]+")
_SECRET = re.compile(r"(?<=://)[^/\s]*@")
_BRANCH = re.compile(r"(?![-+])[^\s:*?\[\\^~]+")
_DEFAULT_BRANCH = re.compile(r"ref: refs/heads/(\S+)\tHEAD\n")
_ENVIRON = {
    "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh",  # no redirection names a program
    "GIT_DEFAULT_HASH": "sha1",
    "GIT_DEFAULT_REF_FORMAT": "files",  # which `disk/repository` reads
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
_SETTINGS = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.logAllRefUpdates": "false",  # so that git may drop earlier fetches
    "gc.autoDetach": "false",
    "http.lowSpeedLimit": "1000",
    "http.lowSpeedTime": "30",
    "submodule.recurse": "false",
}
_ATTRIBUTES = "* -filter -ident -text !working-tree-encoding\n"  # win over a repository's own


def is_address(text: str) -> bool:
    """Whether `text` looks like the address of a repository and not like a folder."""
    return bool(_SCHEME.match(text) or _SCP.fullmatch(text))


@dataclass(frozen=True, slots=True)
class GitAddress:
    """The URL of a repository, and the branch or tag wanted ("": the default branch)."""

    url: str
    branch: str = ""

    def check(self) -> None:
        """Raise UsageError unless git may be given the address. No message shows a password."""
        shown = re.split("[?#]", _SECRET.sub("", self.url))[0]
        if not (_URL.fullmatch(self.url) or _SCP.fullmatch(self.url)):
            raise UsageError(
                f"{shown} is not an address of a repository",
                hint="https://HOST/PATH, ssh://HOST/PATH, git@HOST:PATH or file:///PATH",
            )
        user = _SECRET.search(self.url)
        if user and (":" in user[0] or not self.url.lower().startswith("ssh://")):
            raise UsageError(
                f"an address with a user or password would be kept and shown: {shown}",
                hint="leave it out: git asks its credential helper, or use git@HOST:PATH",
            )
        if self.branch and not _BRANCH.fullmatch(self.branch):
            raise UsageError(f"{self.branch!r} is not a branch", hint="name a branch or a tag")


class Clones:
    """The clones of one database, registered in `registry`.

    `environ` is the environment of the caller, for git. Methods raise UsageError, CloneFailed and
    StoreBusy, and then leave an existing clone as it is.
    """

    def __init__(self, paths: StorePaths, registry: Registry) -> None:
        self._folder = paths.clones
        self._tree = paths.tree
        self._registry = registry

    def add(
        self,
        address: GitAddress,
        *,
        name: str | None = None,
        excludes: tuple[str, ...] = (),
        environ: Mapping[str, str],
        reporter: Reporter,
    ) -> Source:
        """Clone `address`, or fetch it again, and register it: see `Registry.add`."""
        address.check()
        root = self._root(address)
        self._clone_or_fetch(address, root, environ, reporter)
        return self._registry.add(
            root, name=name, excludes=excludes, address=address.url, branch=address.branch
        )

    def refresh(
        self, sources: Sequence[Source], environ: Mapping[str, str], reporter: Reporter
    ) -> None:
        """Fetch the clones among `sources` again; a notice names each failure."""
        for source in sources:
            if not self._is_clone(source):
                continue
            address = GitAddress(source.address, source.branch)
            try:
                address.check()
                self._clone_or_fetch(address, source.root, environ, reporter)
            except (UsageError, CloneFailed, StoreBusy) as error:
                reporter.notice(f"{source.name} stays as last fetched: {error}")

    def remove(self, source: Source) -> None:
        """Delete the folder of `source` if it is a clone of ours."""
        if not self._is_clone(source):
            return
        with suppress(FileNotFoundError), named_errors(source.root):
            above, name = self._tree.enter_above(source.root.parent)
            with above:
                shutil.rmtree(above.at(name), ignore_errors=True, dir_fd=above.fd)
            source.root.parent.with_suffix(".lock").unlink()

    def _is_clone(self, source: Source) -> bool:
        """Whether `source` is a clone of ours; a list of sources may give any folder an address."""
        address = GitAddress(source.address, source.branch)
        return bool(source.address) and source.root == self._root(address)

    def _root(self, address: GitAddress) -> Path:
        """Return the folder of the clone of `address`; its last part is the repository's name."""
        url = address.url.rstrip("/").removesuffix(".git")
        key = hashlib.sha256(f"{url}\0{address.branch}".encode()).hexdigest()[:12]
        name = re.sub(r"[^\w.-]+", "-", re.split(r"[/:]", url)[-1]).strip("-.")
        return Path(os.path.realpath(self._folder), key, name or "repository")

    def _clone_or_fetch(
        self, address: GitAddress, root: Path, environ: Mapping[str, str], reporter: Reporter
    ) -> None:
        program = find_program("git", environ)
        if program is None:
            raise CloneFailed("git is not on the PATH", hint="install git, or index a folder")
        git = _Git(program, address, environ, reporter)
        lock, what = root.parent.with_suffix(".lock"), f"the clone of {address.url} is"
        with named_errors(root), hold_lock(self._tree, lock, patience_s=LOCK_PATIENCE_S, what=what):
            if root.exists():
                git.fetch(root)
                return
            new = root.with_name(".new")
            shutil.rmtree(new, ignore_errors=True)  # of a call that was killed
            self._tree.make(new)
            try:
                git.init(new)
                git.fetch(new)
                new.replace(root)
            except BaseException:
                shutil.rmtree(root.parent, ignore_errors=True)
                raise


class _Git:
    """Runs the `program` git for the clone of `address`, with limits on time and size."""

    def __init__(
        self, program: str, address: GitAddress, environ: Mapping[str, str], reporter: Reporter
    ) -> None:
        self._address = address
        self._command = [
            program,
            *(w for pair in _SETTINGS.items() for w in ("-c", "=".join(pair))),
        ]
        self._environ = {**environ, **_ENVIRON}
        self._reporter = reporter

    def init(self, root: Path) -> None:
        """Create an empty repository that ignores the attributes of what will be fetched."""
        self._run(root, "init", "--quiet", "--template=", "--", str(root))
        info = root / ".git" / "info"
        info.mkdir(exist_ok=True)
        (info / "attributes").write_text(_ATTRIBUTES, "utf-8")
        self._name_origin(root)

    def fetch(self, root: Path) -> None:
        """Check out the newest commit of the address in `root`."""
        for stale in root.glob(".git/**/*.lock"):  # left by a killed git: we hold our own lock
            stale.unlink()
        within = _within(root)
        options = "--quiet --depth=1 --no-tags --no-recurse-submodules --force".split()
        wanted = self._address.branch or "HEAD"
        self._run(root, *within, "fetch", *options, "--", self._address.url, wanted)
        self._run(root, *within, "reset", "--quiet", "--hard", "FETCH_HEAD")

    def _name_origin(self, root: Path) -> None:
        """Record the branch and the address: they identify the source in a team's database."""
        url, branch = self._address.url, self._address.branch
        if not branch:
            answer = self._run(root, "ls-remote", "--quiet", "--symref", "--", url, "HEAD")
            found = _DEFAULT_BRANCH.match(answer)
            branch = found[1] if found else ""
        if branch:
            self._run(root, *_within(root), "symbolic-ref", "HEAD", f"refs/heads/{branch}")
        self._run(root, *_within(root), "config", "remote.origin.url", url)

    def _run(self, root: Path, *arguments: str) -> str:
        """Run git; return its output.

        Raises CloneFailed if it fails, takes too long or exceeds the limits.
        """
        try:
            done = run_child(
                [*self._command, *arguments],
                environ=self._environ,
                timeout_s=FETCH_TIMEOUT_S,
                meanwhile=partial(self._watch, root),
                is_limited=True,  # a tree may hold another many times, and so any number of files
            )
        except subprocess.TimeoutExpired as error:
            raise self._failure(f"not done in {FETCH_TIMEOUT_S} s") from error
        if done.returncode:
            raise self._failure(_reason(done.stderr))
        self._watch(root)
        return done.stdout.decode("utf-8", "replace")

    def _failure(self, why: str) -> CloneFailed:
        url = self._address.url
        return CloneFailed(
            f"{url} cannot be fetched: {why}",
            hint=f"`git ls-remote {quote(url)}` has to work without asking anything",
        )

    def _watch(self, root: Path) -> None:
        """Report progress. Raises CloneFailed if the clone exceeds the limits."""
        count = size = 0
        for folder, _, names in os.walk(root):
            for name in names:
                with suppress(FileNotFoundError):
                    size += os.lstat(Path(folder, name)).st_size
                count += 1
            if size > MAX_BYTES or count > MAX_FILES:
                raise CloneFailed(
                    f"the repository has more than {MAX_BYTES >> 30} GiB or {MAX_FILES:,} files",
                    hint="clone what you need of it yourself, and index that folder",
                )
        self._reporter.progress("MiB fetched", size >> 20, 0)


def _within(root: Path) -> tuple[str, str]:
    """Return the options of git for the clone at `root`, whatever folder it runs in."""
    return f"--git-dir={root / '.git'}", f"--work-tree={root}"


def _reason(stderr: bytes) -> str:
    """Return the line that says why git failed, without passwords of rewritten addresses."""
    lines = stderr.decode("utf-8", "replace").splitlines() or ["it did not say why"]
    errors = [line for line in lines if line.startswith(("fatal:", "error:", "ERROR:"))] or lines
    return _SECRET.sub("", errors[0].partition(": ")[2] or errors[0])
