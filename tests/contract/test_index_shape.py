"""`index SRC --db D/codebase.sqlite`, as the host calls it."""

from __future__ import annotations


def test_first_index_counts_files_and_chunks(sidecar, project, data_dir, known_vectors):
    done = sidecar("index", project, "--db", data_dir / "codebase.sqlite")
    assert (done.status, done.err) == (0, "")
    report = done.json
    assert report["files_processed"] == 8
    assert report["files_total"] == 9
    assert report["chunks_indexed"] == report["chunks_total"] >= 8
    assert report["chunks_deleted"] == 0
    assert report["vectors_pending"] == 0
    assert report["files_skipped"] == [
        {"source": "project", "path": "logo.png", "reason": "binary"}
    ]
    assert report["files_failed"] == []
    assert done.out.count("\n") == 1


def test_second_index_processes_nothing(run, project, known_vectors):
    first = run("index", project).json
    second = run("index", project).json
    assert first["files_processed"] == 8
    assert second["files_processed"] == second["chunks_indexed"] == second["chunks_deleted"] == 0
    assert second["files_total"] == first["files_total"]
    assert second.keys() == first.keys()


def test_changed_file_deletes_its_old_chunks(run, project, known_vectors):
    run("index", project)
    (project / "settings.toml").write_text("[server]\nport = 1\n")
    report = run("index", project, "--wait", "keyword").json
    assert (report["files_processed"], report["chunks_indexed"], report["chunks_deleted"]) == (
        1,
        1,
        1,
    )


def test_text_when_a_person_asks(sidecar, indexed):
    done = sidecar("status")
    assert done.status == 0
    assert "vectors: " in done.out
