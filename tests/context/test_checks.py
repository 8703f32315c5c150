"""Each rule finds its fault in the right line, and nothing in a root that is sound."""

from __future__ import annotations

import os
import time
from datetime import timedelta

import numpy as np
import pytest

from memory_sidecar.context.checks import CHECKS, apply_fixes, examine
from memory_sidecar.context.checks_atoms import near_pairs
from memory_sidecar.context.handlers import init
from memory_sidecar.context.loaded import load
from memory_sidecar.context.tasks import archive_tasks
from memory_sidecar.core.errors import PageBroken
from memory_sidecar.core.results import Silent
from memory_sidecar.disk import frontmatter
from memory_sidecar.disk.frontmatter import edit_page, parse_page
from tests.context.conftest import NOW_MS, TODAY

OLD = (TODAY - timedelta(days=60)).isoformat()


def by_first_word(texts):
    """Vectors that are equal where the first words of two texts are."""
    words = sorted({text.split()[0] for text in texts})
    return np.eye(len(words), dtype=np.float32)[[words.index(text.split()[0]) for text in texts]]


@pytest.fixture
def check(root, regen):
    """`check()` after a regeneration: what is found, as file, line, rule and text."""

    def check(*rules, embed=None, generated=True):
        if generated:
            regen()
        return examine(load(root, now_ms=NOW_MS, embed=embed), rules=rules or CHECKS)

    return check


def shown(findings, root):
    return [
        (root.shown(each.path).removeprefix("projects/p/"), each.line, each.rule)
        for each in findings
    ]


def test_a_sound_root_has_no_findings(root, atom, check):
    atom("EXP-001")
    atom("EXP-002", links=["EXP-001"], status="corrected:EXP-001")
    atom(
        "K-001",
        evidence=["EXP-001", "src/main.py:3"],
        summary="ANTI-PATTERN: x",
        tags=["anti-pattern"],
    )
    atom("PAT-001", source_experiments=["EXP-001", "EXP-002"])
    assert check(embed=by_first_word) == []


def test_every_finding_has_a_remedy(root, project, atom, check):
    atom("EXP-001", date=OLD, summary=None, status="wrong", links=["EXP-404"])
    atom("K-001")
    (project.path / "STATUS.md").unlink()
    findings = check()
    assert len(findings) > 6
    assert all(each.text and each.remedy and each.line > 0 for each in findings)


@pytest.mark.parametrize(
    ("name", "keys", "rule", "line", "words"),
    [
        ("EXP-001", {"id": None}, "required", 1, "no id"),
        ("EXP-001", {"summary": ""}, "required", 5, "no summary"),
        ("EXP-001", {"tags": None}, "required", 1, "no tags"),
        ("EXP-001", {"date": "soon"}, "required", 3, "'soon' is not a date"),
        ("EXP-001", {"project": "q"}, "required", 4, "belongs to 'q'"),
        ("EXP-001", {"status": "great"}, "required", 7, "unknown status 'great'"),
        ("EXP-001", {"links": {"a": 1}}, "required", 8, "links is not a list"),
        ("EXP-001", {"id": "EXP-002"}, "id", 2, "its id is EXP-002"),
        ("EXP-001", {"links": ["EXP-404"]}, "link", 8, "EXP-404, which does not exist"),
        ("EXP-001", {"links": ["q/EXP-001"]}, "link", 8, "q/EXP-001"),
        ("EXP-001", {"status": "superseded:K-9"}, "link", 7, "status names K-9"),
        ("K-001", {"evidence": ["EXP-404"]}, "link", 8, "evidence names EXP-404"),
        ("PAT-001", {"source_experiments": "EXP-7"}, "link", 8, "source-experiments names"),
        ("K-001", {}, "evidence", 1, "without evidence"),
        ("K-001", {"evidence": []}, "evidence", 8, "without evidence"),
        ("PAT-001", {}, "experiments", 1, "without experiments"),
        ("EXP-001", {"status": "superseded"}, "status", 7, "without saying by what"),
        ("EXP-001", {"status": "invalidated"}, "status", 7, "without saying by what"),
        ("EXP-001", {"summary": "ANTI-PATTERN: x"}, "anti-pattern", 6, "without its tag"),
        ("EXP-001", {"date": OLD}, "cold", 5, "nobody has read it in 60 days"),
        ("EXP-001", {"date": OLD, "refs": 3}, "stale", 3, "nothing newer refers to it"),
    ],
)
def test_a_fault_of_one_atom_is_found(atom, check, name, keys, rule, line, words):
    path = atom(name, **keys)
    (finding,) = check(rule)
    assert (finding.path, finding.rule, finding.line) == (path, rule, line)
    assert words in finding.text


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("---\nid: EXP-001\nsummary: [a\n---\n", 4, "broken"),
        ("---\nid: EXP-001\n", 1, "broken"),
        ("Just words\n", 1, "no frontmatter"),
        (
            "---\nid: EXP-001\n<<<<<<< a\ndate: 1\n=======\n>>>>>>> b\n---\n",
            3,
            "unresolved merge conflict",
        ),
    ],
)
def test_a_broken_frontmatter_is_found(project, check, text, line, words):
    path = project.path / "experiments" / "EXP-001.md"
    path.write_text(text)
    (finding,) = check("frontmatter")
    assert (finding.path, finding.line) == (path, line)
    assert words in finding.text


