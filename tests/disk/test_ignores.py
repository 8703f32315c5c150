"""Which paths a walk leaves out; git itself is the judge where it has an opinion."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from memory_sidecar.core.errors import UsageError
from memory_sidecar.disk.ignores import IgnoreRules, check_excludes, valid_excludes
from memory_sidecar.disk.registry import Registry
from memory_sidecar.disk.ruling import BUILT_IN, GIT_FOLDER, OWN_FOLDER, WORKTREE, rule_for
from memory_sidecar.disk.walk import walk


def paths(root: Path, **options: object) -> set[str]:
    scan = walk(root, max_file_bytes=1 << 20, **options)  # type: ignore[arg-type]
    return {file.path for file in scan.files}


def code(root: Path, **options: object) -> set[str]:
    """Without the rule files themselves."""
    return {path for path in paths(root, **options) if not path.endswith("ignore")}


def untracked(git: Callable[..., str], cwd: Path) -> set[str]:
    listed = git("ls-files", "--others", "--exclude-standard", "-z", cwd=cwd)
    return set(listed.split("\0")) - {""}


@pytest.mark.parametrize("is_repository", [True, False])
def test_gitignore_counts_with_and_without_a_repository(root, write, git, is_repository):
    if is_repository:
        git("init", "-q")
    write(".gitignore", text="*.log\n/only-top.py\ntmp/\n")
    write("pkg/.gitignore", text="!keep.log\n/local.py\n")
    write("a.log", "only-top.py", "tmp/x.py", "pkg/tmp/x.py", "pkg/only-top.py")
    write("pkg/a.log", "pkg/keep.log", "pkg/local.py", "pkg/sub/local.py")
    assert code(root) == {"pkg/only-top.py", "pkg/keep.log", "pkg/sub/local.py"}


def test_ignored_folders_are_not_among_those_to_watch(root, write):
    write(".gitignore", text="tmp/\n")
    write("tmp/sub/x.py", "node_modules/m/x.js", ".git/config", "pkg/x.py")
    assert walk(root, max_file_bytes=1 << 20).folders == ("", "pkg")


def test_rules_above_a_source_count_up_to_the_top_of_its_repository(root, write, git):
    git("init", "-q")
    (root.parent / ".gitignore").write_text("*.py\n")
    write(".gitignore", text="*.log\n/pkg/local.py\n")
    write("pkg/a.py", "pkg/a.log", "pkg/local.py")
    assert code(root / "pkg") == {"a.py"}


def test_rules_above_a_source_outside_of_a_repository_do_not_count(root, write):
    (root.parent / ".gitignore").write_text("*\n")
    write("pkg/a.py", "b.py")
    assert code(root) == {"pkg/a.py", "b.py"}
    assert code(root, under=["pkg/a.py"]) == {"pkg/a.py"}


def test_the_exclude_file_and_global_excludes_count(root, write, git, home, monkeypatch):
    git("init", "-q")
    write(".git/info/exclude", text="/local.py\n")
    write("a.py", "local.py", "pkg/local.py", "a.swp", "a.old")
    (home / ".config/git").mkdir(parents=True)
    (home / ".config/git/ignore").write_text("*.swp\n")
    assert code(root) == untracked(git, root) == {"a.py", "pkg/local.py", "a.old"}

    (home / ".gitconfig").write_text("[core]\n\texcludesFile = ~/my-excludes\n")
    (home / "my-excludes").write_text("*.old\n")
    assert code(root) == untracked(git, root) == {"a.py", "pkg/local.py", "a.swp"}

    (home / ".gitconfig").unlink()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "xdg"))
    (home / "xdg/git").mkdir(parents=True)
    (home / "xdg/git/ignore").write_text("a.*\n")
    assert code(root) == untracked(git, root) == {"pkg/local.py"}


def test_a_worktree_obeys_its_own_rules_and_its_repositorys_exclude_file(root, write, git):
    git("init", "-q")
    write("a.py")
    git("add", "a.py")
    git("commit", "-qm", "first")
    git("worktree", "add", "-q", "trees/one")
    write(".git/info/exclude", text="/local.py\n")
    write(".gitignore", text="trees/**\nouter.py\n")
    write("trees/one/.gitignore", text="inner.py\n")
    for name in ("local", "outer", "inner", "new"):
        write(f"trees/one/{name}.py")
    worktree = root / "trees/one"
    assert (worktree / ".git").is_file()
    assert code(worktree) == {"a.py", "outer.py", "new.py"}
    assert code(worktree) - {"a.py"} == untracked(git, worktree) - {".gitignore"}


def test_a_worktree_of_the_same_repository_is_no_part_of_a_source(root, write, git, tmp_path):
    git("init", "-q")
    write("a.py", "src/b.py")
    git("add", "a.py", "src/b.py")
    git("commit", "-qm", "first")
    git("worktree", "add", "-q", ".agents/worktrees/one")
    worktree = root / ".agents/worktrees/one"
    write(".agents/worktrees/one/new.py")
    assert code(root) == {"a.py", "src/b.py"}
    assert code(root, under=[".agents/worktrees/one/new.py", ".agents"]) == set()
    assert code(worktree) == {"a.py", "src/b.py", "new.py"}
    rule = rule_for(root, ".agents/worktrees/one/new.py", is_folder=False, excludes={})
    assert rule is not None
    assert (rule.file, rule.path) == (WORKTREE, ".agents/worktrees/one")
    registry = Registry(tmp_path / "sources.json")
    source = registry.add(root)
    assert registry.containing(root / "src") == source
    assert registry.containing(worktree, with_worktrees=True) == source
    assert registry.containing(worktree / "src") is None
    assert registry.add(worktree) == registry.containing(worktree / "src")
    git("worktree", "add", "-q", "two", cwd=worktree)
    assert code(worktree) == {"a.py", "src/b.py", "new.py"}


def test_what_agents_remember_is_no_part_of_a_source_around_it(root, write):
    for path in ("a.py", "data/b.py", "data/knowledge/.state/x/state_id", "state/c.py"):
        write(path)
    write("data/knowledge/x/note.md")
    inside = "data/episodic/x/2026-11/one.json"
    write(inside)
    assert code(root) == {"a.py", "data/b.py", "state/c.py"}
    assert code(root, under=[inside, "data/knowledge", "data"]) == {"data/b.py"}
    rule = rule_for(root, inside, is_folder=False, excludes={})
    assert rule is not None
    assert (rule.file, rule.path) == (OWN_FOLDER, "data/episodic")
    assert code(root / "data/knowledge/x") == {"note.md"}


def test_a_folder_of_nothing_but_worktrees_has_them_all(root, write, git, tmp_path):
    origin = tmp_path / "origin"
    git("init", "-q", str(origin))
    git("commit", "-qm", "first", "--allow-empty", cwd=origin)
    git("clone", "-q", "--bare", str(origin), ".bare")
    write(".git", text="gitdir: ./.bare\n")
    git("worktree", "add", "-q", "-b", "topic", "topic")
    write("topic/a.py")
    bare = ".bare/hooks/late.py"
    write(bare)
    assert code(root) == {"topic/a.py"}
    assert code(root, under=[bare, ".bare"]) == set()
    rule = rule_for(root, bare, is_folder=False, excludes={})
    assert rule is not None
    assert (rule.file, rule.path) == (GIT_FOLDER, ".bare")


def test_the_folder_of_a_repository_is_never_indexed_rather_than_bare(root, git):
    git("init", "-q")
    assert str(rule_for(root, ".git", is_folder=True, excludes={})) == f".git/ ({BUILT_IN})"


def test_a_submodule_obeys_the_exclude_file_of_its_own_git_directory(root, write, git, tmp_path):
    git("init", "-q")
    origin = tmp_path / "origin"
    git("init", "-q", str(origin))
    git("commit", "-qm", "first", "--allow-empty", cwd=origin)
    allowed = ("-c", "protocol.file.allow=always")
    git(*allowed, "submodule", "--quiet", "add", str(origin), "lib/sub")
    write(".git/info/exclude", text="outer.py\n")
    write(".git/modules/lib/sub/info/exclude", text="\\\n/local.py\n\nscratch/\n*.tmp.py\n")
    write("lib/sub/pkg/.gitignore", text="!kept.tmp.py\n")
    for name in ("local", "outer", "pkg/local", "pkg/kept.tmp", "pkg/a.tmp", "scratch/kept.tmp"):
        write(f"lib/sub/{name}.py")
    write("local.py", "a.tmp.py")

    sub = root / "lib/sub"
    assert (sub / ".git").is_file()
    wanted = {"outer.py", "pkg/local.py", "pkg/kept.tmp.py"}
    assert code(sub) == untracked(git, sub) - {"pkg/.gitignore"} == wanted
    inside = {f"lib/sub/{path}" for path in wanted}
    assert code(root) == {".gitmodules", "local.py", "a.tmp.py"} | inside
    for under in ("lib", "lib/sub", "lib/sub/pkg"):
        assert code(root, under=[under]) == {path for path in inside if path.startswith(under)}
    assert (
        code(root, under=["lib/sub/scratch", "lib/sub/local.py", "lib/sub/pkg/a.tmp.py"]) == set()
    )

    rule = rule_for(root, "lib/sub/scratch/kept.tmp.py", is_folder=False, excludes={})
    assert rule is not None
    assert Path(rule.file) == root / ".git/modules/lib/sub/info/exclude"
    assert (rule.line, rule.path) == (4, "lib/sub/scratch")


def test_a_nested_repository_is_walked_by_its_own_rules(root, write, git):
    git("init", "-q")
    write(".gitignore", text="*.outer\n")
    write("lib/.gitignore", text="*.inner\n")
    git("init", "-q", "lib")
    write("lib/a.py", "lib/a.inner", "lib/a.outer")
    assert code(root) == {"lib/a.py", "lib/a.outer"}


def test_repositories_side_by_side_each_keep_their_rules(root, write, git):
    for name in ("one", "two"):
        git("init", "-q", name)
        write(f"{name}/.gitignore", text=f"*.{name}\n")
        write(f"{name}/a.one", f"{name}/a.two")
    assert code(root) == {"one/a.two", "two/a.one"}


def test_own_rules_win_over_gits(root, write):
    write(".gitignore", text="*.gen.py\n")
    write(".sidecarignore", text="!wanted.gen.py\nfixtures/\n")
    write("pkg/.sidecarignore", text="*.txt\n")
    write("a.gen.py", "wanted.gen.py", "fixtures/a.py", "pkg/a.txt", "a.txt", "pkg/a.py")
    assert code(root) == {"wanted.gen.py", "a.txt", "pkg/a.py"}


def test_ripgreps_ignore_file_is_not_ours(root, write):
    write(".ignore", text="*.py\n")
    write("a.py")
    assert code(root) == {"a.py"}


def test_built_in_folders_are_left_out_at_any_depth_but_files_of_that_name_are_not(root, write):
    write("node_modules/a.js", "pkg/node_modules/a.js", "pkg/__pycache__/a.py", ".venv/a.py")
    write("pkg/obj/a.cs", "pkg/thing.egg-info/PKG", "svc/target/a.rs", ".svn/entries")
    write("tools/bin", "pkg/build", "objects/a.cs")
    assert code(root) == {"tools/bin", "pkg/build", "objects/a.cs"}


def test_copies_that_editors_and_merges_leave_are_left_out(root, write):
    write("a.py", "a.py~", "#a.py#", "pkg/a.py.orig", "pkg/#notes", "pkg/b~c.py")
    assert code(root) == {"a.py", "pkg/#notes", "pkg/b~c.py"}
    write(".sidecarignore", text="!*.orig\n")
    assert code(root) == {"a.py", "pkg/a.py.orig", "pkg/#notes", "pkg/b~c.py"}


def test_a_byte_order_mark_hides_no_rule(root, write):
    write(".sidecarignore", text="\ufeff!bin/\n")
    write(".gitignore", text="\ufefftmp/\n")
    write("bin/a.sh", "tmp/b.py")
    assert "bin/a.sh" in paths(root)
    assert "tmp/b.py" not in paths(root)


def test_a_line_in_sidecarignore_brings_a_built_in_folder_back(root, write):
    write(".sidecarignore", text="# ours\n!bin/\n!.git/\n")
    write("bin/run.py", "pkg/bin/run.py", "build/a.py", ".git/config")
    assert code(root) == {"bin/run.py", "pkg/bin/run.py"}
    assert code(root, under=["bin", "build"]) == {"bin/run.py"}


def test_folders_in_which_git_tracks_files_are_no_built_ones(root, write, git):
    git("init", "-q")
    write(".gitignore", text="obj/\n")
    write("app/bin/run.py", "bin/a.py", "build/a.py", "dist/a.js", "obj/a.cs")
    assert code(root) == set()
    git("add", "--force", "app", "dist", "obj")
    assert code(root) == {"app/bin/run.py", "bin/a.py"}
    assert code(root, under=["bin", "build"]) == {"bin/a.py"}
    excludes = {"--exclude": ("/app/",)}
    assert code(root, excludes=excludes["--exclude"]) == {"bin/a.py"}
    rules = [rule_for(root, f, is_folder=True, excludes=excludes) for f in ("bin", "build", "obj")]
    assert [str(rule) for rule in rules] == [
        "None",
        "build/ (built in)",
        f"obj/ ({root / '.gitignore'}:1)",
    ]


def test_a_gitignore_that_allows_every_folder_brings_no_built_in_one_back(root, write):
    write(".gitignore", text="*\n!*/\n!*.py\n")
    write("pkg/a.py", "pkg/a.txt", "node_modules/gyp/a.py")
    assert code(root) == {"pkg/a.py"}


def test_an_exclude_that_is_too_large_is_refused_and_one_of_a_clone_left_out():
    glob = "{a," * 3000 + "}" * 3000
    with pytest.raises(UsageError, match="too large a glob"):
        check_excludes((glob,))
    assert valid_excludes((glob, "docs/")) == ("docs/",)


def test_excludes_that_are_too_large_together_are_refused(root):
    excludes = tuple("[à-ü]" * 500 + str(number) for number in range(400))
    check_excludes(excludes)
    with pytest.raises(UsageError, match="the 400 excludes are too large together"):
        IgnoreRules(str(root), excludes)


def test_excludes_of_the_source_win_over_everything(root, write):
    write(".sidecarignore", text="!docs/\n")
    write("docs/a.md", "pkg/docs/a.md", "pkg/a.txt", "pkg/deep/er/a.py", "pkg/a.py", "top.py")
    excludes = ("/docs/", "*.txt", "pkg/**/er", "/top.py")
    assert code(root, excludes=excludes) == {"pkg/docs/a.md", "pkg/a.py"}
    assert code(root, excludes=excludes, under=["docs", "pkg/deep"]) == set()


@pytest.mark.parametrize("glob", ["[", "", " ", "!", "![", "!!keep.py", "{a"])
def test_an_exclude_that_is_no_glob_is_refused(root, glob):
    with pytest.raises(UsageError) as refused:
        walk(root, max_file_bytes=1, excludes=(glob,))
    assert repr(glob) in refused.value.message
    assert refused.value.hint


NAMES = ["a", "b", "ab", "a.py", "b.py", "c.log", "d.log", "[x]", "e f", "#h", "!n", "é.py", ".hid"]
PATTERNS = [
    *("a", "a/", "/a", "/a/", "a/b", "a/*", "a/**", "**/b", "**/a/", "a/**/b", "*.py", "*.log"),
    *("/*.py", "b/*.py", "?.py", "[ab].py", "[!a].py", "[a-c]*", r"\#h", r"\!n", r"\[x\]", "e f"),
    *("# comment", "", "*", "*/", "/*", "!a", "!a/", "!*.py", "!/a/b", "!*/", "!**/*.log", ".*"),
    *("c.log ", "c.log\\ ", "é.py", "**", "b/**/", "*.p[xy]", "!b/*", "a*b", "[[]x]", "**.log"),
]


def plant(chance: random.Random, folder: Path, depth: int) -> None:
    """A random tree in which about every third folder has random rules."""
    for name in chance.sample(NAMES, k=chance.randint(2, 7)):
        if depth and chance.random() < 0.5:
            (folder / name).mkdir()
            plant(chance, folder / name, depth - 1)
        else:
            (folder / name).write_text("x\n")
    if chance.random() < 0.4:
        rules = chance.choices(PATTERNS, k=chance.randint(1, 5))
        (folder / ".gitignore").write_text("\n".join(rules) + "\n", encoding="utf-8")


@pytest.mark.parametrize("seed", range(40))
def test_random_rules_ignore_what_git_ignores(root, git, seed):
    chance = random.Random(seed)
    git("init", "-q")
    plant(chance, root, depth=3)
    exclude = chance.choices(PATTERNS, k=chance.randint(0, 3))
    (root / ".git/info/exclude").write_text("\n".join(exclude) + "\n", encoding="utf-8")
    assert paths(root) == untracked(git, root)


@pytest.mark.parametrize("is_repository", [True, False])
@pytest.mark.parametrize("seed", range(10))
def test_a_scan_of_some_paths_is_that_part_of_a_scan_of_all(root, git, seed, is_repository):
    chance = random.Random(seed)
    if is_repository:
        git("init", "-q")
    plant(chance, root, depth=3)
    whole = walk(root, max_file_bytes=1 << 20)
    everything = [path.relative_to(root).as_posix() for path in root.rglob("*")]
    for _ in range(5):
        under = chance.sample(everything, k=3)
        part = walk(root, max_file_bytes=1 << 20, under=under)

        def wanted(path: str, under: list[str] = under) -> bool:
            return any(path == name or path.startswith(f"{name}/") for name in under)

        assert part.files == tuple(file for file in whole.files if wanted(file.path))
        assert part.folders == tuple(folder for folder in whole.folders if wanted(folder))


SECRET_FILES = (
    ".env .env.local .envrc deploy/prod.env id_rsa .ssh/config .ssh/known_hosts tls/server.pem"
    " server.key .netrc .npmrc .pypirc .git-credentials .aws/credentials credentials.json"
    " client_secret_1.json infra/terraform.tfstate infra/terraform.tfstate.backup kubeconfig"
    " application_default_credentials.json .kube/config vault.kdbx cert.p12 secrets.yaml"
    " .docker/config.json"
).split()
OTHER_FILES = (
    ".env.example .env.sample .env.template env.py credentials.py id_rsa.pub secrets.md keys.py"
    " example.env kubeconfig.go .npmignore config.json service_account.py"
).split()


def skipped(root: Path, **options: object) -> set[str]:
    scan = walk(root, max_file_bytes=1 << 20, **options)  # type: ignore[arg-type]
    return {file.path for file in scan.files if file.skip_reason == "may hold secrets"}


def test_files_that_may_hold_secrets_are_skipped_with_that_reason(root, write):
    write(*SECRET_FILES, *OTHER_FILES)
    assert skipped(root) == set(SECRET_FILES)


def test_such_a_file_is_asked_for_by_the_source_and_not_by_what_lies_in_it(root, write):
    write(".sidecarignore", text="!.env\n")
    write(".env", ".npmrc", "deploy/.env")
    assert skipped(root) == {".env", ".npmrc", "deploy/.env"}
    assert skipped(root, excludes=("!.env",)) == {".npmrc"}
    assert skipped(root, excludes=("!/.env", ".npmrc")) == {"deploy/.env"}
