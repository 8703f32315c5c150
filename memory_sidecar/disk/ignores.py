"""Decides which paths of a source are ignored: by git's rules, our own, and built-in names.

From strongest to weakest: the source's excludes and the built-in names, `.sidecarignore`,
`.gitignore`, `.git/info/exclude`, the user's global excludes. An ignored folder is not entered.
The `ignore` crate (ripgrep's) matches the rules. It differs from git in three rare cases: a tracked
file that a rule ignores stays ignored, a global exclude with a slash in it is relative to the
working directory, and a rule file ends at a line that is not UTF-8. The crate opens anything that
has the name of a rule file, even a device, so `rule_files` checks them first.

A file that no rule ignores may still be skipped by its name: `skip_by_name`, `skip_as_secret`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import ignore
from ignore.overrides import Override, OverrideBuilder
from pathspec import GitIgnoreSpec

from memory_sidecar.core import reasons
from memory_sidecar.core.errors import UsageError
from memory_sidecar.core.opening import Tree, is_utf8, with_separator
from memory_sidecar.disk.nested import Nested
from memory_sidecar.disk.rule_files import (
    MAX_RULES_BYTES,
    OWN_FILE,
    RULE_FILES,
    check_rules,
    check_rules_above,
    repository_top,
)

NEVER = (".git", ".hg", ".svn", ".bzr", ".jj", ".sl", ".pijul", "_darcs")
"""A version control system's own files. In a worktree and a submodule `.git` is a file."""

BUILT_IN = tuple(
    """
    node_modules bower_components bin obj target dist build DerivedData Pods
    .venv venv site-packages __pycache__ __pypackages__ .eggs *.egg-info .tox .nox
    .ipynb_checkpoints .mypy_cache .pytest_cache .ruff_cache .hypothesis htmlcov .cache .direnv
    .next .nuxt .svelte-kit .turbo .parcel-cache .yarn .pnpm-store .angular
    .gradle .terraform .dart_tool .stack-work .godot .import .idea .vs
    """.split()
)
"""Folders of built, downloaded or cached files. A line `!bin/` in the `.sidecarignore` at the top
of a source takes `bin` out of them."""


class IgnoreRules:
    """The ignore rules of one source; each walk reads the rule files again."""

    def __init__(self, root: str, excludes: tuple[str, ...]) -> None:
        """`root` is absolute; `excludes` are globs as in a `.gitignore` at its top.

        `!GLOB` includes files that are otherwise skipped because they may hold secrets.
        Raises UsageError for an exclude that is no glob.
        """
        self.root = root
        self._in_repository = repository_top(Path(root)) is not None
        if self._in_repository:
            check_rules_above(root)
        # In a repository the rules begin at its top; elsewhere at the root of the source, and rule
        # files above must have no effect. But a walk that starts below the root reads those above
        # it, too: so it may start there only in a repository, or if there are none above the root.
        self.can_start_below = self._in_repository or not _has_rules_above(Path(root))
        self._reenabled = _reenabled_names(Path(root))
        self._overrides = _overrides(root, excludes, self._reenabled)
        self._include_globs = GitIgnoreSpec.from_lines(
            glob.removeprefix("!") for glob in excludes if glob.startswith("!")
        )

    def paths(
        self, start: str, unreadable: list[str], *, max_depth: int | None = None
    ) -> Iterator[str]:
        """Yield the absolute paths of everything below the folder `start` that no rule ignores.

        `start` itself may be ignored. Folders that could not be listed are added to `unreadable`;
        an error that names no folder adds `start`. Raises PathRefused if rules cannot be read,
        since then nobody knows what they ignore.
        """
        if not is_utf8(start):  # the crate cannot start there
            above, inside = os.fspath(Path(start).parent), with_separator(start)
            deeper = None if max_depth is None else max_depth + 1
            for path in self.paths(above, unreadable, max_depth=deeper):
                if path.startswith(inside):
                    yield path
            return
        check_rules(start, self.root)
        folders = {start}  # whose rule files were checked
        nested = Nested(self.root, start)
        walker = self._builder(start).max_depth(max_depth).build()
        last = start
        while True:
            try:
                path = os.fspath(next(walker).path())
            except StopIteration:
                return
            except (ignore.Error, ignore.IOError) as error:
                # The walk goes on. The error is about the folder that was visited just before it.
                folder = last if str(error).startswith(f"{last}: ") else start
                if os.path.lexists(folder):
                    unreadable.append(folder)
                continue
            last = path
            if is_folder := path in folders:
                folders.remove(path)
                folders.update(_with_sound_rules(path, self.root))
            if path != start and not nested.leave_out(path, is_folder=is_folder):
                yield path

    def is_built_in(self, name: str, *, is_folder: bool) -> bool:
        """Whether a file or folder called `name` is ignored by a built-in rule."""
        return name in NEVER or (is_folder and name in BUILT_IN and name not in self._reenabled)

    def is_asked_for(self, path: str) -> bool:
        """Whether an exclude `!GLOB` includes the file at `path` although it may hold secrets.

        Rule files in the source cannot include such a file.
        """
        return len(self._include_globs) > 0 and self._include_globs.match_file(path)

    def _builder(self, start: str) -> ignore.WalkBuilder:
        return (
            ignore.WalkBuilder(Path(start))
            .hidden(False)
            .ignore(False)
            .add_custom_ignore_filename(OWN_FILE)
            .parents(self.can_start_below)
            .require_git(self._in_repository)  # so that those of nested ones and worktrees count
            .overrides(self._overrides)
        )


