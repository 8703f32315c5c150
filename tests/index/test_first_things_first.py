"""What is built and embedded first: what someone works on, and of that what is soon done."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from memory_sidecar.core.model import Scan, SourceFile
from memory_sidecar.index.embed import embed_pending, next_pending
from memory_sidecar.index.source import differences

HOUR_NS, SECOND_NS = 3600 * 10**9, 10**9
NOON_NS = 500_000 * HOUR_NS


@pytest.fixture
def codebase(make_codebase):
    return make_codebase()


def order_of(*files: tuple[str, int, int]) -> list[str]:
    """The names of files, given with their time and size, as they would be built."""
    found = tuple(SourceFile(name, size, at_ns, at_ns) for name, at_ns, size in files)
    scan = Scan(files=found, folders=("",), unreadable=())
    return [file.path for file in differences(scan, {}, everything=False).changed]


def test_what_was_saved_last_is_built_first():
    assert order_of(
        ("middle", NOON_NS - HOUR_NS, 1), ("new", NOON_NS, 900), ("old", NOON_NS - 9 * HOUR_NS, 1)
    ) == ["new", "middle", "old"]


def test_of_what_was_saved_together_small_files_are_built_first():
    assert order_of(
        ("large", NOON_NS + SECOND_NS, 900),
        ("small", NOON_NS, 1),
        ("medium", NOON_NS + 2 * SECOND_NS, 40),
        ("old", NOON_NS - HOUR_NS, 0),
    ) == ["small", "medium", "large", "old"]


def write(root: Path, *names: str) -> None:
    root.mkdir(exist_ok=True)
    for name in names:
        functions = (f"def {name}_{n}(value):\n    return value + {n}\n" for n in range(50))
        (root / f"{name}.py").write_text("\n".join(functions))


def test_a_saved_file_is_embedded_before_a_backlog(codebase, tmp_path, notices):
    root = tmp_path / "project"
    write(root, *(f"backlog{number}" for number in range(30)))
    codebase.index([root], reporter=notices, embed=False)
    write(root, "saved")
    with (root / "backlog7.py").open("a") as file:
        file.write("def changed_backlog7_(): pass\n")
    codebase.index([root], reporter=notices, embed=False)
    waiting = [each.text for each in next_pending(codebase.data.open(), 1000)]
    newest = [text for text in waiting if "saved_" in text or "backlog7_" in text]
    assert len(waiting) > 10 * len(newest)
    assert waiting[: len(newest)] == newest


def test_no_source_waits_for_the_vectors_of_another(codebase, tmp_path, notices, monkeypatch):
    monkeypatch.setattr("memory_sidecar.index.embed.SLICE_TEXTS", 4)
    names = ("first", "second", "third")
    for name in names:
        write(tmp_path / name, *(f"{name}{number}" for number in range(5)))
        codebase.index([tmp_path / name], reporter=notices, embed=False)
    store, models = codebase.data.open(), codebase.data.models
    waiting = {
        each.row_id: next(name for name in names if name in each.text)
        for each in next_pending(store, 1000)
    }
    slices = embed_pending(store, models, None, stop=threading.Event())
    turns = []
    for _ in range(6):
        before = {each.row_id for each in next_pending(store, 1000)}
        next(slices)
        done = before - {each.row_id for each in next_pending(store, 1000)}
        turns.append({waiting[row] for row in done})
    third, second, first = {"third"}, {"second"}, {"first"}
    assert turns == [third, second, third, first, third, second]
    for _ in slices:
        pass
    assert next_pending(store, 1) == []


def test_long_texts_are_embedded_fewer_at_once(codebase, tmp_path, notices, monkeypatch):
    root = tmp_path / "project"
    write(root, *(f"module{number}" for number in range(20)))
    codebase.index([root], reporter=notices, embed=False)
    store, models = codebase.data.open(), codebase.data.models
    longest = max(len(each.text) for each in next_pending(store, 1000))
    monkeypatch.setattr("memory_sidecar.index.embed.SLICE_CHARACTERS", 7 * longest)
    for parts in ([(root.name, "")], None):
        before = len(next_pending(store, 1000))
        next(embed_pending(store, models, parts, stop=threading.Event()))
        assert 5 <= before - len(next_pending(store, 1000)) < 16


def test_a_first_run_is_embedded_in_the_order_in_which_it_was_built(codebase, tmp_path, notices):
    root = tmp_path / "project"
    write(root, *(f"module{number}" for number in range(300)))  # several transactions
    codebase.index([root], reporter=notices, embed=False)
    store = codebase.data.open()
    waiting = [each.row_id for each in next_pending(store, 100_000)]
    assert waiting == sorted(waiting)


def test_data_is_embedded_after_sources(codebase, tmp_path, notices):
    root = tmp_path / "project"
    root.mkdir()
    (root / "fixture.json").write_text('{"name": "cart"}\n')
    codebase.index([root], reporter=notices, embed=False)
    write(root, "module")
    codebase.index([root], reporter=notices, embed=False)
    (root / "schema.json").write_text('{"title": "cart"}\n')
    codebase.index([root], reporter=notices, embed=False)
    waiting = [each.text for each in next_pending(codebase.data.open(), 1000)]
    assert ["json" in text for text in waiting] == [False] * (len(waiting) - 2) + [True] * 2


def test_a_query_comes_between_the_files_of_one_transaction(
    codebase, tmp_path, notices, monkeypatch
):
    root = tmp_path / "project"
    write(root, *(f"module{number}" for number in range(60)))
    store = codebase.data.open()
    passed_inside = []
    monkeypatch.setattr(
        "memory_sidecar.embedding.embedder.QueryGate.pass_through",
        lambda _: passed_inside.append(store._write_lock.locked()),
    )
    codebase.index([root], reporter=notices, embed=False)
    assert sum(passed_inside) >= 60
