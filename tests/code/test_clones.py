"""Sources that are named by an address: cloned, fetched anew, removed, and never believed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from memory_sidecar.code import clones
from memory_sidecar.core.process import MAX_DATA_BYTES
from memory_sidecar.disk.repository import origin_of
from tests.finished import Finished

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

ENVIRON = {"PATH": os.environ["PATH"]}
WHO = {
    f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
}


class Shop:
    """A repository with one file, the branch `old` at its first commit."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.address = root.as_uri()
        root.mkdir()
        self.git("init", "-q", "-b", "main")
        self.commit("total = 1\n")
        self.git("branch", "old")
        self.commit("total = 2\n")

    def git(self, *words: str) -> None:
        environ = ENVIRON | WHO | {"HOME": str(self.root)}
        subprocess.run(["git", "-C", self.root, *words], check=True, env=environ)

    def clone(self, name: str, branch: str) -> Path:
        """Clone `branch` of it beside it, as people do."""
        made = self.root.with_name(name)
        self.git("clone", "-q", "-b", branch, self.address, str(made))
        return made

    def commit(self, text: str) -> None:
        (self.root / "cart.py").write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "Change the total")


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path / "shop")


@pytest.fixture
def call(serve, tmp_path: Path) -> Callable[..., Finished]:
    """As `serve`, for a user whose git is told to run programs wherever it can."""
    (home := tmp_path / "home").mkdir()
    (home / "hooks").mkdir()
    pwned = f"touch {tmp_path / 'pwned'}"
    for hook in ("post-checkout", "reference-transaction", "post-index-change"):
        (home / "hooks" / hook).write_text(f"#!/bin/sh\n{pwned}\n")
        (home / "hooks" / hook).chmod(0o755)
    (home / ".gitconfig").write_text(
        f'[core]\nhooksPath = {home}/hooks\n[init]\ntemplateDir = {home}\n[protocol "ext"]\n'
        f'allow = always\n[filter "evil"]\nsmudge = {pwned}\nrequired = true\n'
    )
    return partial(serve, environ=ENVIRON | {"HOME": str(home)})


def the_source(call: Callable[..., Finished]) -> dict[str, str]:
    sources: list[dict[str, str]] = call("source", "list", "--json").json
    (source,) = sources
    return source


def test_an_address_is_a_source_like_any_other_until_it_is_removed(call, shop, data_dir):
    done = call("index", shop.address, "--wait", "keyword", "--json")
    assert (done.status, done.json["files_total"]) == (0, 1), done.err
    assert "--source shop" in done.err
    source = the_source(call)
    assert (source["name"], source["address"], source["branch"]) == ("shop", shop.address, "")
    root = Path(source["root"])
    assert root.is_relative_to(data_dir / "clones")
    assert "total = 2" in call("search", "total", "--source", "shop", "--json").json[0]["code"]
    assert (data_dir / "clones").stat().st_mode & 0o077 == 0
    assert call("source", "remove", "shop").status == 0
    assert list((data_dir / "clones" / "codebase").iterdir()) == []


def test_what_is_new_there_is_fetched_by_every_index(call, shop):
    call("source", "add", shop.address, "--name", "till")
    root = Path(the_source(call)["root"])
    (root / ".git" / "index.lock").touch()  # of a git that was killed
    shop.commit("total = 3\n")
    assert call("index", "--wait", "keyword").status == 0
    assert (root / "cart.py").read_text() == "total = 3\n"
    assert "total = 3" in call("search", "total", "--source", "till", "--json").json[0]["code"]
    shutil.rmtree(shop.root)
    gone = call("index", "--wait", "keyword")
    assert (gone.status, "till stays as last fetched" in gone.err) == (0, True)
    assert call("index", shop.address).status == 1


def test_source_update_fetches_and_indexes_what_it_names_or_all(call, shop, tmp_path):
    other = Shop(tmp_path / "other")
    for each in (shop, other):
        assert call("index", each.address, "--wait", "keyword").status == 0
        each.commit("total = 3\n")
    done = call("source", "update", "shop", "--json")
    assert (done.status, done.json["sources"], done.json["files_processed"]) == (0, ["shop"], 1)
    assert "total = 3" in call("search", "total", "--source", "shop", "--json").json[0]["code"]
    assert "total = 2" in call("search", "total", "--source", "other", "--json").json[0]["code"]
    done = call("source", "update", "--json")
    assert (done.json["sources"], done.json["files_processed"]) == (["shop", "other"], 1)
    shutil.rmtree(shop.root)
    gone = call("source", "update", "shop")
    assert (gone.status, "shop stays as last fetched" in gone.err) == (0, True)
    assert call("source", "update", "till").status == 3


