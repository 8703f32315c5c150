"""Reads are counted beside the memories, whatever happens to the log."""

from __future__ import annotations

import json
import threading

import pytest

from memory_sidecar.sources.access_log import Uses, log_move, log_reads, read_uses


@pytest.fixture
def log(tmp_path):
    return tmp_path / "state" / "access.jsonl"


def test_every_read_counts(log):
    assert read_uses(log) == {}
    log_reads(log, ["a.md", "日本/b.md"], tool="query", at_ms=1000)
    log_reads(log, ["a.md"], tool="get", at_ms=3000)
    log_reads(log, ["a.md"], tool="get", at_ms=2000)
    log_reads(log, [], tool="query", at_ms=9000)
    assert read_uses(log) == {"a.md": Uses(3, 3000), "日本/b.md": Uses(1, 1000)}
    first = json.loads(log.read_text("utf-8").splitlines()[0])
    assert first == {"ts": "1970-01-01T00:00:01.000Z", "file": "a.md", "tool": "query"}


def test_a_moved_memory_keeps_its_reads(log):
    log_reads(log, ["a.md", "a.md", "b.md"], tool="get", at_ms=1000)
    log_move(log, "a.md", "b.md", at_ms=5000)
    log_move(log, "never-read.md", "c.md", at_ms=5000)
    log_reads(log, ["a.md"], tool="get", at_ms=6000)
    assert read_uses(log) == {"b.md": Uses(3, 1000), "a.md": Uses(1, 6000)}


def test_a_broken_line_harms_no_other(log):
    log_reads(log, ["a.md"], tool="get", at_ms=1000)
    with log.open("ab") as file:
        file.write(b'{"no": "path"}\n[1]\n\xff\xfe\n{"ts": "soon", "file": "a.md"}\n{"ts": "2026-')
    log_reads(log, ["a.md"], tool="get", at_ms=2000)
    assert read_uses(log) == {"a.md": Uses(2, 2000)}


def test_writers_at_once_lose_nothing(log):
    def write(name):
        for at in range(100):
            log_reads(log, [name, "all.md"], tool="get", at_ms=at)

    writers = [threading.Thread(target=write, args=(f"{n}.md",)) for n in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    uses = read_uses(log)
    assert uses["all.md"].count == 400
    assert [uses[f"{n}.md"].count for n in range(4)] == [100] * 4
