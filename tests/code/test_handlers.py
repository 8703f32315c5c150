"""What a source's rows do while its files are changed, moved, hidden, lost and found again."""

from __future__ import annotations

import gc
import json
import os
import shutil
import time
from contextlib import closing
from dataclasses import replace
from typing import Any
from weakref import ref

import apsw
import pytest
from filelock import FileLock

from memory_sidecar.chunking.lines import CHUNKER_VERSION
from memory_sidecar.code import builder as flow
from memory_sidecar.code.directory import Line
from memory_sidecar.code.document import build_document
from memory_sidecar.code.files import read_file
from memory_sidecar.code.model import CodeFilter, CodeQuery
from memory_sidecar.code.query_names import names_in
from memory_sidecar.code.rows import LocalRows
from memory_sidecar.code.search import search_code, take_apart
from memory_sidecar.core.crash_log import MAX_CRASHES, CrashLog
from memory_sidecar.core.errors import NoIndex, NotFound, PathRefused, StoreBusy, UsageError
from memory_sidecar.core.model import FileStatus, SearchMode, SourceFile
from memory_sidecar.core.results import Silent
from memory_sidecar.core.settings import Settings
from memory_sidecar.core.sqlite import connect
from memory_sidecar.index.document import BuildError
from memory_sidecar.index.report import list_files
from memory_sidecar.index.scheduler import Scheduler
from tests.conftest import STATIC
from tests.waiting import eventually


@pytest.fixture
def codebase(make_codebase, project, notices):
    codebase = make_codebase()
    codebase.index([project], reporter=notices)
    return codebase


def files_with(codebase, notices, words, **wanted) -> set[str]:
    query = CodeQuery(words, mode=SearchMode.KEYWORD, filter=CodeFilter(**wanted))
    return {hit.filename for hit in codebase.search(query, reporter=notices)}


def paths_in(codebase) -> set[str]:
    connection = connect(codebase.paths.db, read_only=True)
    try:
        return {row[0] for row in connection.execute("SELECT path FROM files")}
    finally:
        connection.close()


# Changes


def test_a_file_that_crashed_an_older_version_is_built_by_a_newer_one(
    codebase, project, notices, monkeypatch
):
    file = project / "shop" / "cart.py"
    file.write_text("def okapi(): pass\n")
    stamp = SourceFile.of("shop/cart.py", file.stat()).stamp
    crashes = CrashLog(codebase.paths.flow_state("project"), "in_flight")
    for _ in range(MAX_CRASHES):
        crashes.count_crash(json.dumps([CHUNKER_VERSION, "shop/cart.py", *stamp]))
    crashes.close()
    skipped = codebase.index([project], reporter=notices).files_skipped
    assert "crashed the indexer three times" in {file.reason for file in skipped}
    monkeypatch.setattr(flow.CodeBuilder, "version", "a newer one")
    codebase.index([project], reporter=notices)
    assert files_with(codebase, notices, "okapi") == {"shop/cart.py"}


def test_a_file_that_a_fault_of_ours_stops_stops_no_other(codebase, project, notices, monkeypatch):
    def build(source, file, max_file_bytes):
        if file.path == "shop/cart.py":
            raise ValueError("odd")
        return build_document(source, file, max_file_bytes)

    monkeypatch.setattr(flow, "build_document", build)
    (project / "shop" / "cart.py").write_text("def okapi(): pass\n")
    (project / "shop" / "payment.py").write_text("def quokka(): pass\n")
    (failed,) = codebase.index([project], reporter=notices).files_failed
    assert (failed.path, failed.reason) == ("shop/cart.py", "internal error: ValueError: odd")
    assert files_with(codebase, notices, "quokka") == {"shop/payment.py"}
    assert files_with(codebase, notices, "total_price") >= {"shop/cart.py"}  # as it was


def test_a_private_key_is_indexed_while_an_exclude_asks_for_it(make_codebase, project, notices):
    key = "-----BEGIN " + "PRIVATE KEY-----\nokapi\n-----END PRIVATE KEY-----\n"
    (project / "deploy.txt").write_text(key)
    for excludes, found in ((), set()), (("!deploy.txt",), {"deploy.txt"}), ((), set()):
        codebase = make_codebase(settings=Settings(excludes=excludes))
        codebase.index([project], reporter=notices)
        assert files_with(codebase, notices, "okapi") == found
        assert codebase.index([project], reporter=notices).files_processed == 0
        codebase.close()


def test_a_changed_file_replaces_its_chunks(codebase, project, notices):
    (project / "shop" / "cart.py").write_text("def zebra():\n    return 1\n")
    report = codebase.index([project], reporter=notices)
    assert (report.files_processed, report.vectors_embedded) == (1, 1)
    assert files_with(codebase, notices, "zebra") == {"shop/cart.py"}
    assert "shop/cart.py" not in files_with(codebase, notices, "customer")


def test_a_deleted_file_leaves(codebase, project, notices):
    (project / "shop" / "payment.py").unlink()
    report = codebase.index([project], reporter=notices)
    assert report.files_deleted == 1
    assert report.chunks_deleted > 0
    assert files_with(codebase, notices, "declined") == set()


