"""No file of rules can make a walk hang, read what lies elsewhere, or take much memory."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from memory_sidecar.core.errors import PathRefused
from memory_sidecar.disk import rule_files
from memory_sidecar.disk.rule_files import MAX_RULES, MAX_RULES_BYTES, last_match
from memory_sidecar.disk.walk import walk

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs links and FIFOs")


def paths(root: Path, *under: str) -> list[str]:
    scan = walk(root, max_file_bytes=1 << 20, under=under or None)
    return [file.path for file in scan.files]


def zero(path: Path) -> None:
    path.symlink_to("/dev/zero")


def fifo(path: Path) -> None:
    os.mkfifo(path)


def linked_fifo(path: Path) -> None:
    os.mkfifo(path.with_name("fifo"))
    path.symlink_to("fifo")


def link_out(path: Path) -> None:
    (path.parents[2] / "secret").write_text("*\n")
    path.symlink_to(path.parents[2] / "secret")


def unreadable_link(path: Path) -> None:
    try:
        Path("/proc/1/cwd").readlink()
    except OSError:
        path.symlink_to("/proc/1/cwd/rules")
    else:
        pytest.skip("any link of /proc may be read here")


def large(path: Path) -> None:
    path.write_bytes(b"a" * (MAX_RULES_BYTES + 1))


def many(path: Path) -> None:
    path.write_text("*a*b*\n" * (MAX_RULES + 1))


@pytest.mark.parametrize("make", [zero, fifo, linked_fifo, link_out, unreadable_link, large, many])
@pytest.mark.parametrize("name", [".gitignore", ".sidecarignore"])
def test_what_cannot_be_read_is_named(root, write, make, name):
    write("x.py", "a/y.py", "b/z.py")
    make(root / "a" / name)
    for under in ((), ("a",), ("b",)):
        with pytest.raises(PathRefused, match="cannot be followed"):
            paths(root, *under)


@pytest.mark.parametrize("folder", ["node_modules", ".git", "ignored"])
def test_a_folder_that_is_left_out_cannot_harm_either(root, write, folder):
    """The walker reads the rules in it all the same."""
    write(".gitignore", text="ignored/\n")
    write("x.py", f"{folder}/y.py")
    fifo(root / folder / ".gitignore")
    with pytest.raises(PathRefused, match="not a regular file"):
        paths(root)


def test_a_git_directory_elsewhere_is_looked_at_too(root, write, git):
    write("x.py", "evil/info/y", "sub/z.py")
    (root / "sub/.git").write_text("gitdir: ../evil\n")
    assert "sub/z.py" in paths(root)
    fifo(root / "evil/commondir")
    with pytest.raises(PathRefused, match="commondir"):
        paths(root)
    (root / "evil/commondir").unlink()
    fifo(root / "evil/info/exclude")
    with pytest.raises(PathRefused, match="exclude"):
        paths(root)
    (root / "sub/.git").write_text("g" * 100_000)
    with pytest.raises(PathRefused, match=r"larger than 4 KiB"):
        paths(root)


def test_rules_above_a_source_are_looked_at_where_they_count(root, write, git):
    git("init", "-q")
    write("pkg/x.py")
    fifo(root / ".gitignore")
    with pytest.raises(PathRefused, match="not a regular file"):
        paths(root / "pkg")


def test_a_link_within_the_source_counts(root, write):
    write("rules", text="*.log\n")
    write("a/x.log", "a/y.py")
    (root / "a/.gitignore").symlink_to("../rules")
    assert paths(root) == ["a/.gitignore", "a/y.py", "rules"]


@pytest.mark.parametrize("name", [".gitignore", ".sidecarignore", ".git/info/exclude"])
def test_links_that_lead_to_each_other_are_no_rules(root, write, name):
    write("a.py", ".git/HEAD", ".git/info/more")
    (root / name).symlink_to("other")
    (root / name).with_name("other").symlink_to(Path(name).name)
    assert "a.py" in paths(root)


def test_a_rule_is_told_by_its_own_line_below_blank_ones_and_what_are_no_patterns():
    rules = ["", "# logs", "", "*.log", "\\", "a\\", "[b-a]", "!", "", "tmp/", "!*.log"]
    assert last_match(rules[:-1], "x.log", is_folder=False) == (3, True)
    assert last_match(rules, "x.log", is_folder=False) == (10, False)
    assert last_match(rules, "tmp", is_folder=True) == (9, True)
    assert last_match(rules, "a", is_folder=False) is None


def test_a_rule_for_a_folder_is_none_for_what_it_holds():
    only_python = ["*", "!*/", "!*.py"]
    assert last_match(only_python, "a", is_folder=True) == (1, False)
    assert last_match(only_python, "a/b", is_folder=True) == (1, False)
    assert last_match(only_python, "a/b/x.py", is_folder=False) == (2, False)
    assert last_match(only_python, "a/b/x.txt", is_folder=False) == (0, True)
    assert last_match(["*.log", "!keep/"], "keep/a.log", is_folder=False) == (0, True)
    assert last_match(["!keep/"], "keep/a.log", is_folder=False) is None


def test_the_rules_of_many_paths_are_compiled_once():
    rules = [f"pkg{number}/*.gen" for number in range(20)]
    compiled = rule_files._compiled.cache_info().misses
    for number in range(30):
        match = last_match(rules, f"pkg{number}/a.gen", is_folder=False)
        assert match == ((number, True) if number < 20 else None)
    assert rule_files._compiled.cache_info().misses == compiled + 1


def test_a_rule_that_would_take_minutes_is_not_matched_to_explain_a_path():
    rules = ["*", "*a" * 9 + "b", "**/a/" * 9 + "b", "*a*/" * 9 + "b"]
    assert last_match(rules, "a" * 250, is_folder=False) == (0, True)
    assert last_match(rules, "a/" * 250 + "c", is_folder=False) == (0, True)
    assert last_match(rules, ("a" * 60 + "/") * 9 + "c", is_folder=False) == (0, True)


def test_many_slow_rules_are_not_matched_to_explain_a_path():
    rules = ["a*", *(f"**/a*a*{number}/**/x" for number in range(9000))]
    began_s = time.process_time()
    for number in range(5):
        assert last_match(rules, "a" * 250 + str(number), is_folder=False) == (0, True)
    assert time.process_time() - began_s < 10  # or 50 s