def test_a_branch_is_a_source_of_its_own(call, shop):
    assert call("source", "add", shop.address).status == 0
    assert call("source", "add", shop.address, "--branch", "old").status == 0
    assert [each["name"] for each in call("source", "list", "--json").json] == ["shop", "shop-2"]
    old = call("source", "list", "--json").json[1]
    assert (Path(old["root"]) / "cart.py").read_text() == "total = 1\n"
    assert call("index", shop.root, "--branch", "old").status == 2


def test_nothing_that_it_brings_is_run_or_followed(call, shop, tmp_path):
    (shop.root / ".gitattributes").write_text("* filter=evil\n")
    other = Shop(tmp_path / "other")
    shop.git(
        "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", other.address, "sub"
    )
    shop.commit("total = 4\n")
    assert call("index", shop.address, "--wait", "keyword").status == 0
    root = Path(the_source(call)["root"])
    assert (root / "cart.py").read_text() == "total = 4\n"
    assert list((root / "sub").iterdir()) == []
    assert not (tmp_path / "pwned").exists()


def test_a_folder_that_a_list_calls_a_clone_is_not_touched(call, shop, project, data_dir):
    call("source", "add", project)
    registry = data_dir / "state" / "codebase" / "sources.json"
    document = json.loads(registry.read_text())
    document["sources"][0]["address"] = shop.address
    registry.write_text(json.dumps(document))
    assert call("index", "--wait", "keyword").status == 0
    assert not (project / ".git").exists()
    assert call("source", "remove", "project").status == 0
    assert (project / "shop" / "cart.py").exists()


@pytest.mark.parametrize(
    ("address", "branch", "status", "told"),
    [
        ("https://me:hunter2@git.example/shop.git", "", 2, "credential helper"),
        ("https://hunter2@git.example/shop.git", "", 2, "credential helper"),
        ("https://git.example/shop.git?token=hunter2", "", 2, "not an address"),
        ("ext::sh -c 'touch pwned'", "", 2, "not an address"),
        ("ftp://git.example/shop.git", "", 2, "not an address"),
        ("{shop}", "--upload-pack=touch", 2, "not a branch"),
        ("{shop}", "none", 1, "couldn't find remote ref none"),
        ("{shop}-not-there", "", 1, "git ls-remote"),
    ],
)
def test_a_wrong_address_gets_one_line_and_leaves_nothing(
    call, shop, data_dir, address, branch, status, told
):
    done = call("index", address.format(shop=shop.address), "--branch", branch)
    assert (done.status, told in done.err) == (status, True), done.err
    assert (done.err.count("\n"), "hunter2" in done.err) == (1, False)
    assert call("source", "list", "--json").json == []
    assert not list(data_dir.glob("clones/*/*/"))


def test_passwords_of_rewritten_addresses_are_not_shown(call, shop, tmp_path):
    (tmp_path / "home" / ".gitconfig").write_text(
        '[url "http://me:hunter2@127.0.0.1:9/"]\ninsteadOf = https://git.example/\n'
    )
    done = call("index", "https://git.example/shop")
    assert (done.status, "127.0.0.1" in done.err, "hunter2" in done.err) == (1, True, False)


def test_a_repository_that_is_too_large_is_not_kept(call, shop, data_dir, monkeypatch):
    monkeypatch.setattr(clones, "MAX_FILES", 3)
    done = call("index", shop.address)
    assert (done.status, "clone what you need" in done.err) == (1, True)
    assert not list(data_dir.glob("clones/*/*/"))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits it")
def test_git_has_no_more_memory_than_we_have(call, shop, tmp_path):
    import resource

    program = tmp_path / "git"
    program.write_text('#!/bin/sh\necho "fatal: $(ulimit -d) KiB" >&2\nexit 1\n')
    program.chmod(0o755)
    before = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (MAX_DATA_BYTES, before[1]))
    try:
        done = call("index", shop.address, environ={"PATH": str(tmp_path)})
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)
    assert f"cannot be fetched: {MAX_DATA_BYTES >> 10} KiB" in done.err


def test_without_git_it_says_so(call, shop):
    done = call("index", shop.address, environ={"PATH": ""})
    assert (done.status, "install git" in done.err) == (1, True)


@pytest.mark.parametrize(("branch", "known_by"), [("", "main"), ("old", "old")])
def test_a_clone_is_known_by_its_address_and_branch_as_one_by_hand_is(call, shop, branch, known_by):
    assert (
        call("source", "add", shop.address, *(["--branch", branch] if branch else [])).status == 0
    )
    root = Path(the_source(call)["root"])
    by_hand = origin_of(shop.clone("by-hand", known_by))
    assert origin_of(root) == by_hand
    shop.commit("total = 3\n")
    assert call("index", "--wait", "keyword").status == 0
    assert origin_of(root) == by_hand
    assert "total" in (root / "cart.py").read_text()