def test_a_renamed_folder_embeds_the_heads_of_its_chunks_again(codebase, project, notices):
    embedder = codebase.data.models.embedder
    known = len(embedder.embedded)
    (project / "shop").rename(project / "store")
    report = codebase.index([project], reporter=notices)
    assert (report.files_processed, report.files_deleted, report.vectors_pending) == (3, 3, 0)
    assert files_with(codebase, notices, "declined") == {"store/payment.py"}
    moved = embedder.embedded[known:]
    assert moved
    assert all(head.startswith("store/") for head in moved)


def test_a_touched_file_is_not_indexed_again(codebase, project, notices):
    (project / "shop" / "cart.py").touch()
    assert codebase.index([project], reporter=notices).files_processed == 0
    (project / "shop" / "cart.py").chmod(0o600)
    assert codebase.index([project], reporter=notices).files_processed == 0


def test_a_file_that_turns_binary_and_back_follows(codebase, project, notices):
    path = project / "settings.toml"
    text = path.read_bytes()
    path.write_bytes(b"\0\1\2" * 100)
    report = codebase.index([project], reporter=notices)
    assert {file.path for file in report.files_skipped} == {"logo.png", "settings.toml"}
    assert files_with(codebase, notices, "port") == set()
    path.write_bytes(text)
    codebase.index([project], reporter=notices)
    assert files_with(codebase, notices, "port") == {"settings.toml"}


def test_a_new_ignore_rule_removes_files(codebase, project, notices):
    (project / ".gitignore").write_text("shop/\n")
    assert codebase.index([project], reporter=notices).files_deleted == 3
    assert not any(path.startswith("shop/") for path in paths_in(codebase))


def test_full_reads_everything_and_changes_nothing(codebase, project, notices):
    report = codebase.index([project], reporter=notices, full=True)
    assert (report.files_processed, report.chunks_indexed, report.chunks_deleted) == (0, 0, 0)


# What is not there, or does not look as if it were


def test_an_absent_root_keeps_its_rows_and_says_so(codebase, project, notices, tmp_path):
    before = paths_in(codebase)
    project.rename(tmp_path / "away")
    with pytest.raises(NotFound, match="is not there"):
        codebase.index([], reporter=notices)
    with pytest.raises(NotFound, match="is not there"):
        codebase.index([project], reporter=notices)
    assert paths_in(codebase) == before


def test_an_absent_root_does_not_keep_the_others_from_being_indexed(
    codebase, project, notices, tmp_path
):
    second = tmp_path / "second"
    second.mkdir()
    (second / "a.py").write_text("def okapi(): pass\n")
    codebase.index([second], reporter=notices)
    project.rename(tmp_path / "away")
    (second / "b.py").write_text("def okapi(): pass\n")
    report = codebase.index([], reporter=notices)
    assert (report.sources_absent, report.files_processed) == (("project",), 1)
    assert notices.has("is not there: its index stays as it was")
    assert files_with(codebase, notices, "declined") == {"shop/payment.py"}
    project.write_text("a file")
    with pytest.raises(PathRefused, match="is not a folder") as refused:
        codebase.data.update([codebase.registry.get("project")], notices)
    assert "`memory-sidecar source move`" in refused.value.hint


@pytest.mark.skipif(os.name != "posix", reason="needs FIFOs")
def test_rules_that_cannot_be_followed_keep_their_source_alone_from_being_indexed(
    codebase, project, notices, tmp_path
):
    second = tmp_path / "second"
    second.mkdir()
    (second / "a.py").write_text("def okapi(): pass\n")
    os.mkfifo(second / ".gitignore")
    with pytest.raises(PathRefused, match="cannot be followed"):
        codebase.index([second], reporter=notices)
    assert files_with(codebase, notices, "declined") == {"shop/payment.py"}
    assert notices.has("cannot be followed: not a regular file: answering from what is indexed")
    with pytest.raises(PathRefused, match="cannot be followed"):
        files_with(codebase, notices, "okapi", sources=("second",))
    (second / ".gitignore").unlink()
    assert files_with(codebase, notices, "okapi", sources=("second",)) == {"a.py"}
    os.mkfifo(second / ".gitignore")
    (second / "b.py").write_text("def okapi(): pass\n")
    report = codebase.index([], reporter=notices)
    assert report.sources_absent == ("second",)
    assert files_with(codebase, notices, "okapi", sources=("second",)) == {"a.py"}


def test_an_empty_mount_point_wipes_nothing(codebase, project, notices):
    before = paths_in(codebase)
    shutil.rmtree(project)
    project.mkdir()
    with pytest.raises(NotFound, match="holds no files any more") as refused:
        codebase.index([project], reporter=notices)
    assert "--full" in refused.value.hint
    assert paths_in(codebase) == before
    assert files_with(codebase, notices, "declined") == {"shop/payment.py"}


def test_a_link_in_the_place_of_a_source_hides_nothing(codebase, project, notices, tmp_path):
    before = files_with(codebase, notices, "declined")
    project.rename(tmp_path / "moved")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "note.md").write_text("of another project\n")
    project.symlink_to(tmp_path / "other")
    assert files_with(codebase, notices, "declined") == before
    assert notices.has("is a link to")


@pytest.mark.parametrize("rules", ["/*\n", None], ids=["ignored", "none checked out"])
def test_files_that_are_there_but_ignored_show_that_the_disk_is_mounted(
    codebase, project, notices, rules
):
    if rules:
        (project / ".gitignore").write_text(rules)
    else:
        shutil.rmtree(project)
    (project / ".git").mkdir(parents=True, exist_ok=True)
    (project / ".git" / "HEAD").write_text("ref: refs/heads/gh-pages\n")
    assert codebase.index([project], reporter=notices).files_deleted == 9
    assert paths_in(codebase) == set()


