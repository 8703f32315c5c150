from __future__ import annotations

import os
import subprocess

import pytest

from memory_sidecar.context.commit import commit_logs
from memory_sidecar.errors import SidecarError

ENVIRON = {
    **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_AUTHOR_NAME": "t",
    "GIT_AUTHOR_EMAIL": "t@example.org",
    "GIT_COMMITTER_NAME": "t",
    "GIT_COMMITTER_EMAIL": "t@example.org",
}


@pytest.fixture
def git(root):
    def git(*arguments):
        command = ["git", *arguments]
        done = subprocess.run(
            command, cwd=root.path, env=ENVIRON, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    git("init", "--quiet")
    return git


def test_the_log_is_committed_and_nothing_else(root, project, git):
    git("add", ".")
    git("commit", "--quiet", "--message", "all")
    (root.path / "staged.md").write_text("")
    git("add", "staged.md")
    project.access_log.write_text("{}\n")
    assert commit_logs(root.path, [project.access_log], environ=ENVIRON)
    assert git("log", "-1", "--format=%s") == "chore: update access log"
    log = "projects/p/_meta/access-log.jsonl"
    assert git("show", "--format=", "--name-only") == log
    assert git("status", "--porcelain") == "A  staged.md"
    assert not commit_logs(root.path, [project.access_log], environ=ENVIRON)


def test_a_log_that_git_does_not_know_yet_is_committed(root, project, git):
    project.access_log.write_text("{}\n")
    assert commit_logs(root.path, [project.access_log], environ=ENVIRON)
    assert git("show", "--format=", "--name-only") == "projects/p/_meta/access-log.jsonl"


def test_what_git_cannot_do_is_one_line(root, project):
    with pytest.raises(SidecarError) as caught:
        commit_logs(
            root.path, [project.access_log], environ=ENVIRON | {"GIT_CEILING_DIRECTORIES": "/"}
        )
    assert "git could not commit the access log: " in caught.value.message
    with pytest.raises(SidecarError):
        commit_logs(root.path, [project.access_log], environ={"PATH": "/nowhere"})
