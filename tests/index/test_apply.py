from __future__ import annotations

from itertools import chain

from memory_sidecar.core.model import SourceFile
from memory_sidecar.index.apply import SLICE_FILES
from memory_sidecar.index.running import LARGE_BYTES, SLICE_BYTES, in_slices


def test_each_slice_begins_with_its_large_files() -> None:
    large = {3, 500, SLICE_FILES + 2}
    files = [
        SourceFile(f"{n}", LARGE_BYTES if n in large else n, 0, 0) for n in range(SLICE_FILES + 5)
    ]
    order = [int(file.path) for file in chain.from_iterable(in_slices(files, most=SLICE_FILES))]
    assert order[:4] == [3, 500, 0, 1]
    assert order[SLICE_FILES:] == [SLICE_FILES + n for n in (2, 0, 1, 3, 4)]
    assert sorted(order) == list(range(len(files)))


def test_a_slice_of_large_files_has_few_of_them() -> None:
    sizes = [SLICE_BYTES // 4] * 9 + [3 * SLICE_BYTES, 1, 1]
    files = [SourceFile(f"{n}", size, 0, 0) for n, size in enumerate(sizes)]
    assert [len(part) for part in in_slices(files, most=SLICE_FILES)] == [4, 4, 1, 1, 2]
    assert [file.path for part in in_slices(files, most=SLICE_FILES) for file in part] == [
        f.path for f in files
    ]
