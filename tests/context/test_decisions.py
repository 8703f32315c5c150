"""Decision records are numbered, have the sections of their template, and take their own keys."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from memory_sidecar.context.atoms import AtomDraft, create_decision
from memory_sidecar.disk.frontmatter import parse_page
from tests.context.conftest import TODAY


def test_decisions_are_numbered_and_listed(run, tmp_path):
    root = tmp_path / "context"
    run("context", "init", root, "--project", "mill")
    made = [
        run("context", "new", "decision", *words, "--root", root, "--json").json
        for words in (("Pools have a fixed size", "--tag", "pool"), ("Store it in files",))
    ]
    assert [each["id"] for each in made] == ["DR-0001", "DR-0002"]
    assert made[0]["path"].endswith("mill/decisions/DR-0001-pools-have-a-fixed-size.md")
    page = parse_page((root / made[0]["path"]).read_text())
    assert (page.meta["summary"], page.meta["tags"]) == ("Pools have a fixed size", ["pool"])
    for heading in ("Context", "Decision", "Alternatives", "Consequences"):
        assert f"\n## {heading}\n" in page.body
    run("context", "regen", "--root", root)
    assert run("context", "check", "--root", root, "--json").json == []
    (root / made[0]["path"]).unlink()
    third = run("context", "new", "decision", "Third", "--body", "So.", "--root", root, "--json")
    assert third.json["id"] == "DR-0003"


def test_what_a_decision_cannot_say_is_refused(run, tmp_path):
    run("context", "init", tmp_path, "--project", "mill")
    new = ("context", "new", "decision", "--root", tmp_path)
    assert run(*new).status == 2
    assert run(*new, "So", "--evidence", "EXP-001").status == 2


def test_processes_that_decide_at_once_take_different_numbers(project):
    start = threading.Barrier(8)

    def decide(title):
        start.wait()
        return [create_decision(project, AtomDraft(f"{title} {n}"), today=TODAY) for n in range(5)]

    with ThreadPoolExecutor(8) as pool:
        made = [each for done in pool.map(decide, "abcdefgh") for each in done]
    assert sorted(name for name, _ in made) == [f"DR-{n:04}" for n in range(1, 41)]
    paths = (project.path / "decisions").iterdir()
    assert sorted(paths) == sorted(path for _, path in made)