def _with_sound_rules(folder: str, root: str) -> Iterator[str]:
    """Yield the folders in `folder` with their rules checked, before the walker reads them all."""
    try:
        with os.scandir(folder) as entries:
            inner = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return  # the walker will report it
    for path in inner:
        check_rules(path, root)
        yield path


def check_excludes(excludes: tuple[str, ...]) -> None:
    """Raise UsageError for an exclude that is no glob."""
    _add_excludes(OverrideBuilder(Path()), excludes)


def valid_excludes(excludes: tuple[str, ...]) -> tuple[str, ...]:
    """Return those of `excludes` that are valid globs."""
    valid = []
    for glob in excludes:
        with suppress(UsageError):
            check_excludes((glob,))
            valid.append(glob)
    return tuple(valid)


def _has_rules_above(root: Path) -> bool:
    return any((folder / name).exists() for folder in root.parents for name in RULE_FILES)


def _overrides(root: str, excludes: tuple[str, ...], reenabled: frozenset[str]) -> Override:
    builder = OverrideBuilder(Path(root))
    for name in NEVER:
        builder.add(f"!{name}")
    for name in BUILT_IN:
        if name not in reenabled:
            builder.add(f"!{name}/")
    _add_excludes(builder, excludes)
    return builder.build()


def _add_excludes(builder: OverrideBuilder, excludes: tuple[str, ...]) -> None:
    for glob in excludes:
        wanted = glob.removeprefix("!")
        if not wanted.strip() or wanted.startswith("!"):
            raise UsageError(
                f"{glob!r} is not a glob to exclude", hint="for example 'docs/**/*.txt'"
            )
        try:
            (builder if wanted == glob else OverrideBuilder(Path())).add(f"!{wanted}")
        except ignore.Error as error:
            why = str(error).rpartition("': ")[2]  # without the glob, which it quotes with our `!`
            raise UsageError(
                f"the exclude {glob!r} is not a valid glob: {why}",
                hint="for example 'docs/**/*.txt'",
            ) from error


def _reenabled_names(root: Path) -> frozenset[str]:
    """Return the built-in names that the `.sidecarignore` at `root` takes back by a `!` line."""
    try:
        text = Tree(root).read(OWN_FILE, MAX_RULES_BYTES).decode("utf-8", "replace")
    except OSError:
        return frozenset()
    lines = text.splitlines()
    return frozenset(line[1:].strip().strip("/") for line in lines if line.startswith("!"))


