from __future__ import annotations

import pytest

from memory_sidecar.context import tasks
from memory_sidecar.context.tasks import archive_tasks, read_tasks
from memory_sidecar.core.errors import Conflict, PageBroken

TASKS = """\
# What is to be done
lock: null
tasks:
  # Milestone 1
  - id: a
    text: "First # of all"
    status: done  # at last
    note: |
      two lines,
      # one of them like a comment

  # about b
  - id: b
    text: Second
    priority: high
  -
    id: c
    status: completed
    parts:
      - 1
      - [2,
         3]
    # at the end of c

  # Milestone 2
  - {id: d, status: done, text: In braces}
  - just words
# the end
"""


@pytest.fixture
def write(project):
    def write(text: str):
        path = project.path / "TASKS.yaml"
        path.write_bytes(text.encode())
        return path

    return write


def archive_of(project):
    return (project.path / "tasks-archive.md").read_bytes().decode()


def test_tasks_are_listed_in_order(project, write):
    write(TASKS)
    found = [(task.id, task.text, task.status, task.done) for task in read_tasks(project)]
    assert found == [
        ("a", "First # of all", "done", True),
        ("b", "Second", "open", False),
        ("c", "", "completed", True),
        ("d", "In braces", "done", True),
        ("", "just words", "open", False),
    ]


def test_what_is_done_moves_and_the_rest_stays_as_it_is(project, write):
    path = write(TASKS)
    assert [task.id for task in archive_tasks(project)] == ["a", "c", "d"]
    assert path.read_text() == (
        "# What is to be done\nlock: null\ntasks:\n  # Milestone 1\n  # about b\n"
        "  - id: b\n    text: Second\n    priority: high\n"
        "    # at the end of c\n\n  # Milestone 2\n  - just words\n# the end\n"
    )


def test_the_archive_keeps_every_line_of_a_task(project, write):
    write(TASKS)
    archive_tasks(project)
    entry = (
        "- [x] First # of all [id: a]\n\n  ```yaml\n  - id: a\n"
        '    text: "First # of all"\n    status: done  # at last\n'
        "    note: |\n      two lines,\n      # one of them like a comment\n  ```\n"
    )
    assert entry in archive_of(project)
    first, second = archive_of(project).index("[id: a]"), archive_of(project).index("[id: c]")
    assert first < second


def test_nothing_happens_twice(project, write):
    write(TASKS)
    archive_tasks(project)
    archive = archive_of(project)
    assert archive_tasks(project) == []
    assert archive_of(project) == archive


def test_a_kill_between_the_two_files_doubles_nothing(project, write):
    path = write(TASKS)
    archive_tasks(project)
    archive, left = archive_of(project), path.read_text()
    write(TASKS)  # as if the process had ended after the archive was written
    assert len(archive_tasks(project)) == 3
    assert (archive_of(project), path.read_text()) == (archive, left)


def test_an_archive_that_is_empty_is_begun(project, write):
    write("tasks:\n  - text: old\n    status: done\n")
    (project.path / "tasks-archive.md").write_text("")
    assert [task.text for task in archive_tasks(project)] == ["old"]
    assert "- [x] old" in (project.path / "tasks-archive.md").read_text()


def test_an_edit_of_the_archive_that_comes_in_between_is_not_lost(project, write, monkeypatch):
    archive, add_entries = project.path / "tasks-archive.md", tasks._add_entries

    def edit_meanwhile(*given):
        archive.write_text("edited meanwhile")
        return add_entries(*given)

    write("tasks:\n  - text: old\n    status: done\n")
    monkeypatch.setattr(tasks, "_add_entries", edit_meanwhile)
    with pytest.raises(Conflict):
        archive_tasks(project)
    assert archive.read_text() == "edited meanwhile"
    assert len(read_tasks(project)) == 1


def test_an_empty_list_stays_a_list(project, write):
    path = write("tasks:  # all of them\r\n- id: z\r\n  status: done\r\n# the end\r\n")
    archive_tasks(project)
    assert path.read_bytes() == b"tasks: []  # all of them\r\n# the end\r\n"
    assert read_tasks(project) == []


@pytest.mark.parametrize("text", ["", "tasks:\n", "tasks: []\n", "# nothing\n", "other: 1\n"])
def test_a_file_without_tasks_stays_as_it_is(project, write, text):
    path = write(text)
    assert (read_tasks(project), archive_tasks(project)) == ([], [])
    assert path.read_text() == text


def test_a_missing_file_has_no_tasks(project):
    (project.path / "TASKS.yaml").unlink()
    assert (read_tasks(project), archive_tasks(project)) == ([], [])


def test_a_list_without_a_key_is_a_list_of_tasks(project, write):
    path = write("- {id: a, status: done}\n- id: b\n")
    archive_tasks(project)
    assert path.read_text() == "- id: b\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("tasks:\n  - id: [a\n", 3),
        ("tasks: 3\n", 1),
        ("a: 1\ntasks:\n  b: 2\n", 3),
        ("tasks:\n- a\n---\n- b\n", 3),
        ("tasks: [" + "[" * 5000, 1),
        ("- *gone\n", 1),
        ("tasks:\n- id: a\n<<<<<<< HEAD\n  b: 1\n=======\n  b: 2\n>>>>>>> x\n", 3),
    ],
)
def test_what_is_no_list_of_tasks_is_an_error_with_a_line(project, write, text, line):
    path = write(text)
    with pytest.raises(PageBroken) as caught:
        archive_tasks(project)
    assert caught.value.message.startswith(f"{path}:{line}: ")
    assert ("<<<" in text) == ("a merge conflict is not resolved" in caught.value.message)
    assert path.read_text() == text


@pytest.mark.parametrize(
    "text",
    [
        "tasks: [{id: a, status: done}, {id: b}]\n",
        "tasks:\n- id: &name a\n  status: done\n- id: b\n  text: *name\n",
    ],
    ids=["in brackets", "anchor"],
)
def test_a_task_that_cannot_be_cut_out_stays(project, write, text):
    path = write(text)
    with pytest.raises(PageBroken):
        archive_tasks(project)
    assert path.read_text() == text
    assert "[x]" not in archive_of(project)
