from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta

import pytest

from memory_sidecar.context.layout import MAX_PAGE_BYTES
from memory_sidecar.context.refs import (
    Counted,
    LoggedRead,
    Refs,
    count_refs,
    parse_counts,
    read_log,
    rotate_log,
)
from memory_sidecar.disk.frontmatter import MAX_FRONTMATTER_CHARACTERS, parse_page

FIRST = datetime(2026, 4, 1, tzinfo=UTC)


def line(atom: str, minute: int, **more: object) -> str:
    at = (FIRST + timedelta(minutes=minute)).isoformat(timespec="milliseconds")
    return json.dumps({"ts": at.replace("+00:00", "Z"), "file": f"experiments/{atom}.md", **more})


def refs_of(path):
    meta = parse_page(path.read_text()).meta
    return meta.get("refs"), meta.get("last-ref")


def test_reads_are_counted_into_the_atom(project, atom, regen):
    path = atom("EXP-001")
    project.access_log.write_text(line("EXP-001", 2) + "\n" + line("EXP-001", 1) + "\n")
    regen()
    assert refs_of(path) == (2, "2026-04-01T00:02:00.000Z")
    regen()
    assert refs_of(path) == (2, "2026-04-01T00:02:00.000Z")


def test_an_atom_that_nobody_reads_is_not_touched(atom, regen):
    path = atom("EXP-001")
    before = path.read_bytes()
    regen()
    assert path.read_bytes() == before


def test_what_an_atom_already_had_is_kept(project, atom, regen):
    """A log that another tool counted from, rotated before we came."""
    path = atom("EXP-001", refs=10, last_ref="2026-04-01T00:02:00.000Z")
    project.meta.joinpath("access-counts.json").unlink()
    project.access_log.write_text(line("EXP-001", 1) + "\n" + line("EXP-001", 2) + "\n")
    regen()
    assert refs_of(path) == (10, "2026-04-01T00:02:00.000Z")
    with project.access_log.open("a") as log:
        log.write(line("EXP-001", 3) + "\n")
    regen()
    assert refs_of(path) == (11, "2026-04-01T00:03:00.000Z")


def test_reads_since_the_last_one_that_an_atom_tells_of_count(project, atom, regen):
    """As in an atom that comes from another branch or tool, with reads of its own since."""
    log = [line("EXP-001", 1), line("EXP-001", 60 * 24), line("EXP-001", 60 * 24 * 2)]
    project.access_log.write_text("\n".join(log))
    path = atom("EXP-001", refs=10, last_ref="2026-04-01T00:01:00.000Z")
    regen()
    assert refs_of(path)[0] == 12
    path = atom("EXP-001", refs=20, last_ref="2026-04-02")
    regen()
    assert refs_of(path)[0] == 21


def test_what_only_an_index_has_is_kept(project, atom, regen):
    path = atom("EXP-001")
    project.meta.joinpath("access-counts.json").unlink()
    (project.path / "experiments" / "index.md").write_text(
        "| ID | Summary | Refs | Last read |\n|---|---|---|---|\n| EXP-001 | a | 7 | 2026-03-01 |\n"
    )
    regen()
    assert refs_of(path) == (7, "2026-03-01")


@pytest.mark.parametrize("read_again", [False, True])
@pytest.mark.parametrize("rotated", ["moved", "deleted", "cut", "emptied"])
def test_a_rotated_log_loses_and_doubles_nothing(project, atom, regen, rotated, read_again):
    path = atom("EXP-001")
    log = project.access_log
    log.write_text("".join(line("EXP-001", n) + "\n" for n in range(6)))
    regen()
    match rotated:
        case "moved":
            log.rename(log.with_name("access-log-2026-04.jsonl"))
        case "deleted":
            log.unlink()
        case "cut":
            log.write_text(line("EXP-001", 5) + "\n")
        case "emptied":
            log.write_text("")
    if read_again:  # before the next count
        with log.open("a") as file:
            file.write(line("EXP-001", 9) + "\n")
    for _ in range(2):
        regen()
        assert refs_of(path)[0] == 6 + read_again


def test_lines_of_another_branch_count(project, atom, regen):
    path = atom("EXP-001")
    project.access_log.write_text(line("EXP-001", 1) + "\n" + line("EXP-001", 9) + "\n")
    regen()
    project.access_log.write_text("".join(line("EXP-001", n) + "\n" for n in (1, 4, 5, 9)))
    regen()
    assert refs_of(path)[0] == 4