def test_full_believes_that_a_root_is_empty(codebase, project, notices):
    shutil.rmtree(project)
    project.mkdir()
    assert codebase.index([project], reporter=notices, full=True).files_deleted == 9
    assert paths_in(codebase) == set()
    codebase.index([project], reporter=notices)  # and then it is a source like any other


@pytest.mark.parametrize("names", [(), ("project",)], ids=["all", "one"])
@pytest.mark.parametrize("is_empty", [True, False], ids=["empty", "absent"])
def test_a_rebuild_throws_nothing_away_that_cannot_be_made_again(
    codebase, project, notices, names, is_empty
):
    before = paths_in(codebase)
    shutil.rmtree(project)
    if is_empty:
        project.mkdir()
    with pytest.raises(NotFound, match="stays as it was"):
        codebase.rebuild(names, reporter=notices)
    assert paths_in(codebase) == before


def test_a_root_that_cannot_be_read_does_not_keep_the_others_from_being_rebuilt(
    codebase, project, notices, tmp_path
):
    second = tmp_path / "second"
    second.mkdir()
    (second / "a.py").write_text("def okapi(): pass\n")
    codebase.index([second], reporter=notices)
    before = paths_in(codebase)
    (second / "b.py").write_text("def okapi(): pass\n")
    project.rename(tmp_path / "away")
    told = "project cannot be read .No such file or directory., so its index stays as it was"
    with pytest.raises(NotFound, match=told):
        codebase.rebuild((), reporter=notices)
    assert paths_in(codebase) == before | {"b.py"}


def test_a_folder_without_files_is_a_source(make_codebase, notices, tmp_path):
    (tmp_path / "empty").mkdir()
    codebase = make_codebase()
    report = codebase.index([tmp_path / "empty"], reporter=notices)
    assert (report.files_total, report.chunks_total) == (0, 0)
    assert codebase.search(CodeQuery("anything"), reporter=notices) == []


# What was lost is made again


def answers(codebase, notices):
    return [
        codebase.search(CodeQuery(text), reporter=notices)
        for text in ("total_price", "charge the card of a customer", "gravity", "price")
    ]


@pytest.mark.parametrize("lost", ["codebase.sqlite", "state/codebase/project", "state/codebase"])
def test_what_was_deleted_is_made_again_with_the_same_answers(
    make_codebase, codebase, project, data_dir, notices, lost
):
    before = answers(codebase, notices)
    codebase.close()
    path = data_dir / lost
    if path.is_dir():
        shutil.rmtree(path)
    else:
        for part in data_dir.glob(f"{lost}*"):
            part.unlink()
    reopened = make_codebase()
    if lost == "state/codebase":  # with the registry in it
        reopened.index([project], reporter=notices)
    assert answers(reopened, notices) == before
    assert reopened.status().vectors_pending == 0


def test_a_copy_whose_log_does_not_fit_its_file_is_made_again(
    make_codebase, project, data_dir, tmp_path, notices
):
    """As `cp` leaves it that copies the file, and the log later, while a daemon writes."""
    codebase, database = make_codebase(), data_dir / "codebase.sqlite"
    codebase.data.open()
    copied = database.read_bytes()
    codebase.index([project], reporter=notices)
    with closing(connect(database)) as connection:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_RESTART)
    functions = "".join(f"def step_{number}(): return {number}\n\n\n" for number in range(200))
    (project / "zoo.py").write_text(f"def okapi(): pass\n{functions}")
    codebase.index([project], reporter=notices)
    shutil.copytree(data_dir, tmp_path / "copy")
    (tmp_path / "copy" / database.name).write_bytes(copied)
    restored = make_codebase(data_dir=tmp_path / "copy")
    assert files_with(restored, notices, "okapi") == {"zoo.py"}
    assert notices.has("is damaged")


def test_what_needs_no_vectors_waits_for_none(make_codebase, codebase, data_dir, notices):
    codebase.close()
    for database in data_dir.glob("*.sqlite"):
        database.unlink()
    reopened = make_codebase()
    asked = CodeQuery("total_price", mode=SearchMode.KEYWORD)
    assert reopened.search(asked, reporter=notices)
    assert reopened.data.models.embedder.embedded == []


def test_a_search_says_that_it_makes_the_database_again(make_codebase, codebase, data_dir, notices):
    codebase.close()
    (data_dir / "codebase.sqlite").unlink()
    reopened = make_codebase()
    reopened.status()  # makes an empty one
    assert files_with(reopened, notices, "declined") == {"shop/payment.py"}
    assert notices.has("holds nothing of project: indexing it")


def test_a_question_to_one_source_says_and_indexes_nothing_of_another(codebase, notices, tmp_path):
    (tmp_path / "second").mkdir()
    codebase.registry.add(tmp_path / "second")
    assert files_with(codebase, notices, "total_price", sources=("project",))
    assert notices.said == []
    assert {each.name for each in codebase.status().sources if each.scanned_at} == {"project"}


def test_indexing_one_source_brings_a_lost_one_back(
    make_codebase, codebase, data_dir, notices, tmp_path
):
    second = tmp_path / "second"
    second.mkdir()
    (second / "a.py").write_text("def okapi(): pass\n")
    codebase.close()
    (data_dir / "codebase.sqlite").unlink()
    reopened = make_codebase()
    report = reopened.index([second], reporter=notices)
    assert report.sources == ("second", "project")
    assert files_with(reopened, notices, "declined") == {"shop/payment.py"}


