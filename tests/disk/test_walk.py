from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from memory_sidecar.core.errors import NotFound, PathRefused
from memory_sidecar.core.model import Scan, SourceFile
from memory_sidecar.disk.walk import walk

LIMIT = 1 << 20


def scan(root: Path, **options: object) -> Scan:
    return walk(root, max_file_bytes=LIMIT, **options)  # type: ignore[arg-type]


def reasons(root: Path) -> dict[str, str]:
    return {file.path: file.skip_reason for file in scan(root).files}


def test_a_file_carries_what_lstat_says(root, write):
    write("pkg/a.py", text="x = 1\n")
    status = (root / "pkg/a.py").stat()
    assert scan(root).files == (
        SourceFile("pkg/a.py", 6, status.st_mtime_ns, status.st_ctime_ns, skip_reason=""),
    )


def test_files_and_folders_are_sorted_and_hidden_ones_included(root, write):
    write("z.py", ".github/workflows/ci.yml", "a/b.py", ".editorconfig")
    seen = scan(root)
    paths = [file.path for file in seen.files]
    assert paths == [".editorconfig", ".github/workflows/ci.yml", "a/b.py", "z.py"]
    assert seen.folders == ("", ".github", ".github/workflows", "a")
    assert seen.unreadable == ()


def test_an_empty_source_has_no_files(root):
    assert scan(root) == Scan(files=(), folders=("",), unreadable=())


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("package-lock.json", "lock file"),
        ("Cargo.lock", "lock file"),
        ("go.sum", "lock file"),
        ("logo.PNG", "binary"),
        ("app.min.js", "minified"),
        ("app.js.map", "minified"),
        ("Form1.Designer.cs", "generated"),
        ("api_pb2.py", "generated"),
        ("api.pb.go", "generated"),
        ("png", ""),
        ("lock.py", ""),
        ("Designer.cs", ""),
        ("map", ""),
    ],
)
def test_a_name_can_be_reason_enough(root, write, name, reason):
    write(f"pkg/{name}")
    assert reasons(root) == {f"pkg/{name}": reason}


def test_the_size_limit_is_inclusive_and_named(root):
    (root / "fits.py").write_bytes(b"x" * LIMIT)
    (root / "large.py").write_bytes(b"x" * (LIMIT + 1))
    (root / "empty.py").touch()
    (root / "pictures.ipynb").write_bytes(b"x" * (LIMIT + 1))  # is small without them
    (root / "huge.ipynb").write_bytes(b"x" * (16 * LIMIT + 1))
    assert reasons(root) == {
        "empty.py": "empty",
        "fits.py": "",
        "huge.ipynb": "larger than 16 MiB",
        "pictures.ipynb": "",
        "large.py": "larger than 1 MiB",
    }
    assert walk(root, max_file_bytes=1000).files[1].skip_reason == "larger than 1000 bytes"


def test_what_is_no_regular_file_is_listed_and_never_opened(root, write, monkeypatch):
    os.mkfifo(root / "pipe.py")
    monkeypatch.chdir(root)  # a socket's path must be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.py")
        assert reasons(root) == {
            "pipe.py": "not a regular file",
            "socket.py": "not a regular file",
        }


def test_links_are_listed_but_not_followed(root, write, tmp_path):
    write("pkg/a.py")
    (tmp_path / "source-twin").mkdir()
    (root / "file.py").symlink_to("pkg/a.py")
    (root / "folder").symlink_to("pkg", target_is_directory=True)
    (root / "broken.py").symlink_to("gone.py")
    (root / "out").symlink_to(tmp_path / "source-twin")
    (root / "pkg/self").symlink_to("self")
    (root / "pkg/up").symlink_to("..")
    assert reasons(root) == {
        "broken.py": "symbolic link",
        "file.py": "symbolic link",
        "folder": "symbolic link",
        "out": "symbolic link out of the source",
        "pkg/a.py": "",
        "pkg/self": "symbolic link",
        "pkg/up": "symbolic link",
    }


def test_a_link_that_may_not_be_read_keeps_nothing_else_from_being_listed(root, write):
    try:
        Path("/proc/1/cwd").readlink()
    except OSError:
        write("pkg/a.py")
        (root / "hidden.py").symlink_to("/proc/1/cwd")
        assert reasons(root) == {"hidden.py": "symbolic link out of the source", "pkg/a.py": ""}
    else:
        pytest.skip("any link of /proc may be read here")


def test_a_source_reached_through_a_link_is_walked(root, write):
    write("pkg/a.py")
    (root / "pkg/b.py").symlink_to("a.py")
    link = root.parent / "link"
    link.symlink_to(root)
    assert reasons(link) == {"pkg/a.py": "", "pkg/b.py": "symbolic link"}