@pytest.mark.parametrize("broken", ["<<<<<<< a\n", "summary: [a\n"])
def test_evidence_that_a_broken_frontmatter_may_hold_is_not_missed(project, check, broken):
    path = project.path / "knowledge" / "K-001.md"
    path.write_text(f"---\nid: K-001\n{broken}evidence: [EXP-001]\n---\n")
    assert [each.path for each in check("frontmatter")] == [path]
    assert check("evidence") == []


def test_a_file_that_is_no_atom_is_found(project, check):
    path = project.path / "experiments" / "EXP-001 copy.md"
    path.write_text("")
    (finding,) = check("frontmatter")
    assert finding.path == path


@pytest.mark.parametrize(
    ("first", "second", "keys"),
    [("EXP-12", "EXP-012", {}), ("EXP-012", "EXP-013", {"id": "EXP-012"})],
)
def test_a_number_that_two_branches_took_is_found(atom, check, first, second, keys):
    atom(first)
    atom(second, **keys)
    (finding,) = check("duplicate")
    assert "has the same number" in finding.text
    assert "context new experiment --project p" in finding.remedy


def test_a_suffix_makes_another_number(atom, check):
    atom("EXP-012")
    atom("EXP-012b")
    assert check("duplicate") == []


def test_a_link_may_lead_to_another_project(root, atom, check):
    init(root.path, project="q")
    atom("EXP-007", to=root.project("q"))
    atom("EXP-001", links=["q/EXP-007"])
    assert check("link") == []


def test_what_a_newer_atom_refers_to_is_not_stale(atom, check):
    atom("EXP-001", date=OLD, refs=3)
    atom("EXP-002", date=OLD, refs=3, links=["EXP-001"])
    atom("EXP-003", body="\nAs EXP-002 has shown.\n")
    assert check("stale") == []


def test_what_was_read_lately_is_not_stale(atom, check):
    atom("EXP-001", date=OLD, refs=3, last_ref=(TODAY - timedelta(days=30)).isoformat())
    assert check("stale") == []


def test_an_older_atom_that_refers_to_it_does_not_keep_it_fresh(atom, check):
    atom("EXP-001", date=(TODAY - timedelta(days=90)).isoformat(), refs=1, links=["EXP-002"])
    atom("EXP-002", date=OLD, refs=1)
    assert {finding.path.stem for finding in check("stale")} == {"EXP-001", "EXP-002"}


@pytest.mark.parametrize(
    "newer",
    [
        {"challenges": ["EXP-001"]},
        {"supersedes": "EXP-001"},
        {"summary": "This contradicts EXP-001"},
        {"body": "\n## Conclusion\n\nThe result refutes the claim of `EXP-001`.\n"},
    ],
    ids=str,
)
def test_an_atom_that_a_newer_one_challenges_is_found(atom, check, newer):
    challenged = atom("EXP-001", date=OLD)
    atom("EXP-002", **newer)
    (finding,) = check("contradicted")
    assert (finding.path, finding.line) == (challenged, 7)
    assert "EXP-002" in finding.text


def test_a_challenge_that_nobody_settled_is_found(atom, check):
    atom("EXP-001", date=OLD, status="challenged:EXP-002")
    atom("EXP-002", links=["EXP-001"])
    (finding,) = check("contradicted")
    assert "EXP-002 challenges it" in finding.text


@pytest.mark.parametrize(
    "status", ["superseded:EXP-002", "corrected:EXP-002", "invalidated:EXP-002"]
)
def test_a_settled_challenge_is_none(atom, check, status):
    atom("EXP-001", date=OLD, status=status)
    atom("EXP-002", challenges=["EXP-001"])
    assert check("contradicted") == []


def test_an_older_atom_contradicts_nothing(atom, check):
    atom("EXP-001", date=OLD, challenges=["EXP-002"])
    atom("EXP-002", links=["EXP-001"])
    assert check("contradicted") == []


