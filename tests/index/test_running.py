from __future__ import annotations

from memory_sidecar.core.model import SourceFile
from memory_sidecar.index.running import Pass


def test_the_progress_of_a_pass_never_falls_when_one_within_it_has_ended() -> None:
    shown: list[tuple[int, int]] = []
    outer = Pass(10, lambda *files: shown.append(files), is_full=False, around=None, began_at=1_000)
    inner = Pass(4, lambda *_: None, is_full=False, around=outer, began_at=2_000)
    outer.advance(3)
    inner.advance(4)
    inner.report()
    outer.leave_out(["a", "b", "c", "d"])
    outer.report()
    outer.left_of([SourceFile(path, 1, 0, 0) for path in "abcde"])
    outer.advance(1)
    outer.report()
    assert shown == [(7, 10), (7, 10), (8, 10)]
