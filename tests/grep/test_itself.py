"""Code finds itself: whatever stands in a sample, taken as a pattern, is found where it stands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import tree_sitter

from memory_sidecar.chunking.lines import Lines
from memory_sidecar.chunking.syntax import parse
from memory_sidecar.core.errors import UsageError
from memory_sidecar.core.language import detect_language
from memory_sidecar.grep.dialects import DIALECTS
from memory_sidecar.grep.finder import Finder

SAMPLES = [
    sample
    for sample in sorted((Path(__file__).parents[1] / "chunking" / "samples").iterdir())
    if detect_language(sample.name) in DIALECTS
]
WHOLE = re.compile(r"(statement|declaration|definition|expression|call|item|assignment|method)$")

# What alone is something else, or nothing.
NOT_ALONE = {
    "attribute_call",  # of GDScript: `append(x)` without what it is called on
    "control_transfer_statement",  # of Swift: a `return` reaches for the next line
    "field_declaration",  # of Go: `items []Item` in a struct is a parameter elsewhere
    "field_definition",  # of JavaScript: an assignment without its class
    "method_index_expression",  # of Lua: the name in `function Cart:add`
    "protocol_function_declaration",
    "public_field_definition",
    "type_parameter_declaration",
}


def whole_nodes(root: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        waiting += node.children
        if node.is_named and node.child_count and not node.has_error and WHOLE.search(node.type):
            yield node


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_code_finds_itself(sample):
    language = detect_language(sample.name)
    data = Lines(sample.read_text("utf-8")).data
    parsed = parse(data, language)
    assert parsed is not None
    lost = []
    for node in whole_nodes(parsed[0].root_node):
        start, stop = node.byte_range
        pattern = data[start:stop].decode().replace("$", r"\$")
        if node.type in NOT_ALONE or len(pattern) > 400 or "\n#if" in pattern:
            continue
        try:
            hits = Finder(pattern).find(data, language) or []
        except UsageError:
            hits = []
        # A separator at the end may belong to what is around.
        if not any(hit.start == start and stop - 1 <= hit.stop <= stop + 1 for hit in hits):
            lost.append((node.type, pattern))
    assert lost == []
