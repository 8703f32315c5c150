"""What the schemas of commands say of a property."""

from __future__ import annotations

from schemas import all_schemas


def test_what_is_left_out_unless_asked_for_is_not_required():
    hit = all_schemas()["search"]["$defs"]["CodeHit"]
    assert "explain" in hit["properties"]
    assert "explain" not in hit["required"]


def test_what_is_told_without_a_default_is_required():
    hit = all_schemas()["search"]["$defs"]["CodeHit"]
    assert {"filename", "location", "score"} <= set(hit["required"])
