"""What is told of a source: what was left out, and why."""

from __future__ import annotations

import os

from memory_sidecar.code.breakdown import break_down


def test_a_name_that_is_not_utf8_counts_as_skipped_alone(make_codebase, tmp_path, notices):
    root = tmp_path / "shop"
    folder = root / os.fsdecode(b"ord\xe9")
    folder.mkdir(parents=True)
    for file in (root / os.fsdecode(b"caf\xe9.py"), folder / "cart.py"):
        file.write_text("PRICE = 1\n")
    codebase = make_codebase()
    codebase.index([root], reporter=notices)
    (only,) = break_down(codebase, "shop").left_out
    assert only.status == "skipped"
    assert only.paths == ("caf\\xe9.py", "ord\\xe9/cart.py")
