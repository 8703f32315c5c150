"""Arrays of row ids, and what a question must not import for them."""

from __future__ import annotations

import random
import subprocess
import sys

import numpy as np

from memory_sidecar.index.ids import distinct, mask_allowed, places_of

# In a process of its own, since other tests may have imported it here.
ASK = """
import sys
from memory_sidecar.client import run

for words in (
    ["index", "."],
    ["search", "how are prices rounded"],
    ["search", "round_price"],
    ["store", "prices are rounded at the end", "--agent", "a", "--category", "decision"],
    ["query", "rounding", "--agent", "a"],
    ["session", "search", "rounding", "--agent", "a"],
):
    sys.argv = ["memory-sidecar", "--no-daemon", "--data-dir", "data", *words]
    assert run() == 0, words
assert "numpy.ma" not in sys.modules
"""


def test_ids_are_merged_and_found_as_numpy_does():
    chance = random.Random(3)
    for _ in range(50):
        some, others = (
            np.sort(np.array(chance.sample(range(40), chance.randrange(20)), np.int64))
            for _ in range(2)
        )
        assert distinct(some, others).tolist() == np.union1d(some, others).tolist()
        assert distinct(some[::-1]).tolist() == some.tolist()
        assert mask_allowed(some, others).tolist() == np.isin(some, others).tolist()
        assert others[places_of(some, others)].tolist() == np.intersect1d(some, others).tolist()


def test_no_question_imports_numpy_ma(tmp_path):
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "price.py").write_text("def round_price(value):\n    return round(value, 2)\n")
    subprocess.run([sys.executable, "-c", ASK], cwd=tree, check=True, capture_output=True)