def test_a_rebuild_embeds_nothing(codebase, notices):
    embedded = len(codebase.data.models.embedder.embedded)
    before = answers(codebase, notices)
    for names in ((), ("project",)):
        report = codebase.rebuild(names, reporter=notices)
        assert (report.files_processed, report.vectors_pending) == (8, 0)
        assert answers(codebase, notices) == before
    assert len(codebase.data.models.embedder.embedded) == embedded


def test_another_chunker_version_chunks_anew(
    make_codebase, codebase, project, notices, monkeypatch
):
    codebase.close()
    monkeypatch.setattr(flow.CodeBuilder, "version", "next")
    monkeypatch.setattr("memory_sidecar.code.document.CHUNKER_VERSION", "next")
    reopened = make_codebase()
    said = "rebuilding project, which another version indexed"
    assert reopened.index([project], reporter=notices).files_processed == 8
    assert notices.said == [said]
    assert reopened.index([project], reporter=notices).files_processed == 0
    assert notices.said == [said]


# Models


def test_another_model_embeds_everything_again(make_codebase, codebase, project, notices):
    codebase.close()
    reopened = make_codebase(model="2")
    hits = reopened.search(CodeQuery("total_price", explain=True), reporter=notices)
    assert notices.has("vectors are of another model")
    assert hits[0].explain.cosine is None
    report = reopened.index([project], reporter=notices)
    assert (report.files_processed, report.vectors_pending) == (0, 0)
    assert report.vectors_embedded == report.chunks_total
    hits = reopened.search(CodeQuery("total_price", explain=True), reporter=notices)
    assert hits[0].explain.cosine


def test_a_question_that_the_model_hardly_knows_is_ranked_without_it(codebase, project, notices):
    (project / "backup.py").write_text("# 夜间备份数据库一次\ndef backup():\n    return 1\n")
    codebase.index([project], reporter=notices)
    found, guessed, mixed = (
        codebase.search(CodeQuery(text, explain=True), reporter=notices)
        for text in ("什么时候备份数据库", "图片多大", "backup 备份数据库")
    )
    assert found[0].filename == "backup.py"
    assert {hit.explain.cosine is None for hit in found} == {True}
    assert {hit.explain.cosine is None for hit in (*guessed, *mixed)} == {False}


def test_vectors_catch_up_once_there_is_a_model(make_codebase, project, notices):
    without = make_codebase(model="")
    report = without.index([project], reporter=notices)
    assert report.vectors_pending == report.chunks_total > 0
    assert notices.has("no vectors: no model here; get one")
    assert files_with(without, notices, "declined") == {"shop/payment.py"}
    assert without.search(CodeQuery("total_price"), reporter=notices)
    without.close()
    report = make_codebase().index([project], reporter=notices)
    assert (report.files_processed, report.vectors_pending) == (0, 0)
    assert report.vectors_embedded == report.chunks_total


@pytest.mark.parametrize(
    ("static", "ranking"),
    [(STATIC, "by keyword and static vectors"), (None, "by keyword alone")],
)
def test_vectors_are_said_to_be_under_way(codebase, project, notices, static, ranking):
    if ranking.endswith("vectors") and static is None:
        pytest.skip("no table of token vectors for this machine")
    codebase.data.models._static = static
    (project / "late.py").write_text("def late(): pass\n")
    codebase.index([project], reporter=notices, embed=False)
    codebase.search(CodeQuery("late"), reporter=notices)
    assert notices.has(f"% done: ranking the others {ranking}")


def test_a_search_by_vector_says_that_it_leaves_out_what_has_none(codebase, project, notices):
    codebase.index([project], reporter=notices)
    (project / "late.py").write_text("def late(): pass\n")
    codebase.index([project], reporter=notices, embed=False)
    codebase.search(CodeQuery("late", mode=SearchMode.VECTOR), reporter=notices)
    assert notices.has("% done: leaving out the others")


def test_what_is_related_says_that_it_leaves_out_what_has_no_vector(codebase, project, notices):
    codebase.index([project], reporter=notices)
    best = codebase.search(CodeQuery("total_price"), reporter=notices)[0]
    at = Line("project", best.filename, best.start_line)
    codebase.related(at, CodeFilter(), top_k=3, reporter=notices)
    assert not notices.has("% done")
    (project / "late.py").write_text("def late(): pass\n")
    codebase.index([project], reporter=notices, embed=False)
    codebase.related(at, CodeFilter(), top_k=3, reporter=notices)
    assert notices.has("% done: leaving out the others")


def test_of_equal_chunks_the_path_decides_which_is_related_first(codebase, project, notices):
    for name in ("c", "a", "b", "asked"):  # rows in this order
        (project / f"{name}.py").write_text("def is_leap(year): return year % 4 == 0\n")
        codebase.index([project], reporter=notices)
    for top_k in (1, 3):
        hits = codebase.related(
            Line("project", "asked.py", 1), CodeFilter(), top_k=top_k, reporter=notices
        )
        assert [hit.filename for hit in hits] == ["a.py", "b.py", "c.py"][:top_k]


