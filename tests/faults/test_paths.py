"""A path that is no folder, or holds no text: an error, or a skipped file with its reason."""

from __future__ import annotations

import os
import random
import socket
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest


def skipped(report) -> dict[str, str]:
    return {file["path"]: file["reason"] for file in report["files_skipped"]}


def make_nothing(path: Path) -> None: ...


def make_file(path: Path) -> None:
    path.write_text(f"def lonely(): return {path.name!r}\n")


def make_fifo(path: Path) -> None:
    os.mkfifo(path)


def make_socket(path: Path) -> None:
    folder = os.open(path.parent, os.O_RDONLY)
    before = Path.cwd()
    os.chdir(folder)  # a socket's path must be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path.name)
    os.chdir(before)
    os.close(folder)


def make_loop(path: Path) -> None:
    path.symlink_to(path.name)


@pytest.mark.parametrize(
    ("make", "code", "message"),
    [
        (make_nothing, "not_found", "is not there"),
        (make_file, "path_refused", "not a folder"),
        (make_fifo, "path_refused", "not a folder"),
        (make_socket, "path_refused", "not a folder"),
        (make_loop, "path_refused", "symbolic links"),
    ],
)
def test_what_is_no_folder_is_refused(run, tmp_path, data_dir, make, code, message):
    make(tmp_path / "named")
    done = run("index", tmp_path / "named", "--json")
    assert (done.status, done.error["code"]) == (3 if code == "not_found" else 2, code)
    assert message in done.error["message"]
    assert run("source", "list", "--json").json == []


def test_a_loop_of_links_inside_of_a_source_is_refused(run, project, known_vectors):
    assert run("index", project).status == 0
    make_loop(project / "loop")
    done = run("index", project / "loop", "--json")
    assert (done.status, done.error["code"]) == (2, "path_refused")


