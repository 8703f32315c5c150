"""What a memory's file becomes: its text, its place, and what it says of others."""

from __future__ import annotations

import os

import pytest

from memory_sidecar.core import reasons
from memory_sidecar.core.model import FileStatus, Source
from memory_sidecar.memories.builder import MemoryBuilder
from memory_sidecar.memories.model import OWN_DIRECTORY, Relation, address, parse_address
from tests.conftest import write_memory


@pytest.fixture
def build(tmp_path):
    """`build(path)` is the document of the file there."""

    def build(path, *, directory=OWN_DIRECTORY):
        builder = MemoryBuilder(
            Source(directory, tmp_path), agent="architect", trusts_empty_root=True
        )
        (file,) = builder.scan([path]).files
        return builder.build(file)

    return build


def test_chunks_point_at_lines_of_the_file(build, tmp_path):
    sections = [f"# Part {n}\n\n" + f"Sentence {n} of some length." * 30 for n in range(3)]
    file = write_memory(tmp_path, "long.md", "\n" + "\n\n".join(sections), summary="Three parts")
    lines = file.read_text("utf-8").split("\n")
    chunks = build("long.md").chunks
    assert [chunk.heading for chunk in chunks] == ["Part 0", "Part 1", "Part 2"]
    for chunk in chunks:
        assert "\n".join(lines[chunk.start_line - 1 : chunk.end_line]) == chunk.text
    assert chunks[0].embedded_text == f"Three parts\n{chunks[0].text}"
    assert chunks[1].embedded_text == chunks[1].text


def test_a_memory_without_content_is_its_summary(build, tmp_path):
    write_memory(tmp_path, "brief.md", "", summary="Only this")
    (chunk,) = build("brief.md").chunks
    assert chunk.embedded_text == "Only this"


BROKEN: dict[str, bytes] = {
    "open list": b"---\ntags: [a, b\nstatus: valid\n---\nThe body\n",
    "no end": b"---\nstatus: valid\nThe body\n",
    "conflict": b"---\nstatus: valid\n---\nThe body\n<<<<<<< HEAD\none\n=======\ntwo\n>>>>>>> b\n",
    "twice": b"---\nstatus: old\nstatus: valid\n---\nThe body\n",
    "not a time": b"---\ncreated_at: 05/03/2024\n---\nThe body\n",
    "no end of it": b"---\nexpires_at: soon\n---\nThe body\n",
    "not utf-8": b"---\nstatus: valid\n---\nThe body \xff\xfe\n",
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_indexed_as_far_as_it_can_be_read(build, tmp_path, name):
    (tmp_path / "broken.md").write_bytes(BROKEN[name])
    document = build("broken.md")
    assert document.status is FileStatus.INDEXED
    assert "The body" in document.memory.page.content
    assert document.memory.page.problem


def test_the_same_page_has_the_same_fingerprint_wherever_it_was_copied_from(build, tmp_path):
    told = write_memory(tmp_path, "told.md")
    untold = tmp_path / "untold.md"
    untold.write_text("No times\n")
    before = build("told.md").fingerprint, build("untold.md").fingerprint
    for file in (told, untold):
        os.utime(file, (1, 1))
    assert build("told.md").fingerprint == before[0]
    assert build("untold.md").fingerprint != before[1]
    assert build("untold.md").memory.page.updated_at == 1000


def test_an_atom_has_its_kind_project_and_standing(build, tmp_path):
    write_memory(
        tmp_path,
        "projects/flywheel/knowledge/K-008.md",
        "The registry is slow.",
        date="2026-03-09",
        status="Superseded by K-009",
        evidence=["EXP-021", "session:x"],
        refs=3,
    )
    memory = build("projects/flywheel/knowledge/K-008.md").memory
    assert (memory.kind, memory.atom_id, memory.project) == ("knowledge", "K-008", "flywheel")
    assert (memory.page.status, memory.standing, memory.refs) == ("superseded", "superseded", 3)
    assert memory.relations == (
        (Relation.EVIDENCE, "projects/flywheel/experiments/EXP-021.md"),
        (Relation.EVIDENCE, "session:x"),
    )


def test_the_index_of_atoms_is_no_memory(build, tmp_path):
    write_memory(tmp_path, "projects/p/patterns/index.md")
    write_memory(tmp_path, "index.md")
    builder = MemoryBuilder(Source(OWN_DIRECTORY, tmp_path), agent="a", trusts_empty_root=True)
    skipped = {file.path: bool(file.skip_reason) for file in builder.scan(None).files}
    assert skipped == {"index.md": False, "projects/p/patterns/index.md": True}


@pytest.mark.parametrize(
    ("path", "text", "is_template"),
    [
        ("_templates/decision.md", "# Context", True),
        ("work/_Templates/adr/decision.md", "# Context", True),
        ("Templates/daily.md", "# {{date}}", True),
        ("Template/daily.md", "<% tp.date.now() %>", True),
        ("templates/mails.md", "Mails are rendered by Jinja, see render_mail.", False),
        ("templates/ours.md", "---\ncreated_at: 2026-03-01\n---\nMails say {{name}}.", False),
        ("_templates/ours.md", "---\ncreated_at: 2026-03-01\n---\nNo.", False),
        ("mails.md", "Names are written {{name}} in the templates.", False),
        ("my_templates/one.md", "# Context", False),
        # Each opening bracket begins a place to fill in: looking for its end takes minutes.
        ("templates/open.md", "{" * 200_000 + "<%" * 100_000, False),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_template_for_notes_is_no_memory(build, tmp_path, path, text, is_template):
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text(text)
    assert build(path).reason == (reasons.TEMPLATE if is_template else "")


def test_a_generated_list_is_not_searched(build, tmp_path):
    pages = "\n".join(f"- [page {number}](page{number}.md)" for number in range(20))
    listed = f"<!-- context:files -->\n{pages}\n<!-- /context:files -->"
    file = write_memory(tmp_path, "CORTEX.md", f"Purpose.\n\n{listed}\n\nHow to look things up.")
    (chunk,) = build("CORTEX.md").chunks
    assert "page 3" in build("CORTEX.md").memory.page.content
    assert chunk.text.split() == ["Purpose.", "How", "to", "look", "things", "up."]
    assert chunk.end_line == file.read_text("utf-8").count("\n")


def test_what_a_memory_supersedes_is_named_as_memories_are(build, tmp_path):
    write_memory(tmp_path, "new.md", supersedes=["old", "a/old.md"], superseded_by="newer")
    assert build("new.md").memory.relations == (
        (Relation.SUPERSEDES, "old.md"),
        (Relation.SUPERSEDES, "a/old.md"),
        (Relation.SUPERSEDED_BY, "newer.md"),
    )
    in_registered = build("new.md", directory="notes").memory
    assert in_registered.path == "notes:new.md"
    assert in_registered.relations[0] == (Relation.SUPERSEDES, "notes:old.md")


@pytest.mark.parametrize(
    ("directory", "file", "shown"),
    [
        ("memories", "pitfall/cycle.md", "pitfall/cycle.md"),
        ("memories", "a: b.md", "./a: b.md"),
        ("memories", "pitfall/a: b.md", "pitfall/a: b.md"),
        ("notes", "pitfall/cycle.md", "notes:pitfall/cycle.md"),
        ("notes", "a: b.md", "notes:a: b.md"),
    ],
)
def test_an_address_names_one_file(directory, file, shown):
    assert address(directory, file) == shown
    assert parse_address(shown) == (directory, file)