def test_other_parts_of_the_same_function_are_not_related_to_it(codebase, project, notices):
    steps = "".join(f"    total = add_line(total, {step}, 'of the bill')\n" for step in range(120))
    bill = f"def bill(total):\n{steps}    return total\n"
    (project / "bill.py").write_text(f"{bill}\n\ndef refund(total):\n{steps}")
    codebase.index([project], reporter=notices)
    hits = codebase.related(Line("project", "bill.py", 60), CodeFilter(), top_k=4, reporter=notices)
    end_of_bill = bill.count("\n")
    assert hits
    assert hits[0].filename == "bill.py"
    assert all(hit.filename != "bill.py" or hit.start_line > end_of_bill for hit in hits)


def test_what_waits_is_counted_of_the_sources_that_were_indexed(codebase, tmp_path, notices):
    for name, count in (("second", 3), ("third", 5)):
        (tmp_path / name).mkdir()
        for number in range(count):
            (tmp_path / name / f"{number}.py").write_text(f"def {name}_{number}(): pass\n")
        report = codebase.index([tmp_path / name], reporter=notices, embed=False)
        assert report.vectors_pending == count
    assert codebase.status().vectors_pending == 8
    assert codebase.index([tmp_path / "second"], reporter=notices).vectors_pending == 0
    assert codebase.status().vectors_pending == 5  # nobody waited for those of the other one
    for name, count in (("second", 0), ("third", 5)):
        hits = codebase.search(CodeQuery(f"{name}_1", explain=True), reporter=notices)
        assert (hits[0].source, hits[0].freshness.vectors_pending) == (name, count)


def test_to_wait_for_a_folder_is_not_to_wait_for_its_source(codebase, project, notices):
    before = codebase.index([project], reporter=notices, embed=False).vectors_pending
    (project / "shop-old").mkdir()
    (project / "shop-old" / "cart.py").write_text("def old_cart(): pass\n")
    report = codebase.index([project / "shop"], reporter=notices, embed=True)
    assert codebase.why(project / "shop" / "cart.py").vectors > 0
    assert codebase.why(project / "shop-old" / "cart.py").vectors == 0
    assert 0 < report.vectors_pending == before + 1 - report.vectors_embedded


def test_to_wait_for_a_hidden_folder_is_to_wait_for_it(codebase, project, notices):
    hidden = project / ".github" / "deploy.py"
    hidden.parent.mkdir()
    hidden.write_text("def deploy(): pass\n")
    codebase.index([project], reporter=notices, embed=False)
    report = codebase.index([hidden.parent], reporter=notices, embed=True)
    assert codebase.why(hidden).vectors == 1
    assert report.vectors_pending == 0


# Sources


def test_a_folder_inside_of_a_source_means_the_source(codebase, project, notices):
    report = codebase.index([project / "shop"], reporter=notices)
    assert report.sources == ("project",)
    assert report.files_total == 9
    assert notices.has("lies in the source 'project'")


def test_a_folder_that_a_source_leaves_out_is_one_of_its_own(codebase, project, notices):
    (project / "build" / "gen").mkdir(parents=True)
    (project / "build" / "gen" / "made.py").write_text("def okapi(): pass\n")
    report = codebase.index([project / "build"], reporter=notices)
    assert (report.sources, report.files_processed) == (("build",), 1)
    assert files_with(codebase, notices, "okapi", sources=("build",)) == {"gen/made.py"}


def test_excludes_of_a_folder_inside_of_a_source_are_refused(codebase, project, notices):
    with pytest.raises(UsageError, match="as a whole"):
        codebase.index([project / "shop"], excludes=("*.cs",), reporter=notices)


def test_a_link_to_a_source_is_the_source(codebase, project, notices, tmp_path):
    (tmp_path / "link").symlink_to(project)
    report = codebase.index([tmp_path / "link"], excludes=("*.cs",), reporter=notices)
    assert (report.sources, report.files_deleted) == (("project",), 1)
    assert notices.said == []


def test_two_sources_are_told_apart(codebase, notices, tmp_path):
    second = tmp_path / "second"
    (second / "shop").mkdir(parents=True)
    (second / "shop" / "cart.py").write_text("def total_price(): return 0\n")
    codebase.index([second], reporter=notices)
    assert files_with(codebase, notices, "customer", sources=("second",)) == set()
    assert files_with(codebase, notices, "total_price", sources=("second",)) == {"shop/cart.py"}
    hits = codebase.search(CodeQuery("total_price"), reporter=notices)
    assert {hit.source for hit in hits} == {"project", "second"}


@pytest.mark.parametrize("mode", SearchMode)
def test_a_file_just_deleted_is_not_shown_but_others_are(codebase, project, mode):
    query = CodeQuery("total price of the cart", mode=mode, top_k=1)
    [best] = codebase.search(query, reporter=Silent())
    related = codebase.related(
        Line("project", best.filename, best.start_line), CodeFilter(), top_k=9, reporter=Silent()
    )
    (project / best.filename).unlink()
    [other] = codebase.search(query, reporter=Silent())
    assert other.filename != best.filename
    (project / related[0].filename).unlink(missing_ok=True)
    at = Line("project", other.filename, other.start_line)
    hits = codebase.related(at, CodeFilter(), top_k=9, reporter=Silent())
    assert not {best.filename, related[0].filename}.intersection(hit.filename for hit in hits)


