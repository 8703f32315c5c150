"""Committing access logs: what is committed, and what is never run for it."""

from __future__ import annotations

import os
import subprocess

import pygit2
import pytest

from memory_sidecar.context.commit import commit_logs
from memory_sidecar.core.errors import SidecarError

LOG = "projects/p/_meta/access-log.jsonl"


@pytest.fixture
def git(root):
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}

    def git(*arguments):
        done = subprocess.run(
            ["git", *arguments],
            cwd=root.path,
            env=environ | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull},
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()

    git("init", "--quiet")
    git("config", "user.name", "t")
    git("config", "user.email", "t@example.org")
    return git


def test_the_log_is_committed_and_nothing_else(root, project, git):
    git("add", ".")
    git("commit", "--quiet", "--message", "all")
    (root.path / "staged.md").write_text("")
    git("add", "staged.md")
    project.access_log.write_text("{}\n")
    assert commit_logs(root.path, [project.access_log], {})
    assert git("log", "-1", "--format=%s %an") == "chore: update access log t"
    assert git("show", "--format=", "--name-only") == LOG
    assert git("status", "--porcelain") == "A  staged.md"
    assert not commit_logs(root.path, [project.access_log], {})


def test_a_log_that_git_does_not_know_yet_is_committed(root, project, git):
    project.access_log.write_text("{}\n")
    assert commit_logs(root.path, [project.access_log], {})
    assert git("show", "--format=", "--name-only") == LOG


def test_the_environment_says_who_commits_before_the_configuration_does(root, project, git):
    project.access_log.write_text("{}\n")
    environ = {"GIT_AUTHOR_NAME": "a", "GIT_COMMITTER_NAME": "c", "GIT_COMMITTER_EMAIL": "c@x"}
    assert commit_logs(root.path, [project.access_log], environ)
    assert git("log", "-1", "--format=%an %ae %cn %ce") == "a t@example.org c c@x"


def test_in_a_linked_worktree_too(root, project, git, tmp_path):
    git("add", ".")
    git("commit", "--quiet", "--message", "all")
    git("worktree", "add", "--quiet", str(tmp_path / "linked"), "-b", "other")
    log = tmp_path / "linked" / LOG
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("{}\n")
    assert commit_logs(tmp_path / "linked", [log], {})
    assert git("log", "-1", "--format=%s", "other") == "chore: update access log"


def test_no_program_of_the_repository_is_run(root, project, git, tmp_path):
    canary = tmp_path / "ran"
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\necho \"$0\" >> '{canary}'\ncat\n")
    script.chmod(0o755)
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for hook in ("pre-commit", "commit-msg", "post-commit", "post-index-change"):
        (hooks / hook).symlink_to(script)
    (root.path / ".gitattributes").write_text("* filter=own\n")
    for key, value in {
        "core.hooksPath": hooks,
        "core.fsmonitor": script,
        "filter.own.clean": script,
        "filter.own.process": script,
        "gpg.program": script,
        "commit.gpgSign": "true",
        "core.editor": script,
    }.items():
        git("config", key, str(value))
    project.access_log.write_text("{}\n")
    assert commit_logs(root.path, [project.access_log], {})
    assert not canary.exists()
    git("status")
    assert canary.exists()  # git itself does run them


def test_a_bare_repository_that_a_clone_brings_is_not_used(root, project):
    pygit2.init_repository(str(root.path), bare=True)
    (root.path / "config").write_text(f"[core]\nbare = false\nworktree = {root.path}\n")
    project.access_log.write_text("{}\n")
    with pytest.raises(SidecarError, match="is in no repository"):
        commit_logs(root.path, [project.access_log], {})


@pytest.mark.parametrize("state", ["MERGE_HEAD", "CHERRY_PICK_HEAD"])
def test_what_is_under_way_is_left_alone(root, project, git, state):
    git("commit", "--quiet", "--allow-empty", "--message", "one")
    (root.path / ".git" / state).write_text(git("rev-parse", "HEAD") + "\n")
    project.access_log.write_text("{}\n")
    with pytest.raises(SidecarError, match="a merge or a rebase is under way"):
        commit_logs(root.path, [project.access_log], {})


def test_nothing_is_committed_while_another_program_has_the_index(root, project, git):
    git("commit", "--quiet", "--allow-empty", "--message", "one")
    (root.path / ".git" / "index.lock").touch()
    project.access_log.write_text("{}\n")
    with pytest.raises(SidecarError, match="the index is locked"):
        commit_logs(root.path, [project.access_log], {})
    assert git("log", "--format=%s") == "one"


def test_an_ignored_log_is_not_committed(root, project, git):
    (root.path / ".gitignore").write_text("_meta/\n")
    project.access_log.write_text("{}\n")
    with pytest.raises(SidecarError, match="is ignored"):
        commit_logs(root.path, [project.access_log], {})