def test_near_duplicates_are_candidates_to_merge(root, atom, check):
    atom("EXP-001", summary="pool of 32")
    atom("EXP-002", summary="cache of 7")
    later = atom("EXP-003", summary="pool of thirty-two")
    atom("K-001", summary="pool again, of another kind", evidence=["EXP-001"])
    (finding,) = check("merge", embed=by_first_word)
    assert finding.path == later
    assert "EXP-001 (cosine 1.00)" in finding.text


def test_atoms_that_are_linked_or_superseded_need_no_merging(atom, check):
    atom("EXP-001", summary="pool of 32")
    atom("EXP-002", summary="pool again", links=["EXP-001"])
    atom("EXP-003", summary="cache of 7", status="superseded:EXP-001")
    atom("EXP-004", summary="cache again")
    assert check("merge", embed=by_first_word) == []


def test_without_a_model_nothing_is_merged(atom, check):
    atom("EXP-001", summary="pool")
    atom("EXP-002", summary="pool")
    assert check("merge") == []


def test_pairs_are_those_of_all_rows_whatever_the_block():
    random = np.random.default_rng(2)
    vectors = random.standard_normal((2500, 16)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = np.tril(vectors @ vectors.T, -1)
    pairs = near_pairs(vectors, threshold=0.8)
    assert [later for _, later, _ in pairs] == [n for n in range(2500) if cosines[n].max() >= 0.8]
    assert all(earlier == cosines[later].argmax() for earlier, later, _ in pairs)
    assert near_pairs(vectors[:0], threshold=0.8) == []


def test_pages_that_are_too_long_are_found(root, project, check):
    (project.path / "ISSUES.md").write_text("- x\n" * 80)
    assert check("size") == []
    (project.path / "ISSUES.md").write_text("- x\n" * 81)
    (project.path / "STATUS.md").write_text("- x\n" * 121)
    (root.path / "user" / "USER.md").write_text("x" * 3073)
    assert shown(check("size"), root) == [
        *(("ISSUES.md", 81, "size"), ("STATUS.md", 121, "size"), ("user/USER.md", 1, "size")),
    ]


def test_a_status_without_its_sections_is_found(project, check):
    (project.path / "STATUS.md").write_text(
        "# p\n\n## In flight\n\n## Decisions pending\n\n### Next steps\n"
    )
    (finding,) = check("sections")
    assert "'Current Situation'" in finding.text


def test_an_index_that_is_out_of_date_is_found(root, project, atom, check):
    check()
    atom("EXP-001")
    (project.path / "STATUS.md").write_text("## Current Situation\n\nElsewhere.\n")
    (project.path / "patterns" / "index.md").unlink()
    assert shown(check("index", generated=False), root) == [
        ("OVERVIEW.md", 1, "index"),
        ("experiments/index.md", 1, "index"),
        ("patterns/index.md", 1, "index"),
    ]
    assert check("index") == []


def test_a_file_that_no_cortex_page_names_is_found(root, project, check):
    (project.path / "decisions" / "DR-0001-a.md").write_text("# A\n")
    (root.path / "ideas" / "b.md").write_text("# B\n")
    findings = check("unlisted", generated=False)
    assert shown(findings, root) == [("CORTEX.md", 1, "unlisted"), ("CORTEX.md", 1, "unlisted")]
    assert "ideas/b.md" in findings[0].text
    assert "decisions/DR-0001-a.md" in findings[1].text
    assert check("unlisted") == []


def test_a_list_whose_comments_are_not_whole_is_found(project, check):
    page = project.path / "CORTEX.md"
    page.write_text(page.read_text().replace("<!-- /context:files -->", ""))
    (finding,) = check("unlisted")
    assert "not whole" in finding.text


def test_missing_pages_are_found(root, project, check):
    (project.path / "mission.md").unlink()
    (root.path / "user" / "USER.md").unlink()
    assert shown(check("missing"), root) == [
        ("mission.md", 1, "missing"),
        ("user/USER.md", 1, "missing"),
    ]


def test_tasks_and_logs_that_are_broken_are_found(root, project, check):
    (project.path / "TASKS.yaml").write_text("tasks:\n  - [a\n")
    project.access_log.write_text('{"file": "EXP-001.md"}\n<<<<<<< a\n')
    assert shown(check("tasks", "access-log"), root) == [
        ("TASKS.yaml", 3, "tasks"),
        ("_meta/access-log.jsonl", 2, "access-log"),
    ]


def test_what_a_killed_process_left_behind_is_found_an_hour_later(project, check):
    left = project.path / "experiments" / ".sidecar-tmp-0123456789abcdef"
    left.write_text("half")
    now = NOW_MS / 1000
    os.utime(left, (now - 60, now - 60))
    assert check("leftover") == []
    os.utime(left, (now - 3601, now - 3601))
    findings = check("leftover")
    assert [finding.path for finding in findings] == [left]
    apply_fixes(findings, Silent())
    assert not left.exists()


def test_a_file_that_a_writer_renames_meanwhile_is_no_finding(check, monkeypatch):
    walk = os.walk

    def with_one_gone(folder):
        return [*walk(folder), (folder, [], [".sidecar-tmp-0123456789abcdef", "notes.md"])]

    monkeypatch.setattr(os, "walk", with_one_gone)
    assert check("leftover", "no-file") == []


@pytest.mark.skipif(os.name != "posix", reason="needs links")
def test_hidden_folders_are_not_looked_into(root, check):
    hidden = root.path / ".venv" / "bin"
    hidden.mkdir(parents=True)
    for folder in (root.path, hidden):
        (folder / ".link").symlink_to("/nowhere")
        (folder / "link").symlink_to("/nowhere")
        (folder / ".sidecar-tmp-0123456789abcdef").touch()
        os.utime(folder / ".sidecar-tmp-0123456789abcdef", (0, 0))
    assert [each.path for each in check("leftover", "no-file")] == [
        root.path / ".sidecar-tmp-0123456789abcdef",
        root.path / "link",
    ]


def test_a_long_list_of_files_is_checked_in_linear_time(root, check):
    for n in range(4000):
        (root.path / "ideas" / f"an-idea-of-number-{n}.md").touch()
    check("unlisted")
    began = time.thread_time()
    assert check("unlisted", generated=False) == []
    assert time.thread_time() - began < 5


def test_one_project_may_be_singled_out(root, atom, check):
    init(root.path, project="q")
    atom("K-001")
    atom("K-001", to=root.project("q"))
    findings = examine(load(root, now_ms=NOW_MS), rules=["evidence"], project=root.project("q"))
    assert [root.shown(each.path) for each in findings] == ["projects/q/knowledge/K-001.md"]


def test_fixes_leave_what_is_saved_meanwhile_and_do_the_others(
    project, atom, check, notices, monkeypatch
):
    saved, lost, fixed = (atom(f"K-00{n}", id=None) for n in (1, 2, 3))
    findings = check("required", generated=False)
    assert {each.path for each in findings if each.fix} == {saved, lost, fixed}
    lost.unlink()

    def save_first(text, edits):
        if "K-001" in text:
            saved.write_text("mine")
        return edit_page(text, edits)

    monkeypatch.setattr(frontmatter, "edit_page", save_first)
    saved.write_text(saved.read_text() + "K-001")
    assert apply_fixes(findings, notices) == 1
    assert (saved.read_text(), lost.exists()) == ("mine", False)
    assert parse_page(fixed.read_text()).meta["id"] == "K-003"
    assert notices.has(f"{saved} was changed")
    assert notices.has(f"{lost} is gone")


def test_a_fix_does_what_is_safe_and_nothing_else(root, project, atom, check):
    path = atom("K-001", id=None, project=None, summary="ANTI-PATTERN: x", tags=["a"], status="odd")
    (project.path / "mission.md").unlink()
    (project.path / "decisions" / "DR-0001-a.md").write_text("# A\n")
    findings = check(generated=False)
    apply_fixes(findings, Silent())
    meta = parse_page(path.read_text()).meta
    assert (meta["id"], meta["project"], meta["tags"]) == ("K-001", "p", ["a", "anti-pattern"])
    assert meta["status"] == "odd"
    left = {finding.rule for finding in check()}
    assert left == {"required", "evidence"}


@pytest.mark.skipif(os.name != "posix", reason="needs links and FIFOs")
def test_pages_that_are_no_files_hang_nothing_and_are_named(root, project, atom, regen, check):
    atom("EXP-001")
    victim = root.path.parent / "victim"
    victim.write_text("mine")
    for name in ("TASKS.yaml", "STATUS.md", "CORTEX.md", "experiments/index.md"):
        (project.path / name).unlink(missing_ok=True)
        os.mkfifo(project.path / name)
    project.access_log.unlink()
    project.access_log.symlink_to(victim)
    with pytest.raises(PageBroken, match="not a regular file"):
        archive_tasks(project)
    regen()
    named = {finding.path.relative_to(project.path).as_posix() for finding in check("no-file")}
    assert named == {
        "CORTEX.md", "STATUS.md", "TASKS.yaml", "_meta/access-log.jsonl", "experiments/index.md",
    }  # fmt: skip
    assert victim.read_text() == "mine"
