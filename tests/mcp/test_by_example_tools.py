"""The tools that find code by a pattern or by a place, which a host has to ask for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from memory_sidecar.core.results import Silent
from memory_sidecar.mcp.caller import Caller, Toolset
from tests.mcp.talk import call, given, refused, text_of

TILL = """from shop.payment import charge_card


def ring(card):
    charge_card(card, 1)


def ring_twice(card):
    charge_card(card, 1)
    charge_card(card, 2)
"""


@pytest.fixture
def reader(caller: Caller, project: Path) -> Caller:
    """Somebody who is offered the tools about names."""
    (project / "shop" / "till.py").write_text(TILL)
    caller.codebase.index([project], reporter=Silent())
    return replace(caller, toolsets=frozenset({Toolset.NAMES}))


def test_code_is_found_by_its_structure_in_the_files_as_they_are_now(reader, project):
    (project / "shop" / "new.py").write_text("charge_card(None, 3)\n")
    told = text_of(call(reader, "grep", pattern="charge_card($CARD, $$$)", paths=["shop/*"]))
    assert told.splitlines() == [
        "shop/new.py:1-1  charge_card(None, 3)",
        "shop/till.py",
        "  5-5  charge_card(card, 1)",
        "  9-9  charge_card(card, 1)",
        "  10-10  charge_card(card, 2)",
    ]


def test_a_match_shows_what_is_defined_below_its_attributes(reader, project):
    code = "class Till\n{\n    [Audited]\n    public void Ring() { }\n}\n"
    (project / "Till.cs").write_text(code)
    (found,) = given(reader, "grep", pattern="void Ring() { }")["matches"]
    assert (found["location"], found["line"].strip()) == ("3-4", "public void Ring() { }")


def test_a_search_by_structure_stops_at_its_limit_and_says_so_in_its_own_words(reader):
    told = text_of(
        call(reader, "grep", pattern="charge_card($$$)", paths=["shop/till.py"], limit=2)
    )
    assert told.count("charge_card(card, 1)") == 2
    assert "stopped at 2 hits; limit N shows more" in told
    assert "tell the user" not in told


def test_a_search_by_structure_does_not_ask_for_more_than_its_limit_can_be(reader, project):
    (project / "shop" / "till.py").write_text("charge_card(card, 1)\n" * 300)
    told = text_of(call(reader, "grep", pattern="charge_card($$$)", limit=200))
    assert "stopped at 200 hits; paths leave some out" in told


def test_a_wrong_pattern_is_refused(reader):
    told = refused(reader, "grep", pattern="def (", languages=["python"])
    assert "pattern" in told
    assert "regular expression" not in told
    for pattern in (r"charge_card\(", r"def .*card", "charge|refund)", "[a-z]+("):
        told = refused(reader, "grep", pattern=pattern, languages=["python"])
        assert told.endswith("and no regular expression")
    assert "comments and strings are not code" in text_of(call(reader, "grep", pattern="TODO"))


def test_code_like_that_at_a_place_is_found(reader, project):
    (project / "shop" / "kiosk.py").write_text(TILL.replace("ring", "buy"))
    reader.codebase.index([project], reporter=Silent())
    for place in ({"path": "shop/till.py:5"}, {"file_path": "shop/till.py", "line": 5}):
        (hit,) = given(reader, "related", **place, top_k=1)["hits"]
        assert (hit["filename"], hit["location"]) == ("shop/kiosk.py", "1-10")


def test_a_place_without_a_line_is_refused_with_an_example(reader):
    told = refused(reader, "related", path="shop/till.py")
    assert "shop/till.py names no line" in told
    assert "src/cart.py:42" in told
