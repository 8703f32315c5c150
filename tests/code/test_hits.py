"""Near-identical chunks of several files are one hit, which says where the others are."""

from __future__ import annotations

import pytest

from memory_sidecar.code.hits import COPIES_READ
from memory_sidecar.code.model import CodeQuery
from memory_sidecar.core.results import Silent

DRAIN = """def drain_retry_queue(queue):
    \"\"\"Sends again what waits.\"\"\"
    while queue:
        message = queue.pop()
        message.attempts += 1
        if message.attempts > 5:
            bury(message)
        else:
            send(message)
"""
ASKED = "drain_retry_queue"


@pytest.fixture
def search(make_codebase, project):
    made = make_codebase()

    def search(text, top_k=10):
        made.index([project], reporter=Silent())
        return made.search(CodeQuery(text, top_k=top_k), reporter=Silent())

    return search


def test_copies_are_one_hit_that_says_where_they_are(search, project):
    (project / "retries.py").write_text(DRAIN)
    (project / "vendor" / "acme").mkdir(parents=True)
    (project / "vendor" / "acme" / "drain.py").write_text(DRAIN.replace("> 5", "> 7"))
    hits = search(ASKED)
    assert hits[0].filename == "retries.py"
    assert [copy.filename for copy in hits[0].copies] == ["vendor/acme/drain.py"]
    assert "vendor/acme/drain.py" not in [hit.filename for hit in hits]


def test_what_another_class_does_alike_is_no_copy(search, project):
    for name in ("Mail", "Fax"):
        body = "".join(f"    {line}\n" for line in DRAIN.splitlines())
        (project / f"{name.lower()}.py").write_text(f"class {name}:\n{body}")
    assert {"mail.py", "fax.py"} <= {hit.filename for hit in search(ASKED)}


def test_builds_of_one_script_are_one_hit_however_they_are_cut(search, project):
    drain = """function drain_retry_queue(queue) {
  while (queue.length) {
    const message = queue.pop();
    message.attempts += 1;
    send(message);
  }
}
"""
    other = "function bury_{0}(message) {{\n  forget_{0}(message);\n}}\n"
    (project / "queue.mjs").write_text(f"{drain}export {{ drain_retry_queue }};\n")
    (project / "queue.cjs.js").write_text("".join(map(other.format, range(5))) + drain)
    (project / "worker.js").write_text(other.format(0) + drain)
    hits = search(ASKED)
    assert sorted(len(hit.copies) for hit in hits if "drain_retry_queue" in hit.symbols) == [0, 1]


def test_many_copies_leave_no_answer_short(search, project):
    for number in range(COPIES_READ + 5):
        (project / f"copy_{number}.py").write_text(DRAIN)
    best, *others = search(ASKED, top_k=3)
    assert len(best.copies) == COPIES_READ + 4
    assert len(others) == 2


def test_a_copy_is_named_below_its_hit(run, project):
    for name in ("first.py", "second.py"):
        (project / name).write_text(DRAIN)
    run("index", project)
    shown = run("search", ASKED, "--source", project.name).out
    assert "also in project/second.py:1-9" in shown