@pytest.mark.parametrize(
    ("command", "status"),
    [
        (("judged", "add", "where", "loop/x.py"), 3),
        (("source", "add", "loop/x", "--agent", "bob"), 2),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_what_lies_behind_a_loop_of_links_is_one_error(
    run, project, known_vectors, command, status
):
    assert run("index", project).status == 0
    make_loop(project / "loop")
    done = run(*command, cwd=project)
    assert done.status == status, done.err
    assert "internal error" not in done.err


@pytest.fixture
def unreadable() -> Iterator[tuple[Path, Path]]:
    """A folder that may not be looked into by whoever runs the test, and a data directory."""
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders let nobody else in
        top = Path(name)
        folder, data = top / "locked", top / "data"
        folder.mkdir()
        data.mkdir()
        for each, mode in ((top, 0o755), (data, 0o777), (folder, 0)):
            each.chmod(mode)
        import_module("memory_sidecar.agents.doctor")  # which others may not read
        if os.geteuid() == 0:  # permissions do not bind root
            os.seteuid(65534)
        yield folder, data
        os.seteuid(os.getuid())
        folder.chmod(0o755)


def test_a_folder_that_may_not_be_read_is_refused(run, unreadable):
    folder, data = unreadable
    no_config = {"XDG_CONFIG_HOME": os.devnull}  # that of a test lies where nobody else may look
    done = run("index", folder, "--data-dir", data, "--json", cwd=data, environ=no_config)
    assert (done.status, done.error["code"]) == (2, "path_refused")
    assert "Permission denied" in done.error["message"]


def test_an_archive_that_may_not_be_read_fails_a_check_of_its_agent_alone(run, unreadable):
    _, data = unreadable
    at_data = {"cwd": data, "environ": {"XDG_CONFIG_HOME": os.devnull}}
    for agent in ("ann", "bob"):
        words = ("store", "Tills open at nine", "--category", "a", "--agent", agent)
        assert run(*words, "--data-dir", data, **at_data).status == 0
    (data / "archive" / "ann").mkdir(parents=True, mode=0)
    told = run("doctor", "--data-dir", data, "--json", **at_data).json
    (wrong,) = (each for each in told if not each["ok"])
    assert (wrong["agent"], str(data / "archive" / "ann") in wrong["text"]) == ("ann", True)
    assert any(each["check"] == "agent bob, files" for each in told)
    (data / "knowledge" / "bob" / "a").chmod(0)
    deleted = run(
        "category",
        "delete",
        "a",
        "--with-memories",
        "--agent",
        "bob",
        "--data-dir",
        data,
        "--json",
        **at_data,
    )
    assert (deleted.status, deleted.error["code"]) == (2, "path_refused")


@pytest.mark.parametrize("instead", ["archive", "archive/ann"])
@pytest.mark.parametrize("kind", ["file", "link"])
def test_what_is_no_archive_is_named_by_all_that_look_for_one(run, tmp_path, kind, instead):
    data, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    words = ("store", "Tills open at nine", "--category", "a", "--agent", "ann")
    assert run(*words, "--data-dir", data).status == 0
    removed = elsewhere / ("ann/b/memories/a" if instead == "archive" else "b/memories/a")
    removed.mkdir(parents=True)
    (removed / "not-ours.md").write_text("Tills open at ten\n")
    place = data / instead
    place.parent.mkdir(exist_ok=True)
    if kind == "file":
        place.touch()
    else:
        place.symlink_to(elsewhere)
    (wrong,) = (each for each in run("doctor", "--data-dir", data, "--json").json if not each["ok"])
    listed = run("restore", "--agent", "ann", "--data-dir", data, "--json")
    assert listed.status == 2
    assert wrong["text"] == listed.error["message"]
    assert ("is not a folder" if kind == "file" else f"{place} is not opened") in wrong["text"]


@pytest.mark.parametrize(
    "words",
    ["search x", "query x", "status", "doctor", "index .", "store x --agent a --category c"],
)
def test_a_data_directory_that_may_not_be_read_is_named_in_one_line(run, unreadable, words):
    folder, elsewhere = unreadable
    no_config = {"XDG_CONFIG_HOME": os.devnull}
    done = run(*words.split(), "--data-dir", folder, "--json", cwd=elsewhere, environ=no_config)
    assert (done.status, done.error["code"]) == (1, "store_read_only")
    assert f"{folder} cannot be read: Permission denied" in done.error["message"]


@pytest.mark.parametrize("words", ["doctor", "query x", "store x --agent a"])
def test_a_data_directory_that_may_not_be_entered_is_named_in_one_line(run, unreadable, words):
    _, elsewhere = unreadable
    folder = elsewhere / "listed"
    folder.mkdir(0o600)
    no_config = {"XDG_CONFIG_HOME": os.devnull}
    done = run(*words.split(), "--data-dir", folder, "--json", cwd=elsewhere, environ=no_config)
    assert (done.status, done.error["code"]) == (1, "store_read_only")
    assert f"{folder} cannot be read: Permission denied" in done.error["message"]


def test_an_empty_folder_is_a_source_without_files(run, tmp_path):
    (tmp_path / "empty").mkdir()
    done = run("index", tmp_path / "empty", "--json")
    assert (done.status, done.json["files_total"], done.json["chunks_total"]) == (0, 0, 0)
    found = run("search", "--all", "anything", "--json")
    assert (found.status, found.json) == (0, [])


def test_garbage_is_skipped_file_by_file(run, tmp_path):
    garbage = random.Random(1)
    root = tmp_path / "garbage"
    for number in range(5_000):
        path = root / str(number % 50) / f"{number}.{garbage.choice(['py', 'cs', 'md', 'json'])}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(garbage.randbytes(garbage.randrange(1, 2_000)))
    (root / "real.py").write_text("def needle(): pass\n")
    report = run("index", root, "--wait", "keyword", "--json").json
    assert (report["files_total"], report["files_failed"]) == (5_001, [])
    reasons = skipped(report)
    assert set(reasons.values()) <= {"binary", "not text", "empty"}
    assert len(reasons) > 4_900  # a byte or two may be a text
    hits = run("search", "--all", "needle", "--mode", "keyword", "--json").json
    assert hits[0]["filename"] == "real.py"
    assert run("index", root, "--wait", "keyword", "--json").json["files_processed"] == 0


def test_what_is_no_plain_file_is_skipped_and_never_opened(run, tmp_path):
    root = tmp_path / "source"
    (root / "pkg").mkdir(parents=True)
    make_file(root / "pkg" / "a.py")
    make_fifo(root / "pipe.py")  # to open it would wait for ever
    make_socket(root / "socket.py")
    make_loop(root / "self.py")
    (root / "pkg" / "up").symlink_to("..", target_is_directory=True)
    report = run("index", root, "--wait", "keyword", "--json").json
    assert skipped(report) == {
        "pipe.py": "not a regular file",
        "socket.py": "not a regular file",
        "self.py": "symbolic link",
        "pkg/up": "symbolic link",
    }
    assert report["files_processed"] == 1


def test_any_name_is_found_or_skipped_with_its_reason(run, tmp_path):
    root = tmp_path / "source"
    root.mkdir()
    for name in ("new\nline.py", "tab\t'\"quote.py", "-x.py", "ünï コード.py"):
        make_file(root / name)
    os.close(os.open(os.fsencode(root) + b"/bad\xff.py", os.O_CREAT | os.O_WRONLY))
    report = run("index", root, "--wait", "keyword", "--json").json
    assert skipped(report) == {r"bad\xff.py": "name is not UTF-8"}
    hits = run("search", "--all", "lonely", "--mode", "keyword", "--json").json
    found = {hit["filename"] for hit in hits}
    assert found == {"new\nline.py", "tab\t'\"quote.py", "-x.py", "ünï コード.py"}
    shown = run("status", "--skipped")
    assert r"bad\xff.py" in shown.out


def test_a_time_that_no_database_holds_keeps_no_file_from_being_found(run, tmp_path, data_dir):
    (tmp_path / "source").mkdir()
    code, note = tmp_path / "source" / "cart.py", data_dir / "knowledge" / "a" / "till.md"
    note.parent.mkdir(parents=True)
    code.write_text("def total(prices): return sum(prices)\n")
    note.write_text("The till is opened at nine.\n")
    for file in (code, note):
        os.utime(file, ns=(10**19, 10**19))  # the year 2286
    assert run("index", code.parent, "--json").json["files_processed"] == 1
    (hit,) = run("search", "--all", "total", "--mode", "keyword", "--json").json
    assert hit["filename"] == "cart.py"
    (memory,) = run("list", "--agent", "a", "--json").json
    assert memory["updated_at"].startswith("2262-")
    assert run("update", "till.md", "--pin", "--agent", "a").status == 0


@pytest.mark.parametrize("files", [1, 250])
def test_nothing_of_an_indexed_folder_is_run(sidecar, tmp_path, files):
    root = tmp_path / "source"
    root.mkdir()
    for number in range(files):
        (root / f"m{number}.py").write_text(f"def function_{number}(): pass\n")
    for name in ("signal", "selectors", "random", "html", "sitecustomize"):
        (root / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    done = sidecar("index", root, "--wait", "keyword", cwd=root)
    assert (done.status, done.json["files_processed"]) == (0, files + 5)
    assert not (tmp_path / "ran").exists()