def test_whatever_happens_to_a_log_the_count_is_right():
    """In any order, each time with reads before the next count."""
    chance = random.Random(3)
    for _ in range(300):
        known: dict[str, Counted] = {}
        had: dict[str, Refs] = {}
        log: list[LoggedRead] = []
        older = (f"{year}-01-01" for year in range(1900, 2000))
        total = minute = 0
        for _ in range(12):
            switched: list[LoggedRead] = []
            match chance.choice(["nothing", "merge", "rotate", "lose the counts", "switch"]):
                case "merge":
                    day = next(older)
                    log[:0] = [("EXP-001", f"{day}T00:00:00Z")] * chance.randint(1, 3)
                    total += sum(at[:10] == day for _, at in log)
                case "rotate":
                    log = log[chance.randint(0, len(log)) :]
                case "lose the counts":
                    known = {}
                case "switch":  # to a branch that has not all of the log, and back after a count
                    switched, log = log, log[: chance.randint(0, len(log))]
            if switched:
                refs, known = count_refs(log, known=known, had=had)
                assert refs.get("EXP-001", Refs()).count == total
                log = switched
            for _ in range(chance.randint(0, 3)):
                minute += 1
                log.append(("EXP-001", f"2026-04-01T{minute:04}Z"))
                total += 1
            had, known = count_refs(log, known=known, had=had)
            assert had.get("EXP-001", Refs()).count == total


def test_the_largest_of_what_is_said_is_believed():
    """After a merge, the counts of one branch may stand beside an atom of the other one."""
    known = {"EXP-001": Counted(before=1, days={"2026-05-01": 1}, last="2026-05-01T10:00:00Z")}
    reads = [("EXP-001", "2026-05-01T10:00:00Z")]
    had = {"EXP-001": Refs(5, "2026-05-02")}
    refs, counts = count_refs(reads, known=known, had=had)
    assert refs == had
    assert counts["EXP-001"].before == 4


def test_lines_that_are_none_harm_no_other(project):
    project.access_log.write_text(
        "\n".join(
            [
                '{"ts": "2026-04-01T00:00:00Z", "file": "EXP-001.md", "tool": "Read"}',
                "<<<<<<< ours",
                '{"file": "experiments/EXP-001.md"',
                "[1]",
                '{"file": ["EXP-001.md"], "ts": 3}',
                '{"file": "_directory_search", "ts": "2026-04-01T00:00:00Z", "matches": 0}',
                '{"file": "EXP-002.md", "ts": "whenever"}',
                "\x00\xff",
            ]
        )
    )
    assert read_log(project) == [
        ("EXP-001", "2026-04-01T00:00:00Z"),
        ("EXP-002", ""),
    ]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"EXP-001": 3}', "null"])
def test_counts_that_are_broken_are_counted_anew(project, atom, regen, text):
    path = atom("EXP-001")
    project.access_log.write_text(line("EXP-001", 1) + "\n" + line("EXP-001", 2) + "\n")
    regen()
    project.meta.joinpath("access-counts.json").write_text(text)
    assert parse_counts(text.encode()) is None
    regen()
    assert refs_of(path)[0] == 2


def test_a_log_too_long_to_be_read_can_be_rotated(project):
    with project.access_log.open("w") as log:
        log.truncate(MAX_PAGE_BYTES + 1)
    assert rotate_log(project, suffix="a") is not None
    assert not project.access_log.exists()


def test_an_atom_without_room_for_its_count_keeps_none_from_theirs(project, atom, regen):
    room = MAX_FRONTMATTER_CHARACTERS - len(atom("EXP-001", more="x").read_text())
    full = atom("EXP-001", more="x" * room)
    other = atom("EXP-002")
    project.access_log.write_text(line("EXP-001", 1) + "\n" + line("EXP-002", 2) + "\n")
    before = full.read_text()
    assert parse_page(before).problem == ""
    regen()
    assert full.read_text() == before
    assert refs_of(other)[0] == 1


def test_a_log_is_rotated_once_a_moment(project):
    project.access_log.write_text(line("EXP-001", 1) + "\n")
    rotated = rotate_log(project, suffix="a")
    assert rotated is not None
    assert rotated.name == "access-log-a.jsonl"
    assert rotate_log(project, suffix="b") is None  # nothing to rotate
    project.access_log.write_text(line("EXP-001", 2) + "\n")
    assert rotate_log(project, suffix="a") is None  # never over another one
    assert len(read_log(project)) == 2
