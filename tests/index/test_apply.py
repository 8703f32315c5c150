from __future__ import annotations

from memory_sidecar.core.model import SourceFile
from memory_sidecar.index.apply import LARGE_BYTES, SLICE_FILES, large_first


def test_each_slice_begins_with_its_large_files() -> None:
    large = {3, 500, SLICE_FILES + 2}
    files = [
        SourceFile(f"{n}", LARGE_BYTES if n in large else n, 0, 0) for n in range(SLICE_FILES + 5)
    ]
    order = [int(file.path) for file in large_first(files)]
    assert order[:4] == [3, 500, 0, 1]
    assert order[SLICE_FILES:] == [SLICE_FILES + n for n in (2, 0, 1, 3, 4)]
    assert sorted(order) == list(range(len(files)))