def test_tests_in_a_file_of_rust_are_behind_its_code(codebase, project, notices):
    code = "pub fn okapi() -> Body {\n" + "    step();\n" * 90 + "}\n"
    body = "        assert!(read(whole_okapi_body()));\n" * 30
    tests = f"mod tests {{\n    fn reads_the_whole_okapi_body() {{\n{body}    }}\n}}\n"
    (project / "body.rs").write_text(code + tests)
    (project / "train.py").write_text("def test(okapi, body):\n    return whole(okapi, body)\n")
    codebase.index([project], reporter=notices)
    query = CodeQuery("read the whole okapi body", explain=True)
    hits = codebase.search(query, reporter=notices)
    lowered = {hit.symbols for hit in hits if hit.explain.terms.get("tests")}
    assert lowered == {("tests", "reads_the_whole_okapi_body")}
    assert {hit.filename for hit in hits} >= {"body.rs", "train.py"}


def test_a_root_that_is_not_there_answers_as_before(codebase, project, notices):
    before = codebase.search(CodeQuery("cart"), reporter=notices)
    project.rename(project.with_name("elsewhere"))
    assert codebase.search(CodeQuery("cart"), reporter=notices) == before


def test_a_removed_source_leaves_nothing_behind(codebase, notices, data_dir):
    codebase.remove("project", reporter=notices)
    assert paths_in(codebase) == set()
    assert not (data_dir / "state" / "codebase" / "project").exists()
    with pytest.raises(NoIndex):
        codebase.search(CodeQuery("cart"), reporter=notices)


def test_a_source_that_cannot_be_removed_now_can_be_later(codebase, notices, monkeypatch):
    monkeypatch.setattr("memory_sidecar.index.upkeep.STORE_PATIENCE_S", 0.1)
    with FileLock(codebase.paths.writer_lock), pytest.raises(StoreBusy):
        codebase.remove("project", reporter=notices)
    codebase.remove("project", reporter=notices)
    assert paths_in(codebase) == set()


def test_a_source_that_cannot_be_moved_now_stays_where_it_was(
    codebase, project, notices, monkeypatch, tmp_path
):
    monkeypatch.setattr("memory_sidecar.index.upkeep.STORE_PATIENCE_S", 0.1)
    there = shutil.copytree(project, tmp_path / "there")
    with FileLock(codebase.paths.writer_lock), pytest.raises(StoreBusy):
        codebase.move("project", there, reporter=notices)
    assert codebase.registry.get("project").root == project


def test_a_closed_database_leaves_nothing_in_memory(codebase, notices):
    codebase.search(CodeQuery("cart"), reporter=notices)
    store = ref(codebase.data.open())
    codebase.close()

    def is_gone() -> bool:  # a thread that worked for the search lets go of it in its own time
        gc.collect()
        return store() is None

    eventually(is_gone)


# Questions


def test_a_question_may_be_older_than_what_another_has_read(make_codebase, codebase, project):
    codebase.close()
    codebase = make_codebase()
    store, query = codebase.data.open(), CodeQuery("customer charge_card")
    question, _ = take_apart(query, [])
    with store.reading() as older:
        assert older.execute("SELECT count(*) FROM code_chunks").get
        for path in project.rglob("*.py"):
            path.write_text(f"{path.read_text()}\nCHANGED = 1\n")
        codebase.index([project], reporter=Silent())
        with store.reading() as newer:
            rows = LocalRows(newer, store, CodeFilter())
            assert search_code(query, rows, question)
        found = search_code(query, LocalRows(older, store, CodeFilter()), question)
    assert {hit.filename for hit in found} >= {"shop/payment.py"}
    assert not any("CHANGED" in hit.code for hit in found)


@pytest.mark.parametrize("by", ["user", "project"])
def test_what_settings_exclude_is_not_read(make_codebase, project, notices, by):
    (project / "private").mkdir()
    (project / "private" / "salaries.txt").write_text("alice 90000\n")
    excludes = ("private/",)
    if by == "project":
        (project / "memory-sidecar.toml").write_text("excludes = ['private/']\n")
    codebase = make_codebase(settings=Settings(excludes=excludes if by == "user" else ()))
    codebase.index([project], reporter=notices)
    with pytest.raises(NotFound):
        read_file(codebase, codebase.registry.all(), "private/salaries.txt")


def test_no_path_that_no_file_can_have_is_looked_for(make_codebase, project, notices):
    codebase = make_codebase()
    codebase.index([project], reporter=notices)
    with pytest.raises(PathRefused, match="is not a path"):
        read_file(codebase, codebase.registry.all(), "a/" * 3000)


def test_a_source_that_is_gone_is_named_and_answered_of(make_codebase, project, notices):
    codebase = make_codebase()
    codebase.index([project], reporter=Silent(), embed=False)
    shutil.rmtree(project)
    for waits in (False, True):
        if waits:
            codebase.wait_fresh(["project"], 1000, reporter=notices)
        assert codebase.search(CodeQuery("cart", mode=SearchMode.KEYWORD), reporter=notices)
        gone = f"{project} is not there: answering from what was indexed of project"
        assert notices.said == [gone]
        notices.said.clear()


