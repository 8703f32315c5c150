"""Reads are counted beside the memories, whatever happens to the log."""

from __future__ import annotations

import json
import os
import threading
from functools import partial

import pytest

from memory_sidecar.core.opening import FileRefused, Tree
from memory_sidecar.disk import usage
from memory_sidecar.disk.usage import Uses, log_move, log_reads, read_part


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path, is_own=True)


@pytest.fixture
def log(tmp_path):
    return tmp_path / "state" / "access.jsonl"


def test_every_read_counts(tree, log):
    assert read_part(tree, log).uses == {}
    log_reads(tree, log, ["a.md", "日本/b.md"], tool="query", at_ms=1000)
    log_reads(tree, log, ["a.md"], tool="get", at_ms=3000)
    log_reads(tree, log, ["a.md"], tool="get", at_ms=2000)
    log_reads(tree, log, [], tool="query", at_ms=9000)
    assert read_part(tree, log).uses == {"a.md": Uses(3, 3000), "日本/b.md": Uses(1, 1000)}
    first = json.loads(log.read_text("utf-8").splitlines()[0])
    assert first == {"ts": "1970-01-01T00:00:01.000Z", "file": "a.md", "tool": "query"}


def test_a_moved_memory_keeps_its_reads(tree, log):
    log_reads(tree, log, ["a.md", "a.md", "b.md"], tool="get", at_ms=1000)
    log_move(tree, log, "a.md", "b.md", at_ms=5000)
    log_move(tree, log, "never-read.md", "c.md", at_ms=5000)
    log_reads(tree, log, ["a.md"], tool="get", at_ms=6000)
    assert read_part(tree, log).uses == {"b.md": Uses(3, 1000), "a.md": Uses(1, 6000)}


def test_a_broken_line_harms_no_other(tree, log):
    log_reads(tree, log, ["a.md"], tool="get", at_ms=1000)
    with log.open("ab") as file:
        file.write(b'{"no": "path"}\n[1]\n\xff\xfe\n{"ts": "soon", "file": "a.md"}\n{"ts": "2026-')
    log_reads(tree, log, ["a.md"], tool="get", at_ms=2000)
    assert read_part(tree, log).uses == {"a.md": Uses(2, 2000)}


def test_what_the_disk_takes_in_parts_is_written_whole(tree, log, monkeypatch):
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:10]))
    log_reads(tree, log, ["a.md", "b.md"], tool="get", at_ms=1000)
    assert read_part(tree, log).uses == {"a.md": Uses(1, 1000), "b.md": Uses(1, 1000)}


def test_writers_at_once_lose_nothing(tree, log):
    def write(name):
        for at in range(100):
            log_reads(tree, log, [name, "all.md"], tool="get", at_ms=at)

    writers = [threading.Thread(target=write, args=(f"{n}.md",)) for n in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    uses = read_part(tree, log).uses
    assert uses["all.md"].count == 400
    assert [uses[f"{n}.md"].count for n in range(4)] == [100] * 4


def test_a_log_that_leads_elsewhere_is_neither_read_nor_written(tree, log, tmp_path):
    (tmp_path / "profile").write_text("mine\n")
    log.parent.mkdir()
    log.symlink_to("../profile")
    for call in (partial(log_reads, paths=["a.md"], tool="get", at_ms=1), read_part):
        with pytest.raises(FileRefused, match="symbolic link"):
            call(tree, log)
    assert (tmp_path / "profile").read_text() == "mine\n"


def test_a_long_log_is_read_part_by_part(tree, log, monkeypatch):
    monkeypatch.setattr(usage, "PART_BYTES", 200)
    log_reads(tree, log, [f"{n}.md" for n in range(9)], tool="get", at_ms=1000)
    with log.open("ab") as file:
        file.write(b"x" * 1000 + b"\n")
    log_reads(tree, log, ["last.md"], tool="get", at_ms=1000)
    found: set[str] = set()
    end = 0
    while end < log.stat().st_size:
        part = read_part(tree, log, start=end)
        found |= part.uses.keys()
        end = part.end
    assert len(found) == 10
