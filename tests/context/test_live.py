"""A root that the daemon follows: its indexes say what its files say, soon after an edit."""

from __future__ import annotations

import errno
import shutil

import pytest

from memory_sidecar.context.atoms import AtomDraft
from memory_sidecar.context.handlers import Context, init
from memory_sidecar.context.layout import Root
from memory_sidecar.context.live import ContextLive
from memory_sidecar.disk.atoms import AtomKind
from tests.waiting import eventually


@pytest.fixture
def context(tmp_path):
    init(tmp_path / "root", project="p")
    return Context(Root(tmp_path / "root"), embed_with=pytest.fail)


@pytest.fixture
def live(context):
    live = ContextLive(context, debounce_ms=50)
    live.start()
    yield live
    live.close()


def new(context, summary, project="p"):
    context.new(context.root.project(project), AtomKind.EXPERIMENT, AtomDraft(summary))


def index_of(context, project="p"):
    return context.root.project(project).index(AtomKind.EXPERIMENT).read_text()


def test_a_new_atom_comes_into_its_index(context, live):
    new(context, "Pool sizes")
    eventually(lambda: "Pool sizes" in index_of(context))


def test_what_changed_before_the_start_is_seen(context):
    new(context, "Written while nobody looked")
    live = ContextLive(context, debounce_ms=50)
    live.start()
    eventually(lambda: "nobody looked" in index_of(context))
    live.close()


def test_a_project_that_is_added_is_followed(context, live):
    init(context.root.path, project="q")
    new(context, "In q", "q")
    eventually(lambda: "In q" in index_of(context, "q"))
    new(context, "Later", "q")
    eventually(lambda: "Later" in index_of(context, "q"))


def test_a_root_that_goes_and_comes_back_is_followed(context, live, tmp_path):
    new(context, "Pool sizes")
    eventually(lambda: "Pool sizes" in index_of(context))
    shutil.move(context.root.path, tmp_path / "away")
    shutil.move(tmp_path / "away", context.root.path)
    new(context, "Back again")
    eventually(lambda: "Back again" in index_of(context))


def test_a_disk_that_does_not_answer_for_a_moment_ends_nothing(context, monkeypatch):
    projects, failing = Root.projects, [OSError(errno.EIO, "the disk does not answer")] * 2

    def fail_at_first(root):
        if failing:
            raise failing.pop()
        return projects(root)

    monkeypatch.setattr(Root, "projects", fail_at_first)
    live = ContextLive(context, debounce_ms=50)
    live.start()
    eventually(lambda: not failing)
    new(context, "Pool sizes")
    eventually(lambda: "Pool sizes" in index_of(context))
    live.close()


def test_a_look_at_a_root_that_is_gone_makes_nothing(context):
    shutil.rmtree(context.root.path)
    live = ContextLive(context, debounce_ms=50)
    live.start()
    live.close()
    assert not context.root.path.exists()