def test_what_is_gone_is_not_said_to_be_indexed(make_codebase, project):
    codebase = make_codebase()
    image = project / "image.bin"
    image.write_bytes(b"\0")
    codebase.index([project], reporter=Silent(), embed=False)
    cart = project / "shop" / "cart.py"
    cart.unlink()
    told = codebase.why(cart)
    assert told.fate == "absent"
    assert told.reason == "it is gone: searches answer from what was indexed"
    image.unlink()
    assert codebase.why(image).reason.endswith("none was indexed")
    assert codebase.why(project / "shop/payment.py/inside").fate == "absent"
    shutil.rmtree(project)
    told = codebase.why(cart)
    assert told.fate == "absent"
    assert told.reason == f"{project} is not there: searches answer from what was indexed"


def test_a_wait_scans_only_what_is_asked_about(make_codebase, project, tmp_path, notices):
    codebase = make_codebase()
    other = tmp_path / "other"
    other.mkdir()
    codebase.index([project, other], reporter=Silent(), embed=False)
    (project / "new.py").write_text("def zebra(): pass\n")
    codebase.wait_fresh(["other"], 1000, reporter=notices)
    assert codebase.why(project / "new.py").fate == "waiting"
    codebase.wait_fresh(["project"], 1000, reporter=notices)
    assert codebase.why(project / "new.py").fate == "indexed"


def test_rows_of_a_source_whose_registration_was_lost_go(make_codebase, project, tmp_path):
    codebase = make_codebase()
    codebase.index([project], reporter=Silent(), embed=False)
    codebase.paths.registry.write_text('{"version": 1, "sources": []}')
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.py").write_text("def heron(): pass\n")
    assert codebase.index([other], reporter=Silent(), embed=False).chunks_total == 1
    assert codebase.files(FileStatus.INDEXED)[0].source == "other"


def test_a_fault_of_ours_is_logged_whole_once_and_in_a_line_for_each_file(
    codebase, project, notices, monkeypatch, caplog
):
    def build(source, file, max_file_bytes):
        raise (TypeError if file.path == "c.py" else ValueError)("odd")

    monkeypatch.setattr(flow, "build_document", build)
    for name in ("a", "b", "c"):
        (project / f"{name}.py").write_text(f"def {name}(): pass\n")
    codebase.index([project], reporter=notices)
    told = [each for each in caplog.records if "internal error" in each.getMessage()]
    assert {each.getMessage() for each in told} == {
        f"{name}.py of project: internal error: {kind}Error: odd"
        for name, kind in (("a", "Value"), ("b", "Value"), ("c", "Type"))
    }
    assert sum(bool(each.exc_info) for each in told) == 2


# Ourselves


def test_our_own_data_is_never_indexed(make_codebase, project, notices):
    data = project / "data" / "memory [1]"
    notes = data / "knowledge" / "agent"
    notes.mkdir(parents=True)
    (notes / "note.md").write_text("# Zebra\n")
    codebase = make_codebase(data_dir=data)
    for _ in range(2):
        report = codebase.index([project], reporter=notices)
        assert report.files_total == 9
    assert report.files_processed == 0
    assert not any("data" in path for path in paths_in(codebase))


def test_a_database_beside_the_sources_is_never_indexed(make_codebase, project, notices):
    codebase = make_codebase(data_dir=project, own_folders=[])
    codebase.index([project], reporter=notices)
    codebase.index([project], reporter=notices)
    found = paths_in(codebase)
    assert not any("codebase" in path for path in found)
    assert "shop/cart.py" in found


def test_the_source_may_lie_in_the_data_directory(make_codebase, data_dir, notices):
    root = data_dir / "project"
    root.mkdir(parents=True)
    (root / "a.py").write_text("def a(): pass\n")
    codebase = make_codebase()
    assert codebase.index([root], reporter=notices).files_total == 1
    assert paths_in(codebase) == {"a.py"}


def test_indexing_writes_nothing_into_the_source(make_codebase, project, notices):
    before = {path: path.stat() for path in [project, *project.rglob("*")]}
    make_codebase().index([project], reporter=notices)
    after = {path: path.stat() for path in [project, *project.rglob("*")]}
    assert {p: s.st_mtime_ns for p, s in after.items()} == {
        p: s.st_mtime_ns for p, s in before.items()
    }


# What could not be indexed before


def test_a_failed_file_is_indexed_once_it_can_be_read(codebase, project, notices, monkeypatch):
    def refuse(*_):
        raise BuildError("Input/output error")

    (project / "binary.py").write_bytes(b"\0" * 100)
    codebase.index([project], reporter=notices)
    with monkeypatch.context() as patch:
        patch.setattr(flow, "build_document", refuse)
        (project / "shop" / "cart.py").touch()
        (project / "binary.py").touch()
        report = codebase.index([project], reporter=notices)
        assert {file.path for file in report.files_failed} == {"shop/cart.py", "binary.py"}
    report = codebase.index([project], reporter=notices)
    assert report.files_failed == ()
    assert [file.path for file in report.files_skipped] == ["binary.py", "logo.png"]
    assert files_with(codebase, notices, "customer") == {"shop/cart.py"}
    assert codebase.index([project], reporter=notices).files_processed == 0


def test_what_was_too_large_is_indexed_once_the_limit_is_raised(
    make_codebase, codebase, project, notices
):
    (project / "large.py").write_text("def okapi(): pass\n" + "# filler\n" * 100)
    for limit, found in ((500, set()), (5000, {"large.py"}), (500, set()), (5000, {"large.py"})):
        reopened = make_codebase(settings=Settings(max_file_bytes=limit))
        reopened.index([project], reporter=notices)
        assert files_with(reopened, notices, "okapi") == found
        assert reopened.index([project], reporter=notices).files_processed == 0
        reopened.close()