def test_a_name_that_is_not_utf8_is_listed_with_its_bytes_escaped(root):
    top = os.fsencode(root)
    Path(os.fsdecode(top + b"/caf\xe9")).mkdir()
    for name in (b"/caf\xe9/a.py", b"/bad\xff.py"):
        os.close(os.open(top + name, os.O_CREAT | os.O_WRONLY))
    seen = scan(root)
    assert [(file.path, file.skip_reason) for file in seen.files] == [
        (r"bad\xff.py", "name is not UTF-8"),
        (r"caf\xe9/a.py", "name is not UTF-8"),
    ]
    assert seen.folders == ("",)


def test_any_utf8_name_is_indexed(root, write):
    names = ["new\nline.py", "tab\t.py", " space .py", "ünï/コード.py", "back\\slash.py", "-x.py"]
    write(*names)
    assert reasons(root) == dict.fromkeys(names, "")


def test_a_root_that_is_not_there_is_an_error_and_no_empty_scan(root, write):
    write("file.py")
    with pytest.raises(NotFound, match="is not there"):
        scan(root / "gone")
    with pytest.raises(PathRefused, match="not a folder"):
        scan(root / "file.py")
    with pytest.raises(NotFound):
        scan(root / "gone", under=["a.py"])


def test_a_root_that_cannot_be_listed_is_refused(locked_root, drop_privileges):
    locked_root.chmod(0)
    drop_privileges()
    with pytest.raises(PathRefused, match="cannot be read: Permission denied"):
        scan(locked_root)


def test_a_folder_that_cannot_be_read_is_reported_and_the_walk_goes_on(
    locked_root, drop_privileges
):
    for folder in ("a", "locked/sub", "listed-only", "z"):
        (locked_root / folder).mkdir(parents=True)
        (locked_root / folder / "f.py").write_text("x\n")
    (locked_root / "locked").chmod(0)
    (locked_root / "listed-only").chmod(0o444)
    drop_privileges()
    seen = scan(locked_root)
    assert [file.path for file in seen.files] == ["a/f.py", "z/f.py"]
    assert seen.unreadable == ("listed-only", "locked")
    assert not seen.verifies_absence("locked/sub/f.py")
    assert not seen.verifies_absence("listed-only/f.py")
    assert seen.verifies_absence("locked-not/f.py")
    assert seen.verifies_absence("a/gone.py")

    within = scan(locked_root, under=["a/f.py", "locked/sub/f.py"])
    assert [file.path for file in within.files] == ["a/f.py"]
    assert within.unreadable == ("locked",)


def test_a_known_file_of_a_folder_that_is_now_only_listed_is_not_verified(
    locked_root, drop_privileges
):
    for folder in ("a", "listed-only"):
        (locked_root / folder).mkdir()
        (locked_root / folder / "f.py").write_text("x\n")
    known = {file.path: file.stamp for file in scan(locked_root).files}
    (locked_root / "listed-only").chmod(0o444)
    drop_privileges()
    within = scan(locked_root, under=["a/f.py", "listed-only/f.py"], known=known)
    assert [file.path for file in within.files] == ["a/f.py"]
    assert within.unreadable == ("listed-only",)


CHURN = """
import shutil, sys
from pathlib import Path
while True:
    for folder in sys.argv[1:]:
        Path(folder, "churn").mkdir()
        for n in range(10):
            Path(folder, "churn", f"{n}.txt").touch()
        shutil.rmtree(Path(folder, "churn"))
"""


def test_what_comes_and_goes_during_a_walk_does_not_disturb_it(root, write):
    stable = [f"{folder}/{n}.py" for folder in "abc" for n in range(20)]
    write(*stable)
    folders = [str(root / folder) for folder in "abc"]
    with subprocess.Popen([sys.executable, "-c", CHURN, *folders]) as process:
        try:
            while not list(root.glob("*/churn")):
                assert process.poll() is None
            for _ in range(100):
                seen = scan(root)
                kept = [file.path for file in seen.files if file.path.endswith(".py")]
                assert kept == sorted(stable)
                # A folder made again after it could not be opened is not known to be empty.
                assert set(seen.unreadable) <= {"a/churn", "b/churn", "c/churn"}
        finally:
            process.kill()


def test_a_walk_writes_nothing_into_the_source(root, write):
    write("a/b.py", ".gitignore")
    before = sorted((p.as_posix(), p.lstat().st_mtime_ns) for p in (root, *root.rglob("*")))
    scan(root)
    scan(root, under=["a"])
    assert before == sorted((p.as_posix(), p.lstat().st_mtime_ns) for p in (root, *root.rglob("*")))
