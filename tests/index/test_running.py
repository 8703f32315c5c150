from __future__ import annotations

from memory_sidecar.core.model import Scan, SourceFile
from memory_sidecar.index.document import Differences
from memory_sidecar.index.running import Todo


def files(names: str, *, size: int = 1) -> list[SourceFile]:
    return [SourceFile(name, size, 0, 0) for name in names]


def scan_of(*found: SourceFile) -> Scan:
    return Scan(files=found, folders=("",), unreadable=())


def todo_of(changed: str, gone: str = "") -> Todo:
    todo = Todo()
    todo.add(Differences(files(changed), [*gone]), scan_of(*files(changed)), is_whole=True)
    return todo


def test_the_progress_never_falls_when_a_pass_within_another_adds_files() -> None:
    todo = todo_of("abcdefghij")
    assert len(todo.take(files("abc"))) == 3
    assert todo.progress == (0, 10)
    todo.count_written(2)
    assert todo.progress == (2, 10)
    todo.end_slice()
    saved = files("adx", size=2)
    todo.add(Differences(saved, []), scan_of(*saved), is_whole=False)
    assert todo.progress == (3, 12)  # `d` was among them
    assert todo.take(saved) == saved
    todo.end_slice()
    assert todo.progress == (6, 12)
    assert todo.take(files("def")) == files("ef")


def test_what_is_left_is_done_as_a_later_scan_has_seen_it() -> None:
    todo = todo_of("abc", gone="xyz")
    later = files("by", size=2)  # `b` was saved, `y` is back as it was; all others are gone
    todo.add(Differences(files("b", size=2), ["z"]), scan_of(*later), is_whole=True)
    assert todo.take_gone("xyz") == ["z"]
    assert todo.take(files("abc")) == files("b", size=2)
    todo.end_slice()
    assert todo.progress == (7, 7)


def test_of_a_part_a_later_scan_tells_only_what_is_there() -> None:
    todo = todo_of("abc", gone="xy")
    todo.add(Differences([], []), scan_of(*files("bx", size=2)), is_whole=False)
    assert todo.take_gone("xy") == ["y"]
    assert todo.take(files("abc")) == [*files("a"), *files("b", size=2), *files("c")]