def test_a_notebook_is_judged_by_its_text_again_once_the_limit_is_changed(
    make_codebase, codebase, project, notices
):
    outputs = '  "outputs": [\n' + "out\n" * 100 + "  ]\n"
    (project / "large.ipynb").write_text("def okapi(): pass\n" + "# filler\n" * 50 + outputs)
    there = {"large.ipynb"}
    for limit, found in ((200, set()), (300, set()), (5000, there), (600, there), (300, set())):
        reopened = make_codebase(settings=Settings(max_file_bytes=limit))
        reopened.index([project], reporter=notices)
        assert files_with(reopened, notices, "okapi") == found
        assert reopened.index([project], reporter=notices).files_processed == 0
        reopened.close()


# Vectors that are not there


def test_vector_mode_without_vectors_is_told(codebase, project, notices, tmp_path):
    second = tmp_path / "second"
    second.mkdir()
    (second / "late.py").write_text("def late(): pass\n")
    codebase.index([second], reporter=notices, embed=False)
    asked = CodeQuery("late", mode=SearchMode.VECTOR)
    with pytest.raises(NoIndex, match="no vectors yet"):
        codebase.search(replace(asked, filter=CodeFilter(sources=("second",))), reporter=notices)
    notices.said.clear()
    assert codebase.search(
        replace(asked, filter=CodeFilter(sources=("project",))), reporter=notices
    )
    assert notices.said == []  # what others wait for is their affair
    assert codebase.search(asked, reporter=notices)
    assert notices.has("% done: leaving out the others")


def test_a_source_that_was_never_indexed_to_its_end_is_no_empty_answer(
    codebase, notices, monkeypatch, tmp_path
):
    second = tmp_path / "second"
    second.mkdir()
    (second / "a.py").write_text("def okapi(): pass\n")

    def die(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("memory_sidecar.index.source.differences", die)
    with pytest.raises(KeyboardInterrupt):
        codebase.index([second], reporter=notices)
    asked = CodeQuery("walrus", mode=SearchMode.KEYWORD, filter=CodeFilter(sources=("second",)))
    with pytest.raises(NoIndex, match="not indexed yet: second") as refused:
        codebase.search(asked, reporter=notices)
    assert "run `memory-sidecar index`" in refused.value.hint
    assert notices.has("second is not completely indexed yet")
    assert notices.has("if that was interrupted, `memory-sidecar index` ends it")


def test_a_view_before_the_first_row_is_told_what_is_not_indexed(codebase, notices):
    codebase.close()
    codebase.paths.db.unlink()
    notices.waits = False
    scheduler = Scheduler()
    scheduler.add(codebase.data)  # not started: the rows do not come meanwhile
    with pytest.raises(NoIndex, match="not indexed yet: project"):
        codebase.search(CodeQuery("walrus", mode=SearchMode.KEYWORD), reporter=notices)
    scheduler.close(until_s=time.monotonic() + 20)


def test_a_removed_source_gives_its_space_back(codebase, data_dir, notices, tmp_path):
    large = tmp_path / "large"
    large.mkdir()
    for number in range(100):
        (large / f"{number}.py").write_text(f"def okapi_{number}(): pass\n" * 150)
    codebase.close()
    before = (data_dir / "codebase.sqlite").stat().st_size
    codebase.index([large], reporter=notices)
    codebase.close()
    assert (data_dir / "codebase.sqlite").stat().st_size > 2 * before
    codebase.remove("large", reporter=notices)
    codebase.close()
    assert (data_dir / "codebase.sqlite").stat().st_size < 1.2 * before


def test_names_of_paths_and_lists_of_files_are_looked_up_by_an_index(codebase):
    connection = connect(codebase.paths.db, read_only=True)
    chunks = LocalRows(connection, codebase.data.open(), CodeFilter())
    plans: list[tuple[str, Any]] = []

    def trace(_: object, sql: str, values: object) -> bool:
        plans.append((sql, values))
        return True

    connection.exec_trace = trace
    found = chunks.named_chunks(names_in("what is in shop/cart.py"))
    list_files(connection, FileStatus.SKIPPED)
    connection.exec_trace = None
    told = [
        " ".join(row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", values))
        for sql, values in plans
    ]
    connection.close()
    assert found
    assert not any("SCAN files" in each or "SCAN code_chunks" in each for each in told[:-1])
    assert any("SEARCH code_chunks USING COVERING INDEX" in each for each in told)
    assert "files_not_indexed" in told[-1]


def test_a_symbol_with_spaces_is_one(make_codebase, tmp_path, notices):
    root = tmp_path / "app"
    root.mkdir()
    (root / "Cart.kt").write_text("class CartTest {\n  fun `adds one item`() { add() }\n}\n")
    (root / "flag.cpp").write_text("struct Flag {\n  operator bool() const { return on; }\n};\n")
    codebase = make_codebase()
    codebase.index([root], reporter=notices)
    hits = codebase.search(CodeQuery("adds one item, operator bool"), reporter=notices)
    assert {hit.symbols for hit in hits} == {
        ("CartTest", "adds one item"),
        ("Flag", "operator bool"),
    }
    with codebase.data.open().reading() as connection:
        chunks = LocalRows(connection, codebase.data.open(), CodeFilter())
        assert chunks.named_chunks(names_in("item")) == []
