"""What is kept of questions, and that keeping it harms no question."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from memory_sidecar.core.model import Asked
from memory_sidecar.core.opening import Tree
from memory_sidecar.core.paths import ASKED
from memory_sidecar.disk import usage
from memory_sidecar.disk.usage import QuestionLog

NOW = 1_772_356_320_000
TOKEN = "ghp_" + "a1B2" * 9


@dataclass(frozen=True)
class Hit:
    is_weak: bool


Opened = Callable[..., QuestionLog]


@pytest.fixture
def open_log(tmp_path: Path) -> Opened:
    def opened(*, is_kept: bool = True) -> QuestionLog:
        return QuestionLog(Tree(tmp_path, is_own=True), clock=lambda: NOW, is_kept=is_kept)

    return opened


def asked_file(root: Path) -> Path:
    return root / "questions" / ASKED


def test_what_is_kept_of_a_question(open_log, tmp_path):
    log = open_log()
    hits = log.ask_and_log(
        Asked.CODE, "a", "how are prices rounded", lambda: [Hit(False), Hit(True)]
    )
    log.ask_and_log(Asked.MEMORIES, "b", f"who uses {TOKEN}? " + "why " * 200, list)
    first, second = log.since(NOW)
    log.close()
    assert hits == [Hit(False), Hit(True)]
    assert (first.kind, first.agent, first.hits, first.weak) == (Asked.CODE, "a", 2, False)
    assert (first.at, first.text) == (NOW, "how are prices rounded")
    assert (second.hits, second.weak, len(second.text)) == (0, True, usage.MAX_CHARACTERS)
    kept = asked_file(tmp_path).read_text("utf-8")
    assert TOKEN not in kept
    assert {key for line in kept.splitlines() for key in json.loads(line)} == {
        *("at", "kind", "text", "hits", "weak", "ms", "agent")
    }
    assert asked_file(tmp_path).stat().st_mode & 0o077 == 0


def test_the_oldest_go_where_there_are_too_many(open_log, tmp_path, monkeypatch):
    monkeypatch.setattr(usage, "HALF_BYTES", 2000)
    monkeypatch.setattr(usage, "WRITTEN_AFTER_S", 0)
    log = open_log()
    for number in range(200):
        log.ask_and_log(Asked.CODE, "a", f"question {number}", lambda: [Hit(False)])
        log.since(NOW)  # written, before the next is asked
    kept = [question.text for question in log.since(0)]
    log.close()
    assert kept == [f"question {number}" for number in range(200 - len(kept), 200)]
    assert 15 < len(kept) < 50
    assert sum(file.stat().st_size for file in asked_file(tmp_path).parent.iterdir()) < 5000


def test_none_is_kept_where_that_is_set_and_all_go_with_the_folder(open_log, tmp_path):
    log = open_log(is_kept=False)
    assert log.ask_and_log(Asked.CODE, "a", "secret plan", lambda: [Hit(True)]) == [Hit(True)]
    assert log.since(0) == []
    assert not (tmp_path / "questions").exists()


@pytest.mark.parametrize("trouble", ["a link", "a file", "no data directory", "closed"])
def test_where_it_cannot_be_kept_the_answer_comes_all_the_same(open_log, tmp_path, trouble):
    log, folder = open_log(), tmp_path / "questions"
    if trouble == "a link":
        folder.symlink_to(tmp_path.parent)
    elif trouble == "a file":
        folder.write_text("")
    elif trouble == "closed":
        log.close()
    else:
        log = QuestionLog(Tree(tmp_path / "none"), clock=lambda: NOW, is_kept=True)
    assert log.ask_and_log(Asked.CODE, "a", "total", lambda: [Hit(False)]) == [Hit(False)]
    assert log.since(0) == []
    assert not (tmp_path / "none").exists()
    assert not (tmp_path.parent / ASKED).exists()


def test_what_waits_to_be_written_is_written_before_the_end(open_log, monkeypatch):
    monkeypatch.setattr(usage, "WRITTEN_AFTER_S", 3600)
    log = open_log()
    for text in ("first", "second"):
        log.ask_and_log(Asked.CODE, "a", text, lambda: [Hit(False)])
    log.close()
    assert [question.text for question in open_log().since(0)] == ["first", "second"]


def test_broken_lines_count_for_nothing(open_log, tmp_path):
    log = open_log()
    log.ask_and_log(Asked.CODE, "a", "before", lambda: [Hit(False)])
    log.since(0)
    with asked_file(tmp_path).open("ab") as file:
        file.write(b'{"at": "noon"}\n\xff\n[1]\n{"at": 12, "kind"')
    log.ask_and_log(Asked.CODE, "a", "behind", lambda: [Hit(False)])
    assert [question.text for question in log.since(0)] == ["before", "behind"]
    assert log.since(NOW + 1) == []


def test_a_question_that_fails_is_not_kept(open_log):
    log = open_log()

    def fail() -> list[Hit]:
        raise ValueError("no such model")

    with pytest.raises(ValueError, match="no such model"):
        log.ask_and_log(Asked.CODE, "a", "total", fail)
    assert log.since(0) == []