LOCK_FILES = frozenset(
    """
    bun.lockb go.sum go.work.sum gradle.lockfile npm-shrinkwrap.json package-lock.json
    package.resolved packages.lock.json pnpm-lock.yaml .terraform.lock.hcl
    """.split()
)

MINIFIED_ENDINGS = (".min.js", ".min.mjs", ".min.css", ".map")

GENERATED_ENDINGS = (
    *(".designer.cs", ".g.cs", ".g.i.cs", ".generated.cs"),
    *("_pb2.py", "_pb2.pyi", "_pb2_grpc.py", ".pb.go", ".pb.cc", ".pb.h"),
    *(".g.dart", ".freezed.dart"),
)

BINARY_EXTENSIONS = frozenset(
    """
    3ds 7z a aab aac ai aiff apk avi avif bin blend bmp br bz2 cab class cur db dbf dds deb dll
    dmg doc docx dylib ear egg eot exe exr fbx flac flv gif glb gz heic icns ico ipa iso jar
    jpeg jpg keystore ktx lib lz4 lzma m4a m4v mdb mkv mo mov mp3 mp4 mpeg mpg msi mv2 npy npz
    nupkg o odp ods odt ogg ogv onnx otf parquet pck pdb pdf pickle pkl png ppt pptx psd pt pth
    pyc pyd pyo rar rpm safetensors scn shp shx snk snupkg so sqlite sqlite-shm sqlite-wal
    sqlite3 tar tga tgz tif tiff ttc ttf vsix war wasm wav webm webp whl wma wmv woff woff2 xls
    xlsx xz zip zst
    """.split()
)


_SECRET = re.compile(
    r"""(?:^|/)(?:
    \.env(?:rc|\.[^/]*)? | [^/]+\.env
    | id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?
    | [^/]+\.(?:pem|key|ppk|p8|p12|pfx|jks|kdbx?|agekey|ovpn)
    | [._]netrc | \.npmrc | \.yarnrc\.yml | \.pypirc | \.git-credentials | \.pgpass | \.my\.cnf
    | \.s3cfg | \.boto | \.htpasswd | \.dockercfg | \.vault[-_](?:token|pass(?:word)?)
    | \.terraformrc | terraform\.rc | [^/]*\.tfstate(?:\.[^/]*)?
    | \.?credentials(?:\.(?:json|ya?ml|toml|ini|csv|tfrc\.json))?
    | client[-_]secrets?[^/]*\.json | service[-_]?account[^/]*\.json | gha-creds-[^/]*\.json
    | application_default_credentials\.json | secrets?\.(?:ya?ml|json|toml|ini|properties)
    | (?:[^/]*[._-])?kubeconfig(?:\.(?:ya?ml|json|conf))? | \.kube/config | \.docker/config\.json
    | \.(?:ssh|gnupg|aws|azure)/.+
    )$""",
    re.VERBOSE,
)
_EXAMPLE = re.compile(
    r"(?:^|[./_-])(?:example|sample|template|tmpl|tpl|dist|defaults?|schema)(?=[./_-]|$)"
)


def skip_as_secret(path: str) -> str:
    """Return a reason if a file at `path`, relative with `/`, usually holds secrets; else ""."""
    path = path.lower()
    if _SECRET.search(path) is None or _EXAMPLE.search(path.rpartition("/")[2]):
        return ""
    return reasons.SECRETS


def skip_by_name(name: str) -> str:
    """Return the reason to skip a file called `name`, its last path component; "" for none."""
    name = name.lower()
    if name in LOCK_FILES or name.endswith(".lock"):
        return reasons.LOCK_FILE
    if name.rpartition(".")[2] in BINARY_EXTENSIONS and "." in name:
        return reasons.BINARY
    if name.endswith(MINIFIED_ENDINGS):
        return reasons.MINIFIED
    if name.endswith(GENERATED_ENDINGS):
        return reasons.GENERATED
    return ""
