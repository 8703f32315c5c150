"""Where a long span without structure is cut."""

from __future__ import annotations

import subprocess
import sys

# In a process of its own, since others of this one import all of CocoIndex.
CUT = """
import sys
from memory_sidecar.chunking.lines import MIN_BYTES, TARGET_BYTES, Lines, split

text = "jobs:\\n" + "  build:\\n    steps: [checkout, test]\\n\\n" * 100
spans = split(Lines(text), (0, text.count("\\n")), "yaml")
assert not {"cocoindex", "numpy"} & set(sys.modules)

from cocoindex.ops.text import RecursiveSplitter

parts = RecursiveSplitter().split(
    text, TARGET_BYTES, min_chunk_size=MIN_BYTES, chunk_overlap=0, language="yaml"
)
assert len(spans) > 3
assert [start for start, _ in spans[1:]] == [part.start.line - 1 for part in parts[1:]]
"""


def test_a_worker_cuts_as_cocoindex_does_and_loads_only_its_compiled_part():
    subprocess.run([sys.executable, "-c", CUT], check=True)
