from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from memory_sidecar.context.atoms import AtomDraft, create_atom
from memory_sidecar.core.atomic import TEMPORARY_PREFIX
from memory_sidecar.core.errors import NotFound, UsageError
from memory_sidecar.disk.atoms import AtomKind
from memory_sidecar.disk.frontmatter import parse_page
from tests.context.conftest import TODAY

MAKE_MANY = """
import sys
from datetime import date
from pathlib import Path
from memory_sidecar.context.atoms import AtomDraft, create_atom
from memory_sidecar.context.layout import Project, Root
from memory_sidecar.disk.atoms import AtomKind

project = Project(Root(Path(sys.argv[1])), "p")
for number in range(int(sys.argv[2])):
    draft = AtomDraft(f"number {number}", body="a line of its body\\n" * 200)
    made, _ = create_atom(project, AtomKind.EXPERIMENT, draft, today=date(2026, 5, 6))
    print(made, flush=True)
"""


def new(project, kind=AtomKind.EXPERIMENT, **draft):
    atom_id, path = create_atom(project, kind, AtomDraft("A finding", **draft), today=TODAY)
    assert path.name == f"{atom_id}.md"
    return str(atom_id)


def test_numbers_go_up_and_are_never_given_again(project, atom):
    assert new(project) == "EXP-001"
    atom("EXP-012b")
    assert new(project) == "EXP-013"
    (project.path / "experiments" / "EXP-007.md").touch()
    assert new(project) == "EXP-014"
    atom("EXP-999")
    assert new(project) == "EXP-1000"


def test_the_number_of_a_deleted_atom_is_not_given_again(project, atom, regen):
    atom("EXP-001")
    atom("EXP-042")
    regen()
    (project.path / "experiments" / "EXP-042.md").unlink()
    for summary in ("Another", "And another"):  # the index remembers it, however often it is made
        atom("EXP-001", summary=summary)
        assert regen()
        assert not regen()
    assert new(project) == "EXP-043"


def test_nor_is_that_of_an_atom_that_no_index_lists_yet(project, run, regen):
    def new_id():
        root = project.root.path
        return run("context", "new", "experiment", "A finding", "--root", root, "--json").json["id"]

    for number in (1, 2):
        assert new_id() == f"EXP-00{number}"
        (project.path / "experiments" / f"EXP-00{number}.md").unlink()
    index = project.path / "experiments" / "index.md"
    assert index.read_text().count("Last id given") == 1
    regen()
    assert new_id() == "EXP-003"
    index.unlink()
    index.mkdir()  # which a check reports, and which keeps no atom from being made
    assert new_id() == "EXP-004"


def test_each_kind_counts_for_itself(project):
    new(project)
    new(project)
    assert new(project, AtomKind.KNOWLEDGE, evidence=["EXP-001"]) == "K-001"
    assert new(project, AtomKind.PATTERN, source_experiments=["EXP-001"]) == "PAT-001"


def test_an_atom_has_what_its_kind_asks_for(project):
    new(project)
    new(project, AtomKind.PATTERN, source_experiments=["EXP-001"], tags=["a"], status="active")
    page = parse_page((project.path / "patterns" / "PAT-001.md").read_text())
    assert page.meta == {
        "id": "PAT-001",
        "date": "2026-05-06",
        "project": "p",
        "summary": "A finding",
        "tags": ["a"],
        "status": "active",
        "source-experiments": ["EXP-001"],
    }
    for section in ("Observation", "Evidence", "Pattern Statement", "Implications"):
        assert f"\n## {section}\n" in page.body


def test_an_anti_pattern_gets_its_tag(project):
    draft = AtomDraft("ANTI-PATTERN: to guess", evidence=["session:1"])
    _, path = create_atom(project, AtomKind.KNOWLEDGE, draft, today=TODAY)
    assert parse_page(path.read_text()).meta["tags"] == ["anti-pattern"]


def test_a_body_takes_the_place_of_the_sections(project):
    new(project, body="\nIn my words.\n")
    page = parse_page((project.path / "experiments" / "EXP-001.md").read_text())
    assert page.body == "\nIn my words.\n"


@pytest.mark.parametrize(
    ("kind", "draft", "error"),
    [
        (AtomKind.EXPERIMENT, AtomDraft(" \n"), UsageError),
        (AtomKind.EXPERIMENT, AtomDraft("a", status="psychic"), UsageError),
        (AtomKind.EXPERIMENT, AtomDraft("a", links=["EXP-404"]), NotFound),
        (AtomKind.EXPERIMENT, AtomDraft("a", links=["other/EXP-001"]), NotFound),
        (AtomKind.KNOWLEDGE, AtomDraft("a"), UsageError),
        (AtomKind.KNOWLEDGE, AtomDraft("a", evidence=["EXP-404"]), NotFound),
        (AtomKind.PATTERN, AtomDraft("a", evidence=["EXP-001"]), UsageError),
    ],
)
def test_a_wrong_draft_makes_nothing(project, kind, draft, error):
    before = sorted(project.path.rglob("*"))
    with pytest.raises(error):
        create_atom(project, kind, draft, today=TODAY)
    assert sorted(project.path.rglob("*")) == before


def test_two_processes_get_400_numbers(root, project):
    command = [sys.executable, "-c", MAKE_MANY, str(root.path), "200"]
    with ThreadPoolExecutor(2) as threads:
        done = threads.map(lambda _: subprocess.check_output(command, text=True).split(), range(2))
        ids = [made for each in done for made in each]
    assert len(set(ids)) == 400
    assert {path.stem for path in project.path.glob("experiments/EXP-*.md")} == set(ids)


def test_a_kill_leaves_no_half_written_file(root, project):
    chance = random.Random(5)
    command = [sys.executable, "-c", MAKE_MANY, str(root.path), "10000"]
    for _ in range(4):
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()  # it is in the middle of it
        time.sleep(chance.uniform(0, 0.05))  # any moment will do
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    for path in project.path.glob("experiments/*.md"):
        if path.name != "index.md":
            page = parse_page(path.read_text())
            assert (page.problem, page.meta["id"]) == ("", path.stem)
            assert page.body.endswith("body\n")
    others = [path.name for path in project.path.glob("experiments/.*")]
    assert all(name.startswith(TEMPORARY_PREFIX) for name in others)
